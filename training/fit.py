"""Regressions, their calibration and the figures: scikit-learn and NumPy, no files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GroupKFold
from sklearn.preprocessing import StandardScaler

from proxy.backends.checkers.builtin.model import Regression, calibrated, logit

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Indexes = NDArray[np.int64]

FOLDS = 5
_DIGITS = 4
_BINS = 10
_GRID = tuple(round(0.2 + 0.01 * step, 2) for step in range(61))


@dataclass(frozen=True, slots=True)
class Table:
    """Examples as arrays, row by row: shape (n, features) and (n,).

    `support` and `swap` are the weights of a row in the two regressions, 0 where it must not be fitted on;
    `calibration` that in Platt's scaling, `factors` what multiplies a score after it. `swapped` marks rows
    with an exchanged detail.
    """

    values: Floats
    supported: Flags
    swapped: Flags
    support: Floats
    swap: Floats
    calibration: Floats
    factors: Floats
    folds: Indexes
    sources: NDArray[np.str_]


@dataclass(frozen=True, slots=True)
class Scaling:
    """Platt's two parameters and the threshold on what comes out."""

    slope: float
    offset: float
    threshold: float

    def apply(self, raw: Floats) -> Floats:
        """Raw probabilities to calibrated ones."""
        return np.array([calibrated(float(one), self.slope, self.offset) for one in raw])


def folds_of(groups: Sequence[str], seed: int) -> Indexes:
    """The fold of each row, 0 to 4; rows of a group share one."""
    numbers = {group: at for at, group in enumerate(dict.fromkeys(groups))}
    folds = np.zeros(len(groups), dtype=np.int64)
    split = GroupKFold(FOLDS, shuffle=True, random_state=seed)
    for fold, (_, test) in enumerate(split.split(folds, groups=[numbers[group] for group in groups])):
        folds[test] = fold
    return folds


def fit_regression(values: Floats, labels: Flags, weights: Floats, penalty: float) -> Regression:
    """A logistic regression with L2 on standardised features, over the rows whose weight is not 0."""
    used = weights > 0
    scaler = StandardScaler().fit(values[used])
    model = LogisticRegression(C=penalty, max_iter=5000, tol=1e-8)
    model.fit(scaler.transform(values[used]), labels[used], sample_weight=weights[used])
    return Regression(
        means=_rounded(scaler.mean_),
        scales=_rounded(np.maximum(scaler.scale_, 10.0**-_DIGITS)),
        coefficients=_rounded(model.coef_[0]),
        intercept=_rounded(model.intercept_)[0],
    )


def probabilities(regression: Regression, values: Floats) -> Floats:
    """The regression's probabilities of all rows at once, shape (n,)."""
    columns = (values - np.array(regression.means)) / np.array(regression.scales)
    odds = columns @ np.array(regression.coefficients) + regression.intercept
    return np.asarray(1 / (1 + np.exp(-np.clip(odds, -700, 700))), dtype=np.float64)


def fit_both(table: Table, rows: Flags) -> tuple[Regression, Regression]:
    """The regression of support and that of exchanged details, over `rows`."""
    support = fit_regression(table.values, table.supported, table.support * rows, penalty=0.1)
    swap = fit_regression(table.values, table.swapped, table.swap * rows, penalty=1.0)
    return support, swap


def raw_scores(support: Regression, swap: Regression, values: Floats) -> Floats:
    """What `LanguageModel.raw` gives, of all rows at once."""
    return probabilities(support, values) * (1 - probabilities(swap, values))


def out_of_fold(table: Table) -> Floats:
    """The raw score of each row by regressions that saw no row of its group."""
    raw = np.zeros(len(table.folds))
    for fold in range(FOLDS):
        test = table.folds == fold
        raw[test] = raw_scores(*fit_both(table, ~test), table.values[test])
    return raw


def fit_scaling(table: Table, raw: Floats, rows: Flags) -> Scaling:
    """Platt's scaling of the raw scores of `rows`, and the threshold with the best balanced accuracy.

    The balanced accuracy is the mean of that among real citations and that among rule-made rows.
    """
    used = rows & (table.calibration > 0)
    odds = np.array([[logit(float(one))] for one in raw])
    platt = LogisticRegression(C=1e6, max_iter=5000, tol=1e-8)
    platt.fit(odds[used], table.supported[used], sample_weight=table.calibration[used])
    slope, offset = _rounded(platt.coef_[0])[0], _rounded(platt.intercept_)[0]
    scores = Scaling(slope, offset, 0.5).apply(raw) * table.factors
    parts = [used & (table.sources == source) for source in sorted(set(table.sources[used]))]
    balance = [
        sum(_balanced(table.supported[part], scores[part] >= threshold) for part in parts)
        for threshold in _GRID
    ]
    return Scaling(slope, offset, _GRID[int(np.argmax(balance))])


def cross_fitted(table: Table, raw: Floats) -> tuple[Floats, Flags]:
    """Scores and verdicts of all rows, each by a scaling and threshold that saw no row of its fold."""
    scores = np.zeros(len(raw))
    verdicts = np.zeros(len(raw), dtype=np.bool_)
    for fold in range(FOLDS):
        test = table.folds == fold
        scaling = fit_scaling(table, raw, ~test)
        scores[test] = scaling.apply(raw[test]) * table.factors[test]
        verdicts[test] = scores[test] >= scaling.threshold
    return scores, verdicts


def figures(labels: Flags, scores: Floats, verdicts: Flags) -> Mapping[str, float]:
    """Accuracy and its kin, rounded. ECE is the expected calibration error over ten bins of equal width."""
    bins = np.minimum((scores * _BINS).astype(np.int64), _BINS - 1)
    gaps = [
        (bins == at).mean() * abs(scores[bins == at].mean() - labels[bins == at].mean())
        for at in range(_BINS)
        if (bins == at).any()
    ]
    found = {
        "rows": len(labels),
        "accuracy": (labels == verdicts).mean(),
        "balanced_accuracy": _balanced(labels, verdicts),
        "recall_supported": verdicts[labels].mean(),
        "recall_not_supported": (~verdicts[~labels]).mean(),
        "auc": roc_auc_score(labels, scores),
        "ece": sum(gaps),
    }
    return {name: round(float(value), 3) for name, value in found.items()}


def _balanced(labels: Flags, verdicts: Flags) -> float:
    return float((verdicts[labels].mean() + (~verdicts[~labels]).mean()) / 2)


def _rounded(values: Floats) -> tuple[float, ...]:
    return tuple(round(float(value), _DIGITS) for value in values)
