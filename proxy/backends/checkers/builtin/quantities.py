"""The quantities and dates of a Chinese text, and whether an evidence has another one where a claim has its own.

Word overlap sees an exchanged year as one missing token among many, and a short claim that words things its
own way as well said but for that. So what a number counts is read too: "1995年" stands against "1987年12月".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

from proxy.backends.checkers.builtin.measures import EXACT, MEASURES, dimension_of
from proxy.backends.checkers.builtin.numbers import HAN_NUMERALS, han_value

_DIGITS = r"\d{1,3}(?:,\d{3})+(?:\.\d{1,6})?(?!\d)|\d{1,15}(?:\.\d{1,6})?"
_SMALL = r"(?:\d{1,2}|[一二三四五六七八九十]{1,3})"
_TO = r"\s?(?:[-–—~～]{1,2}|至|到)\s?"
_YEAR = r"\d{3,4}|[〇零一二三四五六七八九]{4}"
_READ = re.compile(
    rf"""(?P<bc>公元前|西元前|前(?=\d{{3}}))?(?:(?<!\d)
        (?P<year>{_YEAR}|\d\d(?=年{_SMALL}月))(?:\s?年(?![代级級])|(?={_TO}(?:前|公元前)?(?:{_YEAR})年(?![代级級])))
        (?:\s?(?P<month>{_SMALL})\s?月)?(?:\s?(?P<day>{_SMALL})\s?[日号號])?
    |(?P<iso>(?:1\d|20)\d\d)[-/.](?P<iso_month>\d{{1,2}})[-/.](?P<iso_day>\d{{1,2}})(?!\d)
    |(?P<lone_month>{_SMALL})\s?月(?:\s?(?P<lone_day>{_SMALL})\s?[日号號])?
    |(?P<only_day>{_SMALL})日(?![本元圆圓]))
    |(?P<percent>百分之)?(?P<ordinal>第\s?)?
        (?P<number>{_DIGITS}|(?<![{HAN_NUMERALS}])[{HAN_NUMERALS}]{{1,20}})
        (?P<odd>[多余餘几幾])?(?P<scale>[百千万萬亿億]{{0,3}})(?P<over>[多余餘])?\s?
        (?P<end>{_TO}(?={_DIGITS}))?(?P<unit>{MEASURES}|[\u4e00-\u9fff])?""",
    re.VERBOSE | re.IGNORECASE,
)
_SCALES = {"百": 100, "千": 1000, "万": 10**4, "萬": 10**4, "亿": 10**8, "億": 10**8}
_ABOUT = re.compile(r"(?:约|約|大概|左右|上下|接近|将近|將近)")
_MORE = re.compile(r"(?:超过|超過|逾|多于|至少|不少于|不低于|高于|以上|突破)")
_LESS = re.compile(r"(?:不到|不足|近|少于|低于|以下|至多|不超过|不超過)")
_BEFORE, _AFTER = 4, 2
_ROUND = Decimal(10**4)
"""Values from here on are often rounded without a word that says so."""
_FAR = Decimal("1.5")
"""How many times as much "more than" may mean."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number at `start` to `end` of a text and what it counts; `dimension` is "" where nothing follows it.

    It holds of values from `low` to `high`: the same one, unless it is rounded or said to be about that.
    """

    start: int
    end: int
    dimension: str
    value: Decimal
    low: Decimal
    high: Decimal

    def rivals(self, other: Reading) -> bool:
        """Whether the other one counts the same thing."""
        return isinstance(other, Quantity) and self.dimension == other.dimension

    def holds(self, other: Reading) -> bool:
        """Whether the other one, of the same thing or of nothing named, bears this one out."""
        if not isinstance(other, Quantity) or other.dimension not in ("", self.dimension):
            return False
        return self.low <= other.value <= self.high or other.low <= self.value <= other.high


@dataclass(frozen=True, slots=True)
class Date:
    """A date at `start` to `end` of a text as year, month and day, None where it does not say; a year before
    Christ is negative."""

    start: int
    end: int
    parts: tuple[int | None, int | None, int | None]

    def rivals(self, other: Reading) -> bool:
        """Whether the other date says any of the parts that this one says."""
        return isinstance(other, Date) and any(self._shared(other))

    def holds(self, other: Reading) -> bool:
        """Whether no part that both say differs, and there is one; or a bare number is the year."""
        if isinstance(other, Quantity):
            return other.dimension == "" and other.value == self.parts[0]
        return all(self._shared(other, differing=True)) and self.rivals(other)

    def _shared(self, other: Date, *, differing: bool = False) -> Iterator[bool]:
        for at, (one, two) in enumerate(zip(self.parts, other.parts, strict=True)):
            if one is not None and two is not None:
                yield not differing or one == two or (at == 0 and _short(one, two))


Reading = Quantity | Date


def read_quantities(text: str) -> tuple[Reading, ...]:
    """All of a text, in order. A numeral in characters counts where a measure follows. Linear."""
    return tuple(read for match in _READ.finditer(text) if (read := _read(text, match)) is not None)


def otherwise(claimed: Sequence[Reading], said: Sequence[Reading]) -> tuple[Reading, Sequence[Reading]] | None:
    """The first that the evidence has otherwise, and what it has: of the same kind, and none bears it out.

    None where there is none; a quantity that the evidence says nothing like is no conflict.
    """
    for one in claimed:
        rivals = [other for other in said if one.rivals(other)]
        if rivals and not any(one.holds(other) for other in said):
            return one, rivals
    return None
