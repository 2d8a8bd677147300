"""Stream events to server-sent events: one driver for every API and every kind of chat."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from typing import Any, Protocol

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from proxy.aio import closing
from proxy.engine.delivery import Answer, StreamEvent
from proxy.errors import VouchError
from proxy.types import Json

log = logging.getLogger(__name__)

EVENT_STREAM = "text/event-stream"
UNBUFFERED = {"cache-control": "no-cache", "x-accel-buffering": "no"}
"""Headers of a stream that no proxy on the way should hold back."""


class Serializer(Protocol):
    """Writes a reply as one API has it: as one object, or as the bytes of whole server-sent events."""

    def whole(self, answer: Answer) -> Json:
        """The reply as one object."""
        ...

    def start(self) -> Iterable[bytes]:
        """What comes before anything else."""
        ...

    def event(self, stream_event: StreamEvent) -> Iterable[bytes]:
        """What to send for one event."""
        ...

    def heartbeat(self) -> Iterable[bytes]:
        """What keeps the connection open while nothing happens."""
        ...

    def failed(self, error: Exception) -> Iterable[bytes]:
        """What comes instead of the rest."""
        ...

    def end(self) -> Iterable[bytes]:
        """What comes after everything else."""
        ...


class EventStream(StreamingResponse):
    """Server-sent events; `release` is called however they end, also before the first of them."""

    def __init__(self, events: AsyncIterator[bytes], release: Callable[[], Awaitable[None]]) -> None:
        super().__init__(events, media_type=EVENT_STREAM, headers=UNBUFFERED)
        self._events = events
        self._release = release

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Sends them."""
        try:
            async with closing(self._events):
                await super().__call__(scope, receive, send)
        finally:
            await self._release()


async def event_stream(
    events: AsyncIterator[StreamEvent], started: asyncio.Event, serializer: Serializer, heartbeat: float
) -> EventStream:
    """The response, once the upstream has `started` to answer or the first event is there.

    At least every `heartbeat` seconds something is sent. What goes wrong before the response begins is
    raised, so that it can still have a status of its own.
    """
    coming = asyncio.ensure_future(anext(events))
    begun = asyncio.ensure_future(started.wait())
    try:
        await asyncio.wait({coming, begun}, return_when=asyncio.FIRST_COMPLETED)
        if coming.done():
            coming.result()
    except BaseException:
        await _closed(coming, events)
        raise
    finally:
        begun.cancel()
    return EventStream(_sent(coming, events, serializer, heartbeat), lambda: _closed(coming, events))


async def _sent(
    coming: asyncio.Future[StreamEvent],
    events: AsyncIterator[StreamEvent],
    serializer: Serializer,
    heartbeat: float,
) -> AsyncIterator[bytes]:
    try:
        for piece in serializer.start():
            yield piece
        while True:
            while not (await asyncio.wait({coming}, timeout=heartbeat))[0]:
                for piece in serializer.heartbeat():
                    yield piece
            for piece in serializer.event(coming.result()):
                yield piece
            coming = asyncio.ensure_future(anext(events))
    except StopAsyncIteration:
        pass
    except VouchError as error:
        for piece in serializer.failed(error):
            yield piece
    except Exception as error:
        log.exception("a stream broke off")
        for piece in serializer.failed(error):
            yield piece
    finally:
        await _closed(coming, events)
    for piece in serializer.end():
        yield piece


async def _closed(coming: asyncio.Future[Any], events: AsyncIterator[Any]) -> None:
    """Cancels the event under way, then closes the iterator, which can't be closed while it runs."""
    coming.cancel()
    await asyncio.gather(coming, return_exceptions=True)
    async with closing(events):
        pass
