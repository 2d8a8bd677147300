"""Request options (the `vouch` object), how they resolve over the settings, and a request's documents."""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from proxy.citations.place import WARNING
from proxy.config.checker_settings import LOCAL_CHECKERS, CheckerName
from proxy.config.settings import Retrieval, Settings
from proxy.engine.app_context import AppContext, Model, Sources
from proxy.engine.corrector import Options
from proxy.engine.delivery import DeliveryPolicy, Rendering, contradiction
from proxy.engine.verifier import Verifier
from proxy.errors import ModelNotFoundError, RequestError
from proxy.openai_api.documents import request_documents
from proxy.openai_api.profiles import PROFILES, Profile
from proxy.protocols import Checker
from proxy.retrieval.request_corpus import MergedRetriever
from proxy.types import (
    Aggregation,
    CitationStyle,
    Correction,
    Document,
    EvidenceSource,
    Granularity,
    OnUnsupported,
    Passage,
    ProfileName,
    RegenerationMode,
    ReplyFormat,
    RetrievalMode,
    StreamMode,
    UpstreamCitations,
)

T = TypeVar("T")


class RequestDocument(BaseModel):
    """A document sent with the request, to check against instead of the corpus."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: str = Field(min_length=1)
    id: str = ""
    title: str = ""
    url: str = ""
    number: int | None = Field(None, ge=1, le=1_000_000)

    def document(self, position: int) -> Document:
        """The document. Where it has no id or title, its position in the request (from 1) names it."""
        return Document(
            id=self.id or f"document-{position}",
            title=self.title or self.id or f"Document {self.number or position}",
            text=self.text,
            url=self.url,
            number=self.number,
        )


class RequestOptions(BaseModel):
    """The `vouch` object of a request. A key that is left out has its configured value."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    max_rounds: int | None = Field(None, ge=0, le=10)
    top_k: int | None = Field(None, ge=1, le=100)
    checker: CheckerName | None = None
    retrieval: RetrievalMode | None = None
    deadline: float | None = Field(None, gt=0)
    profile: ProfileName | None = None
    citation_style: CitationStyle | None = None
    fail_closed: bool | None = None
    granularity: Granularity | None = None
    aggregation: Aggregation | None = None
    evidence: EvidenceSource | None = None
    regeneration: RegenerationMode | None = None
    on_unsupported: OnUnsupported | None = None
    citations: UpstreamCitations | None = None
    mark_nonfactual: str | None = Field(None, max_length=64)
    stream_mode: StreamMode | None = None
    correction: Correction | None = None
    progress: bool | None = None
    documents: tuple[RequestDocument, ...] | None = Field(None, min_length=1, max_length=1000)


def parse_options(given: Any) -> RequestOptions:
    """Parses the `vouch` object. For an unknown key, raises `RequestError` that suggests the nearest one."""
    if given is None:
        return RequestOptions()
    if not isinstance(given, Mapping):
        raise RequestError("`vouch` must be an object.", param="vouch")
    try:
        return RequestOptions.model_validate(given)
    except ValidationError as error:
        detail = error.errors()[0]
        param = ".".join(["vouch", *map(str, detail["loc"])])
        if detail["type"] != "extra_forbidden":
            raise RequestError(f"{param}: {detail['msg']}.", param=param) from None
        nested = len(detail["loc"]) > 1
        known = list((RequestDocument if nested else RequestOptions).model_fields)
        near = difflib.get_close_matches(str(detail["loc"][-1]), known, n=1, cutoff=0.5)
        hint = f"Did you mean {near[0]!r}?" if near else f"There are {', '.join(known)}."
        raise RequestError(f"Unknown option {param}. {hint}", param=param) from None


