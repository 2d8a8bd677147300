"""Judgements that are kept: what is asked again, what never is, and what if the one who asks leaves."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.aio import ASKER, Asker
from proxy.checkers.cache import Cached, Judgements
from proxy.errors import CheckError
from proxy.types import Judgement, Page, Pair, Usage, Verdict
from tests.checkers.counting import SPENT, Counting, pairs, said, until


async def test_a_pair_is_asked_for_once_and_costs_once() -> None:
    inner = Counting()
    cached = Cached(inner, "1")
    (first,) = await cached.check(pairs("a"))
    again, new = await cached.check(pairs("a", "b"))
    assert inner.calls == [["a"], ["b"]]
    assert (first.usage, again.usage, new.usage) == (SPENT, Usage(), SPENT)
    assert again == replace(first, usage=Usage())


async def test_a_pair_that_comes_twice_in_a_check_costs_once() -> None:
    inner = Counting()
    judgements = await Cached(inner, "1").check(pairs("a", "b", "a"))
    assert said(judgements) == ["a", "b", "a"]
    assert [judgement.usage for judgement in judgements] == [SPENT, SPENT, Usage()]
    assert inner.calls == [["a", "b"]]


@pytest.mark.parametrize(
    "other",
    [
        *({name: "other"} for name in ("claim", "evidence", "context", "question", "title")),
        {"others": (Page("another"),)},
    ],
)
async def test_a_pair_that_differs_in_anything_is_another(other: dict[str, Any]) -> None:
    inner = Counting()
    cached = Cached(inner, "1")
    pair = Pair("claim", "evidence", "context", "question", "title")
    await cached.check([pair])
    await cached.check([replace(pair, **other)])
    assert len(inner.calls) == 2


async def test_a_failed_check_is_never_kept() -> None:
    inner = Counting()
    cached = Cached(inner, "1")
    for _ in range(2):
        (judgement,) = await cached.check(pairs("unsure"))
        assert judgement.verdict is Verdict.UNVERIFIED
    assert inner.calls == [["unsure"], ["unsure"]]


async def test_an_error_is_passed_on_and_not_kept() -> None:
    inner = Counting(poison="a")
    cached = Cached(inner, "1")
    with pytest.raises(CheckError):
        await cached.check(pairs("a", "b"))
    inner.poison = ""
    assert said(await cached.check(pairs("a", "b"))) == ["a", "b"]


async def test_a_pair_under_way_is_waited_for() -> None:
    inner = Counting()
    cached = Cached(inner, "1")
    inner.gate.clear()
    first = asyncio.create_task(cached.check(pairs("a", "b")))
    second = asyncio.create_task(cached.check(pairs("b", "c")))
    await until(lambda: len(inner.calls) == 2)
    inner.gate.set()
    assert said(await first) == ["a", "b"]
    assert said(await second) == ["b", "c"]
    assert inner.calls == [["a", "b"], ["c"]]
    assert [judgement.usage for judgement in await second] == [Usage(), SPENT]


async def test_two_checks_that_wait_for_each_other_both_end() -> None:
    inner = Counting()
    cached = Cached(inner, "1")
    orders = [pairs("a", "b"), pairs("b", "c"), pairs("c", "a")]
    answers = await asyncio.gather(*map(cached.check, orders))
    assert [said(answer) for answer in answers] == [["a", "b"], ["b", "c"], ["c", "a"]]
    assert sorted(inner.asked) == ["a", "b", "c"]


async def test_who_waits_asks_anew_when_the_one_who_asked_leaves() -> None:
    inner = Counting()
    cached = Cached(inner, "1")
    inner.gate.clear()
    leaving = asyncio.create_task(cached.check(pairs("a")))
    await until(lambda: inner.calls)
    waiting = [asyncio.create_task(cached.check(pairs("a"))) for _ in range(3)]
    await asyncio.sleep(0)
    leaving.cancel()
    await until(lambda: len(inner.calls) == 2)
    inner.gate.set()
    assert [said(answer) for answer in await asyncio.gather(*waiting)] == [["a"]] * 3
    assert len(inner.calls) == 2


ONE = Asker("one")


@pytest.mark.parametrize(("askers", "calls"), [([ONE] * 3, 1), ([Asker("poor"), Asker("rich")], 2)])
async def test_a_failure_is_told_to_all_who_wait_but_other_requests_ask_anew(
    askers: list[Asker], calls: int
) -> None:
    inner = Counting(poison="a")
    cached = Cached(inner, "1")
    inner.gate.clear()
    asking = []
    for asker in askers:
        ASKER.set(asker)
        asking.append(asyncio.create_task(cached.check(pairs("a"))))
    await until(lambda: inner.calls)
    await asyncio.sleep(0)
    inner.gate.set()
    answers = await asyncio.gather(*asking, return_exceptions=True)
    assert all(isinstance(answer, CheckError) for answer in answers)
    assert len(inner.calls) == calls


async def test_the_pair_not_seen_for_longest_goes_first() -> None:
    inner = Counting()
    cached = Cached(inner, "1", max_pairs=2)
    for claim in ("a", "b", "a", "c", "a", "b"):
        await cached.check(pairs(claim))
    assert inner.asked == ["a", "b", "c", "b"]


async def test_without_room_nothing_is_kept() -> None:
    inner = Counting()
    cached = Cached(inner, "1", max_chars=5)
    await cached.check(pairs("a"))
    await cached.check(pairs("a"))
    assert len(inner.calls) == 2


@given(
    texts=st.lists(st.text("ab", max_size=12), max_size=60),
    max_pairs=st.integers(0, 5),
    max_chars=st.integers(0, 40),
)
def test_what_is_kept_stays_within_its_bounds(texts: list[str], max_pairs: int, max_chars: int) -> None:
    kept = Judgements(max_pairs, max_chars)
    keys = [("version", Pair(text, text, others=(Page(text, text),))) for text in texts]
    for key in keys:
        kept.put(key, Judgement(Verdict.SUPPORTED, 1.0, reason="r"))
        held = [one for one in dict.fromkeys(keys) if kept.get(one) is not None]
        assert len(held) <= max_pairs
        assert sum(4 * len(pair.claim) + 1 for _, pair in held) <= max_chars
    if keys and max_pairs and 4 * len(texts[-1]) + 1 <= max_chars:
        assert kept.get(keys[-1]) is not None
