"""A public set of labelled rows: a checker's figures beside those that others published."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from evaluation.estimates import Estimates
from evaluation.judging import Judged, picked
from evaluation.markdown import failures, nested, rounded, table
from evaluation.measurement import Measurement, measure
from evaluation.metrics import Figures
from evaluation.rows import Row

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
class Comparison:
    """A checker on one file: the whole, the parts that rows name, and the means over parts."""

    checker: str
    whole: Measurement
    parts: tuple[Measurement, ...]
    means: Mapping[str, Figures]


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
        "means": {name: nested(figures) for name, figures in comparison.means.items()},
        "published": [
            {"system": one.system, "on": one.on, **nested(one.figures), "source": one.source}
            for one in benchmark.published
        ],
    }


def as_markdown(benchmark: Benchmark, comparisons: Sequence[Comparison]) -> str:
    """One table, the published rows last, and the notes."""
    rows = [row for one in comparisons for row in _rows(one)]
    rows += [
        [one.system, one.on, "", *Estimates(one.figures, {}).cells(_COLUMNS)] for one in benchmark.published
    ]
    text = "95% bootstrap intervals in brackets.\n\n"
    text += table(["system", "measured on", "rows", *_COLUMNS.values()], rows)
    notes = [
        *benchmark.notes,
        *dict.fromkeys(f"Published rows: {one.source}." for one in benchmark.published),
    ]
    text += "\n" + "".join(f"- {note}\n" for note in notes)
    return text + failures(sum(one.whole.unverified for one in comparisons))


def _part(name: str, rows: Sequence[Member], judged: Judged, resamples: int) -> Measurement:
    inside = np.array([name in row.parts for row in rows], dtype=np.bool_)
    labels = [row.label for row in rows if name in row.parts]
    return measure(name, labels, picked(judged, inside), resamples)


def _means(benchmark: Benchmark, parts: Sequence[Measurement]) -> Iterator[tuple[str, Figures]]:
    for name, wanted in benchmark.averaged.items():
        there = [part.two_way.figures for part in parts if part.file in wanted]
        if there:
            yield name, {key: float(np.mean([figures[key] for figures in there])) for key in _AVERAGED}


def _fields(measured: Measurement) -> dict[str, Any]:
    return {"n": measured.n, **measured.two_way.as_json()}


def _rows(comparison: Comparison) -> Iterator[list[str]]:
    system = f"`{comparison.checker}`"
    for one in (comparison.whole, *comparison.parts):
        yield [system, one.file, f"{one.n:,}", *one.two_way.cells(_COLUMNS)]
    for name, figures in comparison.means.items():
        yield [system, name, "", *Estimates(figures, {}).cells(_COLUMNS)]
