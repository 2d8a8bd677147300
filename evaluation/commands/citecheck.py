"""CiteCheck Table 2."""

from __future__ import annotations

import argparse

from evaluation.citecheck import CITECHECK
from evaluation.commands import labelled

NAME = "citecheck"
HELP = (
    "CiteCheck: are Chinese statements fully supported by what they cite? Beside the paper's rows (Table 2)"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """See `Command`."""
    labelled.add_arguments(parser)


def run(options: argparse.Namespace) -> None:
    """See `Command`."""
    labelled.run(CITECHECK, options)
