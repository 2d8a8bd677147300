"""The Protocols between the rooms: what a backend must implement."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Protocol

from proxy.types import (
    Chat,
    Claim,
    Evidence,
    Extraction,
    Judgement,
    Pair,
    Passage,
    Reply,
    ReplyChunk,
    Vectors,
)


class LLM(Protocol):
    """An upstream chat model. Raises `errors.UpstreamError` and its children, nothing else."""

    async def complete(self, chat: Chat) -> Reply:
        """The whole reply at once."""
        ...

    def stream(self, chat: Chat) -> AsyncIterator[ReplyChunk]:
        """The reply, chunk by chunk."""
        ...


class Encoder(Protocol):
    """Turns texts into unit vectors. It blocks: callers run it in a thread."""

    @property
    def name(self) -> str:
        """The model's id, as the index's manifest records it."""
        ...

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        ...

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Shape (len(texts), dimension), float32, each row of Euclidean length 1."""
        ...


class Retriever(Protocol):
    """Searches a corpus: an index's files, Milvus, or any other engine (docs/scaling.md says how to add one).

    It never blocks the event loop, and ends in bounded time: where the engine does not answer it raises, and
    the claims are unverified. Several requests may search at once.
    """

    async def search(self, queries: Sequence[str], k: int) -> Sequence[tuple[Evidence, ...]]:
        """Per query, in order, at most k passages, best first; none where nothing is found.

        `Evidence.score` is the cosine, so that results of several retrievers can be merged; a passage under
        the threshold is left out, unless it is the first. Raises `errors.RetrievalError`, nothing else.
        """
        ...


class Passages(Protocol):
    """Looks passages up by id."""

    def get(self, passage_id: str) -> Passage | None:
        """The passage of that id, or None."""
        ...

    def around(self, passage_id: str, count: int) -> tuple[Sequence[Passage], Sequence[Passage]]:
        """Of the same document: at most `count` passages before that passage and as many after it, in the
        document's order. None where there is no such passage."""
        ...

    def __len__(self) -> int: ...


class Extractor(Protocol):
    """Splits sentences into parts that are checked one by one."""

    async def extract(self, claims: Sequence[Claim], question: str) -> Sequence[Extraction]:
        """One extraction per claim, in order. Raises nothing: `Extraction.error` says what failed."""
        ...


class Checker(Protocol):
    """Decides whether evidence supports a claim."""

    async def check(self, pairs: Sequence[Pair]) -> Sequence[Judgement]:
        """One judgement per pair, in order. A pair whose check fails is UNVERIFIED. Raises
        `errors.CheckError` when the checker as a whole is unavailable."""
        ...
