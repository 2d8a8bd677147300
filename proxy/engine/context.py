"""What the application is made of, behind Protocols. `cli.compose` builds it, `server` uses it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from proxy.protocols import LLM, Checker, Extractor, Passages, Retriever
from proxy.retrieval.request_corpus import RequestCorpus
from proxy.types import Document, Granularity, Passage, RetrievalMode, StreamMode
from proxy.upstream.endpoint import Relay, Upstream


@dataclass(frozen=True, slots=True)
class Model:
    """A model that clients can name.

    `llm` writes the replies, `checkers` check them, by name, and `extractors` take their sentences apart, by
    granularity. `forwarder` serves the routes other than chat, where the upstream has them.
    """

    name: str
    llm: LLM
    checkers: Mapping[str, Checker]
    extractors: Mapping[Granularity, Extractor]
    forwarder: Upstream | None = None
    relay: Relay | None = None
    """Passes answers to unchecked chats on as bytes, where the upstream's client can."""
    description: str = ""
    stream_mode: StreamMode | None = None
    prefill: bool = False
    """Whether the upstream continues a last message of the assistant's instead of answering it."""
    max_reply_bytes: int = 20_000_000
    """Bytes of a reply over which it is an error."""


@dataclass(frozen=True, slots=True)
class AppContext:
    """Everything behind the HTTP application. The first of `models` is the default."""

    models: Mapping[str, Model]
    retrievers: Mapping[RetrievalMode, Retriever]
    passages: Passages
    over_documents: Callable[[Sequence[Document], RetrievalMode], Awaitable[RequestCorpus]]
    """Makes documents that came with a request searchable; there may be none."""
    close: Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Sources:
    """What the claims of one chat are held against.

    `numbers` are the numbers that the client gave its documents, by id; `passages` are those of the numbered
    documents, by number.
    """

    retriever: Retriever
    numbers: Mapping[str, int] = field(default_factory=dict)
    passages: Mapping[int, tuple[Passage, ...]] = field(default_factory=dict)
