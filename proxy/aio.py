"""asyncio helpers: work that ends when its caller leaves or the server stops; whom a task works for, and a
gate that is fair between them."""

from __future__ import annotations

import asyncio
import time
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import AsyncIterator, Coroutine, Iterable
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, TypeVar

from proxy.errors import OverloadedError, RateLimitError, StoppingError
from proxy.tracing import Span

T = TypeVar("T")


MOST_STEPS = 400
"""Steps of a request that its time line keeps apart; later ones are added to the last of their phase."""


@dataclass(slots=True)
class Step:
    """A stretch of a request's time: its phase, when it began and ended, in seconds since the request came,
    how many things it was about (claims, queries, pairs), and, of an upstream's stream, when the first chunk
    came."""

    phase: str
    start: float
    end: float
    count: int = 0
    first: float | None = None


@dataclass(slots=True)
class Asker:
    """Whom work is done for: one request, of one key. Its tasks, and theirs, share it by `ASKER`.

    Attributes:
        key: the name of the client's key; empty where no keys are configured.
        request: the request's id.
        most_calls: how many upstream calls the request may make; None: any number.
        most_tokens: after how many tokens it may make no further call; None: never.
        most_places: how many requests of its key may run at once; None: as many as of any key.
        calls: those made so far.
        tokens: those spent so far.
        waited: seconds that the request waited for its place; None where it needed none.
        model: the name of the model that it asks.
        phases: seconds spent in each phase (upstream, retrieval, checking, correction), added up.
        counts: what happened, by the name of the metric and its labels.
        steps: what was done when, in the order in which it ended.
        begun: when the request came, as `time.perf_counter` tells it.
        span: the request's, where it is traced.
    """

    key: str = ""
    request: str = ""
    most_calls: int | None = None
    most_tokens: int | None = None
    most_places: int | None = None
    calls: int = 0
    tokens: int = 0
    waited: float | None = None
    model: str = ""
    phases: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    counts: Counter[tuple[str, ...]] = field(default_factory=Counter)
    steps: list[Step] = field(default_factory=list)
    begun: float = field(default_factory=time.perf_counter)
    span: Span | None = None

    def note(self, phase: str, begun: float, count: int = 0, first: float | None = None) -> None:
        """Puts a step that began at `begun` and ends now into the time line. Times are those of
        `time.perf_counter`."""
        end = time.perf_counter() - self.begun
        came = None if first is None else first - self.begun
        last = next((step for step in reversed(self.steps) if step.phase == phase), None)
        if last is not None and len(self.steps) >= MOST_STEPS:
            last.end, last.count = end, last.count + count
        else:
            self.steps.append(Step(phase, begun - self.begun, end, count, came))


ASKER: ContextVar[Asker] = ContextVar("asker", default=Asker())  # noqa: B039
"""Whom the running task works for. Outside a server nobody is asked for: nothing is bounded."""


@asynccontextmanager
async def closing(items: AsyncIterator[T]) -> AsyncIterator[AsyncIterator[T]]:
    """Like `contextlib.aclosing`, for iterators that may have no `aclose` too."""
    try:
        yield items
    finally:
        aclose = getattr(items, "aclose", None)
        if aclose is not None:
            await aclose()


