"""Sentences by clause: what is parted, what stays together, and that no word is lost."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from proxy.citations.markers import marks
from proxy.claims.decompose.clauses import MAX_CHARS, clauses
from proxy.claims.segment import segment
from proxy.text.words import uncovered
from proxy.types import Claim
from tests.drafts import chinese_replies, drafts, real_replies

PARTED = {
    "Marie Curie was born in Warsaw and won two Nobel Prizes.": [
        "Marie Curie was born in Warsaw",
        "Marie Curie won two Nobel Prizes.",
    ],
    "Marie Curie, who was born in Warsaw, won two Nobel Prizes.": [
        "Marie Curie won two Nobel Prizes.",
        "Marie Curie was born in Warsaw",
    ],
    "She was born in Warsaw, which is the capital of Poland.": [
        "She was born in Warsaw",
        "Warsaw is the capital of Poland.",
    ],
    "Paris is the capital of France and Berlin is the capital of Germany.": [
        "Paris is the capital of France",
        "Berlin is the capital of Germany.",
    ],
    "The tower is 330 metres tall; it was finished in 1889.": [
        "The tower is 330 metres tall",
        "it was finished in 1889.",
    ],
    "In 1903, Marie Curie moved to Paris and won the Nobel Prize.": [
        "In 1903, Marie Curie moved to Paris",
        "In 1903, Marie Curie won the Nobel Prize.",
    ],
    "The company was founded in 1990 and acquired by Google in 2000.": [
        "The company was founded in 1990",
        "The company was acquired by Google in 2000.",
    ],
    "He signed it on May 5, 2010, and she left in June.": [
        "He signed it on May 5, 2010",
        "she left in June.",
    ],
    "It contains 1,000 rooms and 3.5 million books, and it has a garden.": [
        "It contains 1,000 rooms and 3.5 million books",
        "it has a garden.",
    ],
    "France is large, while Monaco is small.": ["France is large", "Monaco is small."],
    '"Alien" is a film (1979, and a good one) and was made by Scott.': [
        '"Alien" is a film (1979, and a good one)',
        '"Alien" was made by Scott.',
    ],
    "居里夫人出生于华沙，并获得两次诺贝尔奖。": ["居里夫人出生于华沙", "居里夫人获得两次诺贝尔奖。"],
    "巴黎是法国的首都，位于塞纳河畔，人口约200万。": [
        "巴黎是法国的首都",
        "巴黎位于塞纳河畔",
        "巴黎人口约200万。",
    ],
    "1903年，居里夫人获得诺贝尔奖，成为首位获奖的女性。": [
        "1903年，居里夫人获得诺贝尔奖",
        "1903年，居里夫人成为首位获奖的女性。",
    ],
    "北京是中国的首都，上海是中国的经济中心。": ["北京是中国的首都", "上海是中国的经济中心。"],
    "二进制语言是最原始的语言，它是由0和1组成的。": ["二进制语言是最原始的语言", "它是由0和1组成的。"],
}

WHOLE = """
The flag is red, green, and blue.
Paris is the capital of France.
It opened on May 5, 2010, in Paris.
Acme makes cars designed in Italy and assembled in Spain.
He claimed that the moon is cheese and was never seen again.
Scientists say the moon is rock, and the sun is gas.
If it rains, the ground is wet and it becomes dark.
According to the report, he was late and was fired.
The drug can be used for pain and is sold in France.
It was either lost in 1990 or was stolen in 1991.
The capitals of France and Germany are big.
He said "I came, and I was seen" in 1990.
She wrote a book that was praised and was sold in Spain.
The film was written and directed by Scott.
Lead and tin are soft, and so is gold.
Gold is heavy, but tin is not.
The capital of France, which is big, was founded early.
He lives in Newark, New Jersey, which is big.
Is Paris big and is Rome small?
国旗是红、白、蓝三色。
他认为巴黎是首都，位于法国。
如果下雨，地面是湿的，天空是灰的。
2022年男单冠军是张三，女单冠军是李四。
他的父亲是医生，毕业于北京大学。
糖包括白糖，红糖，冰糖。
"""


def claim_of(sentence: str) -> Claim:
    (claim,) = segment(sentence)
    return claim


@pytest.mark.parametrize("sentence", PARTED)
def test_clauses_stand_alone(sentence: str) -> None:
    assert [part.plain for part in clauses(claim_of(sentence))] == PARTED[sentence]


@pytest.mark.parametrize("sentence", WHOLE.strip().splitlines())
def test_what_can_not_be_parted_for_sure_stays_whole(sentence: str) -> None:
    assert clauses(Claim(0, len(sentence), sentence, sentence)) == ()


def test_spans_are_those_of_the_markdown() -> None:
    draft = "So. **Marie** *Curie* was born in [Warsaw](http://a.b/c,d;e) and won `two` prizes [1]."
    claim = segment(draft, (marker for run in marks(draft) for marker in run.each))[-1]
    first, second = clauses(claim)
    assert (first.text, second.text) == (
        "**Marie** *Curie* was born in [Warsaw",
        "and won `two` prizes [1].",
    )
    assert [part.plain for part in (first, second)] == [
        "Marie Curie was born in Warsaw",
        "Marie Curie won two prizes.",
    ]
    assert all(draft[part.start : part.end] == part.text for part in (first, second))


def test_a_clause_keeps_what_its_sentence_cites() -> None:
    sentence = "Ada was born in Rome and was buried in Bonn."
    parts = clauses(Claim(5, 5 + len(sentence), sentence, sentence, cited=(2,)))
    assert [part.cited for part in parts] == [(2,), (2,)]


def test_a_row_of_a_table_and_a_string_of_json_stay_whole() -> None:
    rows = segment("| A | B |\n|---|---|\n| Ada was born and won two prizes | Bo was old and was ill |")
    assert all(clauses(claim) == () for claim in rows)
    raw = "Ada was born in Rome \\u0026 Bonn and won two prizes."
    assert clauses(Claim(0, len(raw), raw, raw.replace("\\u0026", "&"))) == ()


@pytest.mark.parametrize(
    "unit", ["and is a ", "Ada is, ", ", which ", "A; b ", "(", '"', "是，", "他是，", "and "]
)
def test_repetitions_and_long_sentences_come_to_an_end(unit: str) -> None:
    for size in (MAX_CHARS, 100 * MAX_CHARS):
        text = (unit * size)[:size].strip()
        parts = clauses(Claim(0, len(text), text, text))
        assert all(text[part.start : part.end] == part.text for part in parts)


def check_parts(draft: str, claim: Claim) -> int:
    parts = clauses(claim)
    assert len(parts) != 1
    for part in parts:
        assert claim.start <= part.start < part.end <= claim.end
        assert part.text == draft[part.start : part.end]
        assert part.plain.strip()
    if parts:
        assert not uncovered(claim.plain, [part.plain for part in parts])
        assert not uncovered(claim.plain, [part.text for part in parts])
    return len(parts)


@given(drafts())
@settings(max_examples=40, deadline=None)
def test_no_content_word_escapes_in_any_markdown(draft: str) -> None:
    for claim in segment(draft):
        check_parts(draft, claim)


def test_no_content_word_of_real_english_replies_escapes() -> None:
    found = [check_parts(reply, claim) for reply in real_replies()[::2] for claim in segment(reply)]
    assert sum(count > 1 for count in found) > 50


def test_no_content_word_of_real_chinese_replies_escapes() -> None:
    found = [check_parts(reply, claim) for reply in chinese_replies()[:100] for claim in segment(reply)]
    assert sum(count > 1 for count in found) > 0
