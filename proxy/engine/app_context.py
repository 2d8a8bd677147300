"""The components of the application, behind Protocols. `cli.compose` builds them, `server` uses them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from proxy.protocols import LLM, Checker, Extractor, Passages, Retriever
from proxy.retrieval.request_corpus import RequestCorpus
from proxy.types import Document, Granularity, Passage, RetrievalMode, StreamMode
from proxy.upstream.endpoint import Relay, Upstream

TOKEN_LIMITS = ("max_tokens", "max_completion_tokens")
"""The parameters of a call that bound a reply's tokens."""


@dataclass(frozen=True, slots=True)
class Model:
    """A model that clients can name.

    `llm` writes the replies. `checkers`, by name, check them. `extractors`, by granularity, split their
    sentences into parts. `forwarder` serves the routes other than chat, where the upstream has them.
    """

    name: str
    llm: LLM
    checkers: Mapping[str, Checker]
    extractors: Mapping[Granularity, Extractor]
    forwarder: Upstream | None = None
    relay: Relay | None = None
    """Passes replies of unchecked chats on as bytes, where the upstream's client can."""
    description: str = ""
    full_name: str | None = None
    """The name with the provider, which clients may use too."""
    stream_mode: StreamMode | None = None
    """The stream mode for this model; None: as configured."""
    max_reply_bytes: int = 20_000_000
    """A reply of more bytes is an error."""
    max_tokens: tuple[str, int] | None = None
    """The parameter that bounds a reply's tokens, and the most that a client may ask for; None: no bound."""


@dataclass(frozen=True, slots=True)
class AppContext:
    """Everything that the HTTP application needs. The first of `models` is the default."""

    models: Mapping[str, Model]
    retrievers: Mapping[RetrievalMode, Retriever]
    passages: Passages
    over_documents: Callable[[Sequence[Document], RetrievalMode], Awaitable[RequestCorpus]]
    """Indexes the documents of a request, of which there may be none."""
    close: Callable[[], Awaitable[None]]
    generation: str = ""
    """The generation of the index; empty where there is none on disk."""
    source: IndexSource | None = None
    """Where the next generation comes from; None where the index is not read from a folder."""
    others: Mapping[str, AppContext] = field(default_factory=dict)
    """The same over the further indexes, by name, at the start. They end with this one. What is kept of texts
    in memory is apart for each."""
    found: Callable[[str], Passage | None] | None = None
    """Tells a passage that a search found lately, by its id, without waiting for a server; None where
    `passages` waits for none."""


@dataclass(frozen=True, slots=True)
class IndexSource:
    """The folder of the index, and how it is opened anew when it was rebuilt.

    `reopen` blocks, reads all files of the index, and gives the components over it; those that know nothing
    of the index are the same as before. `current` tells the generation that is there now, and blocks too;
    None where the folder tells it. Both raise `BrokenIndexError`.
    """

    path: Path
    reopen: Callable[[], AppContext]
    current: Callable[[], str] | None = None


@dataclass(frozen=True, slots=True)
class Sources:
    """What the claims of one chat are checked against.

    `numbers` maps document ids to the numbers that the client gave them. `passages` holds the passages of the
    numbered documents, by number.
    """

    retriever: Retriever
    numbers: Mapping[str, int] = field(default_factory=dict)
    passages: Mapping[int, tuple[Passage, ...]] = field(default_factory=dict)
