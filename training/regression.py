"""Regressions and boosted trees over the checker's inputs, their calibration and figures.

scikit-learn and NumPy, no files. What is fitted is returned as the plain numbers that the checker reads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GroupKFold
from sklearn.preprocessing import StandardScaler

from proxy.checkers.builtin.builtin_weights import Averaged, Gated, Model, Regression, Tree, Trees
from proxy.checkers.builtin.ensemble import NLI_INPUTS
from proxy.types import Language

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


def fit_trees(values: Floats, labels: Flags, weights: Floats, seed: int) -> Trees:
    """Trees for P(label), over the rows whose weight is not 0. Shapes (n, inputs), (n,), (n,)."""
    used = weights > 0
    model = HistGradientBoostingClassifier(
        max_iter=120,
        learning_rate=0.05,
        max_leaf_nodes=6,
        min_samples_leaf=15,
        l2_regularization=5.0,
        max_features=0.3,
        early_stopping=False,
        random_state=seed,
    )
    return plain(model.fit(values[used], labels[used], sample_weight=weights[used]))


def plain(model: HistGradientBoostingClassifier) -> Trees:
    """The fitted model without scikit-learn: its trees give the same log-odds."""
    return Trees(
        start=float(model._baseline_prediction[0, 0]),
        trees=tuple(_tree(predictor.nodes) for [predictor] in model._predictors),
    )


def _tree(nodes: NDArray[np.void]) -> Tree:
    leaves = nodes["is_leaf"].astype(bool)
    return Tree(
        inputs=tuple(np.where(leaves, 0, nodes["feature_idx"]).tolist()),
        thresholds=tuple(np.where(leaves, 0.0, nodes["num_threshold"]).tolist()),
        left=tuple(np.where(leaves, 0, nodes["left"]).tolist()),
        right=tuple(np.where(leaves, 0, nodes["right"]).tolist()),
        values=tuple(np.where(leaves, nodes["value"], 0.0).tolist()),
    )


Indexes = NDArray[np.int64]

FOLDS = 5
_DIGITS = 5
_BINS = 10
_PENALTY, _SUPPORT_PENALTY, _SWAP_PENALTY = 0.05, 0.02, 1.0
_GRID = tuple(round(0.2 + 0.01 * step, 2) for step in range(61))


@dataclass(frozen=True, slots=True)
class Table:
    """Samples as arrays, row by row: `values` of shape (n, inputs), the rest (n,).

    `swapped` marks those with an exchanged detail. `fit`, `gate` and `calibration` are the weights of a row
    in the model of support, in that of exchanged details and in the scaling, 0 where it must not be used;
    `factors` multiply a score after scaling.
    """

    values: Floats
    supported: Flags
    swapped: Flags
    fit: Floats
    gate: Floats
    calibration: Floats
    factors: Floats
    groups: Indexes
    sources: NDArray[np.str_]

    def folds(self, seed: int) -> Indexes:
        """The fold of each row; rows of a group share one."""
        folds = np.zeros(len(self.groups), dtype=np.int64)
        split = GroupKFold(FOLDS, shuffle=True, random_state=seed)
        for fold, (_, test) in enumerate(split.split(folds, groups=self.groups)):
            folds[test] = fold
        return folds


@dataclass(frozen=True, slots=True)
class Scaling:
    """Platt's two parameters and the threshold on what comes out."""

    slope: float
    offset: float
    threshold: float

    def apply(self, odds: Floats) -> Floats:
        """Log-odds to calibrated probabilities."""
        return sigmoid(self.slope * odds + self.offset)


def fit_averaged(table: Table, rows: Flags, seed: int) -> Averaged:
    """The regression and the trees, over `rows`."""
    weights = table.fit * rows
    return Averaged(
        regression=fit_regression(table.values, table.supported, weights, _PENALTY),
        trees=fit_trees(table.values, table.supported, weights, seed),
    )


def fit_gated(table: Table, rows: Flags, seed: int) -> Gated:
    """The regressions of support and of exchanged details, over `rows`; there is no chance in it.

    Fitted together on citations and on copied sentences, one model learns from the latter that any gap is an
    error, and rejects citations in words of their own; apart they do not. That of exchanged details sees
    overlap alone, which tells them nearly always.
    """
    overlap = table.values[:, : -len(NLI_INPUTS)]
    return Gated(
        support=fit_regression(table.values, table.supported, table.fit * rows, _SUPPORT_PENALTY),
        swap=fit_regression(overlap, table.swapped, table.gate * rows, _SWAP_PENALTY),
    )


