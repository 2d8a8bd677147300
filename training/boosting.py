"""Boosted trees, fitted with scikit-learn, as the plain numbers that the checker reads."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier

from proxy.checkers.builtin.boosting import Tree, Trees

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
