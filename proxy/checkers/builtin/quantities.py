"""The quantities and dates of a Chinese text, and which bear out each other.

Word overlap sees an exchanged year as one token missing among many, which in a claim worded its own way is
nothing unusual. So what a number counts or measures is read too: "1995年" is held against "1987年12月". For a
model that reads both, evidence can be spelt as the claim spells its quantities and dates.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple

from proxy.checkers.builtin.numbers import HAN_NUMERALS, han_value
from proxy.checkers.builtin.word_lists import STOP_CHARS
from proxy.text.scripts import HAN


class Measure(NamedTuple):
    """Two numbers are about the same where `dimension` is one; they can be equal where `base` is one too, of
    which a unit has so many."""

    dimension: str
    base: str
    size: Decimal


_SIZES = {
    "length": "公里 1000 千米 1000 km 1000 公尺 1 米 1 公分 0.01 厘米 0.01 cm 0.01 毫米 0.001 mm 0.001 "
    "英里 1609.344 海里 1852 英尺 0.3048 英寸 0.0254",
    "area": "平方公里 1000000 平方千米 1000000 平方公尺 1 平方米 1 公顷 10000 公頃 10000",
    "mass": "公斤 1 千克 1 kg 1 公克 0.001 克 0.001 公噸 1000 吨 1000 噸 1000 斤 0.5 磅 0.45359237",
    "time": "小时 3600 小時 3600 分钟 60 分鐘 60 秒 1",
    "people": "人 1 名 1 位 1",
    "share": "% 1 ％ 1 ‰ 0.1",
    "degrees": "度 1 ° 1 ℃ 1 ℉ 0.5556",
}
"""Units by what they measure, each with how many of one base unit it is."""
_CURRENCIES = {
    "美元": "美元",
    "日元 日圆 日圓": "日元",
    "欧元 歐元": "欧元",
    "英镑 英鎊": "英镑",
    "港元 港币 港幣": "港元",
    "元 人民币 人民幣": "元",
}
_COUNTS = (
    "个百分点 個百分點 年代 世纪 世紀 个月 個月 年级 年級 年 月 天 周 週 岁 歲 个 個 座 次 种 種 条 條 "
    "层 層 届 屆 所 支 艘 架 部 首 家 间 間 倍 场 場 项 項 类 類 章 篇 幅 辆 輛 颗 顆 只 隻 张 張 站 户 戶 "
    "集 件 级 級 号 號 期 比"
)
_KNOWN = (
    {
        unit: Measure(dimension, dimension, Decimal(size))
        for dimension, units in _SIZES.items()
        for unit, size in zip(units.split()[::2], units.split()[1::2], strict=True)
    }
    | {
        name: Measure("money", base, Decimal(1))
        for names, base in _CURRENCIES.items()
        for name in names.split()
    }
    | {unit: Measure(unit, unit, Decimal(1)) for unit in _COUNTS.split()}
)
SHARE = _KNOWN["%"]
NOTHING = Measure("", "", Decimal(1))
"""Of a number that stands alone."""
MEASURES = "|".join(re.escape(unit) for unit in sorted(_KNOWN, key=len, reverse=True))
"""A pattern for all that is known, longest first."""


def is_measure(word: str) -> bool:
    """Whether a word behind a number is known to be its unit, or what it counts by."""
    return word.lower() in _KNOWN


def measure_of(word: str) -> Measure:
    """What the word behind a number makes of it; a word that is not known measures itself."""
    return _KNOWN.get(word.lower(), Measure(word, word, Decimal(1))) if word else NOTHING


_DIGITS = r"\d{1,3}(?:,\d{3}){1,5}(?:\.\d{1,6})?(?!\d)|\d{1,15}(?:\.\d{1,6})?"
_SMALL = r"(?:\d{1,2}|[一二三四五六七八九十]{1,3})"
_YEAR = r"(?:\d{3,4}|[〇零一二三四五六七八九]{4})"
_NAMED = r"\s?年(?![代级級]|的?[历歷]史|之久)"
_ANY = rf"(?![{''.join(sorted(STOP_CHARS))}])[{HAN}]"
_TO = r"\s?(?:[-–—~～]{1,2}|至|到)\s?"
_READ = re.compile(
    rf"""(?:(?P<before_christ>公元前|西元前|前(?=\d{{3}}))\s?)?(?<![\d,.])
        (?P<year>{_YEAR}|\d\d(?=年{_SMALL}月))(?:{_NAMED}|(?={_TO}(?:公元前|前)?{_YEAR}{_NAMED}))
        (?:\s?(?P<month>{_SMALL})\s?月)?(?:\s?(?P<day>{_SMALL})\s?[日号號])?
    |(?P<plain_year>(?<!\d)(?:1\d|20)\d\d)[-/.](?P<plain_month>\d{{1,2}})[-/.](?P<plain_day>\d{{1,2}})(?!\d)
    |(?<![\d,.])(?P<this_month>{_SMALL})\s?月(?:\s?(?P<this_day>{_SMALL})\s?[日号號])?
    |(?<![\d,.])(?P<only_day>\d{{1,2}})日
    |(?P<percent>百分之)?(?P<ordinal>第\s?)?
        (?P<number>(?<![\d.]){_DIGITS}|(?<![{HAN_NUMERALS}])[{HAN_NUMERALS}]{{1,20}})
        [多余餘几幾]?(?P<scale>[百千万萬亿億]{{0,3}})[多余餘]?\s?
        (?:(?={_TO}(?:{_DIGITS})[百千万萬亿億]{{0,3}}\s?(?P<shared>{MEASURES}|{_ANY}))
        |(?P<unit>{MEASURES}|{_ANY}))?""",
    re.VERBOSE | re.IGNORECASE,
)
_SCALES = {"百": 100, "千": 1000, "万": 10**4, "萬": 10**4, "亿": 10**8, "億": 10**8}
_ABOUT = re.compile(r"约|約|大概|左右|上下|接近|[将將]近")
_MORE = re.compile(r"超[过過]|逾|多于|至少|不[少低]于|高于|以上|突破|[多余餘几幾]")
_LESS = re.compile(r"不[到足]|近|[少低]于|以下|至多|不超[过過]")
_BEFORE, _AFTER = 4, 3
_OPEN = Decimal("0.99")
"""How far a "more than 20" reaches to 30, which it is not."""
_ROUND = 10**4
"""Values from here on are often rounded, to two digits at least, without a word that says so."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """The number at `start` to `end` of a text, in base units of what it measures.

    It is said of what is between `low` and `high`, the same value unless a word widens it ("over 30"); `half`
    is what rounding to its last digit moves a value by at most; `scaled` tells a "3万" from a "30000".
    """

    start: int
    end: int
    measure: Measure
    value: Decimal
    low: Decimal
    high: Decimal
    half: Decimal
    scaled: bool

    def rivals(self, other: Told) -> bool:
        """Whether the other one is about the same thing; where one is not told what it counts, whether
        both are so many ten thousands."""
        if not isinstance(other, Quantity):
            return False
        mine, its = self.measure.dimension, other.measure.dimension
        return mine == its if mine and its else self.scaled and other.scaled

    def held_by(self, other: Told) -> bool:
        """Whether the other one, of the same thing or of nothing named, bears this one out."""
        if not isinstance(other, Quantity):
            return False
        mine, its = self.measure.base, other.measure.base
        if mine and its and mine != its:
            return False
        rounded = self.low - self.half <= other.value <= self.high + self.half
        return rounded or other.low <= self.value <= other.high


@dataclass(frozen=True, slots=True)
class Date:
    """The date at `start` to `end` of a text: year, month and day, None where it doesn't say. A year before
    Christ is negative."""

    start: int
    end: int
    parts: tuple[int | None, int | None, int | None]

    def rivals(self, other: Told) -> bool:
        """Whether the other one says a part that this one says."""
        return isinstance(other, Date) and any(True for _ in self._both(other))

    def held_by(self, other: Told) -> bool:
        """Whether all that both say is the same; a number that stands alone, or counts years, may be one."""
        if isinstance(other, Quantity):
            return other.measure.dimension in ("", "年") and other.value == self.parts[0]
        return self.rivals(other) and all(_same(one, two) for one, two in self._both(other))

    def _both(self, other: Date) -> Iterator[tuple[int, int]]:
        for one, two in zip(self.parts, other.parts, strict=True):
            if one is not None and two is not None:
                yield one, two


Told = Quantity | Date


def read_quantities(text: str, start: int = 0, end: int | None = None) -> tuple[Told, ...]:
    """All in `text[start:end]`, in order. A numeral in characters counts where a measure follows. Linear."""
    matches = _READ.finditer(text, start, len(text) if end is None else end)
    found = (_date(match) or _quantity(text, match) for match in matches)
    return tuple(one for one in found if one is not None)


def _same(one: int, two: int) -> bool:
    """Also of a year and its last two digits."""
    return one == two or (min(one, two) >= 30 and min(one, two) == max(one, two) % 100)


def _date(match: re.Match[str]) -> Date | None:
    for names in (
        ("year", "month", "day"),
        ("plain_year", "plain_month", "plain_day"),
        ("this_month", "this_day"),
        ("only_day",),
    ):
        if match[names[0]]:
            year, month, day = (None, None, None, *(_whole(match[name]) for name in names))[-3:]
            before = match["before_christ"] is not None and year is not None
            return Date(match.start(), match.end(), (-year if before and year else year, month, day))
    return None


def _quantity(text: str, match: re.Match[str]) -> Quantity | None:
    number, unit = match["number"], match["shared"] or match["unit"] or ""
    digits = number[0].isdecimal()
    if not digits and not (match["percent"] or (is_measure(unit) and _counts(number, match["ordinal"]))):
        return None
    value = Decimal(number.replace(",", "")) if digits else han_value(number)
    if value is None:
        return None
    measure = SHARE if match["percent"] else measure_of(unit)
    if match["ordinal"]:
        measure = Measure(f"第{unit}", f"第{unit}", Decimal(1))
    value = Decimal(value)
    for scale in match["scale"]:
        value *= _SCALES[scale]
    around = text[max(0, match.start() - _BEFORE) : match.start()] + " "
    around += text[match.end("number") : match.end() + _AFTER]
    low, high = _range(value, around)
    size = measure.size
    spread = (low * size, high * size, _half(value) * size)
    return Quantity(match.start(), match.end(), measure, value * size, *spread, bool(match["scale"]))


def _counts(numeral: str, ordinal: str | None) -> bool:
    """Whether a numeral in characters is a count: "一个" is more often an article, "千年" a phrase."""
    return numeral.strip("百千万亿") != "" and (numeral != "一" or ordinal is not None)


def _range(value: Decimal, around: str) -> tuple[Decimal, Decimal]:
    """What a value is said of, by the words around it."""
    step = _step(value)
    if _ABOUT.search(around):
        return value - step / 2, value + step / 2
    if _LESS.search(around):
        return value - _OPEN * step, value
    if _MORE.search(around):
        return value, value + _OPEN * step
    return value, value


def _half(value: Decimal) -> Decimal:
    step = _step(value)
    large = value >= _ROUND and value > 10 * step
    return step / 2 if large or step < 1 else Decimal("0.5")


def _step(value: Decimal) -> Decimal:
    """One of the last digit that is not 0."""
    exponent = value.normalize().as_tuple().exponent
    return Decimal(1).scaleb(exponent if isinstance(exponent, int) else 0)


def _whole(number: str | None) -> int | None:
    if not number:
        return None
    return int(number) if number.isdecimal() else han_value(number)


_UNITS = ("年", "月", "日")
_DIGIT = re.compile(r"\d")


def respelt(claim: str, evidence: str) -> str:
    """The Chinese evidence with the claim's spelling of what bears it out: 17158人 where that says 约1.7万人.

    Whether a number bears another one out a rule tells exactly; a small model would have to guess. Only what
    counts or measures the same thing is respelt; a date keeps the parts that the claim does not name. Linear
    in the evidence for each of the claim's quantities.
    """
    claimed = read_quantities(claim)
    parts: list[str] = []
    end = 0
    for one in read_quantities(evidence) if claimed else ():
        spelling = _spelling(claim, claimed, one, evidence[one.start : one.end])
        if spelling and one.start >= end:
            parts += [evidence[end : one.start], spelling]
            end = one.end
    return "".join([*parts, evidence[end:]])


def _spelling(claim: str, claimed: Sequence[Told], told: Told, as_it_is: str) -> str | None:
    """How the claim would spell what the evidence has; None where that may stay."""
    for own in claimed:
        mine = claim[own.start : own.end]
        if isinstance(own, Date) and isinstance(told, Date):
            if own.parts == told.parts:
                return mine
            if own.held_by(told) and _DIGIT.search(mine) and not _DIGIT.search(as_it_is):
                return _in_digits(told)
        elif _measure_alike(own, told) and own.held_by(told):
            return mine
    return None


def _measure_alike(own: Told, told: Told) -> bool:
    if not isinstance(own, Quantity) or not isinstance(told, Quantity):
        return False
    return own.measure.base == told.measure.base != ""


def _in_digits(date: Date) -> str:
    found = "".join(
        f"{abs(part)}{unit}" for part, unit in zip(date.parts, _UNITS, strict=True) if part is not None
    )
    return f"公元前{found}" if (date.parts[0] or 0) < 0 else found
