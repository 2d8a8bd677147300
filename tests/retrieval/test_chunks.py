"""Documents to passages."""

from __future__ import annotations

import json
import re
import textwrap
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from index_builder.documents import Document
from proxy.retrieval.chunks import MAX_TOKENS, chunk, window_tokens, word_count
from proxy.types import Passage

CORPORA = Path(__file__).parents[2] / ".." / "shared" / "data" / "corpora"
SENTENCE = "The river rises in the hills and reaches the sea after ninety miles. "
ZH_SENTENCE = "这条河发源于北方的山区，流经三个省份以后注入大海。"


def document(text: str, *sections: tuple[int, str], id_: str = "doc") -> Document:
    return Document(id_, "Title", text, "https://example.org/", tuple(sections))


def assert_sound(whole: Document, passages: list[Passage], words: int, max_tokens: int) -> None:
    """What holds for any document: exact, disjoint, covering, within the bounds, within a section."""
    text, end = whole.text, 0
    borders = [start for start, _ in whole.sections]
    for passage in passages:
        assert passage.text == text[passage.start : passage.end]
        assert passage.text == passage.text.strip() != ""
        assert not text[end : passage.start].strip()
        assert not any(passage.start < border < passage.end for border in borders)
        assert len(passage.text) == 1 or word_count(passage.text) <= 1.5 * words
        assert len(passage.text) == 1 or window_tokens(passage.text) <= max_tokens
        end = passage.end
    assert not text[end:].strip()
    assert len({passage.id for passage in passages}) == len(passages)


PIECES = st.one_of(
    st.sampled_from(
        [SENTENCE, ZH_SENTENCE, "\n", "\n\n", " " * 50, "Dr. Smith left. ", "a,b;c:", "😀", "é́", "! "]
    ),
    st.text(max_size=40),
    st.text("abc 。，.\n", max_size=400),
)


@settings(deadline=None, max_examples=80)
@given(
    pieces=st.lists(PIECES, max_size=30),
    cuts=st.lists(st.integers(0, 2000), max_size=4),
    words=st.integers(1, 120),
    max_tokens=st.integers(1, 200),
)
@example(pieces=["x" * 3000], cuts=[], words=1, max_tokens=1)
@example(pieces=["中" * 3000], cuts=[7], words=3, max_tokens=4)
def test_passages_are_exact_disjoint_covering_and_bounded(
    pieces: list[str], cuts: list[int], words: int, max_tokens: int
) -> None:
    text = "".join(pieces)
    whole = document(text, *((cut, f"s{cut}") for cut in sorted(set(cuts)) if cut < len(text)))
    assert_sound(whole, chunk(whole, words=words, max_tokens=max_tokens), words, max_tokens)


def test_passages_have_about_a_hundred_words_and_end_with_a_sentence() -> None:
    passages = chunk(document(SENTENCE * 100))
    assert all(passage.text.endswith("miles.") for passage in passages)
    assert all(75 <= word_count(passage.text) <= 125 for passage in passages)


def test_chinese_passages_have_about_a_hundred_and_sixty_characters() -> None:
    passages = chunk(document(ZH_SENTENCE * 60))
    assert all(passage.text.endswith("。") for passage in passages)
    assert all(120 <= len(passage.text) <= 200 for passage in passages)


def test_a_short_rest_joins_the_passage_before() -> None:
    assert len(chunk(document(SENTENCE * 9))) == 1  # 117 words


def test_a_passage_never_goes_on_in_another_section() -> None:
    text = SENTENCE + "\n\n" + ZH_SENTENCE + "\n\n" + SENTENCE
    first, second = text.index("这"), text.rindex("The")
    passages = chunk(document(text, (first, "河流"), (second, "End")))
    assert [passage.section for passage in passages] == ["", "河流", "End"]
    assert [passage.text for passage in passages] == [SENTENCE.strip(), ZH_SENTENCE, SENTENCE.strip()]


def test_list_items_are_ends_but_wrapped_lines_are_not() -> None:
    items = "\n".join(f"Item number {n} of a list that has no full stops" for n in range(60))
    wrapped = textwrap.fill(SENTENCE * 60, 60)
    assert all(passage.text.startswith("Item") for passage in chunk(document(items)))
    assert all(passage.text.endswith("miles.") for passage in chunk(document(wrapped)))


ROWS = [
    f"{name} box {n} | Price: EUR {n}5 | Weight: {n}.5 kg" for n in range(1, 20) for name in ("fig", "Pear")
]
ITEMS = [f"- Item number {n} of a list. It has a second sentence that is about the first" for n in range(40)]
CODE = [f'value_{n} = load("the file. Then more", key_{n}, default_{n})' for n in range(40)]
NAMES = [f"plum tree {n}, sort {n * 7}" for n in range(60)]
VERSE = [f"{'Long ' * (n % 4)}line {n} of a poem, which has no end" for n in range(60)]


