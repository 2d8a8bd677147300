"""Every setting, its type, its bounds and its default. `config.yaml` holds the same with a comment each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, Self, get_args

from pydantic import BaseModel, ConfigDict, Field, SecretStr, model_validator

from proxy.types import (
    Aggregation,
    CitationStyle,
    Correction,
    EvidenceSource,
    Granularity,
    OnUnsupported,
    ProfileName,
    RegenerationMode,
    RetrievalMode,
    StreamMode,
    UpstreamCitations,
)

CheckerName = Literal["builtin", "llm", "cross_encoder", "repc", "cascade"]
StepName = Literal["builtin", "llm", "cross_encoder", "repc"]
NLILabel = Literal["entailment", "neutral", "contradiction"]
Precision = Literal["auto", "bf16", "fp32"]
PromptName = Literal["ceg", "ceg_yes_no", "refchecker", "citecheck"]


class Section(BaseModel):
    """Frozen, and no key that we don't know."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)


class Server(Section):
    """Where and how the proxy listens, and what it bounds."""

    host: str = "127.0.0.1"
    port: int = Field(8000, ge=0, le=65535)
    public_url: str | None = None
    api_keys: tuple[SecretStr, ...] = ()
    max_body_bytes: int = Field(20_000_000, ge=1_000)
    max_concurrency: int = Field(64, ge=1)
    max_queue: int = Field(256, ge=0)
    heartbeat: float = Field(10.0, gt=0, le=15)
    log_level: Literal["debug", "info", "warning", "error"] = "info"


class Upstream(Section):
    """One model that clients can name."""

    model: str
    name: str = ""
    api_base: str | None = None
    api_key: SecretStr | None = None
    client_key: bool = False
    client: Literal["auto", "http", "litellm"] = "auto"
    timeout: float = Field(120.0, gt=0)
    connect_timeout: float = Field(10.0, gt=0)
    max_retries: int = Field(2, ge=0, le=10)
    max_reply_bytes: int = Field(20_000_000, ge=1_000)
    stream_mode: StreamMode | None = None
    prefill: bool = False
    params: dict[str, object] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _named(self) -> Self:
        if not self.name:
            provider, _, rest = self.model.partition("/")
            name = self.model if provider == "vouch" or not rest else rest
            object.__setattr__(self, "name", name)
        return self


class Index(Section):
    """The corpus."""

    path: str = "index"
    words: int = Field(100, ge=20, le=1000)


class Encoder(Section):
    """The model that turns text into vectors."""

    model: str = "all-MiniLM-L6-v2"
    precision: Precision = "auto"
    batch_size: int = Field(8, ge=1, le=4096)
    threads: int | None = Field(None, ge=1)


class Extractor(Section):
    """The LLM that takes sentences apart into triplets."""

    model: str | None = None
    sentences: int = Field(10, ge=1, le=100)
    concurrency: int = Field(8, ge=1, le=256)
    timeout: float = Field(30.0, gt=0)
    params: dict[str, object] = {"temperature": 0, "max_tokens": 2048}


class Claims(Section):
    """What is checked on its own, and how the verdicts on it add up."""

    granularity: Granularity = "sentence"
    aggregation: Aggregation = "strict"
    extractor: Extractor = Extractor()


class Retrieval(Section):
    """How passages are found for a claim."""

    evidence: EvidenceSource = "corpus"

    mode: RetrievalMode = "hybrid"
    top_k: int = Field(5, ge=1, le=100)
    threshold: float | Literal["auto"] = "auto"
    max_document_chars: int = Field(200_000, ge=1)


class LLMChecker(Section):
    """The checker that asks an LLM."""

    model: str | None = None
    prompt: PromptName = "ceg"
    claims_per_call: int = Field(1, ge=1, le=50)
    concurrency: int = Field(8, ge=1, le=256)
    timeout: float = Field(30.0, gt=0)
    params: dict[str, object] = {"temperature": 0, "max_tokens": 512}


class CrossEncoderChecker(Section):
    """The checker that runs a sequence-classification model; there is none without a `model`."""

    model: str | None = None
    revision: str | None = None
    labels: tuple[NLILabel, ...] = ()
    threshold: float = Field(0.5, gt=0, le=1)
    max_tokens: int = Field(512, ge=64)
    overlap: int = Field(64, ge=0)
    max_windows: int = Field(8, ge=1)
    precision: Precision = "auto"
    batch_size: int = Field(8, ge=1, le=4096)
    threads: int | None = Field(None, ge=1)
    trust_remote_code: bool = False

    @model_validator(mode="after")
    def _bounds(self) -> Self:
        if self.labels and self.labels.count("entailment") != 1:
            raise ValueError("`labels` must name `entailment` exactly once")
        if self.overlap > self.max_tokens // 2:
            raise ValueError("`overlap` must be at most half of `max_tokens`")
        return self


