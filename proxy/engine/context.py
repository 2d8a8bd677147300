"""What the application is made of, behind Protocols. `commands.compose` builds it, `app` uses it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from proxy.protocols import LLM, Checker, Extractor, Passages, Retriever
from proxy.retrieval.request_corpus import RequestCorpus
from proxy.types import Document, Granularity, RetrievalMode, StreamMode
from proxy.upstream.endpoint import Relay, Upstream


@dataclass(frozen=True, slots=True)
class Model:
    """A model that clients can name: its upstream, the checkers of its replies, what takes them apart, and,
    where other routes than chat can be passed to it, who does that."""

    name: str
    llm: LLM
    checkers: Mapping[str, Checker]
    extractors: Mapping[Granularity, Extractor]
    forwarder: Upstream | None = None
    relay: Relay | None = None
    """Who passes answers to raw chats on as bytes, where the upstream's client can."""
    description: str = ""
    stream_mode: StreamMode | None = None
    prefill: bool = False
    """Whether it goes on from an unfinished turn of its own."""
    max_reply: int = 20_000_000
    """Bytes of a reply, over which it is an error."""


@dataclass(frozen=True, slots=True)
class AppContext:
    """Everything behind the HTTP application. The first of `models` is the default."""

    models: Mapping[str, Model]
    retrievers: Mapping[RetrievalMode, Retriever]
    passages: Passages
    over_documents: Callable[[Sequence[Document], RetrievalMode], Awaitable[RequestCorpus]]
    """Makes documents that came with a request searchable; there may be none."""
    close: Callable[[], Awaitable[None]]
