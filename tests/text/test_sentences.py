from __future__ import annotations

from pathlib import Path

import nltk
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nltk.tokenize.punkt import PunktParameters, save_punkt_params

from proxy.text.sentences import sentence_spans


def sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in sentence_spans(text)]


CASES = [
    ["Dr. Smith went to Washington D.C. on Jan. 5.", "He left."],
    ["He lives in Washington D.C.", "He left.", "Apple Inc. was founded in 1976.", "Yahoo! is a firm."],
    ["J. R. R. Tolkien wrote it.", "See Fig. 3 and No. 7.", "He said no.", "Tom left."],
    ["Metals, e.g. Tin, melt.", "Gen. Grant won vs. Lee in Dec. 1864.", "The U.S. economy grew."],
    ['He said "Go."', "(See below.)", "Next."],
    ["He left.[2]", "She came. [1][3]", "They stayed [4].", "End."],
    ["Was it?", "Yes!", "It is 3.5 m long.", "That costs $5.", "And more..."],
    ["They rose atop a Saturn V.", "Four days later they landed.", "It took a Saturn V."],
    ["He fought in World War I.", "After that he left.", "She read Henry V.", "The play is long."],
    ["Charles X.", "In 1830 he fell.", "It is vitamin C.", "It helps.", "He is 2 m.", "She is 1.9 m tall."],
    ["Henry V. Smith and J. R. Smith met.", "George W. Bush won.", "S. I. Hayakawa wrote.", "He did."],
    [
        'The answer to "Is it big?" is yes.',
        '"Airplane!" (1980) stars him.',
        'He asked "why?"',
        "Then he left.",
    ],
    ["J.R.R. Tolkien and H.G. Wells wrote.", "Rep. Issa asked A.R. Rahman.", "It was by E.E. and others."],
    ["It was signed J.R.R.", "He left the F.B.I.", "She left at 5 p.m.", "They went to the U.S.", "The end."],
    ["He turned 31.", "March came.", "I am 31.", "March is my month.", "It costs 5 a.", "The rest is free."],
    ["Roe v. Wade and Bivens v. Six Unknown Agents are cases.", "P. J. Brackston and ''H. G. Wells wrote."],
]
BEHIND_UNITS = [
    [
        "The tower is 330 m.",
        "Lake Baikal is 1,642 m.",
        "It is 5 kg.",
        "Lions eat.",
        "It took 5 h.",
        "Paris won.",
    ],
    ["It is 5 mm.", "Lions eat 5 lb.", '"Yes," he says.', "It has 330 sq. km.", "Rivers cross it."],
    ["In 1990 A. Smith and 5 J. R. Smiths wrote.", "It is 5 m. deep.", "Plan B. Wilson met John F. Kennedy."],
]
MARKED = [
    ("It is tall.{} The lake is.", ["It is tall.{}", "The lake is."]),
    ("It is tall!”{} “The lake” is.", ["It is tall!”{}", "“The lake” is."]),
    ("It is tall.{}[1] The lake is.{}[2]", ["It is tall.{}[1]", "The lake is.{}[2]"]),
    ("长城很长。{}李白是诗人。{}", ["长城很长。{}", "李白是诗人。{}"]),
    ("Dr.{} Smith left.", ["Dr.{} Smith left."]),
]
BEFORE_CHINESE = [
    ["It is tall.", "长城很长。", "It opened in 1889.", "李白写诗。", "It is 330 m.", "李白写诗。"],
    ["Apple Inc.是公司。", "ExampleInc.的域名。", "Dr.李来了。", "Node.js是软件。", "1.长城很长。"],
]
CHINESE = [
    (
        "北京是首都。它很大！“你好。”他说；走了。",
        ["北京是首都。", "它很大！", "“你好。”", "他说；", "走了。"],
    ),
    (
        "他说：「走吧。」（见下文。）事实[1]。另一个。[2]再一个",
        ["他说：「走吧。」", "（见下文。）", "事实[1]。", "另一个。[2]", "再一个"],
    ),
    ('真的吗？！是的……他走了。"你好"是问候。', ["真的吗？！", "是的……", "他走了。", '"你好"是问候。']),
    (
        "他问：“你是谁？”，她走了。《从何着手？》、《你的名字。》是书。",
        ["他问：“你是谁？”，她走了。", "《从何着手？》、《你的名字。》是书。"],
    ),
    ("他说“好。”。她走了。他答：“不！”她笑了。", ["他说“好。”。", "她走了。", "他答：“不！”", "她笑了。"]),
    ("我用 Python 3.5。It works. 你好!我是AI", ["我用 Python 3.5。", "It works.", "你好!", "我是AI"]),
]


