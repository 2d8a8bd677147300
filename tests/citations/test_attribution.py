from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from proxy.citations.cited_numbers import assign, read_citations
from proxy.citations.markers import strip_markers
from proxy.claims.segment import segment
from tests.drafts import chinese_replies, drafts, real_replies


def cited(answer: str) -> list[tuple[str, tuple[int, ...]]]:
    """The claims as they stand in the answer, each with its numbers."""
    found = read_citations(answer)
    claims = assign(segment(found.text), found)
    return [(answer[slice(*found.original(one.start, one.end))], one.cited) for one in claims]


@pytest.mark.parametrize(
    ("mark", "numbers"),
    [
        ("[1]", (1,)),
        ("[1][2]", (1, 2)),
        (" [2] [1]", (2, 1)),
        ("[1, 3]", (1, 3)),
        ("[1，3]", (1, 3)),
        ("[2-4]", (2, 3, 4)),
        ("[2–4, 7]", (2, 3, 4, 7)),
        ("[7-5]", (7, 5)),
        ("[1-999]", (1, 999)),
        ("[1][1]", (1,)),
        ("【3】", (3,)),
        ("【4:0†source】", (4,)),
        ("【3†L10-L12】", (3,)),
        ("[^12]", (12,)),
        ("[^note1]", ()),
        ("[citation:3]", (3,)),
        ("[[5](http://a.b/[6])]", (5,)),
        ("[(5)](http://a.b/[6])", (5,)),
        ("[5](http://a.b/[6])", (5,)),
        ("[5](http://a.b)[6](http://c.d)", (5, 6)),
    ],
)
def test_every_way_of_writing_a_mark_is_read(mark: str, numbers: tuple[int, ...]) -> None:
    assert cited(f"Paris is the capital of France.{mark}") == [("Paris is the capital of France.", numbers)]
    assert cited(f"巴黎是法国的首都。{mark}") == [("巴黎是法国的首都。", numbers)]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (
            "Paris is the capital [1]. Rome is old.[2] Madrid is large.",
            [("Paris is the capital [1].", (1,)), ("Rome is old.", (2,)), ("Madrid is large.", ())],
        ),
        (
            "Paris is the capital. Rome is old. [1][2]",
            [("Paris is the capital.", ()), ("Rome is old.", (1, 2))],
        ),
        (
            "巴黎是首都[1]，人口很多[2]。罗马很古老。【3】",
            [("巴黎是首都[1]，人口很多[2]。", (1, 2)), ("罗马很古老。", (3,))],
        ),
        ("- Paris is big [1]\n- Rome is old\n", [("Paris is big", (1,)), ("Rome is old", ())]),
        (
            "| city | is |\n|-|-|\n| Paris | big [1] |\n| Rome | old [2] |",
            [("city | is", ()), ("Paris | big", (1,)), ("Rome | old", (2,))],
        ),
        ("Paris is big.\n\n`x = 1` [2]\n\nRome is old.", [("Paris is big.", ()), ("Rome is old.", ())]),
        ("See Wikipedia on Paris [1] https://x.y", [("See Wikipedia on Paris", (1,))]),
        ("The third item is a[2].", [("The third item is a[2].", ())]),
        ("**Paris is big.**[1] Rome", [("**Paris is big.**", (1,)), ("Rome", ())]),
    ],
)
def test_marks_belong_to_the_claim_that_they_stand_in_or_behind(
    answer: str, expected: list[tuple[str, tuple[int, ...]]]
) -> None:
    assert cited(answer) == expected


@pytest.mark.parametrize(
    ("answer", "numbers"),
    [
        ("According to [1], Paris is large.", [(1,)]),
        ("Document [7] says that Paris is large.", [(7,)]),
        ("Paris is large (see [1], [2]).", [(1, 2)]),
        ("Paris is large, as stated in [2].", [(2,)]),
        ("Paris is large (source: [2])", [(2,)]),
        ("[1] and [2] both say that Paris is large. Rome is old.[3]", [(1, 2), (3,)]),
        ("- [1] Paris is large.\n- **[2]** Rome is old.", [(1,), (2,)]),
        ("根据[3]，巴黎很大。文献[1]指出，罗马很古老（见[2]）。", [(3,), (1, 2)]),
        ("Use a[1] here.\nUse `b[2]` here.", [(), ()]),
        ("Let x be in [1, 2] here. It is the interval [1, 2].", [(), ()]),
        ("The array [1, 2] is short.", [()]),
    ],
)
def test_a_mention_of_a_document_in_the_sentence_cites_it(
    answer: str, numbers: list[tuple[int, ...]]
) -> None:
    assert [one for _, one in cited(answer)] == numbers


@pytest.mark.parametrize(
    "answer",
    ["see [1](http://x).", "the items[1](x) here", "[1](http://x) is linked", "[10 ways](http://x) to go."],
)
def test_links_that_are_no_marks_stay(answer: str) -> None:
    assert read_citations(answer).text == answer


@settings(max_examples=100, deadline=None)
@given(drafts() | st.text("ab1. []()【】*`$|\n-。^:", max_size=60))
@example("x. [1](u)[2](v) y.")
def test_the_text_is_what_stripping_leaves_and_every_place_maps_back(answer: str) -> None:
    found = read_citations(answer)
    assert found.text == strip_markers(answer)
    for index, character in enumerate(found.text):
        start, end = found.original(index, index + 1)
        assert answer[start:end] == character


@settings(max_examples=100, deadline=None)
@given(drafts(), st.randoms(use_true_random=False))
def test_marks_behind_claims_come_back_as_their_numbers(text: str, rng: random.Random) -> None:
    check_round_trip(strip_markers(text), rng)


def test_marks_behind_the_claims_of_real_replies_come_back() -> None:
    rng = random.Random(3)
    for reply in real_replies() + chinese_replies():
        check_round_trip(strip_markers(reply), rng)


def check_round_trip(draft: str, rng: random.Random) -> None:
    parts, position, numbers = [], 0, []
    claims = segment(draft)
    for number, claim in enumerate(claims, 1):
        parts.append(draft[position : claim.end])
        position = claim.end
        mark = rng.choice(["", "[{}]", "[[{}](http://x.y/[9])]"])
        parts.append(mark.format(number % 999 + 1))
        numbers.append((number % 999 + 1,) if mark else ())
    found = read_citations("".join(parts) + draft[position:])
    assert found.text == draft
    unmentioned = replace(found, mentions=())  # the draft's own, which stay in it
    assert [one.cited for one in assign(claims, unmentioned)] == numbers


@pytest.mark.parametrize("unit", ["x.[1-9] ", "`x`[1] ", "x.[1](u) ", "[1](", "[1]([2]("])
def test_reading_any_repetition_comes_to_an_end(unit: str) -> None:
    found = read_citations(
        unit * (60_000 // len(unit))
    )  # in quadratic time it would not, before the time-out
    assert len(assign(segment(found.text), found)) <= 60_000
