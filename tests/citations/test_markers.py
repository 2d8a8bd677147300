from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from proxy.citations.cited_numbers import in_parentheses, read_citations, with_bullets, with_raised_labels
from proxy.citations.markers import strip_markers
from proxy.citations.place import MARKERS
from proxy.claims.segment import segment
from proxy.types import CitationStyle
from tests.drafts import chinese_replies, drafts, real_replies

MARKS: tuple[CitationStyle, ...] = ("brackets", "markdown")


def marked(draft: str, chosen: Iterator[int], style: CitationStyle) -> str:
    """The draft with as many marks behind each claim as `chosen` says."""
    parts, position, number = [], 0, 0
    for claim in segment(draft):
        parts.append(draft[position : claim.end])
        position = claim.end
        for _ in range(next(chosen)):
            number = number % 999 + 1
            parts.append(MARKERS[style](number, f"http://x.y/v1/references/a_b-{number}", parts[-1]))
    return "".join(parts) + draft[position:]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("fact [1].", "fact."),
        ("事实[1]。", "事实。"),
        ("Paris.[1][2] Next", "Paris. Next"),
        ("Paris. [1] [2] Next", "Paris. Next"),
        ("Paris [1, 2].", "Paris."),
        ("Paris. [1-3] Next", "Paris. Next"),
        ("好。【1】坏", "好。坏"),
        ("Answer.【4:0†source】 Next", "Answer. Next"),
        ("x.[[1](http://a/b)] y", "x. y"),
        ("x.[(1)](http://a/b_(c)) y", "x. y"),
        ("x.[[1]](http://a/b)[[2]](http://a/c) y [[3]](http://d).", "x. y."),
        ("x.[(1)](http://a/b)[(2)](http://a/c) y", "x. y"),
        ("x [(1)] y", "x [(1)] y"),
        ("A fact [citation:3].", "A fact."),
        ("fact.[^1]\n\n[^1]: note.[2]", "fact.\n\n[^1]: note."),
        ("Paris [1] is the capital [2].", "Paris is the capital."),
        ("北京是首都[1]，人口多[2]；好[3]。", "北京是首都，人口多；好。"),
        ("**bold.**[1] x", "**bold.** x"),
        ("**bold [1]**", "**bold**"),
        ("`x[1]` `y`[1]", "`x[1]` `y`"),
        ("- Paris[1]\n- Rome [2]  \n", "- Paris\n- Rome  \n"),
        ("| a [1] | b[2] |\n|-|-|\n| c[1] | d |", "| a | b |\n|-|-|\n| c | d |"),
        ("- [ ] todo\n- [x] done [2]", "- [ ] todo\n- [x] done"),
        ("See Wikipedia[1] https://x.y", "See Wikipedia https://x.y"),
        ("Paris[1]<br>Rome[2]", "Paris<br>Rome"),
        ("fact [1], [2].", "fact."),
        ("The tower is tall [1]–[3].", "The tower is tall."),
        ("The tower is tall ([1], [2]).", "The tower is tall."),
        ("It was built in 1889[1][2], in Paris[3], France.", "It was built in 1889, in Paris, France."),
    ],
)
def test_marks_that_cite_are_removed_with_their_spaces(text: str, expected: str) -> None:
    assert strip_markers(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "see a[1] here",
        "the third is a[2].",
        "items[0]",
        "The first is items[0].",
        "```\nx[1]\nfact. [1]\n```",
        "```\nunclosed. [1]",
        "para\n\n    code. [1]",
        "Use `fact. [1]` here",
        "$x[1]$ and \\(y. [2]\\)",
        "$$\nx. [1]\n$$",
        "[1]: http://x",
        "[1] Title one.\n[2] Title two.",
        "[1]\n",
        "- [ ] todo\n- [x] done",
        "[a [1]](u) is linked",
        "see [1](http://x).",
        "the interval [1, 2].",
        "As in [1], we do",
        "x = [1]",
        "Output: [1, 2, 3]",
        "no marks at all. None.",
        "",
    ],
)
def test_brackets_that_belong_to_the_text_stay(text: str) -> None:
    assert strip_markers(text) == text


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("Then sum([1, 2, 3]) returns 6.", "Then sum([1, 2, 3]) returns 6."),
        ("The tensor has shape [64, 128].", "The tensor has shape [64, 128]."),
        ("The mean was 12 (95% CI [10, 14]).", "The mean was 12 (95% CI (10, 14))."),
        ("The function returned [1, 2].", "The function returned (1, 2)."),
        ("Merge [1,3] and [2,6] to get [1,6].", "Merge (1,3) and (2,6) to get (1,6)."),
        ("输出结果为[1, 2, 3]。", "输出结果为(1, 2, 3)。"),
        ("取值范围[1,10]。", "取值范围(1,10)。"),
        ("根据[1]，铁塔高330米。", "根据(1)，铁塔高330米。"),
        ("Press [1] to continue.", "Press (1) to continue."),
        ("An octopus is odd. [2] states it.", "An octopus is odd. (2) states it."),
        ("It was built in 1889[1][2], in Paris.", "It was built in 1889(1)(2), in Paris."),
        ("The tower[1] is tall[2], and old.", "The tower(1) is tall(2), and old."),
        ("The tower is tall ([1]).", "The tower is tall."),
        ("A fact.[1][2] Another. [1-3] More[4].", "A fact. Another. More."),
        ("A fact [4]. A list [5]", "A fact (4). A list (5)"),
        ("Call f([1, 2]) and you get [3].", "Call f([1, 2]) and you get (3)."),
        ("To talk to sales press [2].", "To talk to sales press (2)."),
        ("The result was [5], not [6].", "The result was (5), not (6)."),
        ('The result is {"ids": [1, 2], "n": [3]}.', 'The result is {"ids": [1, 2], "n": [3]}.'),
        ('  "n":[3]\n', '  "n":[3]\n'),
        ("The rows are [[1], [2]] and f(x, [3]).", "The rows are [[1], [2]] and f(x, [3])."),
        ("It returns [1, 2].", "It returns [1, 2]."),
        ("It returns [3].", "It returns (3)."),
        (
            "It is tall.[^note] Old [^1].\n\n[^note]: Really.",
            "It is tall.[^note] Old [^1].\n\n[^note]: Really.",
        ),
        ("The first is arr2[1] here.", "The first is arr2[1] here."),
        ("Pick option [1] or option [2].", "Pick option (1) or option (2)."),
        ("Pick option [1]. I like that option [2].", "Pick option (1). I like that option (2)."),
        ("The tower is tall[1]. It is old[2].", "The tower is tall. It is old."),
    ],
)
def test_of_a_reply_without_documents_nothing_is_lost_that_may_be_content(text: str, read: str) -> None:
    """No bracket is left that looks like a marker of ours, unless it is an index, a list or in data."""
    assert in_parentheses(strip_markers(text, known=())) == read


