"""Wrappers that join the pairs of concurrent checks: for a local model, and for an LLM."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Sequence

from proxy.aio import ASKER, Asker, Shares
from proxy.errors import CheckError
from proxy.protocols import Checker
from proxy.types import Judgement, Pair

TURN = 16
"""Pairs that one check may put in a batch before the next check has its turn. Most checks have fewer."""
_BATCH_SECONDS = 0.3
"""About how long a batch may take, since whoever comes meanwhile waits for its end."""
_LEAST = 4
"""Pairs of a batch, however long they take."""
_FOLLOW_UP = 0.01
"""Seconds that those who were given much wait after a batch for one who was given less: what that one asks
next comes as soon as the last is answered."""


class Batching:
    """`protocols.Checker` that passes the pairs of several `check`s to another checker in one call.

    One batch is under way at a time. The next one holds the pairs that come meanwhile, or within `wait`
    seconds, at most `max_pairs`, and no more than the inner checker does in about a third of a second. The
    key that was given least lately goes first, and keys that were given much more than it stay out of its
    batch: whoever asks for little hardly waits for whoever asks for much. The requests of a key take turns
    (`aio.ASKER`), then the checks of a request, so that a long one does not hold up the others. Of each
    request at most `max_waiting` pairs are queued, further ones wait for room, first come first served.

    A check that is cancelled takes its waiting pairs along, and cancels the batch if nobody else is in it.
    A batch that fails is repeated check by check, so that a failure reaches only the check that causes it.
    """

    def __init__(
        self,
        inner: Checker,
        *,
        wait: float = 0.002,
        max_pairs: int = 64,
        max_waiting: int = 1024,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._inner = inner
        self._now = now
        self._wait = wait
        self._max_pairs = max_pairs
        self._max_waiting = max_waiting
        self._rooms: dict[int, _Room] = {}
        self._turns = _Turns(now)
        self._pace: float | None = None
        self._worker: asyncio.Task[None] | None = None
        self._under_way: _Batch | None = None
        self.batches = 0
        """Calls of the inner checker that have ended."""
        self.pairs = 0
        """Pairs of these."""
        self.seconds = 0.0
        """What these took."""

    async def check(self, pairs: Sequence[Pair]) -> Sequence[Judgement]:
        """One judgement per pair, in order. Raises what the inner checker raises for these pairs."""
        if not pairs:
            return []
        asker = ASKER.get()
        room = self._rooms.setdefault(id(asker), _Room(self._max_waiting))
        room.users += 1
        asking = _Asking(len(pairs), asker, room)
        try:
            for index, pair in enumerate(pairs):
                await room.places.acquire()
                self._enqueue(asking, index, pair)
                if asking.answer.done():  # the first pairs have failed: the others need not be asked
                    break
            answer = await asking.answer
        finally:
            self._leave(asking)
            room.users -= 1
            if not room.users:
                del self._rooms[id(asker)]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def _enqueue(self, asking: _Asking, index: int, pair: Pair) -> None:
        if not asking.waiting:
            self._turns.add(asking)
        asking.waiting.append((index, pair))
        if self._worker is None:
            self._worker = asyncio.create_task(self._work())

    def _leave(self, asking: _Asking) -> None:
        asking.answer.cancel()
        self._drop(asking)
        if self._under_way is not None:
            self._under_way.leave(asking)

    def _fail(self, asking: _Asking, error: Exception) -> None:
        asking.settle(error)
        self._drop(asking)

    def _drop(self, asking: _Asking) -> None:
        """Takes the check's waiting pairs out of the queue."""
        if asking.waiting:
            self._turns.remove(asking)
            asking.room.free(len(asking.waiting))
            asking.waiting.clear()

    async def _work(self) -> None:
        """Computes batches until no pair waits."""
        try:
            await asyncio.sleep(self._wait)
            while self._turns:
                batch = self._next()
                await self._compute(batch)
                if self._turns.are_heavier(asking.asker.key for asking, _, _ in batch):
                    await asyncio.sleep(_FOLLOW_UP)
        finally:
            self._worker = None

    def _next(self) -> list[_Asked]:
        batch: list[_Asked] = []
        most, keys = self._most(), self._turns.lightest()
        while len(batch) < most and (asking := self._turns.next(keys)) is not None:
            count = min(TURN, len(asking.waiting), most - len(batch))
            self._turns.charge(asking, count)
            batch += [(asking, *asking.waiting.popleft()) for _ in range(count)]
            asking.room.free(count)
            if asking.waiting:
                self._turns.add(asking)
        return batch

    def _most(self) -> int:
        """How many pairs the next batch may hold."""
        wanted = self._max_pairs if self._pace is None else max(_LEAST, int(self._pace * _BATCH_SECONDS))
        return min(self._max_pairs, wanted)

    async def _compute(self, asked: list[_Asked]) -> None:
        """Asks the inner checker; if a batch of several checks fails, each check again on its own."""
        error = await self._ask(asked)
        if error is None:
            return
        alone: dict[_Asking, list[_Asked]] = {}
        for asking, index, pair in asked:
            alone.setdefault(asking, []).append((asking, index, pair))
        if len(alone) == 1:
            self._fail(asked[0][0], error)
            return
        for asking, part in alone.items():
            if not asking.answer.done() and (failure := await self._ask(part)) is not None:
                self._fail(asking, failure)

    async def _ask(self, asked: list[_Asked]) -> Exception | None:
        """Hands out the judgements, or returns the error in their place."""
        pairs, begun = [pair for _, _, pair in asked], self._now()
        task: asyncio.Future[Sequence[Judgement]] = asyncio.ensure_future(self._inner.check(pairs))
        self._under_way = _Batch(task, {asking for asking, _, _ in asked})
        try:
            await asyncio.wait({task})
            if task.cancelled():  # because all checks have left, or because the checker was closed
                return CheckError("the checker was stopped before it could answer")
            for (asking, index, _), judgement in zip(asked, task.result(), strict=True):
                asking.put(index, judgement)
            took = max(1e-6, self._now() - begun)
            pace = len(asked) / took
            self._pace = pace if self._pace is None else (self._pace + pace) / 2
            self.batches += 1
            self.pairs += len(asked)
            self.seconds += took
        except Exception as error:
            return error
        finally:
            self._under_way = None
            task.cancel()
        return None


