"""Whether an evidence has another month where an English claim has its own: "May" is a common word, too."""

from __future__ import annotations

import re
from dataclasses import dataclass

from proxy.checkers.builtin.conflicts import Conflict

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
