"""Concurrent checks joined into batches, so that a model computes them together."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence

from proxy.errors import CheckError
from proxy.protocols import Checker
from proxy.types import Judgement, Pair

TURN = 16
"""Pairs that one check may put in a batch before the next has its turn: most checks go in whole."""


class Batching:
    """`protocols.Checker` that asks another one, with the pairs of several `check`s in one call.

    Pairs are joined that come within `wait` seconds, or while a batch is computed; one batch is under way at
    a time, of at most `max_pairs`. When `max_waiting` pairs wait, further ones wait outside, first come first
    served. Checks take turns in a batch, so that a long one does not hold up the others. A check that is
    cancelled takes its waiting pairs along, and the batch under way too where nobody else is in it. A batch
    that fails is asked again check by check, so that a failure reaches only the one that it comes from.
    """

    def __init__(
        self, inner: Checker, *, wait: float = 0.002, max_pairs: int = 64, max_waiting: int = 1024
    ) -> None:
        self._inner = inner
        self._wait = wait
        self._max_pairs = max_pairs
        self._places = Places(max_waiting)
        self._turns: deque[_Asking] = deque()
        self._worker: asyncio.Task[None] | None = None
        self._under_way: _Batch | None = None

    async def check(self, pairs: Sequence[Pair]) -> Sequence[Judgement]:
        """One judgement per pair, in order. Raises what the inner checker raises for these pairs."""
        if not pairs:
            return []
        asking = _Asking(len(pairs))
        try:
            for index, pair in enumerate(pairs):
                await self._places.take()
                self._enqueue(asking, index, pair)
                if asking.answer.done():  # a failure of the first pairs spares the others
                    break
            answer = await asking.answer
        finally:
            self._leave(asking)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def _enqueue(self, asking: _Asking, index: int, pair: Pair) -> None:
        if not asking.waiting:
            self._turns.append(asking)
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
        """Takes out what still waits."""
        if asking.waiting:
            self._turns.remove(asking)
            self._places.free(len(asking.waiting))
            asking.waiting.clear()

    async def _work(self) -> None:
        """Batch after batch, until nobody waits."""
        try:
            await asyncio.sleep(self._wait)
            while self._turns:
                await self._compute(self._next())
        finally:
            self._worker = None

    def _next(self) -> list[_Asked]:
        batch: list[_Asked] = []
        while self._turns and len(batch) < self._max_pairs:
            asking = self._turns.popleft()
            count = min(TURN, len(asking.waiting), self._max_pairs - len(batch))
            batch += [(asking, *asking.waiting.popleft()) for _ in range(count)]
            if asking.waiting:
                self._turns.append(asking)
        self._places.free(len(batch))
        return batch

    async def _compute(self, asked: list[_Asked]) -> None:
        """Asks the inner checker, and once more for each check alone where several were joined and failed."""
        error = await self._ask(asked)
        if error is None:
            return
        alone: dict[_Asking, list[_Asked]] = {}
        for one in asked:
            alone.setdefault(one[0], []).append(one)
        if len(alone) == 1:
            self._fail(asked[0][0], error)
            return
        for asking, part in alone.items():
            if not asking.answer.done() and (failure := await self._ask(part)) is not None:
                self._fail(asking, failure)

    async def _ask(self, asked: list[_Asked]) -> Exception | None:
        """Hands out the judgements, or returns why there are none."""
        pairs = [pair for _, _, pair in asked]
        task: asyncio.Future[Sequence[Judgement]] = asyncio.ensure_future(self._inner.check(pairs))
        self._under_way = _Batch(task, {asking for asking, _, _ in asked})
        try:
            await asyncio.wait({task})
            if task.cancelled():  # because all have left, or because the checker was closed
                return CheckError("the checker was stopped before it could answer")
            for (asking, index, _), judgement in zip(asked, task.result(), strict=True):
                asking.put(index, judgement)
        except Exception as error:
            return error
        finally:
            self._under_way = None
            task.cancel()
        return None


class Places:
    """So many places; who finds none waits, first come first served."""

    def __init__(self, count: int) -> None:
        self._free = count
        self._queue: deque[asyncio.Future[None]] = deque()

    async def take(self) -> None:
        """A place, now or when one is freed for us."""
        if self._free and not self._queue:
            self._free -= 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():  # the place was given to us as we left: pass it on
                self.free(1)
            raise

    def free(self, count: int) -> None:
        """Gives places to those who wait longest, and keeps what nobody waits for."""
        self._free += count
        while self._free and self._queue:
            turn = self._queue.popleft()
            if not turn.done():
                turn.set_result(None)
                self._free -= 1


class _Asking:
    """One `check` under way."""

    def __init__(self, count: int) -> None:
        self.waiting: deque[tuple[int, Pair]] = deque()
        self.answer: asyncio.Future[list[Judgement] | Exception] = asyncio.get_running_loop().create_future()
        self._judgements: dict[int, Judgement] = {}
        self._count = count

    def put(self, index: int, judgement: Judgement) -> None:
        self._judgements[index] = judgement
        if len(self._judgements) == self._count:
            self.settle([self._judgements[at] for at in range(self._count)])

    def settle(self, answer: list[Judgement] | Exception) -> None:
        if not self.answer.done():  # else the caller has gone
            self.answer.set_result(answer)


_Asked = tuple[_Asking, int, Pair]


class _Batch:
    """The call under way, and whose pairs are in it."""

    def __init__(self, task: asyncio.Future[Sequence[Judgement]], members: set[_Asking]) -> None:
        self._task = task
        self._members = members

    def leave(self, asking: _Asking) -> None:
        self._members.discard(asking)
        if not self._members:
            self._task.cancel()
