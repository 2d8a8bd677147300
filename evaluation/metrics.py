"""Figures from labels, verdicts and scores, with bootstrap intervals, as values, JSON and table cells.

scikit-learn and NumPy; no files. A figure that the rows can't give (such as the recall of a class without
rows) is NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import precision_recall_curve, precision_recall_fscore_support, roc_auc_score

from evaluation.datasets import Label
from proxy.types import Verdict

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Indexes = NDArray[np.int64]
Figures = Mapping[str, float]
Interval = tuple[float, float]

BINS = 10
RESAMPLES = 1000
SEED = 7
_DIGITS = 4
"""Digits after the point in JSON."""
_SHOWN = 3
"""Digits after the point in tables."""
_OUTER = (2.5, 97.5)
"""Percentiles that hold 95% between them."""
_THREE = (Verdict.SUPPORTED, Verdict.CONTRADICTED, Verdict.UNSUPPORTED)
_HALF = 0.5
_OTHER = len(_THREE)
"""The code of a verdict that is none of the three, and so always wrong."""


@dataclass(frozen=True, slots=True)
class Bin:
    """Rows with scores in one tenth of [0, 1]: how many, their mean score, the share that is supported."""

    count: int
    score: float
    supported: float


def two_way(supported: Flags, called: Flags, scores: Floats) -> Figures:
    """Accuracy and its kin of the verdicts `called`, AUC and ECE of the scores; all arrays of shape (n,).

    Means over classes are over those that the rows have. AUC needs both.
    """
    _, recall, f1, rows = precision_recall_fscore_support(
        supported, called, labels=[True, False], zero_division=0
    )
    there = rows > 0
    return {
        "accuracy": float((supported == called).mean()),
        "balanced_accuracy": float(recall[there].mean()),
        "recall.supported": float(recall[0]) if there[0] else math.nan,
        "recall.not_supported": float(recall[1]) if there[1] else math.nan,
        "macro_f1": float(f1[there].mean()),
        "auc": area_under_roc(supported, scores),
        "ece": expected_calibration_error(supported, scores),
    }


def area_under_roc(supported: Flags, scores: Floats) -> float:
    """The probability that a supported row has a higher score than another; NaN for rows of one class."""
    several = supported.any() and not supported.all()
    return float(roc_auc_score(supported, scores)) if several else math.nan


def three_way(truth: Indexes, called: Indexes) -> Figures:
    """Accuracy, macro-F1, recalls and the precision of `contradicted`, out of `three_way_codes`.

    Means are over the labels that the rows have; without a row called contradicted there is no precision.
    """
    codes = list(range(len(_THREE)))
    precision, recall, f1, rows = precision_recall_fscore_support(
        truth, called, labels=codes, zero_division=0
    )
    there = rows > 0
    recalls = {
        f"recall.{label}": float(value)
        for label, value, known in zip(_THREE, recall, there, strict=True)
        if known
    }
    contradicted = _THREE.index(Verdict.CONTRADICTED)
    precisions = (
        {"precision.contradicted": float(precision[contradicted])} if (called == contradicted).any() else {}
    )
    return {
        "accuracy": float((truth == called).mean()),
        "macro_f1": float(f1[there].mean()),
        **recalls,
        **precisions,
    }


def three_way_codes(labels: Sequence[Label], verdicts: Sequence[Verdict]) -> tuple[Indexes, Indexes] | None:
    """Per row whose label is one of the three its code and that of the verdict, shape (n,) each.

    None where labels are two-way.
    """
    if not {"contradicted", "unsupported"} & set(labels):
        return None
    told = [
        (_THREE.index(Verdict(label)), _THREE.index(verdict) if verdict in _THREE else _OTHER)
        for label, verdict in zip(labels, verdicts, strict=True)
        if label != "not_supported"
    ]
    codes = np.array(told, dtype=np.int64)
    return codes[:, 0], codes[:, 1]


def contradiction(contradicted: Flags, called: Flags, doubt: Floats) -> Figures:
    """Precision and recall of the verdict `contradicted`, and the precision at a recall of one half.

    For the latter, rows are called contradicted in the order of `doubt`, from the highest down, equal ones
    together, until half of those that are contradicted are among them. All arrays have shape (n,).
    """
    if not contradicted.any():
        return {"precision": math.nan, "recall": math.nan, "precision_at_half_recall": math.nan}
    precision, recall, _ = precision_recall_curve(contradicted, doubt)
    return {
        "precision": share(contradicted[called]),
        "recall": share(called[contradicted]),
        "precision_at_half_recall": float(precision[recall >= _HALF][-1]),
    }


def share(flags: Flags) -> float:
    """How many of them are set; NaN of none."""
    return float(flags.mean()) if flags.size else math.nan


def majority(codes: Flags | Indexes) -> float:
    """The accuracy of always saying what is most frequent."""
    return float(np.unique(codes, return_counts=True)[1].max() / len(codes))


def calibration_bins(supported: Flags, scores: Floats) -> list[Bin]:
    """The bins that have rows, ascending; of equal width, the upper end belonging to the next but for 1."""
    held = np.minimum((scores * BINS).astype(np.int64), BINS - 1)
    return [
        Bin(int(rows.sum()), float(scores[rows].mean()), float(supported[rows].mean()))
        for rows in (held == index for index in range(BINS))
        if rows.any()
    ]


def expected_calibration_error(supported: Flags, scores: Floats) -> float:
    """The mean gap between score and share supported over the bins, weighted by their rows.

    Guo et al. 2017, "On Calibration of Modern Neural Networks", equation 3. Unlike there the score is
    P(supported), not the confidence in the verdict: 0.1 is right where one row in ten is supported.
    """
    bins = calibration_bins(supported, scores)
    return sum(bin_.count * abs(bin_.score - bin_.supported) for bin_ in bins) / len(scores)


def intervals(
    figures: Callable[[Indexes], Figures], rows: int, resamples: int = RESAMPLES
) -> dict[str, Interval]:
    """95% percentile bootstrap intervals (Efron and Tibshirani 1993, section 13.3) of what `figures` gives.

    `figures` is called with the row numbers of each resample, shape (rows,). Resamples that can't give a
    figure don't count; one that none can give has no interval. The same for the same arguments.
    """
    chance = np.random.default_rng(SEED)
    drawn = [figures(chance.integers(rows, size=rows)) for _ in range(resamples)]
    by_name: dict[str, Interval] = {}
    for name in dict.fromkeys(name for resample in drawn for name in resample):
        values = np.array(
            [resample[name] for resample in drawn if not math.isnan(resample.get(name, math.nan))]
        )
        if values.size:
            low, high = np.percentile(values, _OUTER)
            by_name[name] = float(low), float(high)
    return by_name


@dataclass(frozen=True, slots=True)
class Estimates:
    """Figures with their 95% intervals; one that the rows, or no resample of them, can give has none."""

    figures: Figures
    intervals: Mapping[str, Interval]

    def as_json(self) -> dict[str, Any]:
        """The figures, and the intervals beside them."""
        return {**nested(self.figures), "intervals": nested(self.intervals)}

    def beside(self, other: Estimates) -> Estimates:
        """Both, which have no figure in common."""
        return Estimates({**self.figures, **other.figures}, {**self.intervals, **other.intervals})

    def cells(self, names: Iterable[str] | None = None) -> list[str]:
        """These figures, or all, with their intervals."""
        wanted = self.figures if names is None else names
        return [shown(self.figures.get(name, math.nan), self.intervals.get(name)) for name in wanted]


def estimate(figures: Callable[[Indexes], Figures], rows: int, resamples: int) -> Estimates:
    """What `figures` gives of all rows, by their numbers, with the intervals of `metrics.intervals`."""
    return Estimates(figures(np.arange(rows)), intervals(figures, rows, resamples) if rows else {})


def shown(value: float, interval: Interval | None = None) -> str:
    """`0.912 [0.894, 0.929]`; a figure that the rows can't give is a dash."""
    if math.isnan(value):
        return "–"
    text = f"{value:.{_SHOWN}f}"
    return f"{text} [{interval[0]:.{_SHOWN}f}, {interval[1]:.{_SHOWN}f}]" if interval else text


def nested(figures: Figures | Mapping[str, Interval]) -> dict[str, Any]:
    """`{"recall.supported": x}` as `{"recall": {"supported": x}}`, for JSON: rounded, and null for NaN."""
    tree: dict[str, Any] = {}
    for name, value in figures.items():
        section, _, key = name.rpartition(".")
        node = tree.setdefault(section, {}) if section else tree
        node[key] = [rounded(bound) for bound in value] if isinstance(value, tuple) else rounded(value)
    return tree


def rounded(value: float) -> float | None:
    """Four digits, or None for NaN."""
    return None if math.isnan(value) else round(value, _DIGITS)
