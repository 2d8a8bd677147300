"""Shallow classifiers as arrays, and the probabilities they give. NumPy only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]
Integers = NDArray[np.integer]
Kind = Literal["svm", "mlp", "knn"]
Combination = Literal["mean", "majority"]

_ROWS = 64
"""Rows whose distances to all points are held at once."""


@dataclass(frozen=True, slots=True)
class Svm:
    """A support vector machine with a Gaussian kernel, one vote for each two classes.

    Its decision values are scikit-learn's: votes, with sums of confidences between them. Each goes through a
    sigmoid of its own (Platt 1999), and the results are made to sum to 1.

    Shapes: `mean`, `scale` (hidden,); `vectors` (m, hidden); `coefficients` (pairs of classes, m);
    `intercepts` (pairs,); `gamma` (); `slopes`, `offsets` (classes,), of two classes (1,).
    """

    mean: Floats
    scale: Floats
    vectors: Floats
    coefficients: Floats
    intercepts: Floats
    gamma: Floats
    slopes: Floats
    offsets: Floats

    def probabilities(self, states: Floats) -> Floats:
        values = ((states - self.mean) / self.scale).astype(np.float64)
        kernel = np.exp(-self.gamma * _squared_distances(values, self.vectors.astype(np.float64)))
        decisions = kernel @ self.coefficients.T + self.intercepts
        if len(self.slopes) == 1:
            second = sigmoid(-(self.slopes * decisions + self.offsets))
            return np.hstack([1 - second, second])
        each = sigmoid(-(self.slopes * _one_against_rest(decisions, len(self.slopes)) + self.offsets))
        total = each.sum(axis=1, keepdims=True)
        whole: Floats = np.where(total > 0, each / np.where(total > 0, total, 1), 1 / len(self.slopes))
        return whole


@dataclass(frozen=True, slots=True)
class Mlp:
    """Two layers with a rectifier between them.

    Shapes: `mean`, `scale` (hidden,); `first` (hidden, width), `first_bias` (width,); `second`
    (width, classes), `second_bias` (classes,).
    """

    mean: Floats
    scale: Floats
    first: Floats
    first_bias: Floats
    second: Floats
    second_bias: Floats

    def probabilities(self, states: Floats) -> Floats:
        values = (states - self.mean) / self.scale
        logits = np.maximum(values @ self.first + self.first_bias, 0) @ self.second + self.second_bias
        odds = np.exp(logits - logits.max(axis=1, keepdims=True))
        shares: Floats = odds / odds.sum(axis=1, keepdims=True)
        return shares


@dataclass(frozen=True, slots=True)
class Knn:
    """The classes of the nearest neighbours after a linear projection.

    Shapes: `mean`, `scale` (hidden,); `projection` (hidden, d); `points` (m, d); `labels` (m,), the index of
    each point's class; `neighbours`, `classes` ().
    """

    mean: Floats
    scale: Floats
    projection: Floats
    points: Floats
    labels: Integers
    neighbours: Integers
    classes: Integers

    def probabilities(self, states: Floats) -> Floats:
        values = (states - self.mean) / self.scale
        places = values.astype(np.float64) @ self.projection
        rows = [self._shares(places[start : start + _ROWS]) for start in range(0, len(places), _ROWS)]
        return np.vstack(rows) if rows else np.zeros((0, int(self.classes)))

    def _shares(self, places: Floats) -> Floats:
        points = self.points.astype(np.float64)
        distances = ((places[:, None] - points[None]) ** 2).sum(axis=2)
        closest = np.argsort(distances, axis=1, kind="stable")[:, : int(self.neighbours)]
        shares: Floats = np.stack(
            [(self.labels[closest] == label).mean(axis=1) for label in range(int(self.classes))], axis=1
        )
        return shares


KINDS: Mapping[Kind, type[Svm | Mlp | Knn]] = {"svm": Svm, "mlp": Mlp, "knn": Knn}


@dataclass(frozen=True, slots=True)
class Ensemble:
    """A shallow classifier for each of some layers, numbered from 1; one layer is an ensemble too.

    `mean` gives the mean of their probabilities, `majority` the share of them that say each class.
    (RefChecker's ensemble learns a linear layer over all their probabilities.)
    """

    layers: Mapping[int, Svm | Mlp | Knn]
    combination: Combination = "mean"

    def probabilities(self, states: Floats) -> Floats:
        """Of states of shape (n, all layers, hidden size), shape (n, classes)."""
        each = [
            classifier.probabilities(states[:, layer - 1].astype(np.float32))
            for layer, classifier in self.layers.items()
        ]
        if self.combination == "majority":
            each = [np.eye(shares.shape[1])[shares.argmax(axis=1)] for shares in each]
        mean: Floats = np.mean(each, axis=0)
        return mean


def sigmoid(log_odds: Floats) -> Floats:
    """Log-odds to probabilities."""
    shares: Floats = 1 / (1 + np.exp(-np.clip(log_odds, -700, 700)))
    return shares


def _squared_distances(rows: Floats, others: Floats) -> Floats:
    squares: Floats = (rows**2).sum(axis=1)[:, None] + (others**2).sum(axis=1)[None] - 2 * rows @ others.T
    return np.maximum(squares, 0)


def _one_against_rest(decisions: Floats, classes: int) -> Floats:
    """A value per class out of one per pair of classes, which votes for the first class if it is positive."""
    votes, confidence = np.zeros((2, len(decisions), classes))
    for column, (first, second) in enumerate(combinations(range(classes), 2)):
        value = decisions[:, column]
        votes[:, first] += value >= 0
        votes[:, second] += value < 0
        confidence[:, first] += value
        confidence[:, second] -= value
    between: Floats = votes + confidence / (3 * (np.abs(confidence) + 1))
    return between
