"""What a request asks for in its `vouch` object, what counts over the settings, and the evidence it names."""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from proxy.citations.place import WARNING
from proxy.config.checker_settings import CheckerName
from proxy.config.settings import Retrieval, Settings
from proxy.engine.context import AppContext, Model, Sources
from proxy.engine.delivery import DeliveryPolicy, Rendering, contradiction
from proxy.engine.pipeline import Options
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

    def document(self, place: int) -> Document:
        """The document, named by its place in the request, from 1, where it has no name of its own."""
        return Document(
            id=self.id or f"document-{place}",
            title=self.title or self.id or f"Document {self.number or place}",
            text=self.text,
            url=self.url,
            number=self.number,
        )


class RequestOptions(BaseModel):
    """The `vouch` object of a request; what is left out is as configured."""

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
    """The `vouch` object. Raises `RequestError` with the nearest key for one that does not exist."""
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
    """The options of one request over the settings: what counts."""

    settings: Settings
    options: RequestOptions = field(default_factory=RequestOptions)
    named: ProfileName | None = None
    """The profile that the request names."""

    @property
    def profile(self) -> Profile:
        """The shape of the reply."""
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
        """Whether a reply that can't be checked is refused."""
        return _either(self.options.fail_closed, self.settings.verification.fail_closed)

    @property
    def deadline(self) -> float:
        """Seconds for all checking."""
        return _either(self.options.deadline, self.settings.verification.deadline)

    @property
    def rounds(self) -> int:
        """Re-prompts at most."""
        return _either(self.options.max_rounds, self.settings.regeneration.max_rounds)

    @property
    def on_unsupported(self) -> OnUnsupported:
        """What becomes of a claim that fails in the end."""
        return _either(self.options.on_unsupported, self.settings.regeneration.on_unsupported)

    @property
    def correcting(self) -> bool:
        """Whether a stream is corrected on its way."""
        return _either(self.options.correction, self.settings.streaming.correction) == "prefix"

    @property
    def warning(self) -> str:
        """The marker behind claims that failed; empty, unless somebody wants it.

        A claim that was to be dropped but can't be (a heading) is marked, and so is one that still fails in a
        stream that is corrected.
        """
        if self.options.mark_nonfactual is None and not self.profile.warnings:
            return ""
        warning = _either(self.options.mark_nonfactual, self.settings.citation.mark_nonfactual)
        return warning or ("" if self.on_unsupported == "keep" and not self.correcting else WARNING)

    def pipeline_options(self, reply_format: ReplyFormat) -> Options:
        """How the reply is revised."""
        configured, asked = self.settings.regeneration, self.options
        return Options(
            max_rounds=self.rounds,
            mode=_either(asked.regeneration, configured.mode),
            on_unsupported=self.on_unsupported,
            deadline=self.deadline,
            format=reply_format,
            warning=self.warning,
        )

    def checker(self, model: Model) -> Checker:
        """Who checks. Raises `RequestError` where there is no checker of that name."""
        name = _either(self.options.checker, self.settings.checker.name)
        if name not in model.checkers:
            raise RequestError(
                f"The checker {name!r} is not configured here; there are {', '.join(model.checkers)}.",
                param="vouch.checker",
            )
        return model.checkers[name]

    def verifier(self, model: Model, sources: Sources) -> Verifier:
        """How claims are checked. Raises `RequestError`."""
        settings, asked = self.settings, self.options
        return Verifier(
            retriever=sources.retriever,
            checker=self.checker(model),
            extractor=model.extractors.get(_either(asked.granularity, settings.claims.granularity)),
            top_k=_either(asked.top_k, settings.retrieval.top_k),
            max_claims=settings.verification.max_claims,
            aggregation=_either(asked.aggregation, settings.claims.aggregation),
            citations=_either(asked.citations, settings.citation.upstream),
            documents=sources.passages,
        )

    def policy(self, request: Streaming, model: Model, rendering: Rendering) -> DeliveryPolicy:
        """What of the reply may leave when. A reply that must not be edited, and one to a client that doesn't
        stream, waits for its end. Raises `RequestError` where options contradict each other."""
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
        """How the reply shows."""
        return Rendering(
            url_of=url_of,
            style=self.style,
            numbers=sources.numbers,
            warning=self.warning,
            aggregation=_either(self.options.aggregation, self.settings.claims.aggregation),
        )

    def _stream_mode(self, request: Streaming, model: Model) -> tuple[StreamMode, Correction]:
        """The stream mode, never `auto`, and the correction that goes with it.

        What the request says goes before what is configured: a configured mode or correction that contradicts
        the request's options does not count. What the operator configured for safety (`fail_closed`,
        `on_unsupported: drop`) stays.
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
    """What of a request decides when its reply may leave."""

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
        """Replies that are asked for."""
        ...


def _either(asked: T | None, configured: T) -> T:
    return configured if asked is None else asked


async def open_sources(
    context: AppContext,
    settings: Retrieval,
    options: RequestOptions,
    messages: Sequence[Mapping[str, object]],
) -> Sources:
    """As the request asks, else as configured. `documents` without a word on `evidence` mean those alone.

    Raises `RequestError` where they are too long.
    """
    mode = options.retrieval or settings.mode
    asked = options.evidence or ("request" if options.documents else settings.evidence)
    if asked == "corpus":
        return Sources(context.retrievers[mode])
    documents = await asyncio.to_thread(_documents, options.documents, messages)
    _require_short(documents, settings.max_document_chars)
    return await _with_documents(context, documents, mode, asked)


async def _with_documents(
    context: AppContext, documents: Sequence[Document], mode: RetrievalMode, asked: EvidenceSource
) -> Sources:
    corpus = await context.over_documents(documents, mode)
    numbers = {document.id: document.number for document in documents if document.number is not None}
    passages: dict[int, tuple[Passage, ...]] = {}
    for passage in corpus.passages:
        if (number := numbers.get(passage.document_id)) is not None:
            passages[number] = (*passages.get(number, ()), passage)
    both = asked == "both"
    retriever = MergedRetriever([corpus.retriever, context.retrievers[mode]]) if both else corpus.retriever
    return Sources(retriever, numbers, passages)


def _documents(
    given: Sequence[RequestDocument] | None, messages: Sequence[Mapping[str, object]]
) -> list[Document]:
    """Those of `vouch.documents`, or else those that the messages hold."""
    if given is None:
        return list(request_documents(messages))
    return [document.document(place) for place, document in enumerate(given, 1)]


def _require_short(documents: Sequence[Document], limit: int) -> None:
    if sum(len(document.text) for document in documents) > limit:
        raise RequestError(
            f"The documents are over {limit:,} characters together (retrieval.max_document_chars).",
            param="vouch.documents",
        )


def find_model(models: Mapping[str, Model], name: str | None) -> Model:
    """The model of that name, the first where none is named. Raises `ModelNotFoundError`."""
    if name is None:
        return next(iter(models.values()))
    if name not in models:
        raise ModelNotFoundError(
            f"The model {name!r} does not exist. There are {', '.join(models)}.", param="model"
        )
    return models[name]
