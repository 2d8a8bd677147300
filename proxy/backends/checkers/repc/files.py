"""A classifier on disk: `repc.json`, which describes it, and its arrays as safetensors. Never pickled."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError
from safetensors import SafetensorError
from safetensors.numpy import load, save

from proxy.backends.checkers.repc.classifiers import KINDS, Ensemble, Knn, Mlp, Svm
from proxy.backends.checkers.repc.description import Description
from proxy.errors import ConfigError

DESCRIPTION = "repc.json"
ARRAYS = "repc.safetensors"


@dataclass(frozen=True, slots=True)
class Stored:
    """A classifier as read. `sha256` is that of its description, which names those of the arrays and the
    model."""

    description: Description
    ensemble: Ensemble
    sha256: str


def array_bytes(ensemble: Ensemble) -> bytes:
    """The classifier's arrays as a safetensors file."""
    arrays: dict[str, NDArray[np.generic]] = {
        f"{layer}.{field.name}": np.array(getattr(one, field.name), order="C")
        for layer, one in ensemble.layers.items()
        for field in fields(one)
    }
    content: bytes = save(arrays)
    return content


def write_classifier(folder: Path, description: Description, arrays: bytes) -> None:
    """Writes both files; the description, which makes the folder a classifier, last."""
    (folder / description.arrays).write_bytes(arrays)
    text = description.model_dump_json(indent=1) + "\n"
    partial = folder / f"{DESCRIPTION}.part"
    partial.write_text(text, encoding="utf-8")
    partial.replace(folder / DESCRIPTION)


def read_classifier(path: Path) -> Stored:
    """The classifier in a folder, or that of a description file.

    Raises:
        ConfigError: a file is missing, broken, or not the one that belongs to the other.
    """
    path = path.expanduser()
    file = path / DESCRIPTION if path.is_dir() else path
    content = _bytes(file)
    try:
        description = Description.model_validate_json(content)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise ConfigError(
            f"The RepC classifier {file} can't be used: {where + ': ' if where else ''}{first['msg']}. "
            "Make it with `python -m training.repc`."
        ) from error
    arrays = file.parent / description.arrays
    return Stored(description, _ensemble(arrays, description), hashlib.sha256(content).hexdigest())


def _ensemble(file: Path, description: Description) -> Ensemble:
    content = _bytes(file)
    if hashlib.sha256(content).hexdigest() != description.arrays_sha256:
        raise ConfigError(f"{file} is not the file that its description belongs to: copy both again.")
    try:
        arrays = load(content)
        kind = KINDS[description.kind]
        layers: dict[int, Svm | Mlp | Knn] = {
            layer: kind(**{field.name: arrays[f"{layer}.{field.name}"] for field in fields(kind)})
            for layer in description.layers
        }
        ensemble = Ensemble(layers, description.combination)
        _try_out(ensemble, description)
    except (SafetensorError, KeyError, ValueError, TypeError, IndexError) as error:
        raise ConfigError(
            f"The RepC classifier's arrays in {file} do not fit its description: {error}."
        ) from error
    return ensemble


def _try_out(ensemble: Ensemble, description: Description) -> None:
    """Raises ValueError where the arrays give no probabilities: their shapes are wrong, or their values."""
    blank = np.zeros((1, description.model.layers, description.model.hidden_size))
    found = ensemble.probabilities(blank)
    if found.shape != (1, len(description.classes)) or not np.isclose(found.sum(), 1, atol=1e-3):
        raise ValueError("they give no probabilities")


def _bytes(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise ConfigError(
            f"The RepC classifier's file {file} can't be read: {error.strerror}. Make it with "
            "`python -m training.repc`."
        ) from error
