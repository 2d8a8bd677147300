"""Claims made by rule from held-out passages: how many right ones pass, how many wrong ones are caught."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from evaluation.arguments import (
    add_checker_arguments,
    add_count_argument,
    add_files_argument,
    add_resamples_argument,
)
from evaluation.datasets import DataError, Made, language_among, passages_of
from evaluation.judges import open_checker
from evaluation.made.chinese.generate import make_chinese
from evaluation.made.english.generate import from_passages
from evaluation.measurement import judge
from evaluation.metrics import SEED, Estimates, Figures, Flags, Indexes, estimate
from evaluation.output import Report, failures, table
from proxy.config.load import load
from proxy.protocols import Checker
from proxy.types import Pair

NAME = "made"
HELP = "claims made by rule of a corpus, restated or made wrong: the share of each kind that is judged right"

_COUNT = 1000


@dataclass(frozen=True, slots=True)
class Group:
    """Rows of one kind: `right` is the share that was called what it is, supported or not; a row that the
    checker failed on never is."""

    kind: str
    supported: bool
    n: int
    estimates: Estimates


@dataclass(frozen=True, slots=True)
class Told:
    """A checker's figures of one corpus: of all supported rows, all others, and each kind."""

    file: str
    checker: str
    groups: tuple[Group, ...]
    unverified: int


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """See `Command`."""
    add_files_argument(parser, "--corpus", "passages with title and text (JSON Lines)")
    add_checker_arguments(parser)
    add_resamples_argument(parser)
    add_count_argument(parser, "rows of each corpus", _COUNT)


def run(options: argparse.Namespace) -> None:
    """See `Command`."""
    settings = load(options.config)
    samples = [draw_made(path, options.count) for path in options.corpus]
    report = Report(options.json, _as_json, _as_markdown)

    async def measure_all() -> None:
        async with open_checker(settings, options.checker) as checker:
            for path, rows in zip(options.corpus, samples, strict=True):
                report.add(await _measure(checker, path, rows, options))

    asyncio.run(measure_all())
    report.end()


def draw_made(path: Path, count: int) -> list[Made]:
    """At most `count` rows out of the held-out tenth of the titles; the same for the same arguments.

    Raises `DataError` where there are none.
    """
    passages = passages_of(path, "measure")
    language = language_among([passage.text for passage in passages])
    make = make_chinese if language == "zh" else from_passages
    rows = make(passages, count, SEED)[:count]
    if len({row.label == "supported" for row in rows}) < 2:
        raise DataError(f"{path}: no claims can be made of the held-out tenth of its titles.")
    return rows


async def _measure(checker: Checker, path: Path, rows: Sequence[Made], options: argparse.Namespace) -> Told:
    pairs = [Pair(row.claim, row.evidence, title=row.title) for row in rows]
    judged = await judge(checker, pairs, len(pairs), path.name)
    supported = np.array([row.label == "supported" for row in rows])
    right = (judged.called == supported) & ~judged.failed
    kinds = np.array([row.kind for row in rows])

    def group(kind: str, truth: bool, of: Flags) -> Group:
        return Group(kind, truth, int(of.sum()), _estimate(right[of], options.resamples))

    return Told(
        str(path),
        options.checker,
        (
            *(group("all", truth, supported == truth) for truth in (True, False)),
            *(
                group(str(kind), truth, (kinds == kind) & (supported == truth))
                for truth in (True, False)
                for kind in sorted(set(kinds[supported == truth]))
            ),
        ),
        judged.unverified,
    )


def _estimate(right: Flags, resamples: int) -> Estimates:
    def figures(rows: Indexes) -> Figures:
        return {"right": float(right[rows].mean())}

    return estimate(figures, len(right), resamples)


def _as_json(told: Told) -> dict[str, Any]:
    return {
        "file": told.file,
        "checker": told.checker,
        "unverified": told.unverified,
        "groups": [
            {"kind": group.kind, "supported": group.supported, "n": group.n, **group.estimates.as_json()}
            for group in told.groups
        ],
    }


def _as_markdown(done: Sequence[Told]) -> str:
    rows = [
        [
            entry.file,
            "supported" if group.supported else "not",
            group.kind,
            f"{group.n:,}",
            *group.estimates.cells(),
        ]
        for entry in done
        for group in entry.groups
    ]
    text = table(["corpus", "supported?", "kind", "rows", "judged right"], rows)
    head = f"Checker `{done[0].checker}`; 95% bootstrap intervals in brackets.\n\n"
    return head + text + failures(sum(entry.unverified for entry in done), "judged wrong")
