"""Concurrent checks joined before an LLM is asked, so that claims about one passage go into one prompt."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from proxy.protocols import Checker
from proxy.types import Judgement, Pair


class MicroBatcher:
    """`protocols.Checker` that asks another one, with the pairs of all `check`s that begin within `wait`
    seconds.

    That is long enough for some sentences of a reply to be written, and short beside what an LLM takes.

    Unlike `Batching`, calls don't wait for one another: an LLM answers many at once. The checks of a call
    wait for the slowest of them, and share its failure. A call that nobody waits for any more is cancelled.
    """

    def __init__(self, inner: Checker, *, wait: float = 0.2) -> None:
        self._inner = inner
        self._wait = wait
        self._open: _Call | None = None

    async def check(self, pairs: Sequence[Pair]) -> Sequence[Judgement]:
        """One judgement per pair, in order. Raises what the inner checker raises."""
        if not pairs:
            return []
        call = self._open or self._begin()
        start = len(call.pairs)
        call.pairs += pairs
        call.waiting += 1
        try:
            told = await asyncio.shield(call.answer)
        finally:
            call.waiting -= 1
            if not call.waiting:
                self._close(call)
                call.answer.cancel()
        return told[start : start + len(pairs)]

    def _begin(self) -> _Call:
        call = _Call()
        call.answer = asyncio.ensure_future(self._ask(call))
        self._open = call
        return call

    async def _ask(self, call: _Call) -> Sequence[Judgement]:
        await asyncio.sleep(self._wait)
        self._close(call)
        return await self._inner.check(call.pairs)

    def _close(self, call: _Call) -> None:
        if self._open is call:
            self._open = None


class _Call:
    """Pairs that are asked about together."""

    answer: asyncio.Future[Sequence[Judgement]]

    def __init__(self) -> None:
        self.pairs: list[Pair] = []
        self.waiting = 0
