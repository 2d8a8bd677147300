"""One detail exchanged, or none: claims written by hand, and the rule that tells Chinese ones apart."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest

from proxy.checkers.builtin.builtin_checker import BuiltinChecker
from proxy.checkers.builtin.conflicts import conflict
from proxy.checkers.builtin.quantities import Date, Quantity, read_quantities
from proxy.types import Judgement, Pair, Verdict

_ROWS = [
    json.loads(line)
    for line in (Path(__file__).parent / "minimal_pairs.jsonl").read_text(encoding="utf-8").splitlines()
]
_MISSED = frozenset(
    {
        "到场观众超过1.7万名。",
        "八十年代，该厂的产量大幅增长。",
        "大多数工人后来进了纺织厂。",
        "他的弟弟未参加这场战役。",
        "1592年，李将军打败了敌军。",
        "馆内不准使用闪光灯。",
    }
)
"""What the checker is known to fail though it is right: other words than the evidence's."""
_PASSED = frozenset(
    {
        "邻市机械厂的产量超过了该厂。",
        "由于工厂停产，原料价格上涨。",
        "1592年，敌军击败了李将军。",
        "战后，朝廷授予他的弟弟侯爵的称号。",
        "注意力下降会导致睡眠不足。",
        "青铜器由博物馆捐赠给张氏家族。",
        "东馆和西馆都免费开放。",
    }
)
"""What it is known to pass though it is wrong: the evidence's words with their roles exchanged."""


@pytest.fixture(scope="module")
def checker() -> Iterator[BuiltinChecker]:
    made = BuiltinChecker()
    yield made
    made.close()


async def _judged(checker: BuiltinChecker, *labels: str) -> dict[str, Judgement]:
    rows = [row for row in _ROWS if row["label"] in labels]
    told = await checker.check([Pair(row["claim"], row["evidence"]) for row in rows])
    return {row["claim"]: judgement for row, judgement in zip(rows, told, strict=True)}


def test_the_table_has_every_kind_in_both_languages() -> None:
    kinds = {(row["lang"], row["kind"]) for row in _ROWS}
    assert kinds >= {(lang, kind) for lang in ("en", "zh") for kind in ("number", "date", "unit")}
    assert kinds >= {
        ("zh", kind) for kind in ("place", "name", "negation", "opposite", "quantifier", "crossed")
    }
    assert len({row["claim"] for row in _ROWS}) == len(_ROWS)


async def test_no_exchanged_detail_is_supported(checker: BuiltinChecker) -> None:
    judged = await _judged(checker, "not_supported")
    passed = {claim for claim, one in judged.items() if one.verdict is Verdict.SUPPORTED}
    assert passed <= _PASSED


async def test_the_same_number_in_other_words_is_supported(checker: BuiltinChecker) -> None:
    judged = await _judged(checker, "supported")
    failed = {claim for claim, one in judged.items() if one.verdict is not Verdict.SUPPORTED}
    assert failed <= _MISSED


async def test_an_exchanged_chinese_date_is_named(checker: BuiltinChecker) -> None:
    evidence = "长城是中国古代的军事防御工程。1987年12月，长城被列入世界文化遗产。"
    (judged,) = await checker.check([Pair("长城在1995年被列入世界文化遗产。", evidence)])
    assert judged.verdict is Verdict.CONTRADICTED
    assert judged.reason == "numbers differ: 1995年 / 1987年12月"
    assert judged.missing == ((3, 8),)


def _conflict(claim: str, evidence: str) -> bool:
    return conflict(claim, evidence, read_quantities(evidence)) is not None


@pytest.mark.parametrize(
    ("claim", "evidence"),
    [
        ("建于1995年", "建于1987年12月"),
        ("建于1987年11月", "建于1987年12月"),
        ("建于一九九五年", "建于1987年"),
        ("建于公元256年", "建于公元前256年"),
        ("全长8851米", "全长8851公里"),
        ("票价100美元", "票价100欧元"),
        ("约8452公里", "8851.8公里"),
        ("超过20万人", "12万人"),
        ("不足5万人", "12万人"),
        ("人口约80万", "人口约30万"),
        ("第五届大会", "第三届大会"),
        ("以3比1获胜", "以2比0获胜"),
        ("增长百分之五", "增长2.3%"),
        ("1960-1963年", "1950-1953年"),
        ("30多万人", "20多万人"),
        ("逾5000万人", "逾4000万人"),
        ("达6.06万亿美元", "突破6.05万亿美元"),
        ("该机型的最大航程是834公里", "该机型最大航程7408公里，巡航速度为每小时834公里"),
    ],
)
def test_another_number_in_its_place_is_a_conflict(claim: str, evidence: str) -> None:
    assert _conflict(claim, evidence)


@pytest.mark.parametrize(
    ("claim", "evidence"),
    [
        ("建于1987年", "建于1987年12月3日"),
        ("建于1987年", "建于87年12月"),
        ("建于1987年12月3日", "建于1987-12-03"),
        ("建于1952年", "1950-1953年，建于1952年"),
        ("卒于1936年", "鲁迅（1881-1936），1918年发表小说"),
        ("建于2023年9月27日", "建于9月27日"),
        ("建于1987年", "它很古老"),
        ("全长14公里", "全长14000米"),
        ("约9000公里", "8851.8公里"),
        ("近9000公里", "8851.8公里"),
        ("超过17000名", "17158名观众"),
        ("85万人", "80多万人"),
        ("达6.053万亿美元", "突破6.05万亿美元"),
        ("三十万人", "30万人"),
        ("17158人", "17158名"),
        ("增长2.3%", "增长百分之2.3"),
        ("这是一个县", "下辖三个县"),
        ("统一六国", "共有三国"),
        ("1. 首先加水", "共有3个步骤"),
        ("有2000年历史", "1987年发现，有2000年的历史"),
    ],
)
def test_the_same_number_or_none_is_no_conflict(claim: str, evidence: str) -> None:
    assert not _conflict(claim, evidence)


def test_quantities_and_dates_are_read_with_their_place() -> None:
    text = "二〇一七年五月五日，12.5万人。"
    date, quantity = read_quantities(text)
    assert isinstance(date, Date)
    assert date.parts == (2017, 5, 5)
    assert isinstance(quantity, Quantity)
    assert quantity.value == Decimal(125000)
    assert quantity.measure.dimension == "people"
    assert text[quantity.start : quantity.end] == "12.5万人"


def test_a_span_of_a_text_is_read_at_its_own_offsets() -> None:
    text = "1987年。1995年。"
    (only,) = read_quantities(text, 6, len(text))
    assert text[only.start : only.end] == "1995年"


@pytest.mark.parametrize(
    "text", ["1,111" * 500, "九" * 900, "公元前第百分之", "１９８７年", "〇〇〇〇年0月0日", "1" * 99]
)
def test_odd_numbers_are_read_without_error(text: str) -> None:
    assert not _conflict(text, text)
