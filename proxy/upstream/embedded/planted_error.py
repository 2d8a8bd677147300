"""Plants one error in a text, so that a demo can show how a claim fails and is corrected."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from proxy.text.scripts import language_of

T = TypeVar("T")

LATEST_YEAR = 2025
_TRIES = 60
_NEAR = 80

_NUMBER = re.compile(
    r"(?<![A-Za-z0-9_.,/\-–—])(?:\d{1,3}(?:,\d{3}){1,4}|\d{1,15})(?:\.\d{1,6})?(?![A-Za-z0-9_/]|[.,:\-–—]\d)"
)
_YEAR = re.compile(r"1\d{3}|20[0-2]\d")
_WORDS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_WORD = re.compile(rf"\b(?:{'|'.join(_WORDS)})\b", re.IGNORECASE)
_HAN_DIGITS = "二三四五六七八九"
_HAN = re.compile(
    r"(?<![〇零一二两三四五六七八九十百千万亿])[〇零一二两三四五六七八九十百千万亿]{1,12}"
    r"(?=年|月|日|个|位|座|米|公里|岁|世纪|次|种|名|条|层|倍|人|吨|度|小时|天|部|届|章|大|平方)"
)
_MONTH = re.compile(
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December)"
)
_NAME = re.compile(r"(?<=[a-z,;] )[A-Z][a-zé]{2,20}(?: [A-Z][a-zé]{2,20}){0,3}")


@dataclass(frozen=True, slots=True)
class _Change:
    start: int
    end: int
    new: str


def plant(
    text: str, *, evidence: Sequence[str], subjects: Sequence[str], others: Sequence[str], seed: str
) -> str:
    """The text with one wrong statement. The same seed plants the same error.

    Tried in this order: a year, then another number, is replaced by one of its kind that is not in `evidence`
    (the passages' texts). One of `subjects` (names that the text is about), or else another proper name, is
    replaced by one of `others` (unrelated names). A sentence with an invented year is added.
    """
    chance = random.Random(seed)
    known = "\n".join(evidence)
    for changes in (_years, _quantities, partial(_names, subjects, others)):
        possible = list(changes(text, known, chance))
        if possible:
            change = chance.choice(possible)
            return text[: change.start] + change.new + text[change.end :]
    return text + _invented(text, known, chance)


def _years(text: str, known: str, chance: random.Random) -> Iterator[_Change]:
    """Years some decades off, each on its side of the years around it: nobody dies before their birth."""
    years = [match for match in _NUMBER.finditer(text) if _YEAR.fullmatch(match.group())]
    for match in years:
        old = int(match.group())
        others = [int(year.group()) for year in years if abs(year.start() - match.start()) < _NEAR]
        fitting = [
            year
            for year in (*range(old - 37, old - 5), *range(old + 6, min(old + 37, LATEST_YEAR) + 1))
            if all((old > other) == (year > other) for other in others if other != old)
        ]
        yield from _first_unknown(match, map(str, _shuffled(fitting, chance)), known)


def _quantities(text: str, known: str, chance: random.Random) -> Iterator[_Change]:
    for match in _NUMBER.finditer(text):
        yield from _first_unknown(match, _other_numbers(match, text, chance), known)
    for match in _WORD.finditer(text):
        old = match.group()
        words = [word.capitalize() if old[0].isupper() else word for word in _WORDS if word != old.lower()]
        yield from _first_unknown(match, _shuffled(words, chance), known)
    for match in _HAN.finditer(text):
        yield from _first_unknown(match, _other_han(match.group(), chance), known)


def _names(
    subjects: Sequence[str], others: Sequence[str], text: str, known: str, chance: random.Random
) -> Iterator[_Change]:
    foreign = [name for name in others if language_of(name) == language_of(text)]
    inside = [re.compile(re.escape(name)) for name in subjects if name in text]
    for pattern in inside or [_NAME]:
        for match in pattern.finditer(text):
            if foreign:
                yield _Change(match.start(), match.end(), chance.choice(foreign))


def _first_unknown(
    match: re.Match[str], candidates: Iterator[str] | Sequence[str], known: str
) -> Iterator[_Change]:
    for new, _ in zip(candidates, range(_TRIES), strict=False):
        if new != match.group() and not _holds(known, new):
            yield _Change(match.start(), match.end(), new)
            return


def _holds(known: str, value: str) -> bool:
    """Whether the evidence has that very value, not as a part of a longer one."""
    return re.search(rf"(?<![A-Za-z0-9]){re.escape(value)}(?![A-Za-z0-9])", known, re.IGNORECASE) is not None


def _other_numbers(match: re.Match[str], text: str, chance: random.Random) -> Iterator[str]:
    """Numbers of the same size and form; a percentage stays under 100, a day of a month under 29."""
    whole, point, decimals = match.group().partition(".")
    old = int(whole.replace(",", ""))
    around = text[max(0, match.start() - 12) : match.start()], text[match.end() : match.end() + 12]
    if old <= 31 and any(_MONTH.search(side) for side in around):
        low, high = 1, 28
    elif re.match(r" ?%|％| per ?cent", around[1]) and old <= 100:
        low, high = 2, 99
    else:
        low, high = (2, 9) if old < 10 else (max(2, old // 3), old * 2)
    show: Callable[[int], str] = (lambda value: f"{value:,}") if "," in whole else str
    for _ in range(_TRIES):
        new = chance.randint(low, high)
        # A number that is merely close would be a rounding, not an error.
        if abs(new - old) * 5 >= old:
            yield show(_as_round_as(old, new)) + point + decimals


def _as_round_as(old: int, new: int) -> int:
    """`new` with as many zeros at the end as `old`, where that leaves something of it."""
    zeros = len(str(old)) - len(str(old).rstrip("0")) if old else 0
    unit: int = 10**zeros
    return max(1, round(new / unit)) * unit


def _other_han(old: str, chance: random.Random) -> Iterator[str]:
    """The numeral with another digit; a bare 十 becomes 十 and a digit."""
    digits = (index for index, char in enumerate(old) if char in _HAN_DIGITS or char == "两")
    place = max(digits, default=None)
    for digit in _shuffled(_HAN_DIGITS, chance):
        if place is not None:
            yield old[:place] + digit + old[place + 1 :]
        elif old == "十":
            yield old + digit


def _invented(text: str, known: str, chance: random.Random) -> str:
    years = [str(year) for year in _shuffled(range(1201, 1990), chance)]
    year = next((year for year in years if not _holds(known, year)), years[0])
    if language_of(text) == "zh":
        return f"最早的相关记载见于{year}年。"
    return f" The earliest record of it dates from {year}."


def _shuffled(values: Sequence[T], chance: random.Random) -> list[T]:
    return chance.sample(values, len(values))
