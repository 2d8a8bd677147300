"""Shallow classifiers, fitted with scikit-learn and turned into the arrays that the checker reads."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from sklearn.calibration import CalibratedClassifierCV
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedGroupKFold
from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from proxy.checkers.repc.classifiers import Floats, Kind, Knn, Mlp, Svm
from training.repc.data import FOLDS

Labels = NDArray[np.int64]

MAX_ROWS: Mapping[Kind, int] = {"svm": 3000, "mlp": 1_000_000, "knn": 3000}
"""What a classifier is fitted on at most: support vectors and points are stored, and NCA holds a matrix of
rows by rows. (RefChecker trains its SVM on 1,000 rows of each of three classes.)"""

_NCA_INPUTS = 64
_ROWS_PER_INPUT = 8
_NCA_DIMENSIONS = 2
_NEIGHBOURS = 15
_EARLY_STOP_ROWS = 200


@dataclass(frozen=True, slots=True)
class Table:
    """States of one layer, shape (n, hidden), float32; the class of each row, and its group: rows of a group
    share evidence."""

    states: Floats
    labels: Labels
    groups: Labels


def fit(kind: Kind, table: Table, seed: int) -> Svm | Mlp | Knn:
    """The classifier of that kind. The same table and seed give the same one."""
    return exported(kind, fitted(kind, table, seed))


def fitted(kind: Kind, table: Table, seed: int) -> Pipeline:
    """scikit-learn's own, on standardised states of as many rows of each class, as RefChecker draws them."""
    used = _drawn(table, MAX_ROWS[kind], seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a limit on the rounds is meant as one
        return _PIPELINES[kind](used, seed).fit(used.states, used.labels)


def exported(kind: Kind, pipeline: Pipeline) -> Svm | Mlp | Knn:
    """The same as arrays."""
    return _EXPORTS[kind](pipeline)


def _svm(table: Table, seed: int) -> Pipeline:
    """A support vector machine with a Gaussian kernel, as RefChecker's.

    Its probabilities come from a sigmoid on decision values of rows that it did not see, where no evidence is
    both seen and unseen.
    """
    folds = StratifiedGroupKFold(FOLDS, shuffle=True, random_state=seed)
    splits = list(folds.split(table.states, table.labels, table.groups))
    machine = SVC(kernel="rbf", gamma=1 / table.states.shape[1])
    calibrated = CalibratedClassifierCV(machine, method="sigmoid", cv=splits, ensemble=False)
    return Pipeline([("scale", StandardScaler()), ("classify", calibrated)])


def _mlp(table: Table, seed: int) -> Pipeline:
    """Two layers, the first a quarter of the hidden size wide, as RefChecker's; stopped on rows held back."""
    rows, size = table.states.shape
    network = MLPClassifier(
        (max(16, size // 4),),
        alpha=1e-3,
        batch_size=min(32, rows),
        early_stopping=rows >= _EARLY_STOP_ROWS,
        max_iter=100,
        random_state=seed,
    )
    return Pipeline([("scale", StandardScaler()), ("classify", network)])


def _knn(table: Table, seed: int) -> Pipeline:
    """Neighbours in the two dimensions that neighbourhood components analysis finds, as RefChecker's.

    Unlike there, it looks for them among the first principal components, at most 64 and one for each eight
    rows: out of all dimensions it learns the rows by heart.
    """
    rows, size = table.states.shape
    inputs = max(1, min(_NCA_INPUTS, rows // _ROWS_PER_INPUT, size))
    return Pipeline(
        [
            ("scale", StandardScaler()),
            ("reduce", PCA(inputs, random_state=seed)),
            ("project", NeighborhoodComponentsAnalysis(min(_NCA_DIMENSIONS, inputs), random_state=seed)),
            ("classify", KNeighborsClassifier(min(_NEIGHBOURS, len(table.labels)))),
        ]
    )


_PIPELINES: Mapping[Kind, Callable[[Table, int], Pipeline]] = {"svm": _svm, "mlp": _mlp, "knn": _knn}


def _exported_svm(pipeline: Pipeline) -> Svm:
    inner = pipeline["classify"].calibrated_classifiers_[0]
    machine = inner.estimator
    return Svm(
        mean=_single(pipeline["scale"].mean_),
        scale=_single(pipeline["scale"].scale_),
        vectors=_single(machine.support_vectors_),
        coefficients=_coefficients(machine),
        intercepts=np.asarray(machine.intercept_),
        gamma=np.array(machine.gamma),
        slopes=np.array([calibrator.a_ for calibrator in inner.calibrators]),
        offsets=np.array([calibrator.b_ for calibrator in inner.calibrators]),
    )


def _exported_mlp(pipeline: Pipeline) -> Mlp:
    """Of two classes scikit-learn has the log-odds of the second; the first's logit is 0 then."""
    (first, second), (first_bias, bias) = pipeline["classify"].coefs_, pipeline["classify"].intercepts_
    if second.shape[1] == 1:
        second, bias = np.hstack([np.zeros_like(second), second]), np.append(0, bias)
    return Mlp(
        mean=_single(pipeline["scale"].mean_),
        scale=_single(pipeline["scale"].scale_),
        first=_single(first),
        first_bias=_single(first_bias),
        second=_single(second),
        second_bias=_single(bias),
    )


def _exported_knn(pipeline: Pipeline) -> Knn:
    """The two projections as one. PCA's mean is that of standardised rows, 0."""
    model = pipeline["classify"]
    return Knn(
        mean=_single(pipeline["scale"].mean_),
        scale=_single(pipeline["scale"].scale_),
        projection=_single((pipeline["project"].components_ @ pipeline["reduce"].components_).T),
        points=_single(model._fit_X),
        labels=model._y.astype(np.int32),
        neighbours=np.array(model.n_neighbors),
        classes=np.array(len(model.classes_)),
    )


_EXPORTS: Mapping[Kind, Callable[[Pipeline], Svm | Mlp | Knn]] = {
    "svm": _exported_svm,
    "mlp": _exported_mlp,
    "knn": _exported_knn,
}


def _drawn(table: Table, most: int, seed: int) -> Table:
    """At most `most` rows, as many of each class."""
    held = np.bincount(table.labels)
    each = min(int(held.min()), most // len(held))
    draw = np.random.default_rng(seed)
    chosen = [
        draw.choice(np.flatnonzero(table.labels == index), each, replace=False) for index in range(len(held))
    ]
    rows = np.sort(np.concatenate(chosen))
    return Table(table.states[rows], table.labels[rows], table.groups[rows])


def _coefficients(machine: SVC) -> Floats:
    """Of each two classes, in order, the factor of each support vector: shape (pairs of classes, m).

    scikit-learn packs them: row r of a vector of class c is that against class r, or r + 1 from c on.
    """
    dual, counts = machine.dual_coef_, machine.n_support_
    if len(counts) == 2:
        return np.asarray(dual)
    of = np.repeat(np.arange(len(counts)), counts)
    return np.array(
        [
            np.where(of == first, dual[other - 1], np.where(of == other, dual[first], 0.0))
            for first, other in combinations(range(len(counts)), 2)
        ]
    )


def _single(values: Floats) -> Floats:
    return np.asarray(values, dtype=np.float32)
