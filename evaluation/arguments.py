"""Command line options that several benchmarks share."""

from __future__ import annotations

import argparse
import math
import os
from pathlib import Path
from typing import cast, get_args

from evaluation.metrics import RESAMPLES
from proxy.config.checker_settings import CheckerName
from proxy.errors import ConfigError

BUILTIN = "builtin"
"""The checker `nli` as it comes, by the name that commands have for it."""


def checker_named(name: str) -> CheckerName:
    """The checker that an option names."""
    return cast(CheckerName, "nli" if name == BUILTIN else name)


def add_checker_arguments(parser: argparse.ArgumentParser) -> None:
    """Which checker, out of which settings, and how the figures come out."""
    parser.add_argument(
        "--checker",
        choices=(BUILTIN, *get_args(CheckerName)),
        default=BUILTIN,
        help="default: builtin, which is the checker that is used without settings, at its default size",
    )
    parser.add_argument("--config", type=Path, help="settings; default: ./config.yaml where there is one")
    parser.add_argument("--json", action="store_true", help="one JSON object a line instead of a table")


def add_files_argument(
    parser: argparse.ArgumentParser, name: str, what: str, *, required: bool = True
) -> None:
    """Files, given after one another or with the option repeated."""
    parser.add_argument(
        name, type=Path, nargs="+", action="extend", required=required, metavar="FILE", help=what
    )


def add_resamples_argument(parser: argparse.ArgumentParser) -> None:
    """How often intervals draw anew."""
    parser.add_argument(
        "--resamples",
        type=counted,
        default=RESAMPLES,
        help=f"bootstrap resamples for the intervals; default: {RESAMPLES}",
    )


def add_count_argument(parser: argparse.ArgumentParser, what: str, default: int) -> None:
    """How many of what is drawn at random."""
    parser.add_argument(
        "--count", type=counted, default=default, metavar="N", help=f"{what}; default: {default}"
    )


def counted(text: str) -> int:
    """A number of things: 1 or more."""
    return at_least(1, text)


def at_least(least: int, text: str) -> int:
    """A whole number, `least` (0 or more) or over it."""
    number = int(text) if text.isdecimal() else -1
    if number < least:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of {least} or more")
    return number


def finite(text: str) -> float:
    """A number, and neither NaN nor infinite, which no figure and no JSON can hold."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise argparse.ArgumentTypeError(f"{text!r} is not a finite number")
    return number


def writable_file(path: Path) -> Path:
    """The path, once it could be opened to write; what is there stays as it is. Raises `ConfigError`."""
    is_new = not os.path.lexists(path)
    try:
        path.open("ab").close()
        if is_new:
            path.unlink()
    except OSError as error:
        advice = "Name a file in a folder that can be written to."
        raise ConfigError(f"{path} can't be written: {error.strerror}. {advice}") from error
    return path


def writable_folder(path: Path) -> Path:
    """The folder, made where it was missing. Raises `ConfigError`."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"{path} can't be made: {error.strerror}. Name a folder.") from error
    return path
