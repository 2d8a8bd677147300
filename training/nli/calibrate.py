"""Temperature and bias of a checkpoint, fitted on rows of the training files that no plan has used.

None of the measured sets is looked at: the choice of rows is fixed by their ids.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize

from nli.config import Config
from nli.data import LEARNT_DEV, part, place, read
from nli.score import Calibration, Checker, Item, Logits

SOURCES: dict[str, dict[str, int]] = {
    "en": {
        "train/paws_wiki.jsonl": 60,
        "train/cad_nli.jsonl": 60,
        "train/fever_clean.jsonl": 60,
        "train/summedits.jsonl": 60,
        "train/check_covid.jsonl": 40,
        "train/mnli_clean.jsonl": 40,
        "dev/attributionbench_dev.jsonl": 100,
    },
    "zh": {"train/uhgeval_zh.jsonl": 80, "fresh/zh.jsonl": 160, "dev/citecheck_dev.jsonl": 100},
}
"""Rows of each file. `fresh/zh.jsonl`: generated with another seed. Of the dev sets the `calibrate` part."""


def unused(path: Path, used: set[str], size: int) -> list[dict[str, Any]]:
    """So many rows of a file that no plan has, as many right as wrong."""
    rows = [row for row in read(path) if row["id"] not in used]
    if any(name in path.name for name in LEARNT_DEV):
        rows = [row for row in rows if part(row) == "calibrate"]
    rows.sort(key=lambda row: hashlib.md5(("calibrate" + str(row["id"])).encode()).hexdigest())
    right = [row for row in rows if row["label"] == "supported"][: size // 2]
    wrong = [row for row in rows if row["label"] != "supported"][: size - len(right)]
    return right + wrong


_START = np.array([[0.0, 0.0], [0.7, 0.0], [0.0, 0.7]])
"""Where the search begins: log temperature and bias."""


def fit(logits: Sequence[Sequence[Logits]], right: Sequence[bool]) -> Calibration:
    """The temperature and bias with the least log loss of supported or not."""
    truth = np.array(right)

    def loss(values: np.ndarray) -> float:
        calibration = Calibration(float(np.exp(values[0])), float(values[1]))
        found = np.clip([calibration.probabilities(one)[0] for one in logits], 1e-6, 1 - 1e-6)
        return float(-np.where(truth, np.log(found), np.log(1 - found)).mean())

    best = minimize(
        loss,
        np.zeros(2),
        method="Nelder-Mead",
        options={"initial_simplex": _START, "xatol": 0.01, "fatol": 1e-4},
    ).x
    return Calibration(round(float(np.exp(best[0])), 3), round(float(best[1]), 3))


def _ids(plans: Iterable[Path]) -> set[str]:
    return {row["id"] for plan in plans for row in read(plan)}


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m nli.calibrate", description="Fits temperature and bias.")
    parser.add_argument("--lang", choices=sorted(SOURCES), required=True)
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--config", type=Path, required=True)
    parser.add_argument("--base", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--plan", type=Path, action="append", required=True, help="a plan that was learnt")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args(arguments)
    used = _ids(options.plan)
    rows = [
        row
        for file, size in SOURCES[options.lang].items()
        if place(file, options.data, options.home).exists()
        for row in unused(place(file, options.data, options.home), used, size)
    ]
    checker = Checker(options.base, options.weights, Config.load(options.config))
    logits = checker.logits([Item(row["claim"], row["evidence"], row.get("title", "")) for row in rows])
    found = fit(logits, [row["label"] == "supported" for row in rows])
    content = {"temperature": found.temperature, "bias": found.bias, "rows": len(rows)}
    options.out.write_text(json.dumps(content) + "\n", encoding="utf-8")
    sys.stdout.write(f"{content}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
