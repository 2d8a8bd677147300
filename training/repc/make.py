"""From rows to a classifier on disk."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from proxy.checkers.repc.classifiers import Combination, Ensemble, Kind
from proxy.checkers.repc.hidden_states import MAX_WINDOWS, HiddenStates
from proxy.checkers.repc.stored import (
    ARRAYS,
    Description,
    ModelDescription,
    array_bytes,
    calibrated,
    write_classifier,
)
from proxy.errors import ConfigError
from training.repc.choose import Classifiers, best_windows, choose, figures, layer_figures, set_threshold
from training.repc.data import Row, checksum, class_of, classes_of, groups_of, read_rows, split
from training.repc.extract import Extracted, extract
from training.repc.fitting import Table, fit

Layers = Literal["best", "ensemble"] | tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be made of what. `limit` is on the rows of `data` and of `dev`, each; `tests` are read
    whole."""

    data: Path
    dev: Path | None
    tests: tuple[Path, ...]
    kind: Kind
    layers: Layers
    combination: Combination
    out: Path
    states: Path
    seed: int
    batch_size: int
    limit: int | None


def make(order: Order, model: HiddenStates) -> Description:
    """Fits, chooses, calibrates, measures and writes the classifier; returns its description.

    Raises:
        ConfigError: the data or the model are not fit for it. Nothing is written then but states.
    """
    rows = read_rows(order.data, order.limit, order.seed)
    classes = classes_of(rows)
    candidates = _candidates(order.layers, model)
    if order.dev is None:
        rows, held = split(rows, classes, order.seed)
    else:
        held = read_rows(order.dev, order.limit, order.seed)
    train = extract(rows, model, order.states, order.batch_size, most=1)
    dev = extract(held, model, order.states, order.batch_size, most=MAX_WINDOWS)
    classifiers = _fit_layers(order, train, classes, candidates)
    accuracies = layer_figures(classifiers, dev, classes)
    ensemble = (
        choose(classifiers, accuracies)
        if order.layers == "best"
        else Ensemble(classifiers, order.combination)
    )
    description = _described(order, model, classes, ensemble, dev)
    sources = {"train": _source(order.data, rows), "dev": _source(order.dev or order.data, held)}
    found: dict[str, Any] = {
        "layers": {str(layer): accuracy for layer, accuracy in accuracies.items()},
        "dev": _measured(description, ensemble, dev),
    }
    for file in order.tests:
        rows = read_rows(file, None, order.seed)
        tested = extract(rows, model, order.states, order.batch_size, most=MAX_WINDOWS)
        found[file.stem] = _measured(description, ensemble, tested)
    description = description.model_copy(update={"sources": sources, "figures": found})
    write_classifier(order.out, description, array_bytes(ensemble))
    return description


def _candidates(layers: Layers, model: HiddenStates) -> Sequence[int]:
    if not isinstance(layers, tuple):
        return range(1, model.layers + 1)
    beyond = [layer for layer in layers if not 1 <= layer <= model.layers]
    if beyond:
        raise ConfigError(f"The model {model.name} has layers 1 to {model.layers}, not {beyond[0]}.")
    return layers


def _fit_layers(order: Order, train: Extracted, classes: Sequence[str], layers: Sequence[int]) -> Classifiers:
    labels = np.array([class_of(row.label, classes) for row in train.rows])
    groups = np.array(groups_of(train.rows))
    classifiers = {}
    for layer in layers:
        states = train.states[:, layer - 1].astype(np.float32)
        classifiers[layer] = fit(order.kind, Table(states, labels, groups), order.seed)
        sys.stderr.write(f"layer {layer} is fitted\n")
    return classifiers


def _described(
    order: Order, model: HiddenStates, classes: tuple[str, ...], ensemble: Ensemble, dev: Extracted
) -> Description:
    support = best_windows(ensemble, dev, len(classes))[:, 0]
    threshold = set_threshold(support, _supported(dev))
    return Description(
        format=1,
        model=ModelDescription(
            name=model.name, sha256=model.checksum, layers=model.layers, hidden_size=model.hidden_size
        ),
        pooling=model.pooling,
        max_tokens=model.reader.max_tokens,
        kind=order.kind,
        classes=classes,
        layers=tuple(ensemble.layers),
        combination=ensemble.combination,
        slope=threshold.slope,
        offset=threshold.offset,
        threshold=threshold.threshold,
        arrays=ARRAYS,
        arrays_sha256=hashlib.sha256(array_bytes(ensemble)).hexdigest(),
        seed=order.seed,
    )


def _measured(description: Description, ensemble: Ensemble, data: Extracted) -> Mapping[str, float]:
    support = best_windows(ensemble, data, len(description.classes))[:, 0]
    scores = calibrated(support, description.slope, description.offset)
    return figures(_supported(data), scores, description.threshold)


def _supported(data: Extracted) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    return np.array([row.label == "supported" for row in data.rows])


def _source(file: Path, rows: Sequence[Row]) -> dict[str, Any]:
    return {"file": file.name, "rows": len(rows), "sha256": checksum(rows)}