FIT: Mapping[Language, Callable[[Table, Flags, int], Model]] = {"en": fit_averaged, "zh": fit_gated}
"""What is fitted for each language. On Chinese citations trees gained nothing over a regression; English
does without the gate, thanks to the NLI model."""


def fit_regression(values: Floats, labels: Flags, weights: Floats, penalty: float) -> Regression:
    """A logistic regression with L2 on standardised inputs, over the rows whose weight is not 0.

    Raises `ValueError` where all of them have one label.
    """
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


def log_odds(model: Model, values: Floats) -> Floats:
    """Row by row."""
    return np.array([model.log_odds(row) for row in values.tolist()])


def out_of_fold(table: Table, folds: Indexes, fit: Callable[[Table, Flags, int], Model], seed: int) -> Floats:
    """The log-odds of each row by a model that saw no row of its group."""
    odds = np.zeros(len(folds))
    for fold in range(FOLDS):
        test = folds == fold
        odds[test] = log_odds(fit(table, ~test, seed), table.values[test])
    return odds


def fit_scaling(table: Table, odds: Floats, rows: Flags) -> Scaling:
    """Platt's scaling of the log-odds of `rows`, and the threshold with the best balanced accuracy: the mean
    of the sources', each by what its rows count together."""
    used = rows & (table.calibration > 0)
    platt = LogisticRegression(C=1e6, max_iter=5000, tol=1e-8)
    platt.fit(odds[used, None], table.supported[used], sample_weight=table.calibration[used])
    scaling = Scaling(_rounded(platt.coef_[0])[0], _rounded(platt.intercept_)[0], 0.5)
    scores = scaling.apply(odds) * table.factors
    parts = [used & (table.sources == source) for source in sorted(set(table.sources[used]))]
    balance = [
        sum(
            table.calibration[part].sum() * _balanced(table.supported[part], scores[part] >= threshold)
            for part in parts
        )
        for threshold in _GRID
    ]
    return Scaling(scaling.slope, scaling.offset, _GRID[int(np.argmax(balance))])


def cross_fitted(table: Table, odds: Floats, folds: Indexes) -> tuple[Floats, Flags]:
    """Scores and verdicts of all rows, each by a scaling and threshold that saw no row of its fold."""
    scores = np.zeros(len(odds))
    verdicts = np.zeros(len(odds), dtype=np.bool_)
    for fold in range(FOLDS):
        test = folds == fold
        scaling = fit_scaling(table, odds, ~test)
        scores[test] = scaling.apply(odds[test]) * table.factors[test]
        verdicts[test] = scores[test] >= scaling.threshold
    return scores, verdicts


def figures(labels: Flags, scores: Floats, verdicts: Flags) -> Mapping[str, float]:
    """Accuracy and its kin, rounded. ECE is the expected calibration error over ten bins of equal width."""
    bins = np.minimum((scores * _BINS).astype(np.int64), _BINS - 1)
    gaps = [
        (bins == index).mean() * abs(scores[bins == index].mean() - labels[bins == index].mean())
        for index in range(_BINS)
        if (bins == index).any()
    ]
    values = {
        "rows": len(labels),
        "accuracy": (labels == verdicts).mean(),
        "balanced_accuracy": _balanced(labels, verdicts),
        "recall_supported": verdicts[labels].mean(),
        "recall_not_supported": (~verdicts[~labels]).mean(),
        "auc": roc_auc_score(labels, scores),
        "ece": sum(gaps),
    }
    return {name: round(float(value), 3) for name, value in values.items()}


def sigmoid(odds: Floats) -> Floats:
    """Log-odds to probabilities."""
    return np.asarray(1 / (1 + np.exp(-np.clip(odds, -700, 700))), dtype=np.float64)


def _balanced(labels: Flags, verdicts: Flags) -> float:
    return float((verdicts[labels].mean() + (~verdicts[~labels]).mean()) / 2)


def _rounded(values: Floats) -> tuple[float, ...]:
    return tuple(round(float(value), _DIGITS) for value in values)