async def together(work: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """The results in order. When one fails or this is cancelled, the rest is cancelled first."""
    tasks = [asyncio.ensure_future(coroutine) for coroutine in work]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class Gate:
    """`concurrency` places, `per_key` of them for one key that has no bound of its own (`Asker.most_places`),
    and a queue of `queue` before them.

    Keys take turns: a key whose requests fill the queue delays its own. Where the queue is full, the newest
    request of the key that has most waiting makes room for a key that has fewer. Without a key (no keys are
    configured) there is no bound per key.
    """

    def __init__(self, concurrency: int, queue: int, per_key: int) -> None:
        self._free = concurrency
        self._queue = queue
        self._per_key = per_key
        self._bounds: dict[str, int] = {}
        self._running: Counter[str] = Counter()
        self._waiting: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()

    @property
    def waiting(self) -> int:
        """Requests that wait for a place."""
        return sum(map(len, self._waiting.values()))

    @property
    def running(self) -> int:
        """Requests that hold a place."""
        return self._running.total()

    @asynccontextmanager
    async def place(self) -> AsyncIterator[None]:
        """Waits for a place and holds it. Raises `OverloadedError` where the queue is full, `RateLimitError`
        where it is, and the key has as many places as it may have."""
        asker, begun = ASKER.get(), time.perf_counter()
        key = asker.key
        self._bounds[key] = asker.most_places or self._per_key
        await self._enter(key)
        asker.waited = time.perf_counter() - begun
        asker.note("waiting", begun)
        try:
            yield
        finally:
            self._leave(key)

    async def _enter(self, key: str) -> None:
        if self._may_enter(key):
            self._take(key)
            return
        if self.waiting >= self._queue:
            self._make_room(key)
        coming: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(key, deque()).append(coming)
        try:
            await coming
        except asyncio.CancelledError:
            if coming.done() and not coming.cancelled() and coming.exception() is None:
                self._leave(key)
            else:
                self._forget(key, coming)
            raise

    def _may_enter(self, key: str) -> bool:
        return self._free > 0 and not self._is_full(key)

    def _is_full(self, key: str) -> bool:
        return bool(key) and self._running[key] >= self._bounds.get(key, self._per_key)

    def _take(self, key: str) -> None:
        self._free -= 1
        self._running[key] += 1

    def _leave(self, key: str) -> None:
        self._free += 1
        self._running[key] -= 1
        if not self._running[key]:
            del self._running[key]
        while (following := next(filter(self._may_enter, self._waiting), None)) is not None:
            coming = self._waiting[following].popleft()
            self._waiting.move_to_end(following)
            self._tidy(following)
            if not coming.done():
                self._take(following)
                coming.set_result(None)

    def _make_room(self, key: str) -> None:
        """Refuses the newest request of the key that has most waiting, which may be this one."""
        busiest = max(self._waiting, key=lambda name: len(self._waiting[name]), default=key)
        own = len(self._waiting.get(key, ()))
        if len(self._waiting.get(busiest, ())) > own + 1:
            newest = self._waiting[busiest].pop()
            if not newest.done():
                newest.set_exception(self._refusal(busiest))
            self._tidy(busiest)
            return
        raise self._refusal(key)

    def _refusal(self, key: str) -> OverloadedError | RateLimitError:
        if self._is_full(key):
            most = self._bounds.get(key, self._per_key)
            return RateLimitError(
                f"Your key has {most} requests under way, as many as it may have "
                "(limits.key.concurrency), and the queue is full. Wait until one of them has ended.",
                retry_after=1.0,
            )
        return OverloadedError("The server is busy: too many requests are waiting. Try again in a moment.")

    def _forget(self, key: str, coming: asyncio.Future[None]) -> None:
        if coming in self._waiting.get(key, ()):
            self._waiting[key].remove(coming)
            self._tidy(key)

    def _tidy(self, key: str) -> None:
        if not self._waiting[key]:
            del self._waiting[key]


class Ending:
    """The end of a server: first it drains, then what is still under way is cut off."""

    def __init__(self) -> None:
        self.draining = False
        """Whether the server is about to stop, and no longer ready for further requests."""
        self._over: asyncio.Future[None] | None = None

    @property
    def over(self) -> asyncio.Future[None]:
        """Done when work that is still under way must end. To be used on the server's loop."""
        if self._over is None:
            self._over = asyncio.get_running_loop().create_future()
        return self._over

    def end(self) -> None:
        """Cuts off what is under way."""
        if not self.over.done():
            self.over.set_result(None)

    async def unless(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of the work. Raises `StoppingError` and cancels it when the server ends first."""
        task = asyncio.ensure_future(work)
        waited: set[asyncio.Future[Any]] = {task, self.over}
        try:
            await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                raise StoppingError
            return task.result()
        finally:
            if not task.done():
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
