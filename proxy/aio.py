"""asyncio helpers: work that ends when its caller leaves or the server stops; whom a task works for; and a
gate, a thread and turns that are fair between them; how many cores there are."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from concurrent.futures import Executor, Future
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, TypeVar

from proxy.errors import OverloadedError, RateLimitError, StoppingError
from proxy.tracing import Span

T = TypeVar("T")


MOST_STEPS = 400
"""Steps of a request that its time line keeps apart; later ones are added to the last of their phase."""


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


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
    """What one request has used, and whose key it came with. Its tasks inherit it through `ASKER`.

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
        failed: the HTTP status of the error that its stream ended with; 0: with none.
        ended: whether the last event of its stream is on its way.
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
    failed: int = 0
    ended: bool = False
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


async def ahead(items: AsyncIterator[T], most: int) -> AsyncIterator[T]:
    """The items, of which up to `most` are taken before they are asked for."""
    taken: asyncio.Queue[tuple[T] | None] = asyncio.Queue(most)

    async def take() -> None:
        try:
            async with closing(items):
                async for item in items:
                    await taken.put((item,))
        except Exception:
            await taken.put(None)
            raise
        await taken.put(None)

    taking = asyncio.create_task(take())
    try:
        while (item := await taken.get()) is not None:
            yield item[0]
        await taking
    finally:
        taking.cancel()
        await asyncio.gather(taking, return_exceptions=True)


async def together(work: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """The results in order. When one fails or this is cancelled, the rest is cancelled first."""
    tasks = [asyncio.ensure_future(coroutine) for coroutine in work]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class Shares:
    """What each key was given lately, in whatever is given. It counts half after `halved` seconds."""

    def __init__(self, halved: float = 10.0, now: Callable[[], float] = time.monotonic) -> None:
        self._halved = halved
        self._now = now
        self._given: dict[str, float] = {}
        self._counted = now()

    def of(self, key: str) -> float:
        """What the key was given, as of the last `fade`."""
        return self._given.get(key, 0.0)

    def give(self, key: str, amount: float) -> None:
        """Counts it."""
        self._given[key] = self.of(key) + amount

    def fade(self) -> None:
        """Counts less what was given before."""
        now = self._now()
        share = 0.5 ** ((now - self._counted) / self._halved)
        self._given = {key: given * share for key, given in self._given.items() if given * share > 0.01}
        self._counted = now


class FairThread(Executor):
    """One thread. Of the work that waits, that of the key (`ASKER`) which was given the least time lately is
    done next, and a key's own in the order in which it came. So whoever has much to do gives it in pieces.

    Args:
        name: the thread's.
        initializer: called in the thread before all work.
    """

    def __init__(self, name: str, initializer: Callable[[], None] = lambda: None) -> None:
        self._name = name
        self._initializer = initializer
        self._changed = threading.Condition()
        self._waiting: dict[str, deque[tuple[Future[Any], Callable[[], Any]]]] = {}
        self._shares = Shares()
        self._thread: threading.Thread | None = None
        self._closed = False

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        """Has it done for the running task's key. Raises `RuntimeError` after the end."""
        future: Future[T] = Future()
        with self._changed:
            if self._closed:
                raise RuntimeError(f"the thread {self._name} has ended")
            self._waiting.setdefault(ASKER.get().key, deque()).append((future, lambda: fn(*args, **kwargs)))
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name=self._name, daemon=True)
                self._thread.start()
            self._changed.notify()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Ends the thread when nothing waits any more; `cancel_futures`: at once, after what it is at."""
        with self._changed:
            self._closed = True
            if cancel_futures:
                for line in self._waiting.values():
                    for future, _ in line:
                        future.cancel()
                self._waiting.clear()
            self._changed.notify()
        if wait and self._thread is not None:
            self._thread.join()

    def _work(self) -> None:
        self._initializer()
        while (following := self._next()) is not None:
            key, future, call = following
            if not future.set_running_or_notify_cancel():
                continue
            begun = time.monotonic()
            try:
                future.set_result(call())
            except BaseException as error:
                future.set_exception(error)
            self._shares.give(key, time.monotonic() - begun)
            del following, future, call  # what they hold is let go before the thread waits

    def _next(self) -> tuple[str, Future[Any], Callable[[], Any]] | None:
        with self._changed:
            while not self._waiting:
                if self._closed:
                    return None
                self._changed.wait()
            self._shares.fade()
            key = min(self._waiting, key=self._shares.of)
            future, call = self._waiting[key].popleft()
            if not self._waiting[key]:
                del self._waiting[key]
            return key, future, call


@dataclass(slots=True)
class Turn:
    """What follows a turn: so many seconds of pause."""

    pause: float = 0.0


class Turns:
    """What keeps the interpreter from all others for long: one thing at a time of each key (`ASKER`), and
    pauses between, so that a key takes only a part of the processor. Without keys nobody is told apart,
    and nothing waits.

    Args:
        most: seconds of pause at most.
    """

    def __init__(self, most: float = 5.0) -> None:
        self._most = most
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._rests_until: dict[str, float] = {}

    @asynccontextmanager
    async def taken(self) -> AsyncIterator[Turn]:
        """Waits for the key's turn, and holds it."""
        key, turn = ASKER.get().key, Turn()
        if not key:
            yield turn
            return
        async with self._locks[key]:
            await asyncio.sleep(self._rests_until.get(key, 0.0) - time.monotonic())
            try:
                yield turn
            finally:
                self._rests_until[key] = time.monotonic() + min(self._most, turn.pause)

    async def rest(self, seconds: float) -> None:
        """Takes a turn to do nothing in, for so long. Without keys it does not wait."""
        if ASKER.get().key:
            async with self.taken():
                await asyncio.sleep(min(self._most, seconds))


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
