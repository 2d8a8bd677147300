"""A cascade: who decides, what a failing step does, and what it all costs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.checkers.cascade import Cascade, Step
from proxy.types import Usage, Verdict
from tests.checkers.counting import SPENT, Counting, pairs


@pytest.mark.parametrize(
    ("score", "asked"), [(0.0, 1), (0.1, 1), (0.11, 2), (0.5, 2), (0.89, 2), (0.9, 1), (1.0, 1)]
)
async def test_a_step_decides_what_it_is_sure_of(score: float, asked: int) -> None:
    first, last = Counting(score=score), Counting(score=0.4)
    (judgement,) = await Cascade([Step(first, 0.1, 0.9), Step(last)]).check(pairs("a"))
    assert len(first.asked) + len(last.asked) == asked
    assert judgement.score == (score if asked == 1 else 0.4)
    assert judgement.usage == sum([SPENT] * asked, Usage())


async def test_the_last_step_decides_however_unsure_it_is() -> None:
    steps = [Step(Counting(score=score)) for score in (0.5, 0.6, 0.7)]
    (judgement,) = await Cascade(steps).check(pairs("a"))
    assert (judgement.verdict, judgement.score, judgement.usage) == (Verdict.SUPPORTED, 0.7, Usage(30, 3))


async def test_a_pair_that_a_step_fails_at_goes_to_the_next() -> None:
    first, last = Counting(score=1.0), Counting(score=0.0)
    unsure, sure = await Cascade([Step(first), Step(last)]).check(pairs("unsure", "sure"))
    assert (first.asked, last.asked) == (["unsure", "sure"], ["unsure"])
    assert (unsure.verdict, sure.verdict) == (Verdict.UNVERIFIED, Verdict.SUPPORTED)


async def test_a_step_that_is_unavailable_leaves_all_to_the_next() -> None:
    first, last = Counting(poison="a"), Counting(score=0.0)
    judgements = await Cascade([Step(first), Step(last)]).check(pairs("a", "b"))
    assert [judgement.verdict for judgement in judgements] == [Verdict.UNSUPPORTED] * 2
    assert last.asked == ["a", "b"]


async def test_what_the_last_step_fails_at_is_not_supported_by_an_unsure_one_before_it() -> None:
    first, last = Counting(score=0.89), Counting(poison="a")
    (judgement,) = await Cascade([Step(first, 0.1, 0.9), Step(last)]).check(pairs("a"))
    assert (judgement.verdict, judgement.score) == (Verdict.UNVERIFIED, 0.0)
    assert judgement.reason == "the poison works"
    assert judgement.usage == SPENT


async def test_a_step_with_nothing_left_is_not_asked() -> None:
    last = Counting()
    await Cascade([Step(Counting(score=1.0)), Step(last)]).check(pairs("a", "b"))
    assert last.calls == []


@given(
    scores=st.lists(st.floats(0, 1), min_size=1, max_size=4), low=st.floats(0, 0.5), high=st.floats(0.5, 1)
)
async def test_the_first_sure_step_decides_else_the_last(
    scores: list[float], low: float, high: float
) -> None:
    steps = [Step(Counting(score=score), low, high) for score in scores]
    judgements = await Cascade(steps).check(pairs("a", "b"))
    expected = next((score for score in scores if score <= low or score >= high), scores[-1])
    assert [judgement.score for judgement in judgements] == [expected] * 2
