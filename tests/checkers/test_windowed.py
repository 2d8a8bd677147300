"""Pairs judged window by window: which window decides, and what a failure costs."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing

import pytest

from proxy.checkers.windows import Window, Windowed, batches, best, leading_title, nearest
from proxy.types import Judgement, Page, Pair, Verdict

BROKEN = 13


def said(verdict: Verdict, score: float = 0.0) -> Judgement:
    return Judgement(verdict, score)


def read(pair: Pair) -> list[Window]:
    """A window a word, as many tokens long as the word has digits: its number is what the model gives."""
    if "too long" in pair.claim:
        raise ValueError("the claim leaves no room")
    if "broken" in pair.claim:
        raise KeyError("no such token")
    return [Window({"input_ids": [int(word)] * len(word)}, (0, 1)) for word in pair.evidence.split()]


def judge(windows: Sequence[Window]) -> list[Judgement]:
    found = [window.inputs["input_ids"][0] for window in windows]
    if BROKEN in found:
        raise RuntimeError("out of memory")
    return [said(Verdict.SUPPORTED if one >= 50 else Verdict.UNSUPPORTED, one / 100) for one in found]


async def judged(*pairs: Pair, batch_size: int = 3) -> list[Judgement]:
    with closing(Windowed("test", read, judge, batch_size)) as windowed:
        return await windowed.check(pairs)


async def test_each_pair_gets_the_best_of_its_own_windows() -> None:
    pairs = [Pair("a", "20 7 045"), Pair("b", "9"), Pair("c", "01 0099 2 3 4")]
    assert [one.score for one in await judged(*pairs)] == [0.45, 0.09, 0.99]
    assert [one.score for one in await judged(*pairs, batch_size=1)] == [0.45, 0.09, 0.99]


async def test_several_passages_support_a_claim_only_if_that_is_surer() -> None:
    both = (Page("2"),)
    sure, unsure = await judged(Pair("a", "75", others=both), Pair("b", "74", others=both))
    assert (sure.verdict, unsure.verdict, unsure.score) == (Verdict.SUPPORTED, Verdict.UNSUPPORTED, 0.74)


async def test_a_failure_is_that_of_its_window_alone() -> None:
    broken, part, saved, other = await judged(
        Pair("a", "13"), Pair("b", "20 13"), Pair("c", "60 13"), Pair("d", "20"), batch_size=8
    )
    assert (broken.verdict, broken.reason) == (Verdict.UNVERIFIED, "the checker's model failed")
    assert (part.verdict, part.score) == (Verdict.UNVERIFIED, 0.0)
    assert part.reason == "the checker's model failed on a part of the evidence"
    assert saved.verdict is Verdict.SUPPORTED
    assert (other.verdict, other.score) == (Verdict.UNSUPPORTED, 0.2)


@pytest.mark.parametrize(
    ("pair", "verdict", "reason"),
    [
        (Pair("too long", "60"), Verdict.UNVERIFIED, "the claim leaves no room"),
        (Pair("broken", "60"), Verdict.UNVERIFIED, "the checker failed: KeyError"),
        (Pair("a", " \n"), Verdict.UNSUPPORTED, "there is no evidence"),
    ],
)
async def test_a_pair_without_windows_is_told_from_the_others(
    pair: Pair, verdict: Verdict, reason: str
) -> None:
    odd, other = await judged(pair, Pair("b", "60"))
    assert (odd.verdict, odd.reason, odd.score) == (verdict, reason, 0.0)
    assert other.verdict is Verdict.SUPPORTED


def test_the_highest_score_decides_and_the_first_of_equals() -> None:
    first, equal = Judgement(Verdict.CONTRADICTED, 0.3, (0, 1)), Judgement(Verdict.UNSUPPORTED, 0.3, (2, 3))
    assert best([said(Verdict.UNSUPPORTED, 0.2), first, equal]) is first


def test_batches_hold_each_window_once_the_longest_first() -> None:
    lengths = [3, 9, 1, 7, 7]
    found = list(batches([Window({"input_ids": [0] * length}, (0, 1)) for length in lengths], 2))
    assert found == [[1, 3], [4, 0], [2]]


def test_the_windows_with_the_claims_rarest_words_are_kept_in_their_order() -> None:
    windows = {0: [7, 1], 2: [7, 1], 3: [8, 1], 5: [1]}
    assert nearest(windows, [7, 8, 9], 1) == [3]
    assert nearest(windows, [7, 8, 9], 2) == [0, 3]
    assert nearest(windows, [9], 9) == [0, 2, 3, 5]


def test_a_title_that_the_evidence_begins_with_is_not_said_twice() -> None:
    assert leading_title(Pair("c", "  Paris. Paris is old.", title="Paris")) == ""
    assert leading_title(Pair("c", "It is old.", title=" Paris ")) == "Paris"
    assert leading_title(Pair("c", "It is old.", title="Paris\nHistory")) == "Paris\nHistory"
    assert leading_title(Pair("c", "Paris is old.", title="Paris\nHistory")) == "History"
    assert leading_title(Pair("c", "It is old.", title=" ")) == ""
