"""Checks that begin together are asked together, and end apart."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from proxy.checkers.batching import MicroBatcher
from proxy.errors import CheckError
from proxy.types import Judgement, Pair, Verdict


class Echoing:
    """Says each claim back. `slow` claims take long, `broken` ones fail."""

    def __init__(self) -> None:
        self.calls: list[list[str]] = []
        self.called = asyncio.Event()
        self.cancelled = 0

    async def check(self, pairs: Sequence[Pair]) -> Sequence[Judgement]:
        claims = [pair.claim for pair in pairs]
        self.calls.append(claims)
        self.called.set()
        try:
            await asyncio.sleep(30 if "slow" in claims else 0)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        if "broken" in claims:
            raise CheckError("gone")
        return [Judgement(Verdict.SUPPORTED, 1.0, reason=claim) for claim in claims]


def pairs(*claims: str) -> list[Pair]:
    return [Pair(claim, "evidence") for claim in claims]


async def test_checks_that_begin_together_are_one_call() -> None:
    inner = Echoing()
    gathering = MicroBatcher(inner, wait=0.01)
    told = await asyncio.gather(gathering.check(pairs("a", "b")), gathering.check(pairs("c")))
    assert [[one.reason for one in each] for each in told] == [["a", "b"], ["c"]]
    assert inner.calls == [["a", "b", "c"]]


async def test_calls_do_not_wait_for_one_another() -> None:
    inner = Echoing()
    gathering = MicroBatcher(inner, wait=0.001)
    slow = asyncio.create_task(gathering.check(pairs("slow")))
    await inner.called.wait()
    assert [one.reason for one in await gathering.check(pairs("quick"))] == ["quick"]
    slow.cancel()
    await asyncio.gather(slow, return_exceptions=True)


async def test_who_leaves_does_not_take_the_others_along() -> None:
    inner = Echoing()
    gathering = MicroBatcher(inner, wait=0.01)
    leaving, staying = (asyncio.create_task(gathering.check(pairs(name))) for name in ("a", "b"))
    await asyncio.sleep(0)
    leaving.cancel()
    assert [one.reason for one in await staying] == ["b"]


async def test_a_call_that_nobody_waits_for_is_cancelled() -> None:
    inner = Echoing()
    gathering = MicroBatcher(inner, wait=0.001)
    tasks = [asyncio.create_task(gathering.check(pairs("slow"))) for _ in range(2)]
    await inner.called.wait()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await asyncio.sleep(0)
    assert inner.cancelled == 1
    assert [one.reason for one in await gathering.check(pairs("later"))] == ["later"]


async def test_a_failure_reaches_all_of_its_call() -> None:
    gathering = MicroBatcher(Echoing(), wait=0.01)
    told = await asyncio.gather(
        gathering.check(pairs("a")), gathering.check(pairs("broken")), return_exceptions=True
    )
    assert [type(one) for one in told] == [CheckError, CheckError]
    with pytest.raises(CheckError):
        await gathering.check(pairs("broken"))


async def test_nothing_asked_is_nothing_told() -> None:
    assert await MicroBatcher(Echoing(), wait=0.01).check([]) == []
