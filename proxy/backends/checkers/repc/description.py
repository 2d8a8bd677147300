"""What a classifier's JSON file says of it, and the verdict that follows from its probabilities."""

from __future__ import annotations

from typing import Annotated, Literal, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, JsonValue, model_validator

from proxy.backends.checkers.repc.classifiers import Combination, Floats, Kind, sigmoid
from proxy.backends.checkers.repc.states import Pooling
from proxy.types import Verdict

THREE = ("supported", "contradicted", "unsupported")
TWO = ("supported", "not_supported")

_TINY = 1e-4
Count = Annotated[int, Field(ge=1)]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class ModelDescription(_Part):
    """The model whose hidden states are classified. `layers` are those it has, `hidden_size` is of each."""

    name: str
    sha256: Sha256
    layers: Count
    hidden_size: Count


class Description(_Part):
    """The whole file. `arrays` is the safetensors file beside it; `sources`, `seed` and `figures` say how it
    came to be, and nothing reads them.

    `slope` and `offset` are Platt's (1999), on the log-odds of the probability of support. A claim whose
    calibrated probability reaches `threshold` is supported.
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
    def _is_of_one_piece(self) -> Self:
        if self.classes not in (TWO, THREE):
            raise ValueError(f"classes must be {list(THREE)} or {list(TWO)}")
        if len(set(self.layers)) < len(self.layers) or max(self.layers) > self.model.layers:
            raise ValueError(f"layers must be different ones of the model's {self.model.layers}")
        return self

    def verdict(self, probabilities: Floats, score: float) -> Verdict:
        """What the probabilities of the best window, shape (classes,), and its calibrated `score` come to."""
        if score >= self.threshold:
            return Verdict.SUPPORTED
        contradicted = self.classes == THREE and probabilities[1] > probabilities[2]
        return Verdict.CONTRADICTED if contradicted else Verdict.UNSUPPORTED


def log_odds(probabilities: Floats) -> Floats:
    """Of probabilities, at most about 9 either way: few neighbours that agree are not certain."""
    kept = np.clip(probabilities, _TINY, 1 - _TINY)
    return np.asarray(np.log(kept / (1 - kept)))


def calibrated(probabilities: Floats, slope: float, offset: float) -> Floats:
    """Platt's scaling of probabilities."""
    return sigmoid(slope * log_odds(probabilities) + offset)
