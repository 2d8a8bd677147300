"""What happens to a chat, as the events of a stream."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from proxy.aio import closing
from proxy.engine.pipeline import Answer
from proxy.engine.reply_stream import Fields, Progress, Shown
from proxy.errors import VouchError
from proxy.openai_api.chat.response import Choice, usage
from proxy.openai_api.chat.stream import DONE, Chunks, event
from proxy.openai_api.error_object import error_object
from proxy.openai_api.profiles import Profile
from proxy.types import Json

log = logging.getLogger(__name__)

EVENT_STREAM = "text/event-stream"
UNBUFFERED = {"cache-control": "no-cache", "x-accel-buffering": "no"}
"""Headers of a stream that no proxy on the way should hold back."""


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer with its choices as the client gets them."""

    answer: Answer
    choices: list[Choice]


Happening = Shown | Fields | Progress | Answered


class Wire(Protocol):
    """How one API says what happens; every method gives the bytes of whole events."""

    def start(self) -> Iterable[bytes]:
        """Before anything else."""
        ...

    def say(self, happening: Happening) -> Iterable[bytes]:
        """One thing that happened."""
        ...

    def wait(self) -> Iterable[bytes]:
        """Where nothing has been said for a while: it keeps the connection open."""
        ...

    def fail(self, error: Exception) -> Iterable[bytes]:
        """Instead of the rest."""
        ...

    def end(self) -> Iterable[bytes]:
        """After everything else."""
        ...


@dataclass(slots=True)
class ChatWire:
    """`chat.completion.chunk` objects in the dress of a profile. `choices` are how many were asked for."""

    chunks: Chunks
    profile: Profile
    choices: int = 1
    _sent: dict[int, int] = field(default_factory=dict)

    def start(self) -> Iterator[bytes]:
        """The role, for each choice."""
        return map(event, self.chunks.role(self.choices))

    def say(self, happening: Happening) -> Iterator[bytes]:
        """A chunk for what happens, at the end all that is left."""
        return map(event, self._chunks(happening))

    def wait(self) -> Iterator[bytes]:
        """A chunk that says nothing."""
        yield event(self.chunks.heartbeat())

    def fail(self, error: Exception) -> Iterator[bytes]:
        """An error object."""
        yield event(error_object(error))

    def end(self) -> Iterator[bytes]:
        """`[DONE]`."""
        yield DONE

    def _chunks(self, happening: Happening) -> Iterator[Json]:
        if isinstance(happening, Shown):
            self._sent[happening.index] = self._sent.get(happening.index, 0) + len(happening.piece)
            yield self.chunks.piece(happening.index, happening.piece)
        elif isinstance(happening, Fields):
            self._sent.setdefault(happening.index, 0)
            yield self.chunks.fields(happening.index, happening.fields)
        elif isinstance(happening, Progress):
            yield self.chunks.progress(happening.index, happening.claims)
        else:
            yield from self._last(happening)

    def _last(self, answered: Answered) -> Iterator[Json]:
        raw = answered.answer.reply.raw
        for index, choice in enumerate(answered.choices):
            rest = self.chunks.rest(index, choice, raw, self._sent.get(index))
            content = choice.content if isinstance(choice.content, str) else ""
            yield from self.profile.streamed(rest, content)
        if self.chunks.usage:
            yield self.chunks.usage_chunk(usage(answered.answer))


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


async def streamed(
    happening: AsyncIterator[Happening], started: asyncio.Event, wire: Wire, heartbeat: float
) -> EventStream:
    """The stream, once the upstream has `started` to answer. Raises what goes wrong before.

    `heartbeat` is in seconds: at least so often something is said.
    """
    coming = asyncio.ensure_future(anext(happening))
    begun = asyncio.ensure_future(started.wait())
    try:
        await asyncio.wait({coming, begun}, return_when=asyncio.FIRST_COMPLETED)
        if coming.done():
            coming.result()
    except BaseException:
        await _closed(coming, happening)
        raise
    finally:
        begun.cancel()
    return EventStream(_events(coming, happening, wire, heartbeat), lambda: _closed(coming, happening))


async def _events(
    coming: asyncio.Future[Happening], happening: AsyncIterator[Happening], wire: Wire, heartbeat: float
) -> AsyncIterator[bytes]:
    try:
        for one in wire.start():
            yield one
        while True:
            while not (await asyncio.wait({coming}, timeout=heartbeat))[0]:
                for one in wire.wait():
                    yield one
            for one in wire.say(coming.result()):
                yield one
            coming = asyncio.ensure_future(anext(happening))
    except StopAsyncIteration:
        pass
    except VouchError as error:
        for one in wire.fail(error):
            yield one
    except Exception as error:
        log.exception("a stream broke off")
        for one in wire.fail(error):
            yield one
    finally:
        await _closed(coming, happening)
    for one in wire.end():
        yield one


async def _closed(coming: asyncio.Future[Any], happening: AsyncIterator[Any]) -> None:
    """Ends what is under way, then closes the iterator: it can't be closed while it runs."""
    coming.cancel()
    await asyncio.gather(coming, return_exceptions=True)
    async with closing(happening):
        pass