OTHERS = [
    ["Er starb am 31. März 1889 in Wien.", "Im 19. Jahrhundert, z. B. hier, d. h. Rom."],
    ["Il dit bonjour.", "« Oui. »", "« Non », dit-il."],
    ["यह है।", "वह है।"],
    ["هل هذا؟", "نعم۔"],
]


@pytest.mark.parametrize("expected", OTHERS)
def test_other_languages_are_split(expected: list[str]) -> None:
    assert sentences(" ".join(expected)) == expected


@pytest.mark.parametrize("expected", BEFORE_CHINESE)
def test_an_english_stop_ends_a_sentence_before_chinese(expected: list[str]) -> None:
    assert sentences("".join(expected)) == expected


@pytest.mark.parametrize(
    "mark", ["🗼", "🎉🎉", "¹", "²³", "^1", "\u200b", "*", "†", "(see below)", "[see below]"]
)
@pytest.mark.parametrize(("text", "expected"), MARKED)
def test_what_is_right_behind_a_stop_belongs_to_its_sentence(
    text: str, expected: list[str], mark: str
) -> None:
    assert sentences(text.replace("{}", mark)) == [each.replace("{}", mark) for each in expected]


def test_a_picture_within_a_sentence_does_not_end_it() -> None:
    assert sentences("So it went on.🗼 and on. Then.¹ so") == ["So it went on.🗼 and on.", "Then.¹ so"]


@pytest.mark.parametrize("expected", CASES + BEHIND_UNITS)
def test_english_is_split(expected: list[str]) -> None:
    assert sentences(" ".join(expected)) == expected


@pytest.mark.parametrize(("text", "expected"), CHINESE)
def test_chinese_and_mixed_text_is_split(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


def test_numbers_of_a_list_stay_with_their_items() -> None:
    assert sentences("1. First item. 2. Second item.") == ["1. First item.", "2. Second item."]


def test_a_blank_line_ends_a_sentence_and_a_line_end_does_not() -> None:
    assert sentences("A title\n\nIt is\nwrapped. Next") == ["A title", "It is\nwrapped.", "Next"]


@settings(max_examples=120, deadline=None)
@given(st.text("ab. !?。；”“\"'()[]1\n…Dr🗼¹^*A长\u200b", max_size=80) | st.text(max_size=40))
def test_spans_are_ordered_disjoint_stripped_and_cover_all_text(text: str) -> None:
    position = 0
    for start, end in sentence_spans(text):
        assert text[position:start].strip() == ""
        assert start < end
        assert text[start:end] == text[start:end].strip()
        position = end
    assert text[position:].strip() == ""


def test_a_sentence_longer_than_any_window_stays_whole() -> None:
    long = "word, and other " * 2000 + "end."
    assert sentences(f"First one. {long} Last one.") == ["First one.", long, "Last one."]


def test_two_megabytes_on_one_line_are_split() -> None:
    text = (
        "The quick brown fox jumps over the lazy dog in Washington D.C. on Jan. 5 of that year 北京。 "
        * 22_000
    )
    found = sentence_spans(text)
    assert len(found) == 22_000


@pytest.mark.parametrize(
    "unit",
    [
        "!",
        ". ",
        "a.)",
        "。",
        ".[1]",
        "\n",
        '。"',
        "...",
        "1. ",
        '?"',
        "【1】",
        ".' ",
        "!？",
        "…",
        '。"，',
        "？》、",
        ".🗼",
        ".(a",
        ".[a",
        ".¹ A",
        "5 m. A",
        "ab.长",
    ],
)
def test_splitting_any_repetition_comes_to_an_end(unit: str) -> None:
    text = unit * (100_000 // len(unit))  # in quadratic time it would not, before pytest's time-out
    assert all(end <= len(text) for _, end in sentence_spans(text))


def test_trained_data_on_the_machine_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "tokenizers" / "punkt_tab" / "english"
    folder.mkdir(parents=True, mode=0o700)
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path)])
    parameters = PunktParameters()
    parameters.abbrev_types.add("flurb")
    save_punkt_params(parameters, str(folder))
    assert sentences("A flurb. Xyz fell. Dr. No left.") == ["A flurb.", "Xyz fell.", "Dr. No left."]
