"""An English month in another's place, and a number in another's."""

from __future__ import annotations

import pytest

from proxy.checkers.builtin.conflicts import exchanged_month, read_months, rival_number
from proxy.checkers.builtin.tokens import tokenize


@pytest.mark.parametrize(
    ("claim", "evidence", "instead"),
    [
        ("It fell in May 1954.", "In March 1954 it fell.", "March 1954"),
        ("It fell on 3 May 1954.", "It fell on 3 Apr. 1954.", "3 Apr. 1954"),
        ("It fell on June 3rd, 1954.", "It fell on July 3rd, 1954.", "July 3rd, 1954"),
        ("It fell in the September of 1954.", "It fell in Oct 1954.", "Oct 1954"),
    ],
)
def test_another_month_of_the_same_year_is_seen(claim: str, evidence: str, instead: str) -> None:
    found = exchanged_month(claim, evidence, 0, len(evidence))
    assert found is not None
    (other,) = found.instead
    assert evidence[other.start : other.end] == instead


@pytest.mark.parametrize(
    ("claim", "evidence"),
    [
        ("It fell in May 1954.", "It fell on 3 May 1954, after a storm in March 1954."),
        ("It fell in December 1865.", "In August 1865 it was sold. By December it had fallen."),
        ("It fell in May 1954.", "It fell in March 1953."),
        ("It fell in 1954.", "It fell in March 1954."),
        ("It may fall in 1954.", "It fell in March 1954."),
        ("Sept. 1954 saw it fall.", "It fell in September of 1954."),
        ("It fell in May 1954.", ""),
    ],
)
def test_the_same_month_another_year_or_none_is_no_conflict(claim: str, evidence: str) -> None:
    assert exchanged_month(claim, evidence, 0, len(evidence)) is None


def test_only_the_window_is_looked_at() -> None:
    evidence = "It rained in March 1954. It fell in May 1954."
    assert exchanged_month("It fell in May 1954.", evidence, 0, 24) is not None
    assert exchanged_month("It fell in May 1954.", evidence, 25, len(evidence)) is None
    (only,) = read_months(evidence, 25, len(evidence))
    assert (only.month, only.year, evidence[only.start : only.end]) == (5, 1954, "May 1954")


@pytest.mark.parametrize("text", ["May " * 9000, "1 of " * 9000, "3 May " * 5000, "\u0663 May \u0661\u0669"])
def test_odd_texts_are_read_without_error(text: str) -> None:
    assert exchanged_month(text, text, 0, len(text)) is None


def _rival(claim: str, evidence: str) -> str | None:
    tokens, window = tokenize(claim), tokenize(evidence)
    said = {token.key for token in window}
    lost = [at for at, token in enumerate(tokens) if token.kind != "stop" and token.key not in said]
    found = rival_number(tokens, lost, window)
    return None if found is None else evidence[found[1].start : found[1].end]


@pytest.mark.parametrize(
    ("claim", "evidence", "rival"),
    [
        ("The town had 300 visitors in 2022.", "It had 800 visitors in 2022.", "800"),
        ("It has 14 mills.", "It has 40 mills.", "40"),
        ("It has about 14 mills.", "It has 40 mills.", None),
        ("It has 14 mills and 7 kilns.", "It has 40 mills and 9 kilns.", None),
        ("It stood in the 20th century.", "It stood in the 1980s century.", None),
        ("It has 14 mills.", "The town is old.", None),
        ("It has mills.", "It has 40 mills.", None),
    ],
)
def test_a_lost_number_is_held_against_the_one_in_its_place(
    claim: str, evidence: str, rival: str | None
) -> None:
    assert _rival(claim, evidence) == rival
