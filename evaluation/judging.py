"""Pairs through a checker: in order, in batches, with the time that it took."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from evaluation.metrics import Flags, Floats
from proxy.errors import CheckError
from proxy.protocols import Checker
from proxy.types import Pair, Verdict

BATCH = 128
"""Pairs that are held and asked at once."""


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
        tuple(verdict for one in parts for verdict in one.verdicts),
        np.concatenate([one.scores for one in parts]),
        sum(one.seconds for one in parts),
    )


def picked(judged: Judged, rows: Flags) -> Judged:
    """Those of these rows, flags of shape (n,), with their share of the time."""
    return Judged(
        tuple(verdict for verdict, wanted in zip(judged.verdicts, rows, strict=True) if wanted),
        judged.scores[rows],
        judged.seconds * float(rows.mean()),
    )


async def judge(checker: Checker, pairs: Iterable[Pair], total: int, shown: str) -> Judged:
    """All judgements of `total` pairs, which are drawn as they are needed. Raises `CheckError`.

    Progress goes to standard error under the name `shown`, where that is a terminal.
    """
    verdicts: list[Verdict] = []
    scores: list[float] = []
    seconds = 0.0
    with progress(shown, total) as advance:
        for batch in _batches(pairs):
            begun = time.perf_counter()
            judgements = await checker.check(batch)
            seconds += time.perf_counter() - begun
            verdicts += [judgement.verdict for judgement in judgements]
            scores += [_probability(judgement.score) for judgement in judgements]
            advance(len(batch))
    if len(verdicts) != total:
        raise CheckError(f"{total} pairs were to be judged, and the checker gave {len(verdicts)} judgements.")
    return Judged(tuple(verdicts), np.array(scores, dtype=np.float64), seconds)


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
