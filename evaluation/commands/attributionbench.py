"""AttributionBench, by subset."""

from __future__ import annotations

import argparse

from evaluation.attributionbench import ATTRIBUTIONBENCH
from evaluation.commands import labelled

NAME = "attributionbench"
HELP = "AttributionBench: are claims fully supported by their citations? By subset, beside others' figures"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """See `Command`."""
    labelled.add_arguments(parser)


def run(options: argparse.Namespace) -> None:
    """See `Command`."""
    labelled.run(ATTRIBUTIONBENCH, options)
