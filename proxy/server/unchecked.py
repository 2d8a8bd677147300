"""Chats that nobody checks: the upstream's own answer, byte by byte where its client can hand it over."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack

from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from proxy.aio import closing
from proxy.engine.context import Model
from proxy.errors import VouchError
from proxy.openai_api.chat.request import ChatRequest
from proxy.openai_api.chat.stream import DONE, event
from proxy.openai_api.error_object import error_object
from proxy.server.limits import ConcurrencyLimit
from proxy.server.streaming import EVENT_STREAM, UNBUFFERED, EventStream
from proxy.types import Json
from proxy.upstream.endpoint import Forwarded


async def raw(request: ChatRequest, model: Model, gate: ConcurrencyLimit) -> Response:
    """The response, once it is sure what its status is. A place is held until it has been sent. Raises
    `VouchError`."""
    async with AsyncExitStack() as held:
        await held.enter_async_context(gate.place())
        if model.relay is not None:
            answer = await model.relay.relay(request.chat)
            held.push_async_callback(answer.aclose)
            return Relayed(answer, held.pop_all().aclose)
        if not request.stream:
            return JSONResponse((await model.llm.complete(request.chat)).raw)
        chunks = await held.enter_async_context(closing(model.llm.stream(request.chat)))
        first = await anext(chunks, None)
        events = _events(first, chunks, include_usage=request.include_usage)
        return EventStream(events, held.pop_all().aclose)


async def _events(
    first: Json | None, chunks: AsyncIterator[Json], *, include_usage: bool
) -> AsyncIterator[bytes]:
    try:
        if first is not None:
            yield event(first)
        async for chunk in chunks:
            if chunk.get("choices") or include_usage:
                yield event(chunk)
    except VouchError as error:
        yield event(error_object(error))
    yield DONE


class Relayed(Response):
    """Sends what an upstream answers; `release` is called however that ends.

    A stream that breaks off ends with an error's event and `[DONE]`, any other answer without its end.
    Starlette's own streaming would watch the connection a second time, which costs two tasks.
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
