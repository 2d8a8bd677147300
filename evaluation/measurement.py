"""What one file of labelled rows says of a checker, as a value, as JSON and as Markdown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evaluation.estimates import Estimates, estimate
from evaluation.judging import Judged
from evaluation.markdown import rounded, shown, table
from evaluation.metrics import (
    Figures,
    Flags,
    Indexes,
    majority,
    three_way,
    three_way_codes,
    two_way,
)
from evaluation.rows import Label

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
    "recall.contradicted": "recall, contradicted",
    "precision.contradicted": "precision, contradicted",
    "recall.unsupported": "recall, unsupported",
}


@dataclass(frozen=True, slots=True)
class Compared(Estimates):
    """Beside the accuracy of the most frequent label."""

    majority: float


@dataclass(frozen=True, slots=True)
class Measurement:
    """The figures of one file of `n` rows.

    `unverified` rows are those that the checker failed on; they count as not supported. `graded` is False
    where all scores are 0 or 1. `three_way` is None where the labels are two-way.
    """

    file: str
    n: int
    two_way: Compared
    three_way: Compared | None
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
    }


def as_markdown(measurements: Sequence[Measurement], checker: str) -> str:
    """The tables, and what must be known to read them."""
    text = f"Checker `{checker}`, supported or not; 95% bootstrap intervals in brackets.\n\n"
    text += table(
        ["file", "rows", "majority", *_COLUMNS.values(), "pairs/s", "unverified"],
        [
            [
                one.file,
                f"{one.n:,}",
                shown(one.two_way.majority),
                *one.two_way.cells(_COLUMNS),
                f"{one.pairs_per_second:.1f}",
                f"{one.unverified:,}",
            ]
            for one in measurements
        ],
    )
    three = [(one.file, one.three_way) for one in measurements if one.three_way]
    if three:
        text += "\nWhere rows say whether a claim is contradicted or just unsupported:\n\n" + table(
            ["file", "majority", *_THREE_WAY_COLUMNS.values()],
            [[file, shown(one.majority), *one.cells(_THREE_WAY_COLUMNS)] for file, one in three],
        )
    ungraded = [one.file for one in measurements if not one.graded]
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


def _compared(figures: Callable[[Indexes], Figures], truth: Flags | Indexes, resamples: int) -> Compared:
    found = estimate(figures, len(truth), resamples)
    return Compared(found.figures, found.intervals, majority(truth))
