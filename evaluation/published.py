"""Benchmarks of labelled rows: the checker's figures beside published ones.

`add_labelled_arguments` and `run_comparison` are the whole command of such a benchmark.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from evaluation.arguments import (
    add_checker_arguments,
    add_files_argument,
    add_resamples_argument,
    writable_file,
)
from evaluation.cached_llm import Meter
from evaluation.datasets import Row, read_lines, read_rows
from evaluation.judged_rows import JudgedRows, add_rows_out_argument
from evaluation.judges import add_limit_argument, add_llm_arguments, open_judge
from evaluation.measurement import Judged, Measurement, judge, measure, picked
from evaluation.metrics import Estimates, Figures, nested, rounded
from evaluation.output import Report, failures, table
from proxy.config.load import load
from proxy.protocols import Checker

_COLUMNS = {
    "accuracy": "accuracy",
    "recall.supported": "recall, supported",
    "recall.not_supported": "recall, not supported",
    "macro_f1": "macro-F1",
    "auc": "AUC",
}
_AVERAGED = ("accuracy", "macro_f1")


class Member(Row):
    """A labelled pair that may belong to parts of its set."""

    @property
    def parts(self) -> tuple[str, ...]:
        """Their names."""
        return ()


@dataclass(frozen=True, slots=True)
class Published:
    """Figures of a system on the rows `on`, by our names for them, as `source` gives them."""

    system: str
    on: str
    figures: Figures
    source: str


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A set of rows, what others came to on it, and what must be known to compare.

    `averaged` are parts, by the name of the whole, of which the unweighted mean is usual too.
    """

    row: type[Member]
    published: tuple[Published, ...]
    notes: tuple[str, ...]
    averaged: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Mean:
    """Unweighted mean figures of the parts `of`, which are those of `wanted` parts that the rows have."""

    figures: Figures
    of: tuple[str, ...]
    wanted: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """A checker on one file: the whole, the parts that rows name, and the means over parts."""

    checker: str
    whole: Measurement
    parts: tuple[Measurement, ...]
    means: Mapping[str, Mean]


def compare(
    benchmark: Benchmark, file: str, rows: Sequence[Member], judged: Judged, checker: str, resamples: int
) -> Comparison:
    """The figures of rows with these judgements, in the same order; there must be one."""
    parts = tuple(
        _part(name, rows, judged, resamples)
        for name in dict.fromkeys(name for row in rows for name in row.parts)
    )
    labels = [row.label for row in rows]
    means = dict(_means(benchmark, parts))
    return Comparison(checker, measure(file, labels, judged, resamples), parts, means)


def as_json(benchmark: Benchmark, comparison: Comparison) -> dict[str, Any]:
    """One line of `--json`."""
    whole = comparison.whole
    return {
        "file": whole.file,
        "checker": comparison.checker,
        **_fields(whole),
        "majority": rounded(whole.two_way.majority),
        "unverified": whole.unverified,
        "parts": {part.file: _fields(part) for part in comparison.parts},
        "means": {
            name: {**nested(mean.figures), "of": list(mean.of)} for name, mean in comparison.means.items()
        },
        "published": [
            {
                "system": published.system,
                "on": published.on,
                **nested(published.figures),
                "source": published.source,
            }
            for published in benchmark.published
        ],
    }


def as_markdown(benchmark: Benchmark, comparisons: Sequence[Comparison]) -> str:
    """One table, the published rows last, and the notes."""
    rows = [row for comparison in comparisons for row in _rows(comparison)]
    rows += [
        [published.system, published.on, "", *Estimates(published.figures, {}).cells(_COLUMNS)]
        for published in benchmark.published
    ]
    text = "95% bootstrap intervals in brackets.\n\n"
    text += table(["system", "measured on", "rows", *_COLUMNS.values()], rows)
    notes = [
        *benchmark.notes,
        *dict.fromkeys(f"Published rows: {published.source}." for published in benchmark.published),
    ]
    text += "\n" + "".join(f"- {note}\n" for note in notes)
    return text + failures(sum(comparison.whole.unverified for comparison in comparisons))


def _part(name: str, rows: Sequence[Member], judged: Judged, resamples: int) -> Measurement:
    inside = np.array([name in row.parts for row in rows], dtype=np.bool_)
    labels = [row.label for row in rows if name in row.parts]
    return measure(name, labels, picked(judged, inside), resamples)


def _means(benchmark: Benchmark, parts: Sequence[Measurement]) -> Iterator[tuple[str, Mean]]:
    for name, wanted in benchmark.averaged.items():
        there = {part.file: part.two_way.figures for part in parts if part.file in wanted}
        if there:
            figures = {key: float(np.mean([own[key] for own in there.values()])) for key in _AVERAGED}
            yield name, Mean(figures, tuple(there), len(wanted))


def _fields(measured: Measurement) -> dict[str, Any]:
    return {"n": measured.n, **measured.two_way.as_json()}


def _rows(comparison: Comparison) -> Iterator[list[str]]:
    system = f"`{comparison.checker}`"
    for measured in (comparison.whole, *comparison.parts):
        yield [system, measured.file, f"{measured.n:,}", *measured.two_way.cells(_COLUMNS)]
    for name, mean in comparison.means.items():
        some = f", {len(mean.of)} of {mean.wanted}" if len(mean.of) < mean.wanted else ""
        yield [system, f"{name}{some}", "", *Estimates(mean.figures, {}).cells(_COLUMNS)]


def add_labelled_arguments(parser: argparse.ArgumentParser) -> None:
    """What a table of labelled rows takes."""
    add_files_argument(parser, "--data", "rows of claim, evidence and label (JSON Lines)")
    add_checker_arguments(parser)
    add_llm_arguments(parser)
    add_limit_argument(parser, "rows of each file")
    add_resamples_argument(parser)
    parser.add_argument("--out", type=Path, metavar="FILE.md", help="write the table there")
    add_rows_out_argument(parser)


async def judge_rows(
    checker: Checker, path: Path, rows: int, out: JudgedRows, *, all_may_fail: bool = False
) -> Judged:
    """The first `rows` rows of a file, read again as they are judged and as they are written: see `judge`.

    Raises `DataError` too.
    """
    pairs = (row.pair() for row in read_rows(path, rows))
    record = out.of(_told(path, rows))
    return await judge(checker, pairs, rows, path.name, all_may_fail=all_may_fail, record=record)


def _told(path: Path, rows: int) -> Iterator[dict[str, Any]]:
    for number, row in enumerate(read_rows(path, rows), 1):
        told = {"file": str(path), "row": number, "id": row.id, "label": row.label}
        yield {name: value for name, value in told.items() if value is not None}


def run_comparison(benchmark: Benchmark, options: argparse.Namespace) -> None:
    """All rows are read, and the places to write are tried, before the work begins."""
    settings = load(options.config)
    files = {path: list(read_lines(path, benchmark.row))[: options.limit] for path in options.data}
    out = writable_file(options.out) if options.out else None
    judged_rows = JudgedRows(options.rows_out)
    report = Report(options.json, partial(as_json, benchmark), partial(as_markdown, benchmark))

    async def judge_all() -> Meter | None:
        async with open_judge(settings, options) as opened:
            for path, rows in files.items():
                judged = await judge_rows(opened.checker, path, len(rows), judged_rows)
                report.add(compare(benchmark, str(path), rows, judged, options.checker, options.resamples))
            return opened.meter

    meter = asyncio.run(judge_all())
    report.end(out, meter)
