"""Details of a claim that the evidence has otherwise.

Chinese quantities and dates, English months ("May" is a common word, too), the units of English numbers, and
the numbers or names that evidence has in place of a claim's. Word overlap sees an exchanged unit or number
as one common word that is missing among many.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile
from typing import Protocol

from proxy.checkers.builtin.numbers import agrees
from proxy.checkers.builtin.quantities import Told, read_quantities
from proxy.checkers.builtin.tokens import Token
from proxy.checkers.builtin.word_lists import STOP_CHARS

_CLAUSE_END = re.compile(r"[，。；！？：、,;!?:\n（）()]")
_LONGEST = 60
"""Code points of a clause that are looked at on either side of a number."""
_LEAST = 3
"""Pairs of characters that a clause must have to tell a number's place."""
_HERE, _ELSEWHERE = 0.6, 0.1
"""Shares of them that the clause of the other number has at least, and that of the same number at most."""


class Placed(Protocol):
    """What stands at `start` to `end` of a text."""

    @property
    def start(self) -> int: ...

    @property
    def end(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Conflict:
    """What a claim says, and what its evidence has `instead`, in the order of the text."""

    claimed: Placed
    instead: tuple[Placed, ...]


def conflict(claim: str, evidence: str, told: Sequence[Told]) -> Conflict | None:
    """The first quantity or date of a claim that the evidence has otherwise; `told` are the evidence's.

    Either it has some of the same kind and none that bears the claim's out, or one that does stands in a
    clause about something else, and another one in the claim's own. None where there is none: what the
    evidence is silent on is no conflict.
    """
    for claimed in read_quantities(claim) if told else ():
        bearing = [one for one in told if claimed.held_by(one)]
        rivals = [one for one in told if claimed.rivals(one) and one not in bearing]
        if bearing and rivals:
            rivals = list(_in_its_place(claim, claimed, evidence, bearing, rivals))
        if rivals:
            return Conflict(claimed, tuple(rivals))
    return None


def _in_its_place(
    claim: str, claimed: Told, evidence: str, bearing: Sequence[Told], rivals: Sequence[Told]
) -> Iterator[Told]:
    """The rivals whose clause is the claim's, where that of no number that bears it out is."""
    own = _clause(claim, claimed)
    if len(own) < _LEAST:
        return
    shares = [len(own & _clause(evidence, one)) / len(own) for one in bearing]
    if max(shares) <= _ELSEWHERE:
        yield from (one for one in rivals if len(own & _clause(evidence, one)) / len(own) >= _HERE)


def _clause(text: str, told: Told) -> frozenset[tuple[str, str]]:
    """The neighbouring characters on either side of a number, as far as its clause goes."""
    before = _CLAUSE_END.split(text[max(0, told.start - _LONGEST) : told.start])[-1]
    after = _CLAUSE_END.split(text[told.end : told.end + _LONGEST], maxsplit=1)[0]
    return frozenset(
        pair
        for part in (before, after)
        for pair in pairwise([one for one in part if one not in STOP_CHARS and not one.isspace()])
    )


MONTHS = tuple(
    "January February March April May June July August September October November December".split()
)
_NUMBERS = {name[:3].lower(): number for number, name in enumerate(MONTHS, 1)}
_MONTH = (
    r"(?P<month>Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?"
    r"|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)\b"
)
_ANY = re.compile(rf"\b{_MONTH}")
_DATED = re.compile(
    rf"\b(?:\d{{1,2}}(?:st|nd|rd|th)?\s(?:of\s)?)?{_MONTH}\.?,?\s"
    r"(?:\d{1,2}(?:st|nd|rd|th)?,?\s)?(?:of\s)?(?P<year>1\d{3}|20\d{2})\b"
)


@dataclass(frozen=True, slots=True)
class Dated:
    """A month of a year, with the day if one is said, at `start` to `end` of a text."""

    start: int
    end: int
    month: int
    year: int


def read_months(text: str, start: int = 0, end: int | None = None) -> list[Dated]:
    """All in `text[start:end]`, in order. Linear."""
    return [
        Dated(match.start(), match.end(), _number(match), int(match["year"]))
        for match in _DATED.finditer(text, start, len(text) if end is None else end)
    ]


def exchanged_month(claim: str, evidence: str, start: int, end: int) -> Conflict | None:
    """The first month of a claim whose year `evidence[start:end]` has with other months, and which it does
    not have itself, with or without a year."""
    said = read_months(evidence, start, end)
    named = {_number(match) for match in _ANY.finditer(evidence, start, end)} if said else set()
    for one in read_months(claim) if said else ():
        same = [other for other in said if other.year == one.year]
        if same and one.month not in named:
            return Conflict(one, tuple(same))
    return None


def _number(match: re.Match[str]) -> int:
    return _NUMBERS[match["month"][:3].lower()]


_UNITS = {
    "length": "metre meter metres meters m|kilometre kilometer kilometres kilometers km|mile miles mi|"
    "foot feet ft|yard yards yd|inch inches|centimetre centimeter centimetres centimeters cm|"
    "millimetre millimeter millimetres millimeters mm|nautical",
    "mass": "kilogram kilograms kilo kilos kg|gram grams g|pound pounds lb lbs|tonne tonnes|ton tons|"
    "ounce ounces oz|milligram milligrams mg",
    "temperature": "celsius centigrade °c|fahrenheit °f|kelvin kelvins",
    "time": "second seconds sec secs|minute minutes min mins|hour hours hr hrs|day days|week weeks|"
    "month months|year years|decade decades|century centuries",
    "speed": "mph|km/h kph kmh|knot knots",
    "area": "acre acres|hectare hectares ha",
    "volume": "litre liter litres liters|gallon gallons|millilitre milliliter millilitres milliliters ml|"
    "barrel barrels|pint pints",
    "power": "watt watts|kilowatt kilowatts kw|megawatt megawatts mw|gigawatt gigawatts gw",
    "data": "kilobyte kilobytes kb|megabyte megabytes mb|gigabyte gigabytes gb|terabyte terabytes tb",
    "money": "dollar dollars usd $|euro euros eur €|sterling gbp £|yen jpy ¥|rupee rupees ₹|yuan renminbi|"
    "cent cents",
}
_KNOWN = {
    word: (dimension, group.split()[0])
    for dimension, groups in _UNITS.items()
    for group in groups.split("|")
    for word in group.split()
}
_BEHIND = re.compile(
    r"[\s\u00a0-]{0,2}(?:degrees?\s)?(km/h|°[CF]|pounds?\ssterling|[^\W\d_]+)", re.IGNORECASE
)
_SIGN = re.compile(r"[$€£¥₹](?=\s?$)")


@dataclass(frozen=True, slots=True)
class Measured:
    """A number and its unit at `start` to `end` of a text; units of one `dimension` measure the same."""

    start: int
    end: int
    number: str
    dimension: str
    unit: str


def read_units(text: str, tokens: Sequence[Token]) -> Iterator[Measured]:
    """The numbers among a text's tokens that a unit stands at, in order."""
    for token in tokens:
        if token.kind != "number":
            continue
        if sign := _SIGN.search(text, max(0, token.start - 2), token.start):
            yield Measured(sign.start(), token.end, token.key, *_KNOWN[sign[0]])
        elif (behind := _BEHIND.match(text, token.end)) and (
            known := _KNOWN.get(behind[1].lower().split()[-1])
        ):
            yield Measured(token.start, behind.end(), token.key, *known)


def exchanged_unit(
    claim: str, claimed: Sequence[Token], evidence: str, said: Sequence[Token]
) -> Conflict | None:
    """The first number of a claim that the evidence has in another unit of the same kind, and never in the
    claim's: "330 feet" for "330 metres". None where there is none; units are not converted."""
    own = list(read_units(claim, claimed))
    theirs = list(read_units(evidence, said)) if own else []
    for one in own:
        same = [
            other for other in theirs if other.dimension == one.dimension and agrees(one.number, other.number)
        ]
        if same and all(other.unit != one.unit for other in same):
            return Conflict(one, tuple(same))
    return None


_SLACK = 4
_NEIGHBOURS = 2
_SPELLING = 3
"""Letters at the start that make two names spellings of one: "Hickam" and "Hickman" are no conflict."""
_HEDGES = frozenset(
    "about around more less fewer than least most over under nearly almost roughly up".split()
)


def rival_number(
    claim: Sequence[Token], lost: Sequence[int], window: Sequence[Token]
) -> tuple[int, Token] | None:
    """The index of the claim's one lost number, and the other number that the window has in its place.

    None where several are lost, or a hedge stands before it; a year is only held against a year.
    """
    numbers = [at for at in lost if claim[at].kind == "number"]
    if len(numbers) != 1:
        return None
    (at,) = numbers
    if any(token.key in _HEDGES for token in claim[max(0, at - 3) : at]):
        return None
    rival = in_place(claim, at, at + 1, window)
    return (at, rival) if rival and _is_year(claim[at]) == _is_year(rival) else None


def rival_name(
    claim: Sequence[Token], lost: Sequence[int], window: Sequence[Token]
) -> tuple[int, int, Token] | None:
    """The run of the claim's lost names, by its first index and that after its last, and the other name that
    the window has in its place.

    None where they stand in several places, or where the two may be spellings of one.
    """
    names = [at for at in lost if claim[at].kind == "name"]
    if not names or names != list(range(names[0], names[-1] + 1)):
        return None
    rival = in_place(claim, names[0], names[-1] + 1, window)
    if rival is None or rival.key[:_SPELLING] == claim[names[0]].key[:_SPELLING]:
        return None
    return names[0], names[-1] + 1, rival


def in_place(claim: Sequence[Token], start: int, end: int, window: Sequence[Token]) -> Token | None:
    """The token that the window has, and the claim has not, where the claim has `claim[start:end]`.

    It is of the same kind, and two neighbours agree: two before, two after, or one on either side.
    """
    left = [token.key for token in claim[max(0, start - 2) : start]]
    right = [token.key for token in claim[end : end + 2]]
    own = {token.key for token in claim}
    for at, token in enumerate(window):
        if token.kind != claim[start].kind or token.key in own:
            continue
        last = at
        while last + 1 < min(len(window), at + _SLACK) and window[last + 1].kind == token.kind:
            last += 1
        before = _agreeing(left[::-1], [other.key for other in reversed(window[max(0, at - 2) : at])])
        after = _agreeing(right, [other.key for other in window[last + 1 : last + 3]])
        if before + after >= _NEIGHBOURS:
            return token
    return None


def _agreeing(one: Sequence[str], other: Sequence[str]) -> int:
    """How many keys two lists have in common from their start."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _is_year(token: Token) -> bool:
    """Whether a number may be a year or a decade."""
    digits = token.key[1:].removesuffix("s")
    return len(digits) == 4 and digits[0] in "12"
