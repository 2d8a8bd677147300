"""Wrappers that record how long each call took and how it ended, in the request's account (`aio.ASKER`).

One each for an LLM, a retriever and a checker, with the same Protocol as what they wrap.
"""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager

from proxy.aio import ASKER, closing
from proxy.errors import UpstreamConnectionError, UpstreamError, UpstreamProtocolError, UpstreamTimeoutError
from proxy.protocols import LLM, Checker, Retriever
from proxy.types import Chat, Evidence, Judgement, Pair, Reply, ReplyChunk
from proxy.upstream.budget import BudgetError

log = logging.getLogger(__name__)

_KINDS: tuple[tuple[type[UpstreamError], str], ...] = (
    (BudgetError, "budget"),
    (UpstreamTimeoutError, "timeout"),
    (UpstreamConnectionError, "connection"),
    (UpstreamProtocolError, "malformed"),
)


def kind(error: UpstreamError) -> str:
    """The kind of an upstream's error: one of a few words."""
    named = next((word for error_type, word in _KINDS if isinstance(error, error_type)), None)
    if named is not None:
        return named
    if error.status == 429:
        return "rate_limit"
    if error.status in (401, 403):
        return "refused_key"
    return "server" if error.status >= 500 else "client"


@contextmanager
def failing() -> Iterator[None]:
    """Counts and logs an upstream's error on its way. What the upstream wrote may be of the chat: it is not
    logged."""
    try:
        yield
    except UpstreamError as error:
        ASKER.get().counts["vouch_upstream_errors", kind(error)] += 1
        model = ASKER.get().model or "a model"
        log.warning("the upstream of %s failed: %s, status %d", model, kind(error), error.status)
        raise


class MeasuredLLM:
    """`protocols.LLM`. Of a stream counts the time in which somebody waits for the next chunk."""

    def __init__(self, llm: LLM) -> None:
        self._llm = llm

    async def complete(self, chat: Chat) -> Reply:
        """The whole reply at once."""
        asker, begun = ASKER.get(), time.perf_counter()
        try:
            with failing():
                return await self._llm.complete(chat)
        finally:
            asker.phases["upstream"] += time.perf_counter() - begun
            asker.note("upstream", begun)

    async def stream(self, chat: Chat) -> AsyncIterator[ReplyChunk]:
        """The reply as chunks."""
        asker, begun = ASKER.get(), time.perf_counter()
        called, first = begun, None
        with failing():
            async with closing(self._llm.stream(chat)) as chunks:
                try:
                    async for chunk in chunks:
                        arrived = time.perf_counter()
                        asker.phases["upstream"] += arrived - begun
                        first = first or arrived
                        yield chunk
                        begun = time.perf_counter()
                finally:
                    asker.phases["upstream"] += time.perf_counter() - begun
                    asker.note("upstream", called, first=first)


class MeasuredRetriever:
    """`protocols.Retriever`."""

    def __init__(self, retriever: Retriever) -> None:
        self._retriever = retriever

    async def search(self, queries: Sequence[str], k: int) -> Sequence[tuple[Evidence, ...]]:
        """Per query at most k passages, best first."""
        asker, begun = ASKER.get(), time.perf_counter()
        try:
            return await self._retriever.search(queries, k)
        finally:
            asker.phases["retrieval"] += time.perf_counter() - begun
            asker.note("retrieval", begun, len(queries))


class MeasuredChecker:
    """`protocols.Checker`."""

    def __init__(self, checker: Checker) -> None:
        self._checker = checker

    async def check(self, pairs: Sequence[Pair]) -> Sequence[Judgement]:
        """One judgement per pair, in order."""
        asker, begun = ASKER.get(), time.perf_counter()
        asker.counts["vouch_checked_pairs",] += len(pairs)
        try:
            return await self._checker.check(pairs)
        finally:
            asker.phases["checking"] += time.perf_counter() - begun
            asker.note("checking", begun, len(pairs))
