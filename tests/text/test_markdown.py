from __future__ import annotations

import pytest
from hypothesis import given, settings

from proxy.text.inline import tokens
from proxy.text.markdown import blocks
from tests.drafts import drafts


def texts(draft: str) -> list[tuple[str, list[str]]]:
    return [(block.kind, [draft[a:b] for a, b in block.lines]) for block in blocks(draft)]


def kinds(draft: str) -> list[tuple[str, str]]:
    (block,) = blocks(draft)
    return [
        (token.kind, draft[token.start : token.end])
        for token in tokens(draft, block.lines[0], block.lines[1:])
    ]


@pytest.mark.parametrize(
    ("draft", "expected"),
    [
        ("# A title #\ntext\nmore", [("heading", ["A title"]), ("paragraph", ["text", "more"])]),
        (
            "- one\n  on\n  * two\n1. three\n2) four",
            [("item", ["one", "on"]), ("item", ["two"]), ("item", ["three"]), ("item", ["four"])],
        ),
        (
            "1.标题\n（2）其次\n3、最后\n• 点",
            [("item", ["标题"]), ("item", ["其次"]), ("item", ["最后"]), ("item", ["点"])],
        ),
        ("- [ ] open\n- [x] done", [("item", ["open"]), ("item", ["done"])]),
        (
            "> quoted\n> on\n\n> - item\nplain",
            [("paragraph", ["quoted", "on"]), ("item", ["item"]), ("paragraph", ["plain"])],
        ),
        (
            "| A | B |\n|---|:-:|\n| c \\| d |  |\n\nend",
            [("header", ["A", "B"]), ("row", ["c \\| d"]), ("paragraph", ["end"])],
        ),
        ("A | B\n--|--\nc | d", [("header", ["A", "B"]), ("row", ["c", "d"])]),
        ("1.5 million\n#1 song\n-5 degrees", [("paragraph", ["1.5 million", "#1 song", "-5 degrees"])]),
        ("A title\n---\ntext\n===", [("heading", ["A title"]), ("heading", ["text"])]),
        ("Text.\n---\n- a\n---\nb\n***", [("paragraph", ["Text."]), ("item", ["a"]), ("paragraph", ["b"])]),
        ("one\ntwo\n---\n> a\n---", [("paragraph", ["one", "two"]), ("paragraph", ["a"])]),
        ("a\n\n---\n\n* * *\nb", [("paragraph", ["a"]), ("paragraph", ["b"])]),
        ("[^1]: A note.\n[^b]: b\nc", [("note", ["A note."]), ("note", ["b"]), ("paragraph", ["c"])]),
        ("[1] Title\n[2] Other\n[3]", [("paragraph", ["[1] Title"]), ("paragraph", ["[2] Other"])]),
    ],
)  # fmt: skip
def test_text_is_found_without_its_container_marks(draft: str, expected: list[tuple[str, list[str]]]) -> None:
    assert texts(draft) == expected


@pytest.mark.parametrize(
    "draft",
    [
        "```py\nx = 1.\n```",
        "~~~\nunclosed. text",
        "- ```\n  x. y\n  ```",
        "    indented. code",
        "$$\nx = 1.\n$$",
        "\\[ x. \\]",
        "\\begin{align}\nx. \\\\\n\\end{align}",
        "<!-- a\n\ncomment. -->",
        "<think>\nHm. Well.\n\nYes.\n</think>",
        "[^1]:",
        "[1]: https://x.y",
        "---",
        "[1][2]",
        "",
    ],
)
def test_code_latex_rulers_and_definitions_are_no_blocks(draft: str) -> None:
    assert texts(f"before\n\n{draft}") == [("paragraph", ["before"])]


@pytest.mark.parametrize(
    ("draft", "expected"),
    [
        ("<think>Hm. Well.</think> Yes. It is.", ["Yes. It is."]),
        ("<think>Hm.</think><think>Well.</think>\t    Yes.", ["Yes."]),
        ("<THINKING a='b'>Hm.\n\nWell.</THINKING>Yes.\n<think>Oh.</think> No.", ["Yes.", "No."]),
        ("<think>Hm.</think> - Yes.", ["Yes."]),
        ("<think>Hm.</think>", []),
        ("<think>Hm. Yes.", ["<think>Hm. Yes."]),
        ("Say <think>Hm.</think> now.", ["Say <think>Hm.</think> now."]),
        ("<svg>Hm.</svg> Yes.", ["<svg>Hm.</svg> Yes."]),
    ],
)
def test_a_thought_is_in_no_block_wherever_the_answer_goes_on(draft: str, expected: list[str]) -> None:
    assert [line for _, lines in texts(draft) for line in lines] == expected


@pytest.mark.parametrize("unit", ["<think>a</think>", "<think>a</think> b\n", "<think>", "<think>\n"])
def test_scanning_any_number_of_thoughts_comes_to_an_end(unit: str) -> None:
    assert len(blocks(unit * (400_000 // len(unit)))) >= 0


def test_an_opener_without_its_closer_is_text() -> None:
    assert texts("$$ is money\n\nand \\[ too") == [
        ("paragraph", ["$$ is money"]),
        ("paragraph", ["and \\[ too"]),
    ]


def test_formatting_code_links_and_math_are_told_from_text() -> None:
    assert kinds("**a** `b` [c](d.e/(f)) $x$ <b>g</b> ![h](i) <http://j> snake_case 2 * 3 $5 and $10") == [
        ("open", "**"), ("text", "a"), ("close", "**"), ("text", " "),
        ("open", "`"), ("code", "b"), ("close", "`"), ("text", " "),
        ("open", "["), ("text", "c"), ("close", "](d.e/(f))"), ("text", " "),
        ("math", "$x$"), ("text", " "), ("open", "<b>"), ("text", "g"), ("close", "</b>"), ("text", " "),
        ("image", "![h](i)"), ("text", " "), ("open", "<"), ("url", "http://j"), ("close", ">"),
        ("text", " snake"), ("text", "_"), ("text", "case 2 "), ("text", "*"), ("text", " 3 $5 and $10"),
    ]  # fmt: skip


@settings(max_examples=100, deadline=None)
@given(drafts())
def test_blocks_and_tokens_are_in_order_and_disjoint(draft: str) -> None:
    position = 0
    for block in blocks(draft):
        for start, end in block.lines:
            assert position <= start < end
            assert draft[start:end] == draft[start:end].strip()
            position = end
        place = block.lines[0][0]
        for token in tokens(draft, block.lines[0], block.lines[1:]):
            assert place <= token.start < token.end
            place = token.end
        assert place <= block.lines[-1][1]
