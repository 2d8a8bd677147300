"""Checks that are joined: what comes together, whose turn it is, who waits, and who is hit by a failure."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.aio import ASKER, Asker
from proxy.checkers.batching import TURN, Batching
from proxy.errors import CheckError
from proxy.types import Judgement, Pair
from tests.checkers.counting import Counting, pairs, said, until


async def hold(inner: Counting, batching: Batching) -> asyncio.Task[Sequence[Judgement]]:
    """A check that is being computed until the gate opens."""
    inner.gate.clear()
    held = asyncio.create_task(batching.check(pairs("held")))
    await until(lambda: inner.calls)
    return held


async def test_checks_that_come_together_are_one_call() -> None:
    inner = Counting()
    batching = Batching(inner)
    answers = await asyncio.gather(*(batching.check(pairs(n, n + 10)) for n in range(5)))
    assert [said(answer) for answer in answers] == [[str(n), str(n + 10)] for n in range(5)]
    assert len(inner.calls) == 1


async def test_checks_that_come_while_a_batch_is_computed_are_the_next() -> None:
    inner = Counting()
    batching = Batching(inner)
    held = await hold(inner, batching)
    others = [asyncio.create_task(batching.check(pairs(n))) for n in range(3)]
    await asyncio.sleep(0.01)
    assert len(inner.calls) == 1
    inner.gate.set()
    await asyncio.gather(held, *others)
    assert inner.calls == [["held"], ["0", "1", "2"]]


async def test_no_batch_is_larger_than_allowed_and_order_is_kept() -> None:
    inner = Counting()
    claims = [str(n) for n in range(50)]
    assert said(await Batching(inner, max_pairs=7).check(pairs(*claims))) == claims
    assert [len(call) for call in inner.calls] == [7] * 7 + [1]


async def test_a_check_of_nothing_asks_nothing() -> None:
    inner = Counting()
    assert list(await Batching(inner).check([])) == []
    assert inner.calls == []


async def test_a_long_check_does_not_hold_up_a_short_one() -> None:
    inner = Counting()
    batching = Batching(inner, wait=0, max_pairs=2 * TURN, max_waiting=4 * TURN)
    held = await hold(inner, batching)
    long = asyncio.create_task(batching.check(pairs(*range(1000))))
    await asyncio.sleep(0)
    short = asyncio.create_task(batching.check(pairs("short")))
    inner.gate.set()
    await asyncio.gather(held, short)
    assert not long.done()
    assert len(inner.asked) <= 1 + 1 + 6 * TURN
    assert len(await long) == 1000


async def asked(batching: Batching, key: str, *claims: object) -> Sequence[Judgement]:
    """A check for a request of that key."""
    ASKER.set(Asker(key))
    return await batching.check(pairs(*claims))


async def test_a_key_that_was_given_little_goes_first_and_alone() -> None:
    inner = Counting()
    batching = Batching(inner, wait=0, max_pairs=32)
    await asked(batching, "hostile", *range(320))
    inner.calls.clear()
    held = await hold(inner, batching)
    coming = [
        asyncio.create_task(asked(batching, "hostile", *["much"] * 320)),
        asyncio.create_task(asked(batching, "polite", "little")),
        asyncio.create_task(asked(batching, "too", "less")),
    ]
    await asyncio.sleep(0.01)
    inner.gate.set()
    await asyncio.gather(held, *coming)
    assert inner.calls[:2] == [["held"], ["little", "less"]]
    assert all(set(call) == {"much"} for call in inner.calls[2:])


async def test_a_slow_checker_gets_small_batches_and_a_fast_one_large_ones() -> None:
    inner, clock, pace = Counting(), [0.0], [10.0]

    class Timed:
        async def check(self, pairs: Sequence[Pair]) -> Sequence[Judgement]:
            clock[0] += len(pairs) / pace[0]
            return await inner.check(pairs)

    batching = Batching(Timed(), max_pairs=64, now=lambda: clock[0])
    await batching.check(pairs(*range(84)))
    assert [len(call) for call in inner.calls] == [64, 4, 4, 4, 4, 4]
    pace[0] = 1_000
    await batching.check(pairs(*range(1_000)))
    assert [len(call) for call in inner.calls][-3] == 64


async def test_of_a_long_check_only_so_many_pairs_wait_inside() -> None:
    inner = Counting()
    batching = Batching(inner, max_pairs=1000, max_waiting=5)
    held = await hold(inner, batching)
    long = asyncio.create_task(batching.check(pairs(*range(12))))
    await asyncio.sleep(0.01)
    inner.gate.set()
    await asyncio.gather(held, long)
    assert all(len(call) <= 5 for call in inner.calls)
    assert inner.asked == ["held", *map(str, range(12))]


async def test_who_is_cancelled_while_waiting_is_never_asked_for() -> None:
    inner = Counting()
    batching = Batching(inner, max_waiting=4)
    held = await hold(inner, batching)
    gone = asyncio.create_task(batching.check(pairs(*["gone"] * 9)))  # some inside, some still outside
    staying = asyncio.create_task(batching.check(pairs("staying")))
    await asyncio.sleep(0.01)
    gone.cancel()
    await asyncio.wait({gone})
    assert gone.cancelled()
    inner.gate.set()
    assert said(await held) + said(await staying) == ["held", "staying"]
    assert "gone" not in inner.asked


async def test_a_batch_that_everyone_has_left_is_cancelled() -> None:
    inner = Counting()
    batching = Batching(inner)
    inner.gate.clear()
    leaving = [asyncio.create_task(batching.check(pairs(n))) for n in range(2)]
    await until(lambda: inner.calls)
    leaving[0].cancel()
    await asyncio.wait({leaving[0]})
    assert inner.cancelled == 0
    leaving[1].cancel()
    await until(lambda: inner.cancelled)
    inner.gate.set()
    assert said(await batching.check(pairs("later"))) == ["later"]


@pytest.mark.parametrize("error", [CheckError("it is gone"), ValueError("a bug")])
async def test_a_failure_reaches_only_the_check_that_it_comes_from(error: Exception) -> None:
    inner = Counting(poison="poison", error=error)
    batching = Batching(inner)
    well, ill, too = await asyncio.gather(
        batching.check(pairs("well")),
        batching.check(pairs("fine", "poison")),
        batching.check(pairs("well too")),
        return_exceptions=True,
    )
    assert ill is error
    assert not isinstance(well, BaseException)
    assert not isinstance(too, BaseException)
    assert said(well) + said(too) == ["well", "well too"]
    assert said(await batching.check(pairs("later"))) == ["later"]


async def test_a_failure_spares_the_rest_of_a_long_check() -> None:
    inner = Counting(poison="0")
    with pytest.raises(CheckError, match="poison"):
        await Batching(inner, max_pairs=4, max_waiting=8).check(pairs(*range(1000)))
    assert len(inner.asked) <= 16


async def test_a_checker_that_is_closed_under_a_batch_is_an_error() -> None:
    class Closed:
        async def check(self, pairs: Sequence[Pair]) -> Sequence[Judgement]:
            raise asyncio.CancelledError

    with pytest.raises(CheckError, match="stopped"):
        await Batching(Closed()).check(pairs("claim"))


async def test_too_few_judgements_are_an_error() -> None:
    class Short:
        async def check(self, pairs: Sequence[Pair]) -> Sequence[Judgement]:
            return []

    with pytest.raises(ValueError, match="zip"):
        await Batching(Short()).check(pairs("claim"))


@given(
    checks=st.lists(st.tuples(st.integers(1, 40), st.integers(0, 3), st.booleans()), min_size=1, max_size=12),
    max_pairs=st.integers(1, 20),
    max_waiting=st.integers(1, 30),
)
def test_whatever_comes_and_goes_everyone_who_stays_is_answered(
    checks: list[tuple[int, int, bool]], max_pairs: int, max_waiting: int
) -> None:
    """Each check: its pairs, the steps of the event loop before it comes, and whether it leaves early."""

    async def come(batching: Batching, number: int, size: int, after: int) -> list[str]:
        for _ in range(after):
            await asyncio.sleep(0)
        return said(await batching.check(pairs(*(f"{number}.{n}" for n in range(size)))))

    async def main() -> None:
        inner = Counting()
        batching = Batching(inner, wait=0, max_pairs=max_pairs, max_waiting=max_waiting)
        coming = [
            asyncio.create_task(come(batching, number, size, after))
            for number, (size, after, _) in enumerate(checks)
        ]
        for _ in range(4):
            await asyncio.sleep(0)
        for task, (_, _, leaves) in zip(coming, checks, strict=True):
            if leaves:
                task.cancel()
        answers = await asyncio.wait_for(asyncio.gather(*coming, return_exceptions=True), 10)
        for number, (answer, (size, _, leaves)) in enumerate(zip(answers, checks, strict=True)):
            if isinstance(answer, BaseException):
                assert leaves
                assert isinstance(answer, asyncio.CancelledError)
            else:
                assert answer == [f"{number}.{n}" for n in range(size)]
        assert all(len(call) <= max_pairs for call in inner.calls)
        assert len(set(inner.asked)) == len(inner.asked)
        await until(lambda: asyncio.all_tasks() == {asyncio.current_task()})

    asyncio.run(main())


async def test_a_key_that_asks_on_is_answered_before_one_that_was_given_more() -> None:
    """A claim is checked against one passage after the other: each is a check of its own."""
    inner = Counting()
    batching = Batching(inner, max_pairs=TURN)

    async def asks(key: str, *claims: str) -> None:
        ASKER.set(Asker(key))
        for claim in claims:
            await batching.check(pairs(claim))

    async def asks_much() -> None:
        ASKER.set(Asker("much"))
        await batching.check(pairs(*(f"much {n}" for n in range(10 * TURN))))

    much = asyncio.create_task(asks_much())
    await until(lambda: len(inner.calls) > 3)
    await asks("little", "first", "second", "third")
    await much
    assert sum(len(call) for call in inner.calls) == 10 * TURN + 3
    place = next(number for number, call in enumerate(inner.calls) if call == ["first"])
    assert inner.calls[place : place + 3] == [["first"], ["second"], ["third"]]
