"""How much of a claim stands in its evidence, and the rows of which that tells least.

Where right claims are copied and wrong ones are not, counting shared words solves most of a set. The rows
that it does not solve show what a checker knows beyond that.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any

import numpy as np
from sklearn.metrics import roc_curve

from evaluation.datasets import Label
from evaluation.measurement import Judged, Measurement, measure, picked
from evaluation.metrics import SEED, Flags, Floats, area_under_roc, rounded, shown
from evaluation.output import table
from proxy.text.scripts import CJK
from proxy.types import Pair

_PART = 3
"""One row in so many is measured."""
_COLUMNS = {"accuracy": "accuracy", "balanced_accuracy": "balanced accuracy", "auc": "AUC"}
_TOKEN = re.compile(rf"[{CJK}]|[^\W_{CJK}]+")


def bigram_overlap(pair: Pair) -> float:
    """The share of the claim's bigrams that its evidence has: of words, in Chinese of characters.

    Case and punctuation don't count. A claim of one word is its own bigram; one without words has 0.
    """
    own, evidence = (_bigrams(_TOKEN.findall(text.casefold())) for text in (pair.claim, pair.evidence))
    known = set(evidence)
    return sum(bigram in known for bigram in own) / len(own) if own else 0.0


def _bigrams(tokens: Sequence[str]) -> list[tuple[str, ...]]:
    if len(tokens) == 1:
        return [(tokens[0],)]
    return [tuple(tokens[index : index + 2]) for index in range(len(tokens) - 1)]


@dataclass(frozen=True, slots=True)
class LeastDecisive:
    """The figures of the rows of which overlap tells least; the AUC of overlap there, and over all rows."""

    measured: Measurement
    overlap_auc: float
    overlap_auc_all: float

    def as_json(self) -> dict[str, Any]:
        """The value of `by_overlap`."""
        return {
            "n": self.measured.n,
            "overlap_auc": rounded(self.overlap_auc),
            "overlap_auc_all": rounded(self.overlap_auc_all),
            **self.measured.two_way.as_json(),
            "majority": rounded(self.measured.two_way.majority),
        }


def by_overlap(
    file: str, labels: Sequence[Label], overlaps: Floats, judged: Judged, resamples: int
) -> LeastDecisive | None:
    """The figures of a third of these rows; None where there are fewer than three rows or one class."""
    supported = np.array([label == "supported" for label in labels], dtype=np.bool_)
    if len(labels) < _PART or supported.all() or not supported.any():
        return None
    chosen = least_decisive(supported, overlaps)
    return LeastDecisive(
        measure(file, list(compress(labels, chosen)), picked(judged, chosen), resamples),
        area_under_roc(supported[chosen], overlaps[chosen]),
        area_under_roc(supported, overlaps),
    )


def least_decisive(supported: Flags, overlaps: Floats) -> Flags:
    """The third of the rows that are nearest to the overlap which parts the classes best, shape (n,).

    That is midway between the two values where the shares of both classes above differ most (Youden's J),
    whichever class is above. Of equally near rows some are drawn, the same ones each time. Both classes are
    needed.
    """
    false, true, thresholds = roc_curve(supported, overlaps, drop_intermediate=False)
    best = int(np.abs(true - false).argmax()) or 1  # the first threshold is infinite
    border = thresholds[best : best + 2].mean()
    shuffled = np.random.default_rng(SEED).permutation(len(overlaps))
    nearest = shuffled[np.abs(overlaps - border).round(9)[shuffled].argsort(kind="stable")]
    chosen = np.zeros(len(overlaps), dtype=np.bool_)
    chosen[nearest[: len(overlaps) // _PART]] = True
    return chosen


def as_markdown(done: Sequence[tuple[str, LeastDecisive]]) -> str:
    """The table; nothing without a file."""
    if not done:
        return ""
    rows = [
        [
            file,
            f"{least.measured.n:,}",
            f"{shown(least.overlap_auc)} (all rows: {shown(least.overlap_auc_all)})",
            shown(least.measured.two_way.majority),
            *least.measured.two_way.cells(_COLUMNS),
        ]
        for file, least in done
    ]
    return "\nThe third of the rows of which the words that claim and evidence share tell least:\n\n" + table(
        ["file", "rows", "AUC of shared words", "majority", *_COLUMNS.values()], rows
    )
