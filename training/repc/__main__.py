"""Trains a RepC classifier: `python -m training.repc --model PATH --data FILE.jsonl --out FOLDER`.

The hidden states of every layer are kept beside the classifier (or in --states), so that a run that was
interrupted goes on, and one with another classifier starts from them. The classifier is `repc.json` and
`repc.safetensors`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import torch

from evaluation.arguments import at_least, counted
from proxy.checkers.repc.hidden_states import HiddenStates
from proxy.checkers.repc.stored import Description
from proxy.errors import VouchError
from training.repc.make import Layers, Order, make

_WORDS: dict[str, Layers] = {"best": "best", "ensemble": "ensemble"}


def main(arguments: Sequence[str] | None = None) -> int:
    """The command. Returns the exit status."""
    options = _parser().parse_args(arguments)
    order = Order(
        data=options.data,
        dev=options.dev,
        tests=tuple(options.test),
        kind=options.classifier,
        layers=options.layers,
        combination=options.combine,
        out=options.out,
        states=options.states or options.out / "states",
        seed=options.seed,
        batch_size=options.batch_size,
        limit=options.limit,
    )
    try:
        order.out.mkdir(parents=True, exist_ok=True)
        if options.threads is not None:
            torch.set_num_threads(options.threads)
        model = HiddenStates(
            options.model,
            max_tokens=options.max_tokens,
            pooling=options.pooling,
            precision=options.precision,
        )
        made = make(order, model)
    except VouchError as error:
        sys.stderr.write(f"{error.message}\n")
        return 2
    except OSError as error:
        sys.stderr.write(f"{error.filename or order.out}: {error.strerror}\n")
        return 2
    _show(made)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m training.repc", description=__doc__)
    add = parser.add_argument
    add("--model", required=True, help="all-MiniLM-L6-v2 (packaged), a local folder, or a hub id")
    add("--data", type=Path, required=True, help="rows to train on (claim, evidence, label), JSON Lines")
    add("--dev", type=Path, help="rows that choose and calibrate; else a fifth of --data is held out")
    add("--test", type=Path, action="append", default=[], help="rows to measure on only (repeatable)")
    add("--classifier", choices=("svm", "mlp", "knn"), default="svm")
    add("--layers", type=_layers, default="best", help="best, ensemble (of all), or numbers: 4,6")
    add("--combine", choices=("mean", "majority"), default="mean", help="how several layers decide")
    add("--pooling", choices=("claim", "cls", "mean"), default="claim", help="whose states: see the docs")
    add("--out", type=Path, required=True, help="the folder to write")
    add("--states", type=Path, help="the folder of hidden states; default: states/ in --out")
    add("--seed", type=partial(at_least, 0), default=7)
    add("--batch-size", type=counted, default=8, help="windows that are computed at once")
    add("--max-tokens", type=partial(at_least, 32), default=256, help="of claim and evidence together")
    add("--limit", type=counted, help="rows of --data and --dev to draw at most")
    add("--precision", choices=("auto", "bf16", "fp32"), default="auto")
    add("--threads", type=counted, help="for torch")
    return parser


def _layers(text: str) -> Layers:
    if text in _WORDS:
        return _WORDS[text]
    try:
        return tuple(sorted({int(part) for part in text.split(",")}))
    except ValueError:
        problem = f"{text!r} is not best, ensemble, or layer numbers such as 4,6"
        raise argparse.ArgumentTypeError(problem) from None


def _show(made: Description) -> None:
    sys.stdout.write(f"{made.kind}, layers {', '.join(map(str, made.layers))} of {made.model.layers}\n")
    figures = made.figures if isinstance(made.figures, dict) else {}
    for name, row in figures.items():
        shown = "  ".join(f"{key}={value}" for key, value in row.items()) if isinstance(row, dict) else row
        sys.stdout.write(f"{name:32} {shown}\n")


if __name__ == "__main__":
    sys.exit(main())
