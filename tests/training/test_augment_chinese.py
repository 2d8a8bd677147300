"""Chinese rows made by rule."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from evaluation.datasets import Made, Passage, share_of
from evaluation.made.chinese.changes import denied, flipped, other_date, turned_round, without
from evaluation.made.chinese.generate import make_chinese
from evaluation.made.chinese.names import stock
from evaluation.made.chinese.restatements import compressed, merged, paraphrased
from evaluation.made.chinese.script import balanced, clauses, fit, in_script_of, missing, traditional, values
from evaluation.made.chinese.values import Exchange, Kind, exchanges, revised
from proxy.text.sentences import sentence_spans
from training.__main__ import main

CORPUS = Path(__file__).parents[2] / "../shared/data/corpora/wikipedia_zh.jsonl"
TOWNS = "临河 永安 青石 东塘 白沙 竹溪 云岭 石桥 长宁 金滩 柳林 清泉 北湾 南屏 松涛 梅岭".split()
CHANCE = 3


def passages() -> list[Passage]:
    """Sixteen towns in invented articles."""
    found = []
    for at, town in enumerate(TOWNS):
        name = f"{town}镇"
        sentences = (
            f"{name}是位于四川省中部的一个古镇，始建于{1500 + at * 7}年，面积为{31 + at}平方公里。",
            f"{1900 + at * 3}年，{name}成立了第一所中学，当时有{12 + at}名教师（包括校长）。",
            f"由于当地气候温暖，所以{town}的茶叶产量一直增加。",
            f"著名诗人在《{town}游记》中描写了镇上的大部分石桥。",
            f"镇上最大的石桥由工匠们修建，全长{110 + at}米。",
        )
        found.append(Passage(name, "".join(sentences), sentences))
    return found


def chance() -> random.Random:
    return random.Random(CHANCE)


def made(count: int = 120) -> list[Made]:
    return make_chinese(passages(), count, seed=5)


def test_the_same_arguments_give_the_same_rows() -> None:
    assert made() == made()
    assert made() != make_chinese(passages(), 120, seed=6)


def test_the_step_writes_rows_with_what_the_model_would_be_shown(tmp_path: Path) -> None:
    data, run = tmp_path / "data", tmp_path / "run"
    (data / "corpora").mkdir(parents=True)
    articles = [{"title": one.title, "text": one.text} for one in passages()]
    text = "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in articles)
    (data / "corpora/wikipedia_zh.jsonl").write_text(text, encoding="utf-8")
    options = ["augment", "--language", "zh", "--data", str(data), "--run", str(run)]
    assert main(options) == 0
    assert [file.name for file in run.glob("*.jsonl")] == ["chinese.jsonl"]
    rows = [json.loads(line) for line in (run / "chinese.jsonl").read_text(encoding="utf-8").splitlines()]
    assert {row["label"] for row in rows} == {"supported", "contradicted", "unsupported"}
    assert all(row["excerpt"] for row in rows)
    held_out = {one["title"] for one in articles if share_of(one["title"]) != "train"}
    assert held_out
    assert not [row for row in rows if row["claim"].startswith(tuple(held_out))]
    stamp = (run / "chinese.jsonl").stat().st_mtime_ns
    assert main(options) == 0
    assert (run / "chinese.jsonl").stat().st_mtime_ns == stamp


def test_no_more_rows_are_made_than_asked_for() -> None:
    assert len(made(7)) == 7
    assert make_chinese([], 10, seed=1) == []


def test_rows_are_of_many_kinds_and_all_labels() -> None:
    rows = made()
    kinds = Counter(row.kind for row in rows)
    wanted = {
        "literal",
        "compressed",
        "merged",
        "paraphrased",
        "number",
        "date",
        "place",
        "negation",
        "deleted",
    }
    assert wanted <= kinds.keys()
    assert {row.label for row in rows} == {"supported", "contradicted", "unsupported"}
    assert len({(row.claim, row.evidence) for row in rows}) == len(rows)


def test_a_row_that_is_not_supported_does_not_say_what_its_evidence_says() -> None:
    for row in made():
        if row.label != "supported":
            assert row.claim not in row.evidence
        assert balanced(row.claim)


def test_a_supported_row_has_the_numbers_of_its_evidence() -> None:
    for row in made():
        if row.label == "supported":
            assert values(row.claim) <= values(row.evidence) | {"1"}


@pytest.mark.parametrize(
    ("kind", "claim"),
    [
        ("number", "镇上有12座石桥和三座塔。"),
        ("date", "该站于1937年5月3日启用。"),
        ("unit", "全长约300公里。"),
        ("place", "该公司在北京成立。"),
        ("name", "他在《青石游记》中写到了这座桥。"),
    ],
)
def test_what_is_put_in_is_of_its_kind_and_nowhere_in_the_evidence(kind: Kind, claim: str) -> None:
    found = list(exchanges(claim, claim, "", kind, stock(passages()), chance()))
    assert found
    for one in found:
        assert one.old in claim
        assert one.new not in claim
        assert one.old not in one.apply(claim)


def test_years_keep_their_order_and_spans_are_left_alone() -> None:
    offered = stock(passages())
    claim = "工程于1937年开工，1939年完工。"
    for one in exchanges(claim, claim, "", "date", offered, chance()):
        first, second = map(int, re.findall(r"\d+", one.apply(claim)))
        assert first <= second
    assert not list(exchanges("工程始于1937年，历时两年。", "", "", "date", offered, chance()))


def test_a_listed_count_is_left_alone() -> None:
    claim = "他有3个兄弟，分别是张一、张二、张四。"
    assert not list(exchanges(claim, claim, "", "number", stock(passages()), chance()))


@pytest.mark.parametrize("claim", ["欧美国家都参加了会议。", "日本海的面积很大。", "他会说法国语。"])
def test_a_part_of_another_word_is_no_place(claim: str) -> None:
    assert not list(exchanges(claim, claim, "", "place", stock([]), chance()))


def test_an_exchange_in_evidence_leaves_nothing_of_the_old_value() -> None:
    one = Exchange("date", "1937年", "1941年")
    assert revised(one, "大桥于1937年通车。1937年底有庆典。")
    assert not revised(one, "大桥于1937年通车（1920-1937）。")


@pytest.mark.parametrize(
    ("claim", "said"),
    [
        ("这座桥是中国的古迹。", "这座桥不是中国的古迹。"),
        ("学校成立了合唱团。", "学校没有成立合唱团。"),
        ("他曾在北京任教。", "他从未在北京任教。"),
        ("學校成立了合唱團。", "學校沒有成立合唱團。"),
        ("车站不再使用蒸汽机车。", "车站仍然使用蒸汽机车。"),
    ],
)
def test_a_claim_is_denied_or_its_denial_taken_out(claim: str, said: str) -> None:
    assert said in list(denied(claim, chance()))


@pytest.mark.parametrize("claim", ["他可能是中国人。", "因为下雨，桥是湿的。", "虽然他是诗人，但不出名。"])
def test_what_is_unsure_or_reasoned_is_not_denied(claim: str) -> None:
    assert list(denied(claim, chance())) == []


@pytest.mark.parametrize(
    ("kind", "claim", "said"),
    [
        ("comparative", "这是最大的湖。", "这是最小的湖。"),
        ("quantifier", "人口超过300万。", "人口不足300万。"),
        ("quantifier", "大部分居民務農。", "小部分居民務農。"),
        ("opposite", "议会支持该法案。", "议会反对该法案。"),
    ],
)
def test_a_word_is_turned_into_its_opposite(kind: str, claim: str, said: str) -> None:
    assert said in list(flipped(claim, claim, kind, chance()))
    assert said not in list(flipped(claim, claim + said, kind, chance()))


@pytest.mark.parametrize(
    ("claim", "said"),
    [
        ("由于大雨毁坏了桥梁，镇民改走水路。", "由于镇民改走水路，大雨毁坏了桥梁。"),
        ("连年大旱无雨，导致粮食产量下降。", "粮食产量下降，导致连年大旱无雨。"),
        ("由于大雨，他没有来。", None),
    ],
)
def test_cause_and_effect_are_exchanged(claim: str, said: str | None) -> None:
    assert turned_round(claim) == said


def test_a_date_is_taken_from_another_sentence_of_the_evidence() -> None:
    sentences = ["大桥于1937年通车。", "1952年，大桥重修。"]
    assert other_date(sentences[0], sentences[0], sentences, chance()) == "大桥于1952年通车。"
    assert other_date(sentences[0], sentences[0], sentences[:1], chance()) is None


def test_evidence_loses_a_clause_and_stays_grammatical() -> None:
    sentence = "青石镇是四川的一个古镇，出产茶叶和竹器，人口约两万。"
    rest = "镇中心有一条老街，街上的房屋大多建于清代，游人很多，每年春天还有庙会和灯会，热闹非常。"
    left = without(sentence, sentence, sentence + rest, chance())
    assert left is not None
    assert sentence not in left
    assert rest in left
    assert left.replace(rest, "") in (
        "",
        "青石镇是四川的一个古镇，人口约两万。",
        "青石镇是四川的一个古镇，出产茶叶和竹器。",
    )


def test_evidence_that_says_it_twice_is_not_cut() -> None:
    sentence = "青石镇出产茶叶和竹器。"
    assert (
        without(sentence, sentence, sentence + "青石镇出产许多茶叶和竹器，远近闻名。" * 3, chance()) is None
    )


def test_a_compressed_claim_is_part_of_its_sentence() -> None:
    sentence = "根据县志记载，青石镇是四川的一个古镇（已有五百年历史），出产茶叶。"
    for seed in range(9):
        claim = compressed([sentence], "青石镇", random.Random(seed))
        assert claim is not None
        assert len(claim) < len(sentence)
        assert set(claim) <= set(sentence)


def test_two_sentences_about_one_subject_are_merged() -> None:
    sentences = ["青石镇是四川的一个古镇。", "青石镇出产茶叶。"]
    assert merged(sentences, "青石镇", chance()) == "青石镇是四川的一个古镇，出产茶叶。"
    assert merged(sentences[:1], "青石镇", chance()) is None


@pytest.mark.parametrize(
    ("sentence", "said"),
    [
        ("车站位于北京市中心。", {"车站坐落于北京市中心。", "车站地处北京市中心。"}),
        ("青石镇于1937年建成大桥。", {"1937年，青石镇建成大桥。"}),
        ("敌军被守军击败。", {"守军击败了敌军。"}),
        ("该剧由张三执导。", {"张三执导了该剧。"}),
        ("镇上有3座石桥。", {"镇上有三座石桥。"}),
    ],
)
def test_a_paraphrase_says_the_same(sentence: str, said: set[str]) -> None:
    found = {paraphrased([sentence], "青石镇", random.Random(seed)) for seed in range(20)}
    assert found & said
    assert found <= said | {None}


def test_scripts_are_told_apart_and_kept() -> None:
    assert traditional("臺灣的鐵路經過這個車站")
    assert not traditional("台湾的铁路经过这个车站")
    assert in_script_of("這個車站", "没有") == "沒有"
    assert in_script_of("这个车站", "没有") == "没有"


def test_numbers_are_one_however_they_are_written() -> None:
    assert values("三座，12,000人，二十五年，3.5米") == {"3", "12000", "25", "3.5"}


def test_clauses_are_not_cut_inside_brackets() -> None:
    assert clauses("甲（一，二），乙。") == ["甲（一，二），", "乙。"]


@pytest.mark.parametrize(
    "sentence",
    [
        "太短了。",
        "没有句号的一个相当长的句子在这里",
        "以下是本站各条路线的一览表。",
        "括号（没有关上的一个句子在这里。",
    ],
)
def test_what_can_not_be_a_claim_is_told(sentence: str) -> None:
    assert not fit(sentence)


def test_what_evidence_lacks_is_measured_in_pairs_of_characters() -> None:
    assert missing("石桥", "镇上有石桥。") == 0
    assert missing("石桥", "镇上有木屋。") == 1


@pytest.fixture(scope="module")
def real() -> Sequence[Made]:
    if not CORPUS.is_file():
        pytest.skip("the data folder is not beside the repository")
    rows = [json.loads(line) for line in CORPUS.read_text(encoding="utf-8").splitlines()[:250]]
    spans = [(row, sentence_spans(row["text"])) for row in rows]
    corpus = [
        Passage(row["title"], row["text"], tuple(row["text"][start:end] for start, end in found))
        for row, found in spans
    ]
    return make_chinese(corpus, 400, seed=2)


def test_a_real_corpus_gives_as_many_as_asked_for(real: Sequence[Made]) -> None:
    assert len(real) == 400
    share = sum(row.label == "supported" for row in real) / len(real)
    assert 0.4 < share < 0.65


def test_in_a_real_corpus_no_wrong_claim_stands_in_its_evidence(real: Sequence[Made]) -> None:
    assert not [row.claim for row in real if row.label != "supported" and row.claim in row.evidence]
