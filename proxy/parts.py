"""What the application is made of, behind Protocols. `commands.compose` builds it, `app` uses it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from proxy.backends.upstream.endpoint import Upstream
from proxy.types import LLM, Checker, Document, Passages, RetrievalMode, Retriever


@dataclass(frozen=True, slots=True)
class Model:
    """A model that clients can name: its upstream, the checkers of its replies, and, where other routes than
    chat can be passed to it, who does that."""

    name: str
    llm: LLM
    checkers: Mapping[str, Checker]
    forwarder: Upstream | None = None
    description: str = ""


@dataclass(frozen=True, slots=True)
class Parts:
    """Everything behind the HTTP application. The first of `models` is the default."""

    models: Mapping[str, Model]
    retrievers: Mapping[RetrievalMode, Retriever]
    passages: Passages
    over_documents: Callable[[Sequence[Document], RetrievalMode], Awaitable[Retriever]]
    """A retriever over documents that came with a request."""
    close: Callable[[], Awaitable[None]]
