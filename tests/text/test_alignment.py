"""What two sequences of texts have in common."""

from __future__ import annotations

import difflib
import random

import pytest

from proxy.text.alignment import common


@pytest.mark.parametrize(
    ("old", "new", "pairs"),
    [
        ("", "", []),
        ("abc", "abc", [(0, 0), (1, 1), (2, 2)]),
        ("abc", "", []),
        ("abc", "ac", [(0, 0), (2, 1)]),
        ("abc", "axc", [(0, 0), (2, 2)]),
        ("abcd", "bcda", [(1, 0), (2, 1), (3, 2)]),
        ("sasbs", "satbs", [(0, 0), (1, 1), (3, 3), (4, 4)]),
        ("sssss", "sss", [(0, 0), (1, 1), (2, 2)]),
    ],
)
def test_equal_texts_are_paired_in_order(old: str, new: str, pairs: list[tuple[int, int]]) -> None:
    assert common(old, new) == pairs


def test_of_different_texts_it_finds_what_difflib_finds() -> None:
    choose = random.Random(1)
    for _ in range(200):
        old = [str(number) for number in range(choose.randint(0, 20))]
        new = [text for text in old if choose.random() < 0.8]
        new.insert(choose.randint(0, len(new)), "new")
        blocks = difflib.SequenceMatcher(None, old, new, False).get_matching_blocks()
        assert common(old, new) == [(b.a + n, b.b + n) for b in blocks for n in range(b.size)]


def test_many_repeated_texts_are_no_more_work() -> None:
    """`difflib` takes half an hour for them."""
    old = [f"claim {number}" if number % 2 else "not found" for number in range(20_000)]
    new = [f"claim {number}" if number % 2 else "corrected" for number in range(20_000)]
    assert len(common(old, new)) == 10_000
