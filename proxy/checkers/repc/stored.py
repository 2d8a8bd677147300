"""A RepC classifier on disk: its description, `repc.json`, and its arrays as safetensors. Never pickled."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, JsonValue, ValidationError, model_validator
from safetensors import SafetensorError
from safetensors.numpy import load, save

from proxy.checkers.repc.classifiers import KINDS, Combination, Ensemble, Floats, Kind, Knn, Mlp, Svm, sigmoid
from proxy.checkers.repc.hidden_states import Pooling
from proxy.errors import ConfigError
from proxy.types import Verdict

THREE = ("supported", "contradicted", "unsupported")
TWO = ("supported", "not_supported")

_TINY = 1e-4
Count = Annotated[int, Field(ge=1)]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class ModelDescription(_Part):
    """The model whose hidden states are classified: its number of layers and the hidden size of each."""

    name: str
    sha256: Sha256
    layers: Count
    hidden_size: Count


class Description(_Part):
    """The whole of `repc.json`.

    `arrays` is the safetensors file beside it. `slope` and `offset` are those of Platt's scaling (1999), on
    the log-odds of the probability of support. A claim is supported if its calibrated probability is at least
    `threshold`. `sources`, `seed` and `figures` record how the classifier was made; nothing reads them.
    """

    format: Literal[1]
    model: ModelDescription
    pooling: Pooling
    max_tokens: Annotated[int, Field(ge=32)]
    kind: Kind
    classes: tuple[str, ...]
    layers: Annotated[tuple[Count, ...], Field(min_length=1)]
    combination: Combination
    slope: Annotated[FiniteFloat, Field(gt=0)]
    offset: FiniteFloat
    threshold: Annotated[float, Field(gt=0, le=1)]
    arrays: Annotated[str, Field(pattern=r"^[\w.-]+\.safetensors$")]
    arrays_sha256: Sha256
    seed: int
    sources: JsonValue = None
    figures: JsonValue = None

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        if self.classes not in (TWO, THREE):
            raise ValueError(f"classes must be {list(THREE)} or {list(TWO)}")
        if len(set(self.layers)) < len(self.layers) or max(self.layers) > self.model.layers:
            raise ValueError(f"layers must be different ones of the model's {self.model.layers}")
        return self

    def verdict(self, probabilities: Floats, score: float) -> Verdict:
        """The verdict by the best window: its probabilities, shape (classes,), and its calibrated `score`."""
        if score >= self.threshold:
            return Verdict.SUPPORTED
        contradicted = self.classes == THREE and probabilities[1] > probabilities[2]
        return Verdict.CONTRADICTED if contradicted else Verdict.UNSUPPORTED


def log_odds(probabilities: Floats) -> Floats:
    """The log-odds of probabilities, between about -9 and 9: a few neighbours that agree are not certain."""
    kept = np.clip(probabilities, _TINY, 1 - _TINY)
    return np.asarray(np.log(kept / (1 - kept)))


def calibrated(probabilities: Floats, slope: float, offset: float) -> Floats:
    """Probabilities after Platt's scaling."""
    return sigmoid(slope * log_odds(probabilities) + offset)


DESCRIPTION = "repc.json"
ARRAYS = "repc.safetensors"


@dataclass(frozen=True, slots=True)
class Stored:
    """A classifier as read. `sha256` is that of its description, which holds the others'."""

    description: Description
    ensemble: Ensemble
    sha256: str


def array_bytes(ensemble: Ensemble) -> bytes:
    """The classifier's arrays as a safetensors file."""
    arrays: dict[str, NDArray[np.generic]] = {
        f"{layer}.{field.name}": np.array(getattr(classifier, field.name), order="C")
        for layer, classifier in ensemble.layers.items()
        for field in fields(classifier)
    }
    content: bytes = save(arrays)
    return content


def write_classifier(folder: Path, description: Description, arrays: bytes) -> None:
    """Writes both files, the description last: without it, the folder holds no classifier."""
    (folder / description.arrays).write_bytes(arrays)
    text = description.model_dump_json(indent=1) + "\n"
    partial = folder / f"{DESCRIPTION}.part"
    partial.write_text(text, encoding="utf-8")
    partial.replace(folder / DESCRIPTION)


def read_classifier(path: Path) -> Stored:
    """The classifier in a folder, or that of a description file.

    Raises:
        ConfigError: a file is missing or broken, or the two do not belong together.
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
    """Raises ValueError if the arrays give no probabilities, since their shapes or values are wrong."""
    blank = np.zeros((1, description.model.layers, description.model.hidden_size))
    values = ensemble.probabilities(blank)
    if values.shape != (1, len(description.classes)) or not np.isclose(values.sum(), 1, atol=1e-3):
        raise ValueError("they give no probabilities")


def _bytes(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise ConfigError(
            f"The RepC classifier's file {file} can't be read: {error.strerror}. Make it with "
            "`python -m training.repc`."
        ) from error
