"""Every setting with its type, bounds and default. `config.yaml` holds the same, each with a comment."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import Annotated, Literal, Self, TypeVar

from pydantic import AfterValidator, Field, SecretStr, model_validator

from proxy.config.checker_settings import Checker, Section
from proxy.config.limit_settings import Limits
from proxy.config.presets import PRESETS
from proxy.config.store_settings import Milvus, StoreName
from proxy.types import (
    WARNING,
    Aggregation,
    CitationStyle,
    Correction,
    DenseChoice,
    DeviceName,
    EvidenceSource,
    Granularity,
    OnUnsupported,
    Precision,
    PresetName,
    ProfileName,
    RegenerationMode,
    RetrievalMode,
    StreamMode,
    UpstreamCitations,
)


def _address(value: str | None) -> str | None:
    """Without a scheme an address is known to be wrong only when the first chat fails."""
    if value and not value.lower().startswith(("http://", "https://")):
        raise ValueError("must be an address that begins with http:// or https://")
    return value


_ORIGIN = re.compile(
    r"https?://(?:\*\.)?[A-Za-z0-9_.-]+(?::(?:[0-9]{1,5}|\*))?|https?://\[[0-9a-fA-F:.]+\](?::(?:[0-9]{1,5}|\*))?"
)


def _origin(value: str) -> str:
    """A website, as a content security policy names it: it becomes part of a header."""
    if not _ORIGIN.fullmatch(value.rstrip("/")):
        raise ValueError(
            "must be the origin of a website, such as https://chat.example or http://localhost:3000"
        )
    return value.rstrip("/")


def _pattern(value: str) -> str:
    """A regular expression, as Python writes them."""
    try:
        compiled = re.compile(value)
    except re.error as error:
        raise ValueError(f"must be a regular expression: {error}") from None
    if compiled.match(""):
        raise ValueError("must be a regular expression that does not match the empty text")
    return value


Address = Annotated[str | None, AfterValidator(_address)]


KeyScope = Literal["models", "metrics", "admin"]
"""What a key may be for: everything under `/v1/`, `/metrics`, everything under `/admin/`."""


class ApiKey(Section):
    """A key of a client, in the clear or as its SHA-256, with a name for logs and metrics."""

    key: SecretStr | None = None
    sha256: str | None = Field(None, pattern="^[0-9a-f]{64}$")
    name: str = Field("", max_length=64)
    scopes: tuple[KeyScope, ...] = ("models",)
    index: str = ""
    limits: Limits | None = None

    @model_validator(mode="before")
    @classmethod
    def _plain(cls, given: object) -> object:
        return {"key": given} if isinstance(given, str) else given

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.key is None) == (self.sha256 is None):
            raise ValueError("needs either `key` or `sha256`")
        return self

    @property
    def digest(self) -> str:
        """The SHA-256 of the key, in hexadecimal."""
        return self.sha256 or sha256((self.key or SecretStr("")).get_secret_value().encode()).hexdigest()


class Metrics(Section):
    """`/metrics` for Prometheus."""

    enabled: bool = True


class Log(Section):
    """How the server logs."""

    format: Literal["text", "json"] = "text"


class Traces(Section):
    """OpenTelemetry traces, and where they are sent."""

    enabled: bool = False
    endpoint: Address = None
    sample: float = Field(1.0, ge=0, le=1)


class Audit(Section):
    """The record of what was answered, and with which verdicts."""

    path: str | None = None
    max_bytes: int = Field(100_000_000, ge=10_000)
    keep: int = Field(10, ge=0)
    text: bool = False
    redact: tuple[Annotated[str, AfterValidator(_pattern)], ...] = ()


class Server(Section):
    """Where the proxy listens, who may call it, and its limits."""

    host: str = "127.0.0.1"
    port: int = Field(8000, ge=0, le=65535)
    workers: int = Field(1, ge=1, le=64)
    public_url: Address = None
    api_keys: tuple[ApiKey, ...] = ()
    key_file: str | None = None
    link_secret: SecretStr | None = Field(None, min_length=32)
    link_lifetime: float = Field(2_592_000.0, ge=0, le=31_536_000)
    keyless: bool = False
    list_unchecked: bool = True
    list_profiles: tuple[ProfileName, ...] = ()
    hosts: tuple[str, ...] = ()
    cors_origins: tuple[str, ...] = ()
    frame_ancestors: tuple[Annotated[str, AfterValidator(_origin)], ...] = ()
    max_connections: int = Field(1000, ge=1)
    max_header_bytes: int = Field(65_536, ge=1_000)
    header_timeout: float = Field(10.0, gt=0)
    body_timeout: float = Field(60.0, gt=0)
    send_timeout: float = Field(60.0, gt=0)
    keep_alive: float = Field(75.0, gt=0)
    max_body_bytes: int = Field(20_000_000, ge=1_000)
    max_concurrency: int = Field(64, ge=1)
    max_queue: int = Field(256, ge=0)
    heartbeat: float = Field(10.0, gt=0, le=15)
    ready_within: float = Field(30.0, gt=0)
    drain: float = Field(30.0, ge=0)
    drain_delay: float = Field(0.0, ge=0)
    log_level: Literal["debug", "info", "warning", "error"] = "info"

    @property
    def has_keys(self) -> bool:
        """Whether clients need a key."""
        return bool(self.api_keys) or self.key_file is not None


class Web(Section):
    """The page at `/`."""

    enabled: bool = True


class Upstream(Section):
    """One model that clients can name."""

    model: str
    name: str = ""
    api_base: Address = None
    api_key: SecretStr | None = None
    client_key: bool = False
    client: Literal["auto", "http", "litellm"] = "auto"
    timeout: float = Field(120.0, gt=0)
    connect_timeout: float = Field(10.0, gt=0)
    max_retries: int = Field(2, ge=0, le=10)
    max_reply_bytes: int = Field(20_000_000, ge=1_000)
    stream_mode: StreamMode | None = None
    params: dict[str, object] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _named(self) -> Self:
        if not self.name:
            provider, _, rest = self.model.partition("/")
            name = self.model if provider == "vouch" or not rest else rest
            object.__setattr__(self, "name", name)
        return self


class Index(Section):
    """Where the index of the documents is, and how it is built."""

    path: str = "index"
    watch: float = Field(5.0, ge=0)
    words: int = Field(100, ge=20, le=1000)
    dense: DenseChoice = "auto"
    dimensions: int | None = Field(None, ge=8, le=65_536)

    @model_validator(mode="after")
    def _cut_is_searched(self) -> Self:
        if self.dimensions and self.dense == "exact":
            raise ValueError(
                "`dimensions` is of no use to an exact scan, which reads whole vectors: "
                "set `dense` to ivf, hnsw, sq8 or fp16"
            )
        return self


IndexName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,64}$")]


class Encoder(Section):
    """The model that turns text into vectors."""

    model: str = "all-MiniLM-L6-v2"
    precision: Precision = "auto"
    batch_size: int = Field(8, ge=1, le=4096)


class Runtime(Section):
    """The process that the local models share."""

    threads: Annotated[int, Field(ge=1)] | Literal["auto"] = "auto"
    device: DeviceName = "auto"


class Extractor(Section):
    """The LLM that splits sentences into triplets."""

    model: str | None = None
    sentences: int = Field(10, ge=1, le=100)
    concurrency: int = Field(8, ge=1, le=256)
    timeout: float = Field(30.0, gt=0)
    params: dict[str, object] = Field({"temperature": 0, "max_tokens": 2048})


class Claims(Section):
    """What counts as one claim, and how the verdicts on parts of a sentence are combined."""

    granularity: Granularity = "sentence"
    aggregation: Aggregation = "strict"
    extractor: Extractor = Extractor()


class Retrieval(Section):
    """How passages are found for a claim."""

    evidence: EvidenceSource = "auto"
    mode: RetrievalMode = "hybrid"
    top_k: int = Field(5, ge=1, le=100)
    threshold: float | Literal["auto"] = "auto"
    max_document_chars: int = Field(200_000, ge=1)
    store: StoreName = "faiss"
    milvus: Milvus = Milvus()


class Regeneration(Section):
    """How a reply with nonfactual claims is corrected (CEG, section 3.4). None: as the preset says."""

    max_rounds: int | None = Field(None, ge=0, le=10)
    mode: RegenerationMode | None = None
    on_unsupported: OnUnsupported | None = None
    fallback: bool | None = None
    quote: bool = False


class Streaming(Section):
    """When the text of a streamed reply is sent, and whether it is corrected while it is written. None: as
    the preset says."""

    mode: StreamMode | None = None
    correction: Correction | None = None
    progress: bool = False


class Verification(Section):
    """Limits of the check, and what happens when a reply can't be checked."""

    deadline: float = Field(60.0, gt=0)
    max_claims: int = Field(500, ge=1)
    fail_closed: bool | None = None
    skip_tasks: bool = True