@pytest.mark.parametrize(
    "lines", [ROWS, ITEMS, CODE, NAMES, VERSE], ids=["rows", "items", "code", "names", "verse"]
)
def test_what_is_a_line_by_itself_is_not_cut(lines: list[str]) -> None:
    passages = chunk(document("\n".join(lines)))
    assert len(passages) > 1
    assert [line for passage in passages for line in passage.text.split("\n")] == lines


def test_a_row_that_is_too_long_is_cut_between_cells() -> None:
    passages = chunk(document(" | ".join(f"Column {n}: value, or another one" for n in range(60))))
    assert len(passages) > 1
    assert all(passage.text.startswith("Column") for passage in passages)


@pytest.mark.parametrize("width", [60, 78])
def test_lines_that_were_broken_to_fit_are_one_text(width: int) -> None:
    sentence = (
        "Doctor Rebecca Lindgren of Lund led the Institute for Infectious Diseases at Marlow Hospital. "
    )
    wrapped = textwrap.fill(sentence * 30, width)
    assert re.search(r"\n(?!Doctor)[A-Z]", wrapped)
    assert all(passage.text.endswith("Hospital.") for passage in chunk(document(wrapped)))


def test_chinese_lines_that_were_broken_to_fit_are_one_text() -> None:
    wrapped = "\n".join(re.findall(".{1,31}", ZH_SENTENCE * 40))
    assert all(passage.text.endswith("。") for passage in chunk(document(wrapped)))


def test_a_long_sentence_is_cut_after_a_clause() -> None:
    clause = "the committee then heard the evidence of eleven further witnesses from the northern district, "
    passages = chunk(document(clause * 40))
    assert len(passages) > 1
    assert all(passage.text.endswith(",") for passage in passages)


def test_a_passage_takes_its_documents_title_url_and_id() -> None:
    (passage,) = chunk(document("One sentence."))
    assert (passage.document_id, passage.title, passage.url) == ("doc", "Title", "https://example.org/")
    assert (passage.start, passage.end) == (0, 13)


def test_ids_depend_on_document_and_text_alone() -> None:
    (before,) = chunk(document("Tin melts at 232 °C."))
    after = chunk(document("New.\n\nTin melts at 232 °C.", (6, "Properties")))
    (other,) = chunk(document("Tin melts at 232 °C.", id_="other"))
    assert len(before.id) == 16
    assert int(before.id, 16) >= 0
    assert before.id == after[1].id != other.id


def test_the_same_text_twice_in_a_document_has_two_ids() -> None:
    twice = document("Same.\n\nSame.", (7, "Again"))
    first, second = chunk(twice)
    assert first.text == second.text
    assert first.id != second.id


@pytest.mark.parametrize("text", ["", " \n\t "])
def test_a_document_without_text_has_no_passages(text: str) -> None:
    assert chunk(document(text)) == []


def test_the_length_is_what_the_caller_counts() -> None:
    passages = chunk(document(SENTENCE * 50), max_tokens=100, count_tokens=len)
    assert all(len(passage.text) <= 100 for passage in passages)


@pytest.mark.parametrize(("words", "max_tokens"), [(0, 10), (10, 0)])
def test_bounds_below_one_are_refused(words: int, max_tokens: int) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        chunk(document("Text."), words=words, max_tokens=max_tokens)


@pytest.mark.parametrize(
    "line",
    ["a" * 2_000_000, "lorem ipsum dolor " * 111_000, "中文" * 1_000_000, "x" + " " * 2_000_000 + "y"],
    ids=["letters", "words", "chinese", "spaces"],
)
def test_one_line_of_two_megabytes_takes_seconds(line: str) -> None:
    passages = chunk(document(line))
    assert max(window_tokens(passage.text) for passage in passages) <= MAX_TOKENS
    assert sum(len(passage.text.replace(" ", "")) for passage in passages) == len(line.replace(" ", ""))


@pytest.mark.skipif(not CORPORA.exists(), reason="the corpora next to the repository are absent")
def test_rows_that_are_passages_already_stay_one_passage_each() -> None:
    with (CORPORA / "wikipedia_en.jsonl").open(encoding="utf-8") as file:
        rows = [json.loads(line) for line in file][:1500]
    fitting = [row for row in rows if window_tokens(row["text"]) <= MAX_TOKENS]
    assert len(fitting) > 1400
    for row in fitting:
        (passage,) = chunk(Document(row["id"], row["title"], row["text"]))
        assert passage.text == row["text"].strip()


@pytest.mark.parametrize(
    ("text", "words"),
    [("", 0), ("two words", 2), ("x" * 41, 3), ("中文文字中文文字", 5), ("GPU 加速度八", 1 + 4 / 1.6)],
)
def test_words_are_counted_in_any_script(text: str, words: float) -> None:
    assert word_count(text) == words
