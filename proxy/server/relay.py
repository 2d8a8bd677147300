"""Passes an upstream's own answer on as bytes."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from proxy.aio import ASKER, Ending, closing
from proxy.errors import StoppingError, VouchError
from proxy.openai_api.chat.stream import DONE, event
from proxy.openai_api.error_object import error_object, error_status
from proxy.server.streaming import EVENT_STREAM, UNBUFFERED
from proxy.upstream.budget import TOKEN
from proxy.upstream.endpoint import Forwarded

TAIL = 4096
"""Bytes at an answer's end that are searched for its usage."""
STREAMED_TOKEN = 200
"""Bytes that a token takes in a stream, about, with what is around it."""

_TOTAL = re.compile(rb'"total_tokens"\s*:\s*(\d{1,9})')


class Relayed(Response):
    """Sends an upstream's answer; `release` is called however it ends.

    A stream that breaks off ends with an error event and `[DONE]`; any other answer is cut off. Starlette's
    own streaming would watch the connection a second time, which costs two tasks.
    """

    def __init__(self, answer: Forwarded, release: Callable[[], Awaitable[None]], ending: Ending) -> None:
        self._streams = answer.headers.get("content-type", "").startswith(EVENT_STREAM)
        self._answer = answer
        self._release = release
        self._ending = ending
        self._closing: asyncio.Future[None] | None = None
        self._size = 0
        self._tail = b""
        self.status_code = answer.status
        self.background = None
        self.init_headers({**answer.headers, **(UNBUFFERED if self._streams else {})})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Sends it."""
        head = {"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers}
        over = self._ending.over
        over.add_done_callback(self._hang_up)
        try:
            await send(head)
            async with closing(self._bytes()) as pieces:
                async for piece in pieces:
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            over.remove_done_callback(self._hang_up)
            ASKER.get().tokens += self._tokens()
            await self._release()

    def _hang_up(self, _over: object) -> None:
        """The server ends: closes the upstream's connection, so that reading it fails at once."""
        self._closing = asyncio.ensure_future(self._answer.aclose())

    def _count(self, piece: bytes) -> None:
        self._size += len(piece)
        self._tail = (self._tail + piece)[-TAIL:] if len(piece) < TAIL else piece[-TAIL:]

    def _tokens(self) -> int:
        """What the answer says that it cost; where it says nothing, an estimate by its size."""
        said = _TOTAL.findall(self._tail)
        return int(said[-1]) if said else self._size // (STREAMED_TOKEN if self._streams else TOKEN)

    async def _bytes(self) -> AsyncIterator[bytes]:
        async with closing(self._answer.body) as pieces:
            try:
                async for piece in pieces:
                    self._count(piece)
                    ASKER.get().ended = DONE.rstrip() in piece[-2 * len(DONE) :]
                    yield piece
            except VouchError as error:
                if not self._streams:
                    raise
                told = StoppingError() if self._ending.over.done() else error
                ASKER.get().failed = error_status(told)
                # The line break ends an event that lacks its own.
                yield b"\n" + event(error_object(told)) + DONE
