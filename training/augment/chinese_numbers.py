"""What else a Chinese number, date or unit could be."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator

from training.augment.chinese_exchange import Exchange, any_of, quoted
from training.augment.chinese_measures import CLASSIFIERS, COUNTED, MEASURES, UNITS
from training.augment.chinese_text import foreign_script

_DATES = (
    (re.compile(r"(?<![\d.\-–—~～至到、])\d{3,4}(?=年(?![代级級份鉴鑑]))"), 1, 2020),
    (re.compile(r"(?<=年)\d{1,2}(?=月(?!份?[至到\-–—]))"), 1, 12),
    (re.compile(r"(?<=月)\d{1,2}(?=[日號号](?![至到\-–—]))"), 1, 28),
    (re.compile(r"(?<![\d\-–—~～至到、])\d{1,2}(?=世[纪紀])"), 1, 21),
)
_COUNTED = re.compile(
    rf"(?<![\d.,\-–—~～至到、第比:/A-Za-z])(?:\d{{1,3}}(?:,\d{{3}})+|\d{{1,7}}(?:\.\d{{1,3}})?)(?=[{CLASSIFIERS}]|{MEASURES})"
)
_WORDED = re.compile(
    rf"(?<![\d一二三四五六七八九十百千万萬两兩第数數几幾周週期初年同唯统統])"
    r"(?:[二三四五六七八九]?十[一二三四五六七八九]?|[二三四五六七八九]|[两兩])"
    rf"(?=[{COUNTED}](?![国國民地物员員]))"
)
_ORDINAL = re.compile(
    r"(?<=第)[一二三四五六七八九](?=[个個次届屆任座位名](?!世界|国共|國共|鸦片|鴉片|大战|大戰))"
)
_UNIT = re.compile(rf"(?<=\d)(?:{any_of(UNITS)})(?![一-鿿]?[/／]|每)")
_TRIES = 12


def numbers(claim: str, chance: random.Random) -> Iterator[Exchange]:
    """Counts, in figures or in words, and ordinals for others of the same shape."""
    if len(_COUNTED.findall(claim)) > 3:
        return  # such a sentence often adds them up
    for match in _COUNTED.finditer(claim):
        listed = claim.count("、") > 1 and len(match[0]) < 3
        if listed or quoted(claim, match.start()):
            continue
        after = claim[match.end() : match.end() + 1]
        for _ in range(_TRIES):
            new = _near(match[0], chance)
            if not (after in "%％" and float(new.replace(",", "")) > 100):
                yield Exchange("number", match[0] + after, new + after)
                break
    for pattern in (_WORDED, _ORDINAL):
        for match in pattern.finditer(claim):
            if claim.count("、") < 2 and not quoted(claim, match.start()):
                before = claim[match.start() - 1] if pattern is _ORDINAL else ""
                after = claim[match.end()]
                options = [n for n in _worded(match[0]) if n != match[0]]
                yield Exchange("number", before + match[0] + after, before + chance.choice(options) + after)


def dates(claim: str, chance: random.Random) -> Iterator[Exchange]:
    """Years, months, days and centuries for others near them."""
    for pattern, low, high in _DATES:
        for match in pattern.finditer(claim):
            own, after = int(match[0]), claim[match.end()]
            before = claim[match.start() - 1] if pattern.pattern.startswith("(?<=") else ""
            widest = 15 if high > 31 else 3 if high == 21 else 6
            options = [n for n in range(max(low, own - widest), min(high, own + widest) + 1) if n != own]
            if options and not quoted(claim, match.start()):
                for new in chance.sample(options, min(3, len(options))):
                    yield Exchange("date", before + match[0] + after, f"{before}{new}{after}")


def units(claim: str, chance: random.Random) -> Iterator[Exchange]:
    """A unit for another one of its group, behind the same number."""
    for match in _UNIT.finditer(claim):
        groups = [group for group in UNITS if match[0] in group and not foreign_script("".join(group), claim)]
        if groups:
            number = re.search(r"[\d.,]+\Z", claim[: match.start()])
            new = chance.choice([unit for unit in chance.choice(groups) if unit != match[0]])
            head = number[0] if number else ""
            yield Exchange("unit", head + match[0], head + new)


def years(sentences: Iterable[str]) -> list[str]:
    """The years that sentences name, as `1998年`."""
    return [f"{match[0]}年" for sentence in sentences for match in _DATES[0][0].finditer(sentence)]


def _worded(numeral: str) -> list[str]:
    if "十" in numeral:
        head, tail = numeral.split("十")
        tails = list("一二三四五六七八九") if tail else [""]
        heads = [head] if tail else list("二三四五六七八九")
        return (
            [f"{one}十{other}" for one in heads for other in tails] if head or tail else ["八", "九", "十二"]
        )
    return list("三四五六七八九") if numeral != "一" else list("二三四五")


def _near(number: str, chance: random.Random) -> str:
    """A number of the same shape: as many digits, the same zeros at its end, one digit or all changed."""
    digits = [at for at, char in enumerate(number) if char.isdigit()]
    tail = re.search(r"[0,]*\Z", number) if "." not in number else None
    significant = [at for at in digits if tail is None or at < tail.start()] or digits[:1]
    chosen = significant if chance.random() < 0.3 else [chance.choice(significant)]
    changed = list(number)
    for at in chosen:
        low = 1 if at == digits[0] or at == significant[-1] else 0
        changed[at] = str(chance.choice([digit for digit in range(low, 10) if str(digit) != number[at]]))
    return "".join(changed)
