"""The weights: their form in `weights.json`, and the probability they give.

The models are gradient-boosted trees (Friedman 2001) as plain numbers. A gate joins two doubts: is the claim
said, and is it the evidence's own sentence with a detail exchanged.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, JsonValue, ValidationError, model_validator

from proxy.checkers.builtin.claim_view import Lexicon
from proxy.checkers.builtin.ensemble import INPUTS
from proxy.errors import ConfigError
from proxy.types import Language

Index = Annotated[int, Field(ge=0)]


class Tree(BaseModel):
    """A tree as columns over its nodes, the root first; parents stand before their children.

    A node with `left` 0 is a leaf of `values`; at another one, an input of at most its threshold goes left.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    inputs: tuple[Index, ...]
    thresholds: tuple[FiniteFloat, ...]
    left: tuple[Index, ...]
    right: tuple[Index, ...]
    values: tuple[FiniteFloat, ...]

    @model_validator(mode="after")
    def _is_a_tree(self) -> Tree:
        sizes = {len(self.inputs), len(self.thresholds), len(self.left), len(self.right), len(self.values)}
        if len(sizes) != 1 or 0 in sizes:
            raise ValueError("a tree's columns have different lengths, or none at all")
        for at, (left, right) in enumerate(zip(self.left, self.right, strict=True)):
            if left and not at < min(left, right) <= max(left, right) < len(self.left):
                raise ValueError("a tree's children must stand behind their parent")
        return self

    def value(self, inputs: Sequence[float]) -> float:
        """That of the leaf which the inputs lead to."""
        at = 0
        while self.left[at]:
            low = inputs[self.inputs[at]] <= self.thresholds[at]
            at = self.left[at] if low else self.right[at]
        return self.values[at]


class Trees(BaseModel):
    """The sum of trees over a start, in log-odds."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    start: FiniteFloat
    trees: tuple[Tree, ...]

    def log_odds(self, inputs: Sequence[float]) -> float:
        """Of the positive class."""
        return self.start + sum(tree.value(inputs) for tree in self.trees)

    @property
    def widest(self) -> int:
        """How many inputs there must be."""
        return max((max(tree.inputs) + 1 for tree in self.trees), default=0)


def gated(support: float, swap: float) -> float:
    """The log-odds of P(supported) * (1 - P(swapped)), out of the log-odds of the two probabilities.

    Two models, since a lone gap in a sentence that is otherwise the evidence's own means little in a
    citation, which words things its own way, and all in a copied sentence.
    """
    log_both = -_softplus(-support) - _softplus(swap)
    return log_both - math.log(-math.expm1(min(log_both, -1e-12)))


def _softplus(value: float) -> float:
    """log(1 + exp(value)) without overflow."""
    return max(value, 0.0) + math.log1p(math.exp(-abs(value)))


Share = Annotated[float, Field(ge=0, le=1)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Regression(_Part):
    """A logistic regression on standardised inputs; a coefficient is log-odds per standard deviation."""

    means: tuple[FiniteFloat, ...]
    scales: tuple[Annotated[FiniteFloat, Field(gt=0)], ...]
    coefficients: tuple[FiniteFloat, ...]
    intercept: FiniteFloat

    @model_validator(mode="after")
    def _one_of_each(self) -> Regression:
        if not len(self.means) == len(self.scales) == len(self.coefficients):
            raise ValueError("a regression needs as many means and scales as coefficients")
        return self

    def log_odds(self, values: Sequence[float]) -> float:
        """Of the positive class."""
        columns = zip(values, self.means, self.scales, self.coefficients, strict=True)
        return self.intercept + sum(weight * (value - mean) / scale for value, mean, scale, weight in columns)


class Averaged(_Part):
    """Two models of P(supported | inputs): the mean of their log-odds counts."""

    kind: Literal["averaged"] = "averaged"
    regression: Regression
    trees: Trees

    @property
    def widest(self) -> int:
        """How many inputs there must be."""
        return max(len(self.regression.coefficients), self.trees.widest)

    def log_odds(self, values: Sequence[float]) -> float:
        """Of full support."""
        return (self.regression.log_odds(values) + self.trees.log_odds(values)) / 2


class Gated(_Part):
    """P(supported | inputs), times that no detail was exchanged, by the first of the inputs alone."""

    kind: Literal["gated"] = "gated"
    support: Regression
    swap: Regression

    @property
    def widest(self) -> int:
        """How many inputs there must be."""
        return max(len(self.support.coefficients), len(self.swap.coefficients))

    def log_odds(self, values: Sequence[float]) -> float:
        """Of full support."""
        own = values[: len(self.swap.coefficients)]
        return gated(self.support.log_odds(values), self.swap.log_odds(own))


Model = Averaged | Gated


class Contradiction(_Part):
    """From which probability on a claim that fails is contradicted (`contradiction.contradicted`)."""

    threshold: Share
    figures: JsonValue = None


class LanguageModel(_Part):
    """All that is learnt for one language.

    `model` tells the log-odds of support, which Platt's (1999) `slope` and `offset` calibrate. `idf` maps an
    inverse document frequency to the words that have it, separated by spaces; `rarest` is that of all others.
    `contradiction` is None where only the rule calls a claim contradicted.
    """

    idf: dict[str, str]
    rarest: Annotated[FiniteFloat, Field(gt=0)]
    inputs: tuple[str, ...]
    model: Annotated[Model, Field(discriminator="kind")]
    slope: Annotated[FiniteFloat, Field(gt=0)]
    offset: FiniteFloat
    threshold: Share
    contradiction: Contradiction | None = None
    figures: JsonValue = None

    @model_validator(mode="after")
    def _one_size(self) -> LanguageModel:
        if self.model.widest != len(self.inputs):
            raise ValueError("a model must have the inputs that are named")
        return self

    def lexicon(self) -> Lexicon:
        """The word weights."""
        return Lexicon.of(self.idf, self.rarest)

    def probability(self, values: Sequence[float]) -> float:
        """The calibrated probability of full support."""
        return sigmoid(self.slope * self.model.log_odds(values) + self.offset)


class Weights(_Part):
    """The whole file. `sources`, `seed` and `figures` say how it came to be; nothing reads them.

    So do `adapters`, of the NLI models' that the weights were fitted with.
    """

    seed: int
    adapters: dict[Language, JsonValue]
    sources: JsonValue
    languages: dict[Language, LanguageModel]

    @model_validator(mode="after")
    def _made_for_this_version(self) -> Weights:
        if set(self.languages) != set(INPUTS):
            raise ValueError("one model for en and one for zh is needed")
        if any(model.inputs != INPUTS[language] for language, model in self.languages.items()):
            raise ValueError("the inputs are not those of this version")
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
            "Install Vouch again, or make them with `python -m training`."
        ) from error


def sigmoid(log_odds: float) -> float:
    """Log-odds to a probability, without overflow."""
    if log_odds >= 0:
        return 1 / (1 + math.exp(-log_odds))
    odds = math.exp(max(log_odds, -700.0))
    return odds / (1 + odds)
