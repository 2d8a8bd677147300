"""Numbers as values, so that "1,000", "one thousand", "1000" and "一千" are one and the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal

Ones = Mapping[str, int]
"""Words or characters and the number that each stands for."""

ONES: Ones = {
    word: value
    for value, word in enumerate(
        """
            zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
            sixteen seventeen eighteen nineteen
        """.split()
    )
}
_TENS: Ones = {
    word: 10 * value
    for value, word in enumerate(
        """
        twenty thirty forty fifty sixty seventy eighty ninety
    """.split(),
        2,
    )
}
_SCALES: Ones = {
    "hundred": 100,
    "thousand": 10**3,
    "million": 10**6,
    "billion": 10**9,
    "trillion": 10**12,
    "万": 10**4,
    "亿": 10**8,
    "萬": 10**4,
    "億": 10**8,
}
_ORDINALS: Ones = {
    word: value
    for value, word in enumerate(
        """
            third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth
            fifteenth sixteenth seventeenth eighteenth nineteenth twentieth
        """.split(),
        3,
    )
}
_HAN_DIGITS: Ones = {**{char: value for value, char in enumerate("零一二三四五六七八九")}, "〇": 0, "两": 2}
_HAN_UNITS: Ones = {"十": 10, "百": 100, "千": 1000}
_HAN_SCALES: Ones = {"万": 10**4, "亿": 10**8}
_LARGE = 6
"""Length of the key of the shortest number that may be a rounded one: five digits, more than a year has."""
_LONGEST = 30
"""Digits of the longest number that is read as a value; a longer one is compared as it is written."""

NUMBER_WORDS = frozenset({**ONES, **_TENS, **_SCALES, **_ORDINALS})
HAN_NUMERALS = "".join({**_HAN_DIGITS, **_HAN_UNITS, **_HAN_SCALES})


def number_key(digits: str) -> str:
    """The key of a number in digits: `#` and its plain decimal value ("1,000.50" -> "#1000.5").

    Decimal digits of every script are read. A number of more than 30 characters stays as it is written.
    """
    if len(digits) > _LONGEST:
        return "#" + digits
    return _key(Decimal(digits.replace(",", "")))


def han_value(numeral: str) -> int | None:
    """The value of a Chinese numeral ("三百二十" -> 320, "二〇一九" -> 2019), None where it is not one."""
    if not numeral or len(numeral) > _LONGEST:
        return None
    if all(char in _HAN_DIGITS for char in numeral):
        return int("".join(str(_HAN_DIGITS[char]) for char in numeral))
    total = section = digit = 0
    for char in numeral:
        if char in _HAN_DIGITS:
            if digit:
                return None
            digit = _HAN_DIGITS[char]
        elif char in _HAN_UNITS:
            section += (digit or 1) * _HAN_UNITS[char]
            digit = 0
        else:
            section += digit
            if not (section or total):
                return None
            total = (total + section) * _HAN_SCALES[char]
            section = digit = 0
    return total + section + digit


def read_number(words: Sequence[str]) -> tuple[str, int] | None:
    """The number that starts a list of lower-case words or `#` keys, as its key and how many words it takes.

    "twenty one", "3 million" and "two hundred thousand" are one number each; "one" alone is none, since it is
    a pronoun more often. None where no number starts here.
    """
    first = words[0]
    if first in _ORDINALS:
        return _key(Decimal(_ORDINALS[first])), 1
    taken = 1
    if first in _TENS:
        value = Decimal(_TENS[first])
        if len(words) > 1 and 0 < ONES.get(words[1], 0) < 10:
            value, taken = value + ONES[words[1]], 2
    elif first in ONES:
        value = Decimal(ONES[first])
    elif first.startswith("#") and len(first) <= _LONGEST:
        value = Decimal(first[1:])
    else:
        return None
    while taken < len(words) and words[taken] in _SCALES and abs(value) < 10**_LONGEST:
        value, taken = value * _SCALES[words[taken]], taken + 1
    return None if first == "one" and taken == 1 else (_key(value), taken)


def agrees(claimed: str, found: str) -> bool:
    """Whether the number `found` bears out the number `claimed`: both are `#` keys, perhaps ending in `s`.

    Equal values do; a decade ("#1990s") holds its years; a value with decimals bears out its rounding, and a
    value over ten thousand its first digits.
    """
    if claimed == found:
        return True
    if claimed.endswith("s"):
        return found[:-1] == claimed[:-2] and len(found) == len(claimed) - 1
    if _rounds(claimed, found):
        return True
    if "." not in found or found.endswith("s") or max(len(claimed), len(found)) > _LONGEST:
        return False
    decimals = len(claimed.partition(".")[2])
    return len(claimed) > 2 and round(Decimal(found[1:]), decimals) == Decimal(claimed[1:])


def _rounds(claimed: str, found: str) -> bool:
    """Whether a large `claimed` number is `found` rounded to two digits or more."""
    digits = claimed[1:].rstrip("0")
    if not (claimed[1:].isdecimal() and found[1:].isdecimal()):
        return False
    if len(claimed) < _LARGE or len(found) != len(claimed) or not 2 <= len(digits) < len(claimed) - 1:
        return False
    return round(int(found[1:]), len(digits) - len(claimed) + 1) == int(claimed[1:])


def _key(value: Decimal) -> str:
    text = f"{value:f}"
    return "#" + (text.rstrip("0").rstrip(".") if "." in text else text)
