"""CiteCheck (2025), Table 2: is a Chinese statement fully supported by the documents that it cites?"""

from __future__ import annotations

import argparse

from evaluation.published import Benchmark, Member, Published, add_labelled_arguments, run_comparison

_SOURCE = (
    "CiteCheck Table 2, accuracy on its test set; its other columns could not be read where this was written"
)

CITECHECK = Benchmark(
    row=Member,
    published=(
        Published("Llama-3.1-8B, LoRA", "CiteCheck test", {"accuracy": 0.906}, _SOURCE),
        Published("GPT-4o", "CiteCheck test", {"accuracy": 0.839}, _SOURCE),
    ),
    notes=(
        "The published rows are of the test set. Rows of another split are no match for them.",
        "The checker nli has learnt seven tenths of CiteCheck's development set, so that its row there is no "
        "held-out figure: the model card has that of the rows that it has not learnt.",
    ),
)


NAME = "citecheck"
HELP = (
    "CiteCheck: are Chinese statements fully supported by what they cite? Beside the paper's rows (Table 2)"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """See `Command`."""
    add_labelled_arguments(parser)


def run(options: argparse.Namespace) -> None:
    """See `Command`."""
    run_comparison(CITECHECK, options)