class _Room:
    """How many pairs of one request may be queued."""

    def __init__(self, most: int) -> None:
        self.places = asyncio.Semaphore(most)
        self.users = 0

    def free(self, count: int) -> None:
        """Makes room for so many pairs."""
        for _ in range(count):
            self.places.release()


class _Turns:
    """The checks with waiting pairs. The key that was given least lately has its turn; the requests of a key,
    and the checks of a request, go round."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._keys: OrderedDict[str, OrderedDict[int, deque[_Asking]]] = OrderedDict()
        self._shares = Shares(now=now)

    def __bool__(self) -> bool:
        return bool(self._keys)

    def add(self, asking: _Asking) -> None:
        """Lines a check up behind the others of its request."""
        requests = self._keys.setdefault(asking.asker.key, OrderedDict())
        requests.setdefault(id(asking.asker), deque()).append(asking)

    def remove(self, asking: _Asking) -> None:
        """Takes a check out of the line."""
        key, request = asking.asker.key, id(asking.asker)
        self._keys[key][request].remove(asking)
        self._tidy(key, request)

    def lightest(self) -> frozenset[str]:
        """The keys that wait and were given least lately, or not much more than that."""
        self._shares.fade()
        bound = 2 * min(map(self._shares.of, self._keys), default=0.0) + TURN
        return frozenset(key for key in self._keys if self._shares.of(key) <= bound)

    def are_heavier(self, served: Iterable[str]) -> bool:
        """Whether all keys that wait were given more than one of those that were served."""
        least = min(map(self._shares.of, served))
        return all(self._shares.of(key) > least for key in self._keys)

    def next(self, keys: frozenset[str]) -> _Asking | None:
        """The check of these keys whose turn it is, taken out of the line; None: there is none."""
        waiting = (key for key in self._keys if key in keys)
        key = min(waiting, key=self._shares.of, default=None)
        if key is None:
            return None
        request = next(iter(self._keys[key]))
        asking = self._keys[key][request].popleft()
        self._keys.move_to_end(key)
        self._keys[key].move_to_end(request)
        self._tidy(key, request)
        return asking

    def charge(self, asking: _Asking, pairs: int) -> None:
        """Counts pairs that the check's key is given."""
        self._shares.give(asking.asker.key, pairs)

    def _tidy(self, key: str, request: int) -> None:
        if not self._keys[key][request]:
            del self._keys[key][request]
        if not self._keys[key]:
            del self._keys[key]


