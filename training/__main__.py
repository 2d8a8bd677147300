"""The command line: `python -m training STEP --size SIZE --run FOLDER`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

from evaluation.arguments import counted
from proxy.checkers.nli_sizes import packaged
from proxy.errors import VouchError
from proxy.model_files import use_device
from proxy.types import DeviceName, Size
from training.base_models import find_base
from training.calibrate import calibrate
from training.export import export
from training.fit import fit
from training.measure import print_figures
from training.plan import make_plan
from training.recipes import RECIPES, Recipe
from training.run import Run, TrainingError, open_run
from training.training_data import generate_files


@dataclass(frozen=True, slots=True)
class _Work:
    """What all steps are given."""

    options: argparse.Namespace
    recipe: Recipe
    run: Run
    base: Path


def _plan(work: _Work) -> None:
    generate_files(work.run, work.recipe.settings.seed)
    make_plan(work.recipe, work.base, work.options.data, work.run)


def _fit(work: _Work) -> None:
    fit(work.run, work.base, work.recipe.settings, begin=work.options.begin, cool_down=work.options.cool_down)


def _calibrate(work: _Work) -> None:
    calibrate(work.recipe, work.base, work.options.data, work.run)


def _export(work: _Work) -> None:
    if work.options.install and work.options.out:
        raise TrainingError("--out and --install name two places: leave one of them out.")
    folder = packaged(work.recipe.size) if work.options.install else work.options.out
    export(work.recipe, work.base, work.run, folder or work.run.path("weights"))


def _measure(work: _Work) -> None:
    weights = work.run.folder
    if work.options.run is not None:
        weights = export(work.recipe, work.base, work.run, work.run.path("weights"))
    print_figures(work.recipe, work.base, work.options.data, work.run, weights, work.options.limit)


def _make(work: _Work) -> None:
    for step in (_plan, _fit, _calibrate, _export):
        step(work)


@dataclass(frozen=True, slots=True)
class Step:
    """A step, and the options that it takes beside `--size` and `--run`."""

    do: Callable[[_Work], None]
    help: str
    options: Sequence[str]


_FIT = ("--rows", "--cool-down", "--begin", "--workers", "--device")
STEPS: Mapping[str, Step] = {
    "make": Step(
        _make,
        "everything from the base model to weights that can serve, or what is left of it",
        ("--data", *_FIT, "--out", "--install"),
    ),
    "plan": Step(_plan, "which rows are learnt, in which order", ("--data",)),
    "fit": Step(_fit, "trains the adapter and the head, or goes on", _FIT),
    "calibrate": Step(
        _calibrate, "probabilities and thresholds, on rows that are not learnt", ("--data", "--device")
    ),
    "export": Step(_export, "writes weights that can serve", ("--out", "--install")),
    "measure": Step(
        _measure,
        "prints the figures of a run's weights, or without --run of those that serve",
        ("--data", "--device", "--limit"),
    ),
}
OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "--data": {"type": Path, "required": True, "help": "folder with train/ and dev/"},
    "--rows": {"type": counted, "help": "rows to learn (default: the plan once)"},
    "--cool-down": {
        "type": counted,
        "metavar": "ROWS",
        "help": "let the learning rate fall now, over so many rows, and end",
    },
    "--begin": {"type": Path, "metavar": "FILE", "help": "trained tensors to begin with"},
    "--workers": {"type": counted, "help": "threads (default 2)"},
    "--device": {"choices": get_args(DeviceName), "default": "cpu"},
    "--out": {"type": Path, "help": "where the weights are written (default: RUN/weights)"},
    "--install": {"action": "store_true", "help": "write them over those that serve"},
    "--limit": {"type": counted, "help": "rows of each set that are read"},
}
"""What argparse is told of each."""


def main(arguments: Sequence[str] | None = None) -> int:
    """The command. Returns the exit status: 2 for what the caller can mend, 130 when it was interrupted."""
    options = _parser().parse_args(arguments)
    recipe = RECIPES[options.size]
    settings = {"total_rows": options.rows, "workers": options.workers}
    given = {name: value for name, value in settings.items() if value is not None}
    recipe = replace(recipe, settings=replace(recipe.settings, **given))
    try:
        use_device(options.device)
        run = open_run(options.run) if options.run else Run(packaged(options.size))
        STEPS[options.step].do(_Work(options, recipe, run, find_base(recipe, run)))
    except VouchError as error:
        sys.stderr.write(f"Error: {error.message}\n")
        return 2
    except OSError as error:
        sys.stderr.write(f"Error: {error.filename or options.run}: {error.strerror or error}.\n")
        return 2
    except KeyboardInterrupt:
        sys.stderr.write("Stopped. The same command goes on from the last checkpoint.\n")
        return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m training", description="Makes the checker's weights.")
    steps = parser.add_subparsers(dest="step", required=True, metavar="STEP")
    for name, step in STEPS.items():
        command = steps.add_parser(name, help=step.help, description=step.help)
        command.set_defaults(rows=None, workers=None, device="cpu")
        command.add_argument("--size", choices=get_args(Size), required=True, help="which weights")
        command.add_argument(
            "--run", type=Path, required=name != "measure", help="folder for what the steps leave"
        )
        for option in step.options:
            command.add_argument(option, **OPTIONS[option])
    return parser


if __name__ == "__main__":
    sys.exit(main())
