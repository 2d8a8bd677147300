"""Runs pairs through a checker in timed batches, and computes the figures of one file of labelled rows."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from evaluation.datasets import Label
from evaluation.metrics import (
    Estimates,
    Figures,
    Flags,
    Floats,
    Indexes,
    contradiction,
    estimate,
    majority,
    rounded,
    shown,
    three_way,
    three_way_codes,
    two_way,
)
from evaluation.output import table
from proxy.errors import CheckError
from proxy.protocols import Checker
from proxy.types import Judgement, Pair, Verdict

BATCH = 128
"""Pairs that are held and asked at once."""
Record = Callable[[Sequence[Judgement]], None]
"""Takes judgements as they come, in the order of their pairs."""


@dataclass(frozen=True, slots=True)
class Judged:
    """What a checker said of n pairs, in their order; scores of shape (n,); seconds that it was at it."""

    verdicts: tuple[Verdict, ...]
    scores: Floats
    seconds: float

    @property
    def called(self) -> Flags:
        """Which pairs it called supported, shape (n,). A pair that it failed on never is."""
        return np.array([verdict is Verdict.SUPPORTED for verdict in self.verdicts], dtype=np.bool_)

    @property
    def contradicted(self) -> Flags:
        """Which pairs it called contradicted, shape (n,)."""
        return np.array([verdict is Verdict.CONTRADICTED for verdict in self.verdicts], dtype=np.bool_)

    @property
    def doubt(self) -> Floats:
        """How surely each pair is contradicted, shape (n,): by the verdict, then by the score.

        1 to 2 where the verdict is `contradicted`, 0 to 1 where it is another, -1 where the check failed.
        """
        return np.where(self.failed, -1.0, self.contradicted + (1 - self.scores))

    @property
    def failed(self) -> Flags:
        """Which pairs it failed on, shape (n,)."""
        return np.array([verdict is Verdict.UNVERIFIED for verdict in self.verdicts], dtype=np.bool_)

    @property
    def unverified(self) -> int:
        """How many pairs it failed on."""
        return int(self.failed.sum())

    @property
    def graded(self) -> bool:
        """Whether there is a score between 0 and 1: a checker without probabilities only gives these."""
        return bool(((self.scores > 0) & (self.scores < 1)).any())


def pooled(parts: Sequence[Judged]) -> Judged:
    """Several as one, in their order."""
    return Judged(
        tuple(verdict for part in parts for verdict in part.verdicts),
        np.concatenate([part.scores for part in parts]),
        sum(part.seconds for part in parts),
    )


def picked(judged: Judged, rows: Flags) -> Judged:
    """Those of these rows, flags of shape (n,), with their share of the time."""
    return Judged(
        tuple(verdict for verdict, wanted in zip(judged.verdicts, rows, strict=True) if wanted),
        judged.scores[rows],
        judged.seconds * float(rows.mean()),
    )


async def judge(
    checker: Checker,
    pairs: Iterable[Pair],
    total: int,
    shown: str,
    *,
    all_may_fail: bool = False,
    record: Record | None = None,
) -> Judged:
    """All judgements of `total` pairs, which are drawn as they are needed; each is told `record` at once.

    Progress goes to standard error under the name `shown`, where that is a terminal, and why the first of the
    pairs could not be checked that could not.

    Raises:
        CheckError: the checker failed as a whole, or on all pairs unless `all_may_fail`, or gave too few.
    """
    verdicts: list[Verdict] = []
    scores: list[float] = []
    reasons: list[str] = []
    seconds = 0.0
    with progress(shown, total) as advance:
        for batch in _batches(pairs):
            begun = time.perf_counter()
            judgements = await checker.check(batch)
            seconds += time.perf_counter() - begun
            verdicts += [judgement.verdict for judgement in judgements]
            scores += [_probability(judgement.score) for judgement in judgements]
            reasons += [each.reason for each in judgements if each.verdict is Verdict.UNVERIFIED]
            if record:
                record(judgements)
            advance(len(batch))
    if len(verdicts) != total:
        raise CheckError(f"{total} pairs were to be judged, and the checker gave {len(verdicts)} judgements.")
    tell_failures(reasons, total, f"{shown}: the checker failed on", all_may_fail=all_may_fail)
    return Judged(tuple(verdicts), np.array(scores, dtype=np.float64), seconds)


def tell_failures(reasons: Sequence[str], total: int, failed: str, *, all_may_fail: bool = False) -> None:
    """Says on standard error how many of `total` checks failed, for these reasons, and names the first one.

    Raises `CheckError` with that where all failed: nothing was measured then.
    """
    if not reasons:
        return
    text = f"{failed} {len(reasons):,} of {total:,} checks; the first: {' '.join(reasons[0].split())}"
    if len(reasons) == total and not all_may_fail:
        raise CheckError(text)
    sys.stderr.write(f"{text}\n")


def _batches(pairs: Iterable[Pair]) -> Iterator[list[Pair]]:
    rest = iter(pairs)
    while batch := list(islice(rest, BATCH)):
        yield batch


def _probability(score: float) -> float:
    if not 0 <= score <= 1:
        raise CheckError(f"The checker gave the score {score}, which is no probability.")
    return score


@contextmanager
def progress(shown: str, total: int) -> Iterator[Callable[[int], None]]:
    """A bar on standard error, where that is a terminal. What it gives is told how many more are done."""
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    bars = Progress(*columns, console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty())
    with bars:
        task = bars.add_task(shown, total=total)
        yield lambda done: bars.advance(task, done)


_COLUMNS = {
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "recall.supported": "recall, supported",
    "recall.not_supported": "recall, not supported",
    "macro_f1": "macro-F1",
    "auc": "AUC",
    "ece": "ECE",
}
_THREE_WAY_COLUMNS = {
    "accuracy": "accuracy",
    "macro_f1": "macro-F1",
    "recall.supported": "recall, supported",
    "recall.unsupported": "recall, unsupported",
    "recall.contradicted": "recall, contradicted",
    "precision.contradicted": "precision, contradicted",
}
_NO_FIGURES = Estimates({}, {})


@dataclass(frozen=True, slots=True)
class Compared(Estimates):
    """Beside the accuracy of the most frequent label."""

    majority: float


@dataclass(frozen=True, slots=True)
class Measurement:
    """The figures of one file of `n` rows.

    `unverified` rows are those that the checker failed on; they count as not supported. `graded` is False
    where all scores are 0 or 1. `three_way` is None where the labels are two-way, `contradicted` (the figures
    of that verdict) where no row is labelled so.
    """

    file: str
    n: int
    two_way: Compared
    three_way: Compared | None
    contradicted: Estimates | None
    unverified: int
    graded: bool
    pairs_per_second: float


def measure(file: str, labels: Sequence[Label], judged: Judged, resamples: int) -> Measurement:
    """The figures of rows with these labels and judgements, in the same order; n must be over 0."""
    return Measurement(
        file=file,
        n=len(labels),
        two_way=_two_way(labels, judged, resamples),
        three_way=_three_way(labels, judged, resamples),
        contradicted=_contradicted(labels, judged, resamples),
        unverified=judged.unverified,
        graded=judged.graded,
        pairs_per_second=len(labels) / judged.seconds,
    )


def as_json(measured: Measurement, checker: str) -> dict[str, Any]:
    """One line of `--json`."""
    three = measured.three_way
    return {
        "file": measured.file,
        "checker": checker,
        "n": measured.n,
        **measured.two_way.as_json(),
        "pairs_per_second": round(measured.pairs_per_second, 2),
        "majority": rounded(measured.two_way.majority),
        "unverified": measured.unverified,
        "graded": measured.graded,
        "three_way": three and {**three.as_json(), "majority": rounded(three.majority)},
        **({"contradicted": measured.contradicted.as_json()} if measured.contradicted else {}),
    }


def as_markdown(measurements: Sequence[Measurement], checker: str) -> str:
    """The tables, and what must be known to read them."""
    text = f"Checker `{checker}`, supported or not; 95% bootstrap intervals in brackets.\n\n"
    text += table(
        ["file", "rows", "majority", *_COLUMNS.values(), "pairs/s", "unverified"],
        [
            [
                entry.file,
                f"{entry.n:,}",
                shown(entry.two_way.majority),
                *entry.two_way.cells(_COLUMNS),
                f"{entry.pairs_per_second:.1f}",
                f"{entry.unverified:,}",
            ]
            for entry in measurements
        ],
    )
    three = [(entry, entry.three_way) for entry in measurements if entry.three_way]
    if three:
        text += "\nWhere rows say whether a claim is contradicted or just unsupported:\n\n" + table(
            ["file", "majority", *_THREE_WAY_COLUMNS.values(), "precision, contradicted, at recall 0.5"],
            [
                [
                    entry.file,
                    shown(figures.majority),
                    *figures.cells(_THREE_WAY_COLUMNS),
                    *(entry.contradicted or _NO_FIGURES).cells(["precision_at_half_recall"]),
                ]
                for entry, figures in three
            ],
        )
    ungraded = [entry.file for entry in measurements if not entry.graded]
    if ungraded:
        files = ", ".join(ungraded)
        text += f"\nAll scores are 0 or 1 in {files}: AUC and ECE say no more than the verdicts do.\n"
    return text


def _two_way(labels: Sequence[Label], judged: Judged, resamples: int) -> Compared:
    supported = np.array([label == "supported" for label in labels], dtype=np.bool_)
    called, scores = judged.called, judged.scores

    def figures(rows: Indexes) -> Figures:
        return two_way(supported[rows], called[rows], scores[rows])

    return _compared(figures, supported, resamples)


def _three_way(labels: Sequence[Label], judged: Judged, resamples: int) -> Compared | None:
    codes = three_way_codes(labels, judged.verdicts)
    if codes is None:
        return None
    truth, called = codes
    return _compared(lambda rows: three_way(truth[rows], called[rows]), truth, resamples)


def _contradicted(labels: Sequence[Label], judged: Judged, resamples: int) -> Estimates | None:
    told = np.array([label != "not_supported" for label in labels], dtype=np.bool_)
    truth = np.array([label == "contradicted" for label in labels], dtype=np.bool_)[told]
    if not truth.any():
        return None
    called, doubt = judged.contradicted[told], judged.doubt[told]

    def figures(rows: Indexes) -> Figures:
        return contradiction(truth[rows], called[rows], doubt[rows])

    return estimate(figures, len(truth), resamples)


def _compared(figures: Callable[[Indexes], Figures], truth: Flags | Indexes, resamples: int) -> Compared:
    values = estimate(figures, len(truth), resamples)
    return Compared(values.figures, values.intervals, majority(truth))