class _Asking:
    """One call of `check` under way."""

    def __init__(self, count: int, asker: Asker, room: _Room) -> None:
        self.asker = asker
        self.room = room
        self.waiting: deque[tuple[int, Pair]] = deque()
        self.answer: asyncio.Future[list[Judgement] | Exception] = asyncio.get_running_loop().create_future()
        self._judgements: dict[int, Judgement] = {}
        self._count = count

    def put(self, index: int, judgement: Judgement) -> None:
        self._judgements[index] = judgement
        if len(self._judgements) == self._count:
            self.settle([self._judgements[place] for place in range(self._count)])

    def settle(self, answer: list[Judgement] | Exception) -> None:
        if not self.answer.done():  # else the caller has gone
            self.answer.set_result(answer)


_Asked = tuple[_Asking, int, Pair]


class _Batch:
    """The call of the inner checker under way, and the checks whose pairs are in it."""

    def __init__(self, task: asyncio.Future[Sequence[Judgement]], members: set[_Asking]) -> None:
        self._task = task
        self._members = members

    def leave(self, asking: _Asking) -> None:
        self._members.discard(asking)
        if not self._members:
            self._task.cancel()


class MicroBatcher:
    """`protocols.Checker` that passes the pairs of all `check`s within `wait` seconds to another one.

    Made for an LLM that judges several claims per prompt: the wait is long enough for some sentences of a
    reply to be written, and short compared with the LLM's answer. Unlike `Batching`, calls do not wait for
    one another. The checks of a call wait for the slowest of them and share its failure. A call that nobody
    waits for any more is cancelled. Requests never share a call: it is charged to the one that asks
    (`aio.ASKER`), and no client's text stands beside another's in a prompt.
    """

    def __init__(self, inner: Checker, *, wait: float = 0.2) -> None:
        self._inner = inner
        self._wait = wait
        self._open: dict[int, _Call] = {}

    async def check(self, pairs: Sequence[Pair]) -> Sequence[Judgement]:
        """One judgement per pair, in order. Raises what the inner checker raises."""
        if not pairs:
            return []
        call = self._open.get(id(ASKER.get())) or self._begin()
        start = len(call.pairs)
        call.pairs += pairs
        call.waiting += 1
        try:
            judgements = await asyncio.shield(call.answer)
        finally:
            call.waiting -= 1
            if not call.waiting:
                self._close(call)
                call.answer.cancel()
        return judgements[start : start + len(pairs)]

    def _begin(self) -> _Call:
        call = _Call(ASKER.get())
        call.answer = asyncio.ensure_future(self._ask(call))
        self._open[id(call.asker)] = call
        return call

    async def _ask(self, call: _Call) -> Sequence[Judgement]:
        await asyncio.sleep(self._wait)
        self._close(call)
        return await self._inner.check(call.pairs)

    def _close(self, call: _Call) -> None:
        if self._open.get(id(call.asker)) is call:
            del self._open[id(call.asker)]


class _Call:
    """Pairs that are asked about together."""

    answer: asyncio.Future[Sequence[Judgement]]

    def __init__(self, asker: Asker) -> None:
        self.asker = asker
        self.pairs: list[Pair] = []
        self.waiting = 0
