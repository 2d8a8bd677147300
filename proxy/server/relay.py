"""Passes an upstream's own answer on as bytes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from proxy.aio import closing
from proxy.errors import VouchError
from proxy.openai_api.chat.stream import DONE, event
from proxy.openai_api.error_object import error_object
from proxy.server.streaming import EVENT_STREAM, UNBUFFERED
from proxy.upstream.endpoint import Forwarded


class Relayed(Response):
    """Sends an upstream's answer; `release` is called however it ends.

    A stream that breaks off ends with an error event and `[DONE]`; any other answer is cut off. Starlette's
    own streaming would watch the connection a second time, which costs two tasks.
    """

    def __init__(self, answer: Forwarded, release: Callable[[], Awaitable[None]]) -> None:
        self._streams = answer.headers.get("content-type", "").startswith(EVENT_STREAM)
        self._answer = answer
        self._release = release
        self.status_code = answer.status
        self.background = None
        self.init_headers({**answer.headers, **(UNBUFFERED if self._streams else {})})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Sends it."""
        head = {"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers}
        try:
            await send(head)
            async with closing(self._bytes()) as pieces:
                async for piece in pieces:
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            await self._release()

    async def _bytes(self) -> AsyncIterator[bytes]:
        async with closing(self._answer.body) as pieces:
            try:
                async for piece in pieces:
                    yield piece
            except VouchError as error:
                if not self._streams:
                    raise
                # The line break ends an event that lacks its own.
                yield b"\n" + event(error_object(error)) + DONE
