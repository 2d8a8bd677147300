"""The command line: `python -m training STEP --data DIR --run FOLDER`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from proxy.checkers.builtin.nli import BASES
from proxy.errors import VouchError
from proxy.types import LANGUAGES
from training.steps import augment, calibrate, data, export, fit, make, report, tune

STEPS: Mapping[str, tuple[Callable[[argparse.Namespace], None], str]] = {
    "data": (data, "labelled rows, with what the NLI model reads of their evidence"),
    "augment": (augment, "rows made by rule, likewise"),
    "fit": (fit, "the NLI model: a LoRA adapter and a head"),
    "tune": (tune, "the same with minimal pairs, and without each fold of them"),
    "calibrate": (calibrate, "overlap and NLI model as one calibrated model"),
    "make": (make, "all of these, one after the other; what is done already is not done again"),
    "export": (export, "puts what was made into the package"),
    "report": (report, "the figures of what was made"),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """The command. Returns the exit status: 2 for what the caller can mend, 130 when it was interrupted."""
    parser = argparse.ArgumentParser(
        prog="python -m training", description="Makes the built-in checker, step by step."
    )
    steps = parser.add_subparsers(dest="step", required=True, metavar="STEP")
    for name, (_, text) in STEPS.items():
        add_arguments(steps.add_parser(name, help=text, description=text))
    options = parser.parse_args(arguments)
    try:
        STEPS[options.step][0](options)
    except VouchError as error:
        sys.stderr.write(f"Error: {error.message}\n")
        return 2
    except KeyboardInterrupt:
        sys.stderr.write("Stopped. The same command goes on from here.\n")
        return 130
    return 0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What all steps take."""
    parser.add_argument("--data", type=Path, required=True, help="folder with train/, dev/, corpora/, ...")
    parser.add_argument("--run", type=Path, required=True, help="folder for what the steps leave")
    parser.add_argument("--language", choices=LANGUAGES, help="only that one (default: all)")
    parser.add_argument("--base", default=BASES["en"], help="model to fit: name, hub id or folder")
    parser.add_argument("--chinese-base", default=BASES["zh"], help="the same of the Chinese one")
    fitting = parser.add_argument_group("fitting")
    fitting.add_argument("--rank", type=int, help="of the adapter (default 32, Chinese 16; the papers' is 8)")
    fitting.add_argument("--alpha", type=float, help="default 64, Chinese 32; the papers' is 32")
    fitting.add_argument("--dropout", type=float, help="default 0; the papers' is 0.1")
    fitting.add_argument("--targets", nargs="+", help="the layers that get one (default: all linear ones)")
    fitting.add_argument("--rate", type=float, help="learning rate (default 0.0005)")
    fitting.add_argument("--epochs", type=int, help="default 2, Chinese 1")
    fitting.add_argument("--seed", type=int, help="default 7")


if __name__ == "__main__":
    sys.exit(main())