class RepCChecker(Section):
    """The checker that classifies a model's hidden states; there is none without a `model`."""

    model: str | None = None
    classifier: str | None = None
    precision: Precision = "auto"
    threads: int | None = Field(None, ge=1)

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if (self.model is None) != (self.classifier is None):
            raise ValueError("`model` and `classifier` belong together: the one was fitted on the other")
        return self


class CascadeStep(Section):
    """A checker of the cascade. A score outside the open interval `sure` is its last word."""

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
            raise ValueError("`sure` must be [low, high] with 0 <= low <= high <= 1")
        return self


class CascadeChecker(Section):
    """The checkers that are asked one after the other; there is no cascade without `steps`."""

    steps: tuple[CascadeStep, ...] = ()

    @model_validator(mode="after")
    def _once_each(self) -> Self:
        names = [step.name for step in self.steps]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"{name} is a step twice")
        return self


class Checker(Section):
    """Which checker decides, and the settings of each."""

    name: CheckerName = "builtin"
    cache_pairs: int = Field(10_000, ge=0)
    cache_chars: int = Field(20_000_000, ge=0)
    cache_llm: bool = False
    batch_ms: float = Field(2.0, ge=0, le=1000)
    batch_pairs: int = Field(64, ge=1)
    batch_waiting: int = Field(1024, ge=1)
    llm: LLMChecker = LLMChecker()
    cross_encoder: CrossEncoderChecker = CrossEncoderChecker()
    repc: RepCChecker = RepCChecker()
    cascade: CascadeChecker = CascadeChecker()

    @property
    def configured(self) -> tuple[CheckerName, ...]:
        """The checkers that can be asked for: the first two need no settings."""
        given = {
            "builtin": True,
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
                raise ValueError(f"{name} is asked for, but {NEEDED[name]} is not set")
        return self


NEEDED: Mapping[CheckerName, str] = {
    "cross_encoder": "checker.cross_encoder.model",
    "repc": "checker.repc.model",
    "cascade": "checker.cascade.steps",
}
"""What a checker can't do without."""


class Regeneration(Section):
    """The loop of CEG section 3.4."""

    max_rounds: int = Field(1, ge=0, le=10)
    mode: RegenerationMode = "whole"
    on_unsupported: OnUnsupported = "keep"


class Streaming(Section):
    """When the text of a reply is let go, and whether a stream is corrected on its way."""

    mode: StreamMode = "auto"
    correction: Correction = "none"


class Verification(Section):
    """Bounds of the check, and what happens when it is not possible."""

    deadline: float = Field(60.0, gt=0)
    max_claims: int = Field(500, ge=1)
    fail_closed: bool = False


class Citation(Section):
    """How references show in the text."""

    profile: ProfileName = "openai"
    style: CitationStyle | Literal["auto"] = "auto"
    upstream: UpstreamCitations = "replace"
    mark_nonfactual: str = Field("", max_length=64)


DEFAULT_UPSTREAMS = (Upstream(model="vouch/extractive"), Upstream(model="vouch/demo"))


class Settings(Section):
    """All of it."""

    server: Server = Server()
    upstreams: tuple[Upstream, ...] = Field(DEFAULT_UPSTREAMS, min_length=1)
    index: Index = Index()
    encoder: Encoder = Encoder()
    claims: Claims = Claims()
    retrieval: Retrieval = Retrieval()
    checker: Checker = Checker()
    regeneration: Regeneration = Regeneration()
    streaming: Streaming = Streaming()
    verification: Verification = Verification()
    citation: Citation = Citation()

    @model_validator(mode="after")
    def _names_are_unique(self) -> Self:
        names = [upstream.name for upstream in self.upstreams]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"two upstreams are named {name!r}; give one of them another `name`")
        asked = {"checker.llm": self.checker.llm.model, "claims.extractor": self.claims.extractor.model}
        for section, wanted in asked.items():
            if wanted is not None and wanted not in names:
                raise ValueError(f"{section}.model {wanted!r} is no upstream; there are {', '.join(names)}")
        return self
