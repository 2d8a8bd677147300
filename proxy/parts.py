"""What the application is made of, behind Protocols. `commands.compose` builds it, `app` uses it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from proxy.types import LLM, Checker, Document, Json, Passages, RetrievalMode, Retriever


class Forwarded(Protocol):
    """An upstream's answer to a request that is passed through."""

    @property
    def status(self) -> int: ...

    @property
    def headers(self) -> Mapping[str, str]: ...

    @property
    def body(self) -> AsyncIterator[bytes]: ...

    async def close(self) -> None: ...


class Forwarder(Protocol):
    """Passes requests for other routes than chat to an upstream."""

    async def forward(self, route: str, body: Json, api_key: str | None) -> Forwarded:
        """`route` is the path after `/v1/`. Raises `errors.UpstreamError` or `errors.NotFoundError`."""
        ...


@dataclass(frozen=True, slots=True)
class Model:
    """A model that clients can name: its upstream, the checkers for its replies, and who forwards for it."""

    name: str
    llm: LLM
    checkers: Mapping[str, Checker]
    forwarder: Forwarder | None = None
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
