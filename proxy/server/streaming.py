"""Sends stream events as server-sent events: one driver for every API and every kind of chat."""

from __future__ import annotations

import asyncio
import logging
from asyncio import FIRST_COMPLETED
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from typing import Any, Protocol

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from proxy.aio import ASKER, Ending, closing
from proxy.engine.delivery import Answer, StreamEvent
from proxy.errors import StoppingError, VouchError
from proxy.openai_api.error_object import error_status
from proxy.types import Json

log = logging.getLogger(__name__)

EVENT_STREAM = "text/event-stream"
UNBUFFERED = {"cache-control": "no-cache", "x-accel-buffering": "no"}
"""Headers that keep proxies on the way from buffering a stream."""


class Serializer(Protocol):
    """Serialises a reply for one API: as one object, or as the bytes of complete server-sent events."""

    def whole(self, answer: Answer) -> Json:
        """The reply as one object."""
        ...

    def start(self) -> Iterable[bytes]:
        """The first events of the stream."""
        ...

    def event(self, stream_event: StreamEvent) -> Iterable[bytes]:
        """The events for one stream event."""
        ...

    def heartbeat(self) -> Iterable[bytes]:
        """An event that keeps an idle connection open."""
        ...

    def failed(self, error: Exception) -> Iterable[bytes]:
        """The events for an error, which replace the rest of the stream."""
        ...

    def end(self) -> Iterable[bytes]:
        """The last events of the stream."""
        ...


class EventStream(StreamingResponse):
    """Server-sent events. `release` is called however they end, even before the first."""

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
    events: AsyncIterator[StreamEvent],
    started: asyncio.Event,
    serializer: Serializer,
    heartbeat: float,
    ending: Ending,
) -> EventStream:
    """The response, once the upstream has `started` to answer or the first event has arrived.

    Sends a heartbeat after each `heartbeat` seconds without an event. A stream that is still under way at the
    server's `ending` ends with an error. An error before the response begins is
    raised, so that the response can still have its own status.
    """
    coming = asyncio.ensure_future(anext(events))
    begun = asyncio.ensure_future(started.wait())
    try:
        waited: set[asyncio.Future[Any]] = {coming, begun, ending.over}
        await asyncio.wait(waited, return_when=FIRST_COMPLETED)
        if coming.done():
            coming.result()
        elif ending.over.done():
            raise StoppingError  # noqa: TRY301
    except BaseException:
        await _closed(coming, events)
        raise
    finally:
        begun.cancel()
    sent = _sent(coming, events, serializer, heartbeat, ending)
    return EventStream(sent, lambda: _closed(coming, events))


async def _sent(
    coming: asyncio.Future[StreamEvent],
    events: AsyncIterator[StreamEvent],
    serializer: Serializer,
    heartbeat: float,
    ending: Ending,
) -> AsyncIterator[bytes]:
    try:
        for piece in serializer.start():
            yield piece
        while True:
            waited: set[asyncio.Future[Any]] = {coming, ending.over}
            while not (await asyncio.wait(waited, timeout=heartbeat, return_when=FIRST_COMPLETED))[0]:
                for piece in serializer.heartbeat():
                    yield piece
            if not coming.done():
                raise StoppingError  # noqa: TRY301
            stream_event = coming.result()
            ASKER.get().ended = isinstance(stream_event, Answer)
            for piece in serializer.event(stream_event):
                yield piece
            coming = asyncio.ensure_future(anext(events))
    except StopAsyncIteration:
        pass
    except VouchError as error:
        ASKER.get().failed = error_status(error)
        for piece in serializer.failed(error):
            yield piece
    except Exception as error:
        log.exception("a stream broke off")
        ASKER.get().failed = error_status(error)
        for piece in serializer.failed(error):
            yield piece
    finally:
        await _closed(coming, events)
    ASKER.get().ended = True
    for piece in serializer.end():
        yield piece


async def _closed(coming: asyncio.Future[Any], events: AsyncIterator[Any]) -> None:
    """Cancels the pending event, then closes the iterator, which can't be closed while it runs."""
    coming.cancel()
    await asyncio.gather(coming, return_exceptions=True)
    async with closing(events):
        pass
