"""An extractor's answer, read strictly, and the place of each triplet in its sentence."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.claims.decompose.locate import locate, spelt
from proxy.claims.decompose.triplets import (
    MAX_ANSWER_CHARS,
    MAX_ELEMENT_CHARS,
    MAX_TRIPLETS,
    Reading,
    read_line,
    read_triplets,
)
from proxy.claims.segment import segment
from proxy.text.words import uncovered
from proxy.types import Claim, Triplet
from tests.drafts import drafts

CURIE = "Marie Curie was born in Warsaw and won two Nobel Prizes."
PARIS = "巴黎是法国的首都，人口约200万。"
CLAIMS = segment(f"{CURIE}\n\n{PARIS}")
BORN, WON = Triplet("Marie Curie", "was born in", "Warsaw"), Triplet("Marie Curie", "won", "two Nobel Prizes")
CAPITAL = Triplet("巴黎", "是", "法国的首都")

LINES = [
    ('("a", "b", "c")', ("a", "b", "c")),
    ('  ( "a" ,"b" , "c" ) ,'.strip(), ("a", "b", "c")),
    ("('a', 'b', 'c');", ("a", "b", "c")),
    ("('it's', 'is', 'x')", ("it's", "is", "x")),
    ("""('It', "isn't", 'x')""", ("It", "isn't", "x")),
    ("（“巴黎”，“是”，“首都”）。", ("巴黎", "是", "首都")),
    ("(「巴黎」、「是」、「首都」)", ("巴黎", "是", "首都")),
    (r'("the \"Big\" one", "is", "a\\b")', ('the "Big" one', "is", r"a\b")),
    ('("the "Big" one", "is", "x")', ('the "Big" one', "is", "x")),
    ('("he said "no", then", "left", "x")', ('he said "no", then', "left", "x")),
    ("""("he said 'no', 'yes'", "in", "x")""", ("he said 'no', 'yes'", "in", "x")),
    ('["a", "b", "c",]', ("a", "b", "c")),
    ('("f(x)", "is", "g (see (1))")', ("f(x)", "is", "g (see (1))")),
]
MALFORMED = [
    '("a", "b")',
    '("a", "b", "c", "d")',
    '("a", "", "c")',
    '("a", " ", "c")',
    '("a", "b", "...")',
    '("a", "b", "c"',
    '"a", "b", "c"',
    '("a", "b", c)',
    "(a, b, c)",
    '("he said "yes", "no"", "is", "x")',
    '("a", "b", "c") and more',
    '("a" "b" "c")',
    '("a“, ”b“, ”c")',
    f'("{"a" * (MAX_ELEMENT_CHARS + 1)}", "b", "c")',
    "()",
    "[1]",
    "",
    '(__import__("os").system("true"), "b", "c")',
]


@pytest.mark.parametrize(("line", "elements"), LINES)
def test_a_line_with_one_reading_is_a_triplet(line: str, elements: tuple[str, str, str]) -> None:
    assert read_line(line) == (Triplet(*elements), None)


@pytest.mark.parametrize("line", MALFORMED)
def test_a_line_with_no_reading_or_several_is_malformed(line: str) -> None:
    assert read_line(line) is None


ANSWERS = [
    '[1]\n("Marie Curie", "was born in", "Warsaw")\n("Marie Curie", "won", "two Nobel Prizes")\n'
    '[2]\n("巴黎", "是", "法国的首都")',
    '**[1]**\n- ("Marie Curie", "was born in", "Warsaw")\n- ("Marie Curie", "won", "two Nobel Prizes")\n'
    "【2】：\n1. （“巴黎”，“是”，“法国的首都”）；",
    '```python\n[("Marie Curie", "was born in", "Warsaw"), ("Marie Curie", "won", "two Nobel Prizes")]\n'
    '[\n  ("巴黎", "是", "法国的首都"),\n]\n```',
    f'Here they are:\n\n[1] {CURIE}\n("Marie Curie", "was born in", "Warsaw")\n'
    '("Marie Curie", "won", "two Nobel Prizes")\n[2] ("巴黎", "是", "法国的首都")\n',
    '<think>\n[1]\n("x", "is", "y")\n</think>\n("Marie Curie", "was born in", "Warsaw") [1]\n'
    '("Marie Curie", "won", "two Nobel Prizes") [1]\n("巴黎", "是", "法国的首都") [2]',
    '[1]\n("Marie Curie", "was born in", "Warsaw")\n("Marie Curie", "won", "two Nobel Prizes")\n'
    '("MARIE CURIE", "won", "two  Nobel Prizes")\n[2]\n("巴黎", "是", "法国的首都")\n[1]\n',
]


@pytest.mark.parametrize("answer", ANSWERS)
def test_the_same_triplets_are_read_however_they_are_wrapped(answer: str) -> None:
    assert read_triplets(answer, CLAIMS) == Reading(((BORN, WON), (CAPITAL,)), (0, 0), said=True)


def test_triplets_without_a_sentences_number_go_where_they_align_or_count_as_malformed() -> None:
    answer = (
        '[7]\n("巴黎", "人口约", "200万")\n("x", "is", "y")\n[0]\n("Marie Curie", "won", "two Nobel Prizes")'
    )
    reading = read_triplets(answer, CLAIMS)
    assert reading.triplets == ((WON,), (Triplet("巴黎", "人口约", "200万"),))
    assert reading.malformed == (1, 0)


def test_a_malformed_line_counts_against_the_sentence_it_stands_under() -> None:
    answer = '[1]\n("Marie Curie", "was born in", "Warsaw")\n[2]\n(巴黎, 是, 首都)\nThat is all.'
    reading = read_triplets(answer, CLAIMS)
    assert reading.triplets == ((BORN,), ())
    assert reading.malformed == (0, 2)


def test_an_answer_that_only_numbers_the_sentences_says_that_they_state_nothing() -> None:
    assert read_triplets("[1]\n[2]", CLAIMS) == Reading(((), ()), (0, 0), said=True)


@pytest.mark.parametrize(
    "answer", ["", "```\n```", "I can't do that.", '<think>\n[1]\n("a", "b", "c")', "[9]", "[1]\n(a, b, c)"]
)
def test_an_answer_in_which_nothing_can_be_read_says_nothing(answer: str) -> None:
    reading = read_triplets(answer, CLAIMS)
    assert reading.triplets == ((), ())
    assert not reading.said


def test_triplets_of_a_sentence_are_bounded_and_those_beyond_are_malformed() -> None:
    lines = [f'("Marie Curie", "won", "prize {n}")' for n in range(MAX_TRIPLETS + 5)]
    reading = read_triplets("\n".join(["[1]", *lines]), CLAIMS)
    assert len(reading.triplets[0]) == MAX_TRIPLETS
    assert reading.malformed == (5, 0)


UNITS = """[1]|
("x", "is", "y")
|("|", "|(|[|("a","b","c"),|\\|<think>|[1] |“，“|
""".split("|")


@pytest.mark.parametrize("unit", UNITS)
def test_reading_a_huge_answer_comes_to_an_end(unit: str) -> None:
    answer = unit * (3_000_000 // len(unit))  # in quadratic time it would not, before pytest's time-out
    assert len(answer) > MAX_ANSWER_CHARS
    assert len(read_triplets(answer, CLAIMS).triplets) == len(CLAIMS)


@given(st.text(max_size=300), st.integers(0, 3))
@settings(max_examples=80, deadline=None)
def test_reading_never_fails_and_elements_are_never_empty(answer: str, count: int) -> None:
    claims = (CLAIMS * 2)[:count]
    reading = read_triplets(answer, claims)
    assert len(reading.triplets) == len(reading.malformed) == count
    for triplet in (triplet for triplets in reading.triplets for triplet in triplets):
        assert all(element.strip() for element in (triplet.head, triplet.relation, triplet.tail))


WORDS = st.text(st.characters(whitelist_categories=["L", "N"]), min_size=1, max_size=20)


@given(
    WORDS,
    WORDS,
    WORDS,
    st.sampled_from(['("{}", "{}", "{}")', "- ('{}','{}','{}'),", "（“{}”，“{}”，“{}”）"]),
)
@settings(max_examples=100, deadline=None)
def test_what_is_written_as_asked_is_read_as_written(head: str, relation: str, tail: str, form: str) -> None:
    reading = read_triplets(f"[1]\n{form.format(head, relation, tail)}", CLAIMS[:1])
    assert reading.triplets == ((Triplet(head, relation, tail),),)


LOCATED = [
    (CURIE, BORN, "Marie Curie was born in Warsaw"),
    (CURIE, WON, "won two Nobel Prizes"),
    (PARIS, CAPITAL, "巴黎是法国的首都"),
    (PARIS, Triplet("巴黎", "人口约", "200万"), "人口约200万"),
    ("It was announced, they say, in 2021 in [Bern](http://born.in/Warsaw).",
     Triplet("The bridge", "announced in", "2021"), "announced, they say, in 2021"),
    ("The **Rialto Bridge** was *not* designed by `Palladio`.",
     Triplet("The Rialto Bridge", "was not designed by", "Palladio"),
     "The **Rialto Bridge** was *not* designed by `Palladio"),
]  # fmt: skip


@pytest.mark.parametrize(("sentence", "triplet", "span"), LOCATED)
def test_a_triplet_is_tied_to_the_words_it_came_from(sentence: str, triplet: Triplet, span: str) -> None:
    draft = f"First. {sentence}"
    claim = segment(draft)[-1]
    part = locate(triplet, claim)
    assert part.text == draft[part.start : part.end] == span
    assert (part.plain, part.triplet, part.checkable) == (spelt(triplet), triplet, claim.checkable)


def test_a_triplet_that_aligns_with_nothing_has_its_whole_sentence() -> None:
    part = locate(Triplet("Eiffel", "constructed", "tower"), CLAIMS[0])
    assert (part.start, part.end, part.text) == (CLAIMS[0].start, CLAIMS[0].end, CLAIMS[0].text)
    assert part.plain == "Eiffel constructed tower"


def test_chinese_elements_are_joined_without_spaces() -> None:
    assert spelt(CAPITAL) == "巴黎是法国的首都"
    assert spelt(BORN) == "Marie Curie was born in Warsaw"
    assert spelt(Triplet("Riot Games", "成立于", "2006")) == "Riot Games成立于2006"


@given(drafts(), WORDS, WORDS, WORDS)
@settings(max_examples=40, deadline=None)
def test_a_part_is_always_a_span_of_the_draft_inside_its_claim(
    draft: str, head: str, relation: str, tail: str
) -> None:
    for claim in segment(draft):
        part = locate(Triplet(head, relation, tail), claim)
        assert claim.start <= part.start < part.end <= claim.end
        assert part.text == draft[part.start : part.end]


COVERAGE = [
    (CURIE, [BORN, WON], ""),
    (CURIE, [BORN], "won two Nobel Prizes"),
    ("She did not win in 1903.", [Triplet("Curie", "did win in", "1903")], "not"),
    ("It isn't red.", [Triplet("the flag", "is", "red")], "n't"),
    ("Ada beat Bo and Bo beat Ada.", [Triplet("Ada", "beat", "Bo")], "AdabeatBoBobeatAda"),
    ("It announced 1,000 cities.", [Triplet("It", "announces", "1000 city")], ""),
    ("他没有获得1903年的奖。", [Triplet("他", "获得", "1903年的奖")], "没有"),
    (PARIS, [CAPITAL], "人口约200万"),
]


@pytest.mark.parametrize(("sentence", "triplets", "left"), COVERAGE)
def test_words_that_no_triplet_says_are_found(sentence: str, triplets: list[Triplet], left: str) -> None:
    missing = uncovered(sentence, map(spelt, triplets))
    said = "".join(sentence[word.start : word.end] for word in missing)
    assert set(left.replace(" ", "")) <= set(said)
    assert bool(said) == bool(left)


def test_every_sentence_covers_itself() -> None:
    for claim in (*CLAIMS, Claim(0, 4, "A 1.", "A 1.")):
        assert not uncovered(claim.plain, [claim.plain])
