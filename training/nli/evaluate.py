"""Measures a checkpoint on fixed subsets: `python -m nli.evaluate --weights W --config C --base B ...`.

Every call adds one line to the curve file; `--predictions` keeps the raw logits, so that other figures
need no second pass.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import balanced_accuracy_score, roc_auc_score

from nli.config import Config
from nli.data import part, place, read
from nli.score import Calibration, Checker, Item, Logits

SETS: dict[str, dict[str, str]] = {
    "en": {
        "handmade_dev": "handmade/en_dev.jsonl",
        "fm2_dev": "dev/fm2_dev.jsonl",
        "paws_wiki_dev": "dev/paws_wiki_dev.jsonl",
        "fever_symmetric": "dev/fever_symmetric_v02_dev.jsonl",
        "attributionbench": "dev/attributionbench_dev.jsonl",
        "frank_val": "dev/frank_val.jsonl",
    },
    "zh": {
        "handmade_dev": "handmade/zh_dev.jsonl",
        "citecheck": "dev/citecheck_dev.jsonl",
    },
}
_KEPT_OUT = ("attributionbench", "citecheck")
"""Learnt from in part: only the rows whose `part` is `measure` are read."""


def subset(name: str, path: Path, size: int) -> list[dict[str, Any]]:
    """A fixed choice of rows (by the checksum of their ids); whole groups of the handmade pairs."""
    rows = read(path)
    if name in _KEPT_OUT:
        rows = [row for row in rows if part(row) == "measure"]
    key = "group" if name.startswith("handmade") else "id"
    return sorted(rows, key=lambda row: hashlib.md5(str(row[key]).encode()).hexdigest())[:size]


def figures(
    rows: Sequence[dict[str, Any]], logits: Sequence[Sequence[Logits]], calibration: Calibration
) -> dict[str, Any]:
    """Accuracy, balanced accuracy, area, calibration error, and how well contradictions are told."""
    found = np.array([calibration.probabilities(one) for one in logits])
    right = np.array([row["label"] == "supported" for row in rows])
    said = found[:, 0] >= 0.5
    result: dict[str, Any] = {
        "rows": len(rows),
        "accuracy": _percent((said == right).mean()),
        "balanced": _percent(balanced_accuracy_score(right, said)),
        "auc": round(float(roc_auc_score(right, found[:, 0])), 3),
        "ece": round(_ece(found[:, 0], right), 3),
    }
    against = np.array([row["label"] == "contradicted" for row in rows])
    if against.any():
        precision, recall = _precision_at_recall(found[:, 1], against, 0.5)
        result |= {"contradicted_precision_at_half_recall": precision, "contradicted_recall": recall}
    return result


def _percent(value: float) -> float:
    return round(100 * float(value), 1)


def _ece(probability: np.ndarray, right: np.ndarray, bins: int = 10) -> float:
    """Expected calibration error of the probability of supported."""
    cells = np.minimum((probability * bins).astype(int), bins - 1)
    gaps = [
        abs(probability[cells == cell].mean() - right[cells == cell].mean()) * (cells == cell).mean()
        for cell in range(bins)
        if (cells == cell).any()
    ]
    return float(sum(gaps))


def _precision_at_recall(scores: np.ndarray, truth: np.ndarray, recall: float) -> tuple[float, float]:
    """The precision among the highest scores that hold this share of what is to be found."""
    order = np.argsort(-scores)
    hits = np.cumsum(truth[order])
    stop = int(np.searchsorted(hits, recall * truth.sum()))
    return round(float(hits[stop] / (stop + 1)), 3), round(float(hits[stop] / truth.sum()), 3)


def by_kind(
    rows: Sequence[dict[str, Any]], logits: Sequence[Sequence[Logits]], calibration: Calibration
) -> dict[str, str]:
    """Accuracy and rows of every kind of the handmade pairs."""
    kinds: dict[str, list[bool]] = defaultdict(list)
    for row, one in zip(rows, logits, strict=False):
        kinds[row["kind"]].append((calibration.probabilities(one)[0] >= 0.5) == (row["label"] == "supported"))
    return {kind: f"{100 * np.mean(hits):.0f} ({len(hits)})" for kind, hits in sorted(kinds.items())}


def order_within_groups(rows: Sequence[dict[str, Any]], logits: Sequence[Sequence[Logits]]) -> float:
    """Of all (right, wrong) claims of one evidence, the share in which the right one has the higher score."""
    groups: dict[str, list[tuple[bool, float]]] = defaultdict(list)
    plain = Calibration()
    for row, one in zip(rows, logits, strict=False):
        groups[row["evidence"]].append((row["label"] == "supported", plain.probabilities(one)[0]))
    pairs = [a[1] > b[1] for found in groups.values() for a in found for b in found if a[0] and not b[0]]
    return _percent(np.mean(pairs)) if pairs else float("nan")


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m nli.evaluate", description="Measures a checkpoint.")
    parser.add_argument("--lang", choices=sorted(SETS), default="en")
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--config", type=Path, required=True)
    parser.add_argument("--base", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--sizes", default="", help="NAME=ROWS,... (default: all rows of all sets)")
    parser.add_argument("--windows", type=int, default=0)
    parser.add_argument("--calibration", default="", help="TEMPERATURE,BIAS")
    parser.add_argument("--curve", type=Path, help="a line is added here")
    parser.add_argument("--predictions", type=Path, help="raw logits go here")
    options = parser.parse_args(arguments)
    config = Config.load(options.config)
    if options.windows:
        config = replace(config, eval_windows=options.windows)
    calibration = (
        Calibration(*map(float, options.calibration.split(","))) if options.calibration else Calibration()
    )
    sizes = {
        name: int(size) for name, _, size in (one.partition("=") for one in options.sizes.split(",") if one)
    }
    checker = Checker(options.base, options.weights, config)
    line: dict[str, Any] = {"weights": options.weights.name, "lang": options.lang}
    kept = []
    for name, file in SETS[options.lang].items():
        if sizes and name not in sizes:
            continue
        rows = subset(name, place(file, options.data, options.home), sizes.get(name, 10**9))
        began = time.time()
        logits = checker.logits([Item(row["claim"], row["evidence"], row.get("title", "")) for row in rows])
        line[name] = figures(rows, logits, calibration) | {"seconds": round(time.time() - began, 1)}
        line[name]["order"] = order_within_groups(rows, logits)
        if name.startswith("handmade"):
            line[name]["kinds"] = by_kind(rows, logits, calibration)
        sys.stdout.write(f"{name}: {json.dumps(line[name])}\n")
        sys.stdout.flush()
        kept += [
            {"set": name, "id": row["id"], "label": row["label"], "logits": one}
            for row, one in zip(rows, logits, strict=False)
        ]
    if options.curve:
        with options.curve.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(line) + "\n")
    if options.predictions:
        options.predictions.write_text("".join(json.dumps(one) + "\n" for one in kept), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
