"""The command line: `python -m evaluation COMMAND`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from typing import Protocol

from evaluation.attributionbench import command as attributionbench
from evaluation.checkers import command as checkers
from evaluation.citecheck import command as citecheck
from evaluation.contrast import command as contrast
from evaluation.felm import command as felm
from evaluation.halueval import command as halueval
from evaluation.halueval_qa import command as halueval_qa
from evaluation.noise import command as noise
from evaluation.refchecker import command as refchecker
from evaluation.structured import command as structured
from evaluation.wikibio import command as wikibio
from evaluation.wikiretr import command as wikiretr
from proxy.errors import VouchError


class Command(Protocol):
    """A module that makes one table."""

    NAME: str
    HELP: str

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Tells the parser what the command takes."""
        ...

    def run(self, options: argparse.Namespace) -> None:
        """Measures and prints. Raises `VouchError` for what the caller can mend."""
        ...


_MODULES: tuple[Command, ...] = (
    checkers,
    contrast,
    structured,
    noise,
    wikiretr,
    felm,
    wikibio,
    halueval,
    citecheck,
    attributionbench,
    refchecker,
    halueval_qa,
)
COMMANDS: Mapping[str, Command] = {module.NAME: module for module in _MODULES}


def main(arguments: Sequence[str] | None = None) -> int:
    """The command. Returns the exit status: 2 for bad input, 130 when it was interrupted."""
    parser = argparse.ArgumentParser(
        prog="python -m evaluation", description="Measures checkers at the thresholds that they ship with."
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, command in COMMANDS.items():
        command.add_arguments(commands.add_parser(name, help=command.HELP, description=command.HELP))
    options = parser.parse_args(arguments)
    try:
        COMMANDS[options.command].run(options)
    except VouchError as error:
        sys.stderr.write(f"Error: {error.message}\n")
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
