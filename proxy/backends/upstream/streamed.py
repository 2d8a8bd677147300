"""An `LLM` that streams inside, so that the first byte is known of while the reply is still being written."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

from proxy.backends.upstream.closing import closing
from proxy.backends.upstream.collect import collect
from proxy.protocols import LLM
from proxy.types import Chat, Json, Reply


class Streamed:
    """The same replies, each collected from a stream; `on_first` is called at each stream's first chunk.

    `on_first` runs in the event loop and must not block. `max_size` bounds a reply, in characters.
    """

    def __init__(self, llm: LLM, on_first: Callable[[], None], max_size: int = 20_000_000) -> None:
        self._llm = llm
        self._on_first = on_first
        self._max_size = max_size

    async def complete(self, chat: Chat) -> Reply:
        """The whole reply, from the chunks of `stream`."""
        async with closing(self.stream(chat)) as chunks:
            return await collect(chunks, self._max_size)

    async def stream(self, chat: Chat) -> AsyncIterator[Json]:
        """The chunks of the inner LLM."""
        async with closing(self._llm.stream(chat)) as chunks:
            waiting = True
            async for chunk in chunks:
                if waiting:
                    self._on_first()
                    waiting = False
                yield chunk