@dataclass(frozen=True, slots=True)
class ResolvedOptions:
    """The options of one request, resolved over the settings."""

    settings: Settings
    options: RequestOptions = field(default_factory=RequestOptions)
    named: ProfileName | None = None
    """The profile that the request names."""

    @property
    def profile(self) -> Profile:
        """The profile that shapes the reply."""
        return PROFILES[self.named or self.settings.citation.profile]

    @property
    def style(self) -> CitationStyle:
        """How citation markers are written."""
        configured = self.settings.citation.style
        usual: CitationStyle = "brackets" if configured == "auto" else configured
        own = self.profile.style if self.named or configured == "auto" else None
        return self.options.citation_style or own or usual

    @property
    def fail_closed(self) -> bool:
        """Whether a reply that can't be checked is an error."""
        return _either(self.options.fail_closed, self.settings.verification.fail_closed)

    @property
    def deadline(self) -> float:
        """Seconds for all checking of one reply."""
        return _either(self.options.deadline, self.settings.verification.deadline)

    @property
    def rounds(self) -> int:
        """The maximum number of re-prompts."""
        return _either(self.options.max_rounds, self.settings.regeneration.max_rounds)

    @property
    def on_unsupported(self) -> OnUnsupported:
        """What happens to a claim that still fails at the end."""
        return _either(self.options.on_unsupported, self.settings.regeneration.on_unsupported)

    @property
    def correcting(self) -> bool:
        """Whether a stream is corrected while it is sent."""
        return _either(self.options.correction, self.settings.streaming.correction) == "prefix"

    @property
    def warning(self) -> str:
        """The warning marker behind claims that failed; empty unless configured or requested.

        Dropping and correction mark what they can't fix: a claim that can't be dropped (a heading), and a
        claim that still fails in a corrected stream.
        """
        if self.options.mark_nonfactual is None and not self.profile.warnings:
            return ""
        warning = _either(self.options.mark_nonfactual, self.settings.citation.mark_nonfactual)
        return warning or ("" if self.on_unsupported == "keep" and not self.correcting else WARNING)

    def pipeline_options(self, reply_format: ReplyFormat) -> Options:
        """The pipeline's options: how the reply is corrected."""
        configured, options = self.settings.regeneration, self.options
        return Options(
            max_rounds=self.rounds,
            mode=_either(options.regeneration, configured.mode),
            on_unsupported=self.on_unsupported,
            deadline=self.deadline,
            format=reply_format,
            warning=self.warning,
            fallback=configured.fallback,
            quote=configured.quote,
        )

    @property
    def checker_name(self) -> CheckerName:
        """The name of the checker."""
        return _either(self.options.checker, self.settings.checker.name)

    def checker(self, model: Model) -> Checker:
        """The checker. Raises `RequestError` where none of that name is configured."""
        name = self.checker_name
        if name not in model.checkers:
            raise RequestError(
                f"The checker {name!r} is not configured here; there are {', '.join(model.checkers)}.",
                param="vouch.checker",
            )
        return model.checkers[name]

    def verifier(self, model: Model, sources: Sources) -> Verifier:
        """The verifier that checks the claims. Raises `RequestError`."""
        settings, options = self.settings, self.options
        return Verifier(
            retriever=sources.retriever,
            checker=self.checker(model),
            extractor=model.extractors.get(_either(options.granularity, settings.claims.granularity)),
            top_k=_either(options.top_k, settings.retrieval.top_k),
            max_claims=settings.verification.max_claims,
            aggregation=_either(options.aggregation, settings.claims.aggregation),
            citations=_either(options.citations, settings.citation.upstream),
            early_exit=self.checker_name in LOCAL_CHECKERS,
            documents=sources.passages,
        )

    def policy(self, request: Streaming, model: Model, rendering: Rendering) -> DeliveryPolicy:
        """The delivery policy. A reply that must not be edited, or that is not streamed, is sent as a whole.
        Raises `RequestError` where options contradict each other."""
        mode, correction = self._stream_mode(request, model)
        if mode == "passthrough":
            rendering = replace(rendering, style="none", warning="")
        return DeliveryPolicy(
            mode=mode,
            rendering=rendering,
            corrections=self.rounds if correction == "prefix" and mode == "sentence" else 0,
            prefill=model.prefill,
            fail_closed=self.fail_closed,
            progress=_either(self.options.progress, self.settings.streaming.progress),
            max_reply_bytes=model.max_reply_bytes,
        )

    def rendering(self, sources: Sources, url_of: Callable[[Passage], str]) -> Rendering:
        """How the reply is shown."""
        return Rendering(
            url_of=url_of,
            style=self.style,
            numbers=sources.numbers,
            warning=self.warning,
            aggregation=_either(self.options.aggregation, self.settings.claims.aggregation),
        )

    def _stream_mode(self, request: Streaming, model: Model) -> tuple[StreamMode, Correction]:
        """The stream mode, never `auto`, and the correction that goes with it.

        The request takes precedence: a configured mode or correction that contradicts its options is ignored.
        What the operator configured for safety (`fail_closed`, `on_unsupported: drop`) always holds.
        """
        options = self.options
        self._refuse(
            contradiction(
                options.stream_mode or "auto",
                options.correction or "none",
                options.on_unsupported or "keep",
                fail_closed=bool(options.fail_closed),
                rounds=options.max_rounds,
            )
        )
        mode = options.stream_mode or model.stream_mode or self.settings.streaming.mode
        if options.stream_mode is None and contradiction(
            mode, options.correction or "none", self.on_unsupported, fail_closed=self.fail_closed
        ):
            mode = "auto"
        correction = options.correction or self.settings.streaming.correction
        if options.correction is None and contradiction(mode, correction, self.on_unsupported):
            correction = "none"
        if not request.stream or not request.editable:
            return "buffer", "none"
        if options.correction == "prefix" and request.choices > 1:
            self._refuse("correction 'prefix' corrects a single choice, but `n` asks for several")
        self._refuse(contradiction(mode, correction, self.on_unsupported, fail_closed=self.fail_closed))
        if mode == "auto":
            dropping = self.on_unsupported == "drop"
            by_sentence = not dropping and (correction == "prefix" or not self.rounds)
            mode = "sentence" if by_sentence else "buffer"
        return mode, correction if request.choices == 1 else "none"

    def _refuse(self, reason: str) -> None:
        if reason:
            raise RequestError(f"Options of `vouch` contradict each other: {reason}.", param="vouch")


