"""Limits how many chats run at the same time and how many may wait."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from proxy.errors import OverloadedError


class ConcurrencyLimit:
    """`concurrency` places and a queue of `queue` before them."""

    def __init__(self, concurrency: int, queue: int) -> None:
        self._places = asyncio.Semaphore(concurrency)
        self._queue = queue
        self._waiting = 0

    @asynccontextmanager
    async def place(self) -> AsyncIterator[None]:
        """Waits for a place and holds it. Raises `OverloadedError` when the queue is full."""
        if self._places.locked() and self._waiting >= self._queue:
            raise OverloadedError("The server is busy: too many chats are waiting. Try again in a moment.")
        self._waiting += 1
        try:
            await self._places.acquire()
        finally:
            self._waiting -= 1
        try:
            yield
        finally:
            self._places.release()
