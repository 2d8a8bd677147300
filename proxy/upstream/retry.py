"""Wrappers that repeat a call after a failure that cost nothing and may be temporary."""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TypeVar

from proxy.aio import closing
from proxy.errors import UpstreamConnectionError, UpstreamError, UpstreamProtocolError, UpstreamTimeoutError
from proxy.protocols import LLM
from proxy.types import Chat, Reply, ReplyChunk
from proxy.upstream.endpoint import Forwarded, Relay
from proxy.upstream.failures import BrokenOffError

BASE = 0.25
"""Longest first pause in seconds; each further one may be twice as long."""
LONGEST = 5.0
"""Longest pause in seconds. If the upstream asks for more, the call is not repeated."""

_STATUSES = frozenset({500, 502, 503, 504})

T = TypeVar("T")


class Retrying:
    """`protocols.LLM` that repeats a failed call of another one, at most `max_retries` times.

    Repeated are calls whose connection failed before the first byte of the answer, or that got 500, 502, 503
    or 504. Not repeated are those that got 429 (the client is told when to try again), a time-out (the client
    has waited long enough) or a malformed answer (it has cost money), and streams after their first chunk.
    """

    def __init__(self, llm: LLM, max_retries: int, uniform: Callable[[], float] = random.random) -> None:
        """`uniform` gives the jitter, in [0, 1)."""
        self._llm = llm
        self._max_retries = max_retries
        self._uniform = uniform

    async def complete(self, chat: Chat) -> Reply:
        """The whole reply at once."""
        return await _retried(lambda: self._llm.complete(chat), self._max_retries, self._uniform)

    async def stream(self, chat: Chat) -> AsyncIterator[ReplyChunk]:
        """The reply as chunks."""
        begun = False
        for attempt in range(self._max_retries + 1):
            try:
                async with closing(self._llm.stream(chat)) as chunks:
                    async for chunk in chunks:
                        begun = True
                        yield chunk
            except UpstreamError as error:
                if begun or attempt == self._max_retries:
                    raise
                await _pause(attempt, error, self._uniform())
            else:
                return


class RetryingRelay:
    """A `Relay` that repeats a failed call of another one, as `Retrying` does."""

    def __init__(self, inner: Relay, max_retries: int, uniform: Callable[[], float] = random.random) -> None:
        """`uniform` gives the jitter, in [0, 1)."""
        self._inner = inner
        self._max_retries = max_retries
        self._uniform = uniform

    async def relay(self, chat: Chat) -> Forwarded:
        """The answer, once its first bytes have come."""
        return await _retried(lambda: self._inner.relay(chat), self._max_retries, self._uniform)


async def _retried(call: Callable[[], Awaitable[T]], max_retries: int, uniform: Callable[[], float]) -> T:
    for attempt in range(max_retries):
        try:
            return await call()
        except UpstreamError as error:
            await _pause(attempt, error, uniform())
    return await call()


async def _pause(attempt: int, error: UpstreamError, jitter: float) -> None:
    """Waits before the next call, or raises `error` if the call is not to be repeated."""
    seconds = pause(attempt, error, jitter)
    if seconds is None:
        raise error
    await asyncio.sleep(seconds)


def pause(attempt: int, error: UpstreamError, jitter: float) -> float | None:
    """Seconds to wait after call number `attempt` (from 0) failed; None if it is not to be repeated.

    Exponential backoff with full jitter (Brooker, "Exponential Backoff And Jitter", AWS 2015), and never
    less than the upstream asks for.
    """
    wanted = retry_after(error)
    if not is_passing(error) or wanted > LONGEST:
        return None
    return max(wanted, jitter * min(LONGEST, BASE * 2.0**attempt))


def is_passing(error: UpstreamError) -> bool:
    """Whether the same call may succeed in a moment, and repeating it pays for nothing twice."""
    if error.headers.get("x-should-retry") == "false":
        return False
    if isinstance(error, UpstreamConnectionError):
        return not isinstance(error, BrokenOffError)
    if isinstance(error, UpstreamTimeoutError | UpstreamProtocolError):
        return False
    return error.status in _STATUSES


def retry_after(error: UpstreamError) -> float:
    """Seconds that the upstream asks to wait, or 0. A date counts as infinity."""
    millis, seconds = error.headers.get("retry-after-ms"), error.headers.get("retry-after")
    if millis is not None:
        return _seconds(millis) / 1000
    return _seconds(seconds) if seconds is not None else 0.0


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        return math.inf
    return value if value >= 0 else math.inf
