"""What ships: float16 weights of what training changed, and a manifest that says what they are made of."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file

from nli.config import LABELS, Config
from nli.data import read, sha256

WEIGHTS = "weights.safetensors"


def manifest(
    lang: str,
    base: Path,
    name: str,
    config: Config,
    calibration: dict[str, Any],
    learnt: Sequence[Path],
    rows: int,
) -> dict[str, Any]:
    """The manifest's content; `learnt` are the plans."""
    return {
        "lang": lang,
        "weights": WEIGHTS,
        "base": name,
        "base_sha256": sha256(base / "model.safetensors"),
        "labels": list(LABELS),
        "input": "<s> title. evidence window </s></s> claim </s>",
        "threshold": 0.5,
        "calibration": {"temperature": calibration["temperature"], "bias": calibration["bias"]},
        "calibration_rows": calibration.get("rows", 0),
        "rows_seen": rows,
        "config": dataclasses.asdict(config),
        "data": [
            {
                "plan": plan.stem,
                "sha256": sha256(plan),
                "rows": len(read(plan)),
                "sources": json.loads(plan.with_suffix(".used.json").read_text(encoding="utf-8")),
            }
            for plan in learnt
        ],
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m nli.export", description="Writes what ships.")
    parser.add_argument("out", type=Path)
    parser.add_argument("--lang", required=True)
    parser.add_argument("--base", type=Path, required=True)
    parser.add_argument("--base-name", required=True)
    parser.add_argument("--config", type=Path, required=True)
    parser.add_argument("--weights", type=Path, required=True, help="RUN/weights-ROWS.safetensors")
    parser.add_argument("--calibration", type=Path, required=True)
    parser.add_argument("--plan", type=Path, action="append", required=True)
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    tensors = load_file(options.weights)
    save_file(
        {name: value.to(torch.float16).contiguous() for name, value in tensors.items()}, options.out / WEIGHTS
    )
    rows = int(options.weights.stem.rpartition("-")[2])
    config = dataclasses.replace(Config.load(options.config), lang=options.lang)
    calibration = json.loads(options.calibration.read_text(encoding="utf-8"))
    content = manifest(options.lang, options.base, options.base_name, config, calibration, options.plan, rows)
    content["weights_sha256"] = sha256(options.out / WEIGHTS)
    (options.out / "manifest.json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
