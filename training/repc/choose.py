"""Which layers decide, at which threshold, and how right they are: scikit-learn and NumPy, no files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from proxy.checkers.repc.classifiers import Ensemble, Floats, Knn, Mlp, Svm
from proxy.checkers.repc.stored import TWO, calibrated, log_odds
from proxy.errors import ConfigError
from training.repc.data import class_of
from training.repc.extract import Extracted

_DIGITS = 3
_CHUNK = 1024
_GRID = tuple(round(0.05 + 0.01 * step, 2) for step in range(91))

Classifiers = Mapping[int, Svm | Mlp | Knn]


@dataclass(frozen=True, slots=True)
class Threshold:
    """Platt's two parameters and the threshold on what comes out."""

    slope: float
    offset: float
    threshold: float


def best_windows(ensemble: Ensemble, data: Extracted, classes: int) -> Floats:
    """Of each row the probabilities of its window that most likely supports it, shape (rows, classes)."""
    totals = np.zeros((len(data.rows), classes))
    best = np.full(len(data.rows), -1.0)
    for first in range(0, len(data.owners), _CHUNK):
        owners = data.owners[first : first + _CHUNK]
        rows = ensemble.probabilities(data.states[first : first + _CHUNK])
        for index, probabilities in zip(owners, rows, strict=True):
            if probabilities[0] > best[index]:
                best[index], totals[index] = probabilities[0], probabilities
    return totals


def layer_figures(classifiers: Classifiers, data: Extracted, classes: Sequence[str]) -> dict[int, float]:
    """The accuracy of each layer's classifier alone, as the mean over the classes: none outweighs another.

    Three-way where the rows' labels are those of the classes, else supported or not.
    """
    known = all(row.label in classes for row in data.rows)
    truth = np.array([class_of(row.label, classes if known else TWO) for row in data.rows])
    accuracies = {}
    for layer, classifier in classifiers.items():
        said = best_windows(Ensemble({layer: classifier}), data, len(classes)).argmax(axis=1)
        said = said if known else np.minimum(said, 1)
        recalls = [float((said[truth == index] == index).mean()) for index in np.unique(truth)]
        accuracies[layer] = round(float(np.mean(recalls)), _DIGITS)
    return accuracies


def choose(classifiers: Classifiers, accuracies: Mapping[int, float]) -> Ensemble:
    """The layer with the best accuracy, the first of equals."""
    layer = max(accuracies, key=lambda one: accuracies[one])
    return Ensemble({layer: classifiers[layer]})


def set_threshold(probabilities: Floats, supported: NDArray[np.bool_]) -> Threshold:
    """Platt's scaling of P(supported), and the threshold with the best balanced accuracy.

    Raises:
        ConfigError: the rows are all of one kind, or the more probable the support the rarer it is.
    """
    if supported.all() or not supported.any():
        raise ConfigError("The held-out rows must hold both supported claims and others.")
    platt = LogisticRegression(C=1e6, max_iter=5000).fit(log_odds(probabilities)[:, None], supported)
    slope, offset = round(float(platt.coef_[0, 0]), 4), round(float(platt.intercept_[0]), 4)
    if slope <= 0:
        raise ConfigError(
            "The classifier is no better than chance on the held-out rows: nothing is written. Train on more "
            "rows, or on another model."
        )
    scores = calibrated(probabilities, slope, offset)
    balances = [_balanced(supported, scores >= threshold) for threshold in _GRID]
    return Threshold(slope, offset, _GRID[int(np.argmax(balances))])


def figures(supported: NDArray[np.bool_], scores: Floats, threshold: float) -> dict[str, float]:
    """Accuracy and its kin, two-way; what needs both kinds of rows is left out where there is one."""
    said = scores >= threshold
    values = {"rows": float(len(supported)), "accuracy": float((said == supported).mean())}
    if supported.any() and not supported.all():
        values["balanced_accuracy"] = _balanced(supported, said)
        values["auc"] = float(roc_auc_score(supported, scores))
    return {name: round(value, _DIGITS) for name, value in values.items()}


def _balanced(supported: NDArray[np.bool_], said: NDArray[np.bool_]) -> float:
    return float((said[supported].mean() + (~said[~supported]).mean()) / 2)