class Streaming(Protocol):
    """The properties of a request that decide when its reply may be sent."""

    @property
    def stream(self) -> bool:
        """Whether the client streams."""
        ...

    @property
    def editable(self) -> bool:
        """Whether the reply's text may be edited."""
        ...

    @property
    def choices(self) -> int:
        """The number of choices requested."""
        ...


def _either(requested: T | None, configured: T) -> T:
    return configured if requested is None else requested


async def open_sources(
    context: AppContext,
    settings: Retrieval,
    options: RequestOptions,
    messages: Sequence[Mapping[str, object]],
) -> Sources:
    """The sources of evidence that the request asks for, or else the configured ones.

    A request with `documents` but without `evidence` is checked against those documents alone. Raises
    `RequestError` where the documents are too long.
    """
    mode = options.retrieval or settings.mode
    source = options.evidence or ("request" if options.documents else settings.evidence)
    if source == "corpus":
        return Sources(context.retrievers[mode])
    documents = await asyncio.to_thread(_documents, options.documents, messages)
    _require_short(documents, settings.max_document_chars)
    return await _with_documents(context, documents, mode, source)


async def _with_documents(
    context: AppContext, documents: Sequence[Document], mode: RetrievalMode, source: EvidenceSource
) -> Sources:
    corpus = await context.over_documents(documents, mode)
    numbers = {document.id: document.number for document in documents if document.number is not None}
    passages: dict[int, tuple[Passage, ...]] = {}
    for passage in corpus.passages:
        if (number := numbers.get(passage.document_id)) is not None:
            passages[number] = (*passages.get(number, ()), passage)
    both = source == "both"
    retriever = MergedRetriever([corpus.retriever, context.retrievers[mode]]) if both else corpus.retriever
    return Sources(retriever, numbers, passages)


def _documents(
    given: Sequence[RequestDocument] | None, messages: Sequence[Mapping[str, object]]
) -> list[Document]:
    """The documents in `vouch.documents`, or else those found in the messages."""
    if given is None:
        return list(request_documents(messages))
    return [document.document(position) for position, document in enumerate(given, 1)]


def _require_short(documents: Sequence[Document], limit: int) -> None:
    if sum(len(document.text) for document in documents) > limit:
        raise RequestError(
            f"The documents are over {limit:,} characters together (retrieval.max_document_chars).",
            param="vouch.documents",
        )


def find_model(models: Mapping[str, Model], name: str | None) -> Model:
    """The model of that name, or the first where no name is given. Raises `ModelNotFoundError`."""
    if name is None:
        return next(iter(models.values()))
    if name not in models:
        raise ModelNotFoundError(
            f"The model {name!r} does not exist. There are {', '.join(models)}.", param="model"
        )
    return models[name]