def test_a_dash_between_markers_makes_a_range() -> None:
    cited = read_citations("The tower is tall [1]–[3], [5].")
    assert [mark.numbers for mark in cited.marks] == [(1, 2, 3, 5)]


@pytest.mark.parametrize(
    ("text", "read"),
    [
        (
            "Sources:\n1. https://a.b\n2. [B](https://b.c)\n",
            "Sources:\n-  https://a.b\n-  [B](https://b.c)\n",
        ),
        (
            "## References\n\n10) A\n   https://a.b\n\n11) B\n\nEnd.\n1. C",
            "## References\n\n-   A\n   https://a.b\n\n-   B\n\nEnd.\n1. C",
        ),
        ("**参考资料：**\n1. 长城", "**参考资料：**\n-  长城"),
        ("Steps:\n1. Go.", "Steps:\n1. Go."),
        ("Sources\nof joy:\n1. Go.", "Sources\nof joy:\n1. Go."),
        ("```\nSources:\n1. a\n```", "```\nSources:\n1. a\n```"),
    ],
)
def test_a_numbered_list_of_sources_gets_bullets(text: str, read: str) -> None:
    assert with_bullets(text) == read


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("Old [1].\n\n[1]: https://a.b\n[2]: <c>", "Old [1].\n\n[¹]: https://a.b\n[²]: <c>"),
        ('- [1]: page.html "Title"\n> [ 2 ]:\n> /c', '- [¹]: page.html "Title"\n> [ ² ]:\n> /c'),
        ("Read [the guide][12], [`code`][2]. ![Pic][3]", "Read [the guide][¹²], [`code`][²]. ![Pic][³]"),
    ],
)
def test_no_number_stays_the_label_of_a_link(text: str, read: str) -> None:
    assert with_raised_labels(text) == read


