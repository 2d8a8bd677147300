"""The settings under `checker:`, and `Section`, which all sections of the settings inherit from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, Self, get_args

from pydantic import BaseModel, ConfigDict, Field, model_validator

from proxy.types import NLILabel, Precision, PromptName


class Section(BaseModel):
    """A part of the settings: frozen, and an unknown key or a number that is not finite is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True, allow_inf_nan=False)


CheckerName = Literal["nli", "llm", "cross_encoder", "repc", "cascade"]
LOCAL_CHECKERS: frozenset[CheckerName] = frozenset({"nli", "cross_encoder", "repc"})
"""Those that compute in this process: a check costs no round trip."""
StepName = Literal["nli", "llm", "cross_encoder", "repc"]


class LLMChecker(Section):
    """`checker.llm`: asks an LLM."""

    model: str | None = None
    prompt: PromptName = "ceg"
    claims_per_call: int = Field(1, ge=1, le=50)
    concurrency: int = Field(8, ge=1, le=256)
    timeout: float = Field(30.0, gt=0)
    params: dict[str, object] = Field({"temperature": 0, "max_tokens": 512})


class NLIChecker(Section):
    """`checker.nli`: runs a cross-encoder that was trained for this, in one of two sizes."""

    size: Literal["auto", "small", "base"] = "auto"
    base_model: str | None = None


class CrossEncoderChecker(Section):
    """`checker.cross_encoder`: runs a classification model. Without `model` there is no such checker."""

    model: str | None = None
    revision: str | None = None
    labels: tuple[NLILabel, ...] = ()
    threshold: float = Field(0.5, gt=0, le=1)
    max_tokens: int = Field(512, ge=64)
    overlap: int = Field(64, ge=0)
    max_windows: int = Field(8, ge=1)
    precision: Precision = "auto"
    batch_size: int = Field(8, ge=1, le=4096)
    trust_remote_code: bool = False

    @model_validator(mode="after")
    def _bounds(self) -> Self:
        if self.labels and self.labels.count("entailment") != 1:
            raise ValueError("needs `entailment` exactly once in `labels`")
        if self.overlap > self.max_tokens // 2:
            raise ValueError("needs an `overlap` of at most half of `max_tokens`")
        return self


class RepCChecker(Section):
    """`checker.repc`: classifies a model's hidden states. Without `model` there is no such checker."""

    model: str | None = None
    classifier: str | None = None
    precision: Precision = "auto"

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if (self.model is None) != (self.classifier is None):
            raise ValueError("needs both `model` and `classifier`: a classifier was trained on one model")
        return self


class CascadeStep(Section):
    """A checker of the cascade. A score between the bounds `sure` leaves the pair to the next step."""

    name: StepName
    sure: tuple[float, float] = (0.1, 0.9)

    @model_validator(mode="before")
    @classmethod
    def _named(cls, given: object) -> object:
        return {"name": given} if isinstance(given, str) else given

    @model_validator(mode="after")
    def _bounds(self) -> Self:
        low, high = self.sure
        if not 0 <= low <= high <= 1:
            raise ValueError("needs `sure` to be [low, high] with 0 <= low <= high <= 1")
        return self


class CascadeChecker(Section):
    """`checker.cascade`: asks checkers one after the other. Without `steps` there is no cascade."""

    steps: tuple[CascadeStep, ...] = ()

    @model_validator(mode="after")
    def _once_each(self) -> Self:
        names = [step.name for step in self.steps]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"has the step {name} twice")
        return self


class Checker(Section):
    """`checker`: which checker decides, and the settings of each."""

    name: CheckerName = "nli"
    cache_pairs: int = Field(10_000, ge=0)
    cache_chars: int = Field(20_000_000, ge=0)
    cache_llm: bool = False
    batch_ms: float = Field(2.0, ge=0, le=1000)
    batch_pairs: int = Field(64, ge=1)
    batch_waiting: int = Field(1024, ge=1)
    nli: NLIChecker = NLIChecker()
    llm: LLMChecker = LLMChecker()
    cross_encoder: CrossEncoderChecker = CrossEncoderChecker()
    repc: RepCChecker = RepCChecker()
    cascade: CascadeChecker = CascadeChecker()

    @property
    def configured(self) -> tuple[CheckerName, ...]:
        """The checkers that can be used: `nli` and `llm` need no settings, the others need theirs."""
        given = {
            "nli": True,
            "llm": True,
            "cross_encoder": self.cross_encoder.model is not None,
            "repc": self.repc.model is not None,
            "cascade": bool(self.cascade.steps),
        }
        return tuple(name for name in get_args(CheckerName) if given[name])

    @model_validator(mode="after")
    def _only_configured_ones(self) -> Self:
        for name in (self.name, *(step.name for step in self.cascade.steps)):
            if name not in self.configured:
                raise ValueError(f"uses {name}, but {NEEDED[name]} is not set")
        return self


NEEDED: Mapping[CheckerName, str] = {
    "cross_encoder": "checker.cross_encoder.model",
    "repc": "checker.repc.model",
    "cascade": "checker.cascade.steps",
}
"""The setting without which a checker can't be used."""
