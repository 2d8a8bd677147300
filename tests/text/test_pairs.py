"""Marks whose counterparts stand outside of a text."""

from __future__ import annotations

import pytest

from proxy.text.pairs import unpaired


@pytest.mark.parametrize(
    ("text", "openers", "closers"),
    [
        ("He said “it is.", ["“"], []),
        ("it was.” He left.", [], ["”"]),
        ('He said: "It is.', ['"'], []),
        ('it was", he said.', [], ['"']),
        ("„Der Turm ist hoch.", ["„"], []),
        ("»Er ist rot.« Ja.“ Er", [], ["“"]),
        ("« C’est vrai.", ["«"], []),
        ("它是红色的。**（见上）」", [], ["**", "」"]),
        ("is _old_) and **new", ["**"], [")"]),
        ('<span class="a">It <b>is</b>', ['<span class="a">'], []),
        ("it is.</EM>", [], ["</EM>"]),
    ],
)
def test_a_mark_without_its_counterpart_is_found(text: str, openers: list[str], closers: list[str]) -> None:
    assert unpaired(text) == (openers, closers)


@pytest.mark.parametrize(
    "text",
    [
        "“It’s so,” he (and *she*) said.",
        "The dogs’ a) food :) is 2*3 or 2 * 3 and snake_case",
        "`(` and $[0, 1)$ and [a](http://b.c/(d)) and \\* or \\(",
        "A line<br>and an <img src=x> or <p>",
        "It has one star: *. Or two: __, at most.",
    ],
)
def test_apostrophes_signs_and_code_are_no_marks(text: str) -> None:
    assert unpaired(text) == ([], [])


@pytest.mark.parametrize("unit", ["(", '"a ', "**a ", "<b>", "’", "_a", "a)"])
def test_any_repetition_comes_to_an_end(unit: str) -> None:
    openers, closers = unpaired(unit * 30_000)  # in quadratic time it would not, before pytest's time-out
    assert len(openers) + len(closers) <= 30_000
