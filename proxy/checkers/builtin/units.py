"""The units of an English text's numbers, and whether an evidence has a claim's number in another unit.

Word overlap sees an exchanged unit as one common word missing among many.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from proxy.checkers.builtin.conflicts import Conflict
from proxy.checkers.builtin.numbers import agrees
from proxy.checkers.builtin.tokens import Token

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
