"""Numbers and dates of an English text in another spelling: what stays true whatever the form."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence

from proxy.checkers.builtin.months import MONTHS
from proxy.checkers.builtin.numbers import ONES

_SMALL = (*ONES, "twenty")
_VALUES = {word: str(value) for value, word in enumerate(_SMALL)}
_MONTHS = "|".join(MONTHS)
_MONTH_DAY = re.compile(rf"\b({_MONTHS}) (\d{{1,2}}), (\d{{4}})\b,?")
_DAY_MONTH = re.compile(rf"\b(\d{{1,2}}) ({_MONTHS}) (\d{{4}})\b")
_GROUPED = re.compile(r"(?<![\w.,=])\d{1,3}(?:,\d{3})+(?![\w,]|\.\d)")
_PLAIN = re.compile(r"(?<![\w.,:/=$£€-])[1-9]\d{4,8}(?![\w:/%-]|[.,]\d)")
_MILLIONS = re.compile(r"(?<![\w.,])(\d{1,3}(?:\.\d{1,2})?) (million|billion)\b")
_WORD = re.compile(r"(?<![\w-])(" + "|".join(_SMALL[2:]) + r")(?= [a-z])")
_DIGITS = re.compile(r"(?<=[a-z] )(1?\d|20)(?= [a-z]{3,})(?! (?:million|billion|percent|per))")
_PERCENT = re.compile(r"(?<=\d) per ?cent\b")
_SIGN = re.compile(r"(?<=\d)%")

Respelling = tuple[re.Pattern[str], Callable[[re.Match[str]], str]]


def _spelt_out(match: re.Match[str]) -> str:
    """5.9 million as 5,900,000."""
    whole, _, part = match[1].partition(".")
    zeros = 6 if match[2] == "million" else 9
    return f"{int(whole + part.ljust(zeros, '0')):,}"


_RESPELLINGS: Sequence[Respelling] = (
    (_MONTH_DAY, lambda match: f"{match[2]} {match[1]} {match[3]}"),
    (_DAY_MONTH, lambda match: f"{match[2]} {match[1]}, {match[3]}"),
    (_GROUPED, lambda match: match[0].replace(",", "")),
    (_PLAIN, lambda match: f"{int(match[0]):,}"),
    (_MILLIONS, _spelt_out),
    (_WORD, lambda match: _VALUES[match[1]]),
    (_DIGITS, lambda match: _SMALL[int(match[1])]),
    (_PERCENT, lambda match: "%"),
    (_SIGN, lambda match: " percent"),
)


def respelled(sentence: str, chance: random.Random) -> str:
    """The sentence with one of its numbers or dates in another spelling; itself where it has none."""
    found = [
        (match, spell) for pattern, spell in _RESPELLINGS for match in pattern.finditer(sentence) if match[0]
    ]
    if not found:
        return sentence
    match, spell = chance.choice(found)
    return sentence[: match.start()] + spell(match) + sentence[match.end() :]
