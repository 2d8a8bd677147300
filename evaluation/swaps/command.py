"""Exchanged details: how many are caught, and how often an untouched sentence is refused."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import numpy as np

from evaluation.arguments import (
    add_checker_arguments,
    add_count_argument,
    add_files_argument,
    add_resamples_argument,
)
from evaluation.judges import open_checker
from evaluation.measurement import judge
from evaluation.metrics import Estimates, Figures, Flags, Indexes, estimate
from evaluation.output import Report, failures, table
from evaluation.swaps.data import EXCHANGED, Kind, Sample, draw_swapped
from proxy.config.load import load
from proxy.protocols import Checker

NAME = "swaps"
HELP = "numbers, dates and names exchanged by rule in sentences of a corpus: recall and false alarms"

_COUNT = 1000


@dataclass(frozen=True, slots=True)
class Group:
    """Pairs of an untouched and a changed sentence: `n` of them.

    `recall` is the share of changed sentences that were not called supported, `false_alarms` that of
    untouched ones.
    """

    n: int
    estimates: Estimates


@dataclass(frozen=True, slots=True)
class Caught:
    """A checker's figures of one corpus: over all exchanged details, and of each kind."""

    file: str
    checker: str
    language: str
    overall: Group
    kinds: dict[Kind, Group]
    unverified: int


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """See `Command`."""
    add_files_argument(parser, "--corpus", "passages with title and text (JSON Lines)")
    add_checker_arguments(parser)
    add_resamples_argument(parser)
    add_count_argument(parser, "sentences of each corpus", _COUNT)


def run(options: argparse.Namespace) -> None:
    """See `Command`."""
    settings = load(options.config)
    samples = [draw_swapped(path, options.count) for path in options.corpus]
    report = Report(options.json, _as_json, _as_markdown)

    async def measure_all() -> None:
        async with open_checker(settings, options.checker) as checker:
            for path, sample in zip(options.corpus, samples, strict=True):
                report.add(await _measure(checker, path, sample, options))

    asyncio.run(measure_all())
    report.end()


async def _measure(checker: Checker, path: Path, sample: Sample, options: argparse.Namespace) -> Caught:
    pairs = [pair for swap in sample.swapped for pair in (swap.untouched, swap.changed)]
    judged = await judge(checker, pairs, len(pairs), path.name)
    untouched, changed = ~judged.called[::2], ~judged.called[1::2]
    kinds = np.array([swap.kind for swap in sample.swapped])

    def group(rows: Flags) -> Group:
        return _group(untouched[rows], changed[rows], options.resamples)

    return Caught(
        file=str(path),
        checker=options.checker,
        language=sample.language,
        overall=group(np.isin(kinds, EXCHANGED)),
        kinds={kind: group(kinds == kind) for kind in get_args(Kind) if (kinds == kind).any()},
        unverified=judged.unverified,
    )


def _group(untouched: Flags, changed: Flags, resamples: int) -> Group:
    """Out of which sentences of a pair were refused, shape (n,) each."""

    def figures(rows: Indexes) -> Figures:
        return {"recall": float(changed[rows].mean()), "false_alarms": float(untouched[rows].mean())}

    return Group(len(changed), estimate(figures, len(changed), resamples))


def _as_json(caught: Caught) -> dict[str, Any]:
    return {
        "file": caught.file,
        "checker": caught.checker,
        "language": caught.language,
        **_fields(caught.overall),
        "unverified": caught.unverified,
        "kinds": {kind: _fields(group) for kind, group in caught.kinds.items()},
    }


def _fields(group: Group) -> dict[str, Any]:
    return {"n": group.n, **group.estimates.as_json()}


def _as_markdown(done: Sequence[Caught]) -> str:
    rows = [
        [entry.file, kind, f"{group.n:,}", *group.estimates.cells()]
        for entry in done
        for kind, group in (("number, date, name", entry.overall), *entry.kinds.items())
    ]
    header = ["corpus", "exchanged", "sentences", "recall", "false alarms"]
    text = f"Checker `{done[0].checker}`; 95% bootstrap intervals in brackets.\n\n{table(header, rows)}"
    return text + failures(sum(entry.unverified for entry in done))
