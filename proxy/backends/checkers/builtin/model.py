"""The weights: how they lie in `weights.json`, and the probability they give."""

from __future__ import annotations

import math
from collections.abc import Sequence
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, JsonValue, ValidationError, model_validator

from proxy.backends.checkers.builtin.claims import Lexicon
from proxy.backends.checkers.builtin.features import FEATURES
from proxy.errors import ConfigError
from proxy.types import Language

_TINY = 1e-6
Share = Annotated[float, Field(ge=0, le=1)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Regression(_Part):
    """A logistic regression on standardised features; a coefficient is log-odds per standard deviation."""

    means: tuple[FiniteFloat, ...]
    scales: tuple[Annotated[FiniteFloat, Field(gt=0)], ...]
    coefficients: tuple[FiniteFloat, ...]
    intercept: FiniteFloat

    @model_validator(mode="after")
    def _as_many_as_features(self) -> Regression:
        if not len(self.means) == len(self.scales) == len(self.coefficients) == len(FEATURES):
            raise ValueError(f"a regression needs {len(FEATURES)} means, scales and coefficients")
        return self

    def probability(self, values: Sequence[float]) -> float:
        """The probability of the positive class, for the values of `FEATURES`."""
        columns = zip(values, self.means, self.scales, self.coefficients, strict=True)
        return sigmoid(
            self.intercept + sum(weight * (value - mean) / scale for value, mean, scale, weight in columns)
        )


class LanguageModel(_Part):
    """All that is learnt for one language.

    `support` is P(supported | features) among real citations. `swap` is P(one detail was exchanged |
    features) among sentences of a corpus. `idf` maps an inverse document frequency to the words that have
    it, separated by spaces; `rarest` is that of all others. `slope` and `offset` are Platt's, on the
    log-odds of the product.
    """

    idf: dict[str, str]
    rarest: Annotated[FiniteFloat, Field(gt=0)]
    support: Regression
    swap: Regression
    slope: Annotated[FiniteFloat, Field(gt=0)]
    offset: FiniteFloat
    threshold: Share
    figures: JsonValue = None

    def lexicon(self) -> Lexicon:
        """The word weights."""
        return Lexicon(
            {word: float(idf) for idf, words in self.idf.items() for word in words.split()}, self.rarest
        )

    def probability(self, values: Sequence[float]) -> float:
        """The calibrated (Platt 1999) probability of full support: the words are there, none exchanged."""
        return calibrated(self.raw(values), self.slope, self.offset)

    def raw(self, values: Sequence[float]) -> float:
        """The same before calibration."""
        return self.support.probability(values) * (1 - self.swap.probability(values))


class Weights(_Part):
    """The whole file. `sources`, `seed` and `figures` say how it came to be; nothing reads them."""

    features: tuple[str, ...]
    seed: int
    sources: JsonValue
    languages: dict[Language, LanguageModel]

    @model_validator(mode="after")
    def _made_for_this_version(self) -> Weights:
        if self.features != FEATURES:
            raise ValueError("the features are not those of this version")
        if set(self.languages) != {"en", "zh"}:
            raise ValueError("one model for en and one for zh is needed")
        return self


def load_weights(file: Traversable | None = None) -> Weights:
    """The weights in `file`, or the package's own. Raises `ConfigError` where they are missing or broken."""
    file = file or resources.files(__package__).joinpath("weights.json")
    try:
        return Weights.model_validate_json(file.read_bytes())
    except (OSError, ValidationError) as error:
        reason = error.errors()[0]["msg"] if isinstance(error, ValidationError) else error.strerror
        raise ConfigError(
            f"The built-in checker's weights ({file}) can't be used: {reason}. "
            "Install Vouch again, or make them with `python -m training.builtin`."
        ) from error


def sigmoid(log_odds: float) -> float:
    """Log-odds to a probability, without overflow."""
    if log_odds >= 0:
        return 1 / (1 + math.exp(-log_odds))
    odds = math.exp(max(log_odds, -700.0))
    return odds / (1 + odds)


def logit(probability: float) -> float:
    """A probability to log-odds, at most about 14 either way."""
    probability = min(max(probability, _TINY), 1 - _TINY)
    return math.log(probability / (1 - probability))


def calibrated(probability: float, slope: float, offset: float) -> float:
    """Platt's scaling of a probability's log-odds."""
    return sigmoid(slope * logit(probability) + offset)