class Citation(Section):
    """How references are shown in the text."""

    profile: ProfileName = "openai"
    style: CitationStyle | Literal["auto"] = "auto"
    upstream: UpstreamCitations = "replace"
    mark_nonfactual: str = Field(WARNING, max_length=64)
    notice: bool | None = None


DEFAULT_UPSTREAMS = (Upstream(model="vouch/extractive"), Upstream(model="vouch/demo"))


AnySection = TypeVar("AnySection", bound=Section)


class Settings(Section):
    """All settings, by section."""

    preset: PresetName = "reader"
    server: Server = Server()
    web: Web = Web()
    limits: Limits = Limits()
    metrics: Metrics = Metrics()
    traces: Traces = Traces()
    log: Log = Log()
    audit: Audit = Audit()
    upstreams: tuple[Upstream, ...] = Field(DEFAULT_UPSTREAMS, min_length=1)
    index: Index = Index()
    indexes: dict[IndexName, str] = Field(default_factory=dict)
    encoder: Encoder = Encoder()
    runtime: Runtime = Runtime()
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
                raise ValueError(f"two upstreams are named {name!r}: give one of them another `name`")
        models = {"checker.llm": self.checker.llm.model, "claims.extractor": self.claims.extractor.model}
        for section, model in models.items():
            if model is not None and model not in names:
                raise ValueError(
                    f"{section}.model names no upstream: {model!r}; there are {', '.join(names)}"
                )
        return self

    def within(self, limits: Limits) -> Self:
        """The settings for a request with these limits. What it gets unasked is no more than a limit that was
        set, either."""
        rounds = PRESETS[self.preset].max_rounds
        return self.model_copy(
            update={
                "limits": limits,
                "retrieval": _at_most(self.retrieval, "top_k", limits),
                "regeneration": _at_most(self.regeneration, "max_rounds", limits, rounds),
                "verification": _at_most(self.verification, "deadline", limits),
            }
        )

    @model_validator(mode="after")
    def _filters_name_indexes(self) -> Self:
        for name in self.retrieval.milvus.filters:
            if name not in self.indexes:
                known = ", ".join(self.indexes) or "none"
                raise ValueError(
                    f"retrieval.milvus.filters has one for the index {name!r}; `indexes` has {known}"
                )
        return self

    @model_validator(mode="after")
    def _indexes_have_filters(self) -> Self:
        """A forgotten filter would open all of a collection whose other readers see a part of it."""
        milvus = self.retrieval.milvus
        if self.retrieval.store != "milvus" or not (milvus.filter or milvus.filters):
            return self
        for name in self.indexes:
            if name not in milvus.filters:
                raise ValueError(
                    f"the index {name!r} has no filter: write `{name}: EXPRESSION` under "
                    f'retrieval.milvus.filters, or `{name}: ""` if its keys may read everything'
                )
        return self

    @model_validator(mode="after")
    def _keys_name_indexes(self) -> Self:
        for key in self.server.api_keys:
            if key.index and key.index not in self.indexes:
                known = ", ".join(self.indexes) or "none"
                raise ValueError(
                    f"a key of server.api_keys has the index {key.index!r}; `indexes` has {known}"
                )
        return self


def _at_most(section: AnySection, name: str, limits: Limits, default: int = 0) -> AnySection:
    """The section with a setting of it, or its default, lowered to the limit for requests."""
    most, value = getattr(limits.options, name), getattr(section, name)
    given = name in limits.options.model_fields_set and isinstance(most, int | float)
    lower = given and (default if value is None else value) > most
    return section.model_copy(update={name: most}) if lower else section