@pytest.mark.parametrize(
    "text",
    [
        "```\n[1]: https://a.b\n```",
        "Text.\n\n    [1]: https://a.b",
        "`[1]: https://a.b`",
        "[^1]: https://a.b",
        "[page]: https://a.b",
        "See [1]: https://a.b",
        "[1]: The tower is tall.",
        "`[the docs][1]` and $[a][1]$",
        "m[i][1], [1][2], [^note][1], [the docs] [1]",
    ],
)
def test_code_notes_names_and_sentences_define_no_number(text: str) -> None:
    assert with_raised_labels(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "Compare arr2[1], arr3[2] and more.",
        "Swap (x1[1], y2[3]) now.",
        "Read userNames[5], then stop.",
        "total = data[1] + data[2]\nrow.x += rows[5]\nprint(rows[3])",
        "Use arr[0] first, then arr[1].",
        "Swap items[2] with items[3].",
    ],
)
def test_an_index_is_no_citation(text: str) -> None:
    assert strip_markers(text) == strip_markers(text, known={1, 2, 3, 5}) == text
    assert in_parentheses(text) == text


def test_numbers_of_the_documents_that_were_shown_are_citations() -> None:
    text = "Paris [1, 2] is the capital [2]. Its shape is [3, 9]."
    assert strip_markers(text, known={1, 2, 3}) == "Paris is the capital. Its shape is [3, 9]."
    assert strip_markers("Paris [1] is the capital [1-3].", known={1, 2, 3}) == "Paris is the capital."
    assert strip_markers("Old.[^1][^2] Big.[^9] So.[^x]", known={1, 2}) == "Old. Big.[^9] So.[^x]"


@settings(max_examples=120, deadline=None)
@given(drafts(), st.randoms(use_true_random=False), st.sampled_from(MARKS))
@example("He left.(see below)\n", random.Random(1), "brackets")
@example("He left. ”x [ which? ] of\n", random.Random(1), "brackets")
@example("see document [2]\n", random.Random(1), "brackets")
@example("a[1] ![i](x.png) \n", random.Random(1), "brackets")
@example("Paris. *\n_。*. \n*. \n", random.Random(1), "brackets")
@example("_. [1] <http://a.b> [1]. \n", random.Random(1), "brackets")
@example("Paris! \n", random.Random(2), "markdown")
@example("Paris. [x] \n", random.Random(2), "markdown")
@example("a[1]……a \nParis. \n", random.Random(2), "markdown")
def test_marks_at_claim_ends_come_out_without_a_trace(
    text: str, rng: random.Random, style: CitationStyle
) -> None:
    draft = strip_markers(text)
    chosen = iter(lambda: rng.choice([0, 1, 1, 2]), None)
    assert strip_markers(marked(draft, chosen, style)) == draft


@settings(max_examples=120, deadline=None)
@given(drafts() | st.text("ab1. []()【】*`$|\n-。^:", max_size=60))
@example("He left. [1] ” [2] foo")
def test_stripping_twice_is_stripping_once(text: str) -> None:
    once = strip_markers(text)
    assert strip_markers(once) == once


@pytest.mark.parametrize("style", MARKS)
def test_every_real_reply_survives_marking_and_stripping(style: CitationStyle) -> None:
    rng = random.Random(7)
    for reply in real_replies() + chinese_replies():
        draft = strip_markers(reply)
        chosen = iter(lambda: rng.choice([0, 1, 2]), None)
        assert strip_markers(marked(draft, chosen, style)) == draft


def test_real_replies_without_marks_are_left_alone() -> None:
    for reply in real_replies():
        assert strip_markers(reply) == reply


@pytest.mark.parametrize(
    "unit", ["[1]", "[1", "a[1] ", "x.[1] ", "[[1](", "[1, ", "【1", "fact [1].\n", "| a [1] ", "[1] "]
)
def test_stripping_any_repetition_comes_to_an_end(unit: str) -> None:
    text = unit * (300_000 // len(unit))  # in quadratic time it would not, before pytest's time-out
    assert len(strip_markers(text)) <= len(text)


@pytest.mark.parametrize("sentence", ["यह दिल्ली है।", "یہ لاہور ہے۔", "هل هذا؟", "これは｡", "So be it…"])
@pytest.mark.parametrize("marker", ["[1]", " [1][2]"])
def test_markers_behind_the_stops_of_other_scripts_are_removed(sentence: str, marker: str) -> None:
    assert strip_markers(f"{sentence}{marker} Yes, it is.") == f"{sentence} Yes, it is."
    before = f"{sentence[:-1]}{marker}{sentence[-1]} Yes."
    assert sentence[-1] == "…" or strip_markers(before) == f"{sentence} Yes."


@pytest.mark.parametrize(
    "mark", ["🗼", "¹", "^1", "\u200b", "(see below)", "[see below]", "<sup>1</sup>", "[a](http://b.c/d)"]
)
def test_markers_behind_what_belongs_to_a_sentence_are_removed(mark: str) -> None:
    assert strip_markers(f"It is tall.{mark}[1] The end.{mark}[2]") == f"It is tall.{mark} The end.{mark}"
