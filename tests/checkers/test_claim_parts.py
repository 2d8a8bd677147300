"""Claims that say several things of one subject."""

from __future__ import annotations

import pytest

from proxy.checkers.builtin.claim_parts import parts


@pytest.mark.parametrize(
    ("claim", "found"),
    [
        (
            "Ada Lovelace was born in London and won a medal in 1840.",
            ("Ada Lovelace was born in London.", "Ada Lovelace won a medal in 1840."),
        ),
        (
            "The Harbour Bridge opened in 1932, and it was designed by John Bradfield.",
            ("The Harbour Bridge opened in 1932.", "The Harbour Bridge was designed by John Bradfield."),
        ),
        ("玛丽·居里出生于华沙，并获得了诺贝尔奖。", ("玛丽·居里出生于华沙", "玛丽·居里获得了诺贝尔奖。")),
    ],
)
def test_each_part_has_the_subject(claim: str, found: tuple[str, ...]) -> None:
    assert parts(claim) == found


@pytest.mark.parametrize(
    "claim",
    [
        "Penicillin was discovered by Marie Curie in 1928.",
        "Marie Curie discovered polonium and radium.",
        "the river was long and was cold.",
        "青霉素由弗莱明在1928年发现。",
        "",
    ],
)
def test_a_claim_of_one_statement_has_no_parts(claim: str) -> None:
    assert parts(claim) == ()
