"""Exchanges one value of a Chinese text for another of its kind: number, date, unit, name, place."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

from evaluation.made.chinese.names import FOREIGN, NOT_A_PLACE_BEFORE, PLACES, WORK, Stock, sort_of_mention
from evaluation.made.chinese.script import foreign_script, traditional, value, values

Kind = Literal["number", "date", "unit", "name", "place"]


@dataclass(frozen=True, slots=True)
class Exchange:
    """`old` for `new`, wherever it stands. `subject`: it names what the passage is about."""

    kind: Kind
    old: str
    new: str
    subject: bool = False

    def apply(self, text: str) -> str:
        """`text` with every mention exchanged."""
        return text.replace(self.old, self.new)


def quoted(text: str, position: int) -> bool:
    """Whether a title in 《》 or a quotation is open at `at`."""
    return any(
        text.count(mark, 0, position) > text.count(end, 0, position)
        for mark, end in ("《》", "「」", "“”", "『』")
    )


def any_of(groups: Iterable[Sequence[str]]) -> str:
    """A pattern for any word of the groups, the longest first."""
    return "|".join(sorted({word for group in groups for word in group}, key=lambda word: (-len(word), word)))


UNITS = tuple(
    group.split()
    for group in (
        "公里 米 英里",
        "公里 公尺 英里",
        "平方公里 平方米 公顷",
        "平方公里 平方公尺 公頃",
        "公斤 克 吨",
        "公斤 公克 公噸",
        "小时 分钟",
        "小時 分鐘",
        "万 亿",
        "萬 億",
        "美元 日元 欧元 英镑 港元",
        "美元 日圓 歐元 英鎊 港幣",
        "毫米 厘米",
        "毫米 公分",
    )
)

CLASSIFIERS = (
    "个個座名位人次种種条條层層届屆所支艘架部首家间間天岁歲倍场場项項类類期章篇幅辆輛颗顆只隻张張枚站户戶集"
)

COUNTED = "个個座名位人次种種条條层層所艘间間岁歲倍场場项項类類辆輛颗顆隻张張家"
"""What a number in words stands before and means a count."""

MEASURES = (
    " "
    "平方公里|平方公尺|平方米|公里|公尺|英里|海里|公顷|公頃|公斤|公克|公噸|毫米|厘米|公分|英尺|英寸|吨|噸|米|克|秒|"
    "小时|小時|分钟|分鐘|美元|日元|日圓|欧元|歐元|英镑|英鎊|港元|港幣|元|万|萬|亿|億|%|％|°|多"
)


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
            [f"{first}十{other}" for first in heads for other in tails]
            if head or tail
            else ["八", "九", "十二"]
        )
    return list("三四五六七八九") if numeral != "一" else list("二三四五")


def _near(number: str, chance: random.Random) -> str:
    """A number of the same shape: as many digits, the same zeros at its end, one digit or all changed."""
    digits = [index for index, char in enumerate(number) if char.isdigit()]
    tail = re.search(r"[0,]*\Z", number) if "." not in number else None
    significant = [index for index in digits if tail is None or index < tail.start()] or digits[:1]
    chosen = significant if chance.random() < 0.3 else [chance.choice(significant)]
    changed = list(number)
    for position in chosen:
        low = 1 if position == digits[0] or position == significant[-1] else 0
        changed[position] = str(
            chance.choice([digit for digit in range(low, 10) if str(digit) != number[position]])
        )
    return "".join(changed)


_Finder = Callable[[str, str, Stock, random.Random, str], Iterator[Exchange]]
"""The exchanges in a claim, by its title, what the corpus offers, and its evidence."""

_PLACE = re.compile(rf"(?:{any_of(PLACES)})(?![{NOT_A_PLACE_BEFORE}])")
_NO_PLACE_AFTER = "东東西南北欧歐英美中"
_SPAN = re.compile(
    r"(?:前后|前後|历时|歷時|长达|長達|为期|為期|享年|时年|時年|年仅|年僅)"
    r"|[\d一二三四五六七八九十][岁歲]|共[\d一二三四五六七八九十]+年"
)


def exchanges(
    claim: str, evidence: str, title: str, kind: Kind, offered: Stock, chance: random.Random
) -> Iterator[Exchange]:
    """What can be exchanged in a claim, in random order: what is put in is nowhere in the evidence.

    A claim in which the old value would live on, or contradict the new one, is passed over.
    """
    candidates = list(_FINDERS[kind](claim, title, offered, chance, evidence))
    chance.shuffle(candidates)
    known = values(evidence + claim)
    for exchange in candidates:
        numeric = kind in ("number", "date")
        number = re.sub(r"[^\d.,一二三四五六七八九十两兩]", "", exchange.new)
        if (value(number) in known) if numeric else (exchange.new in evidence or exchange.new in title):
            continue
        if _consistent(exchange, claim):
            yield exchange


def revised(exchange: Exchange, evidence: str) -> bool:
    """Whether evidence can be exchanged in too: nothing of the old value is left, years keep their order."""
    changed = exchange.apply(evidence)
    if exchange.kind in ("number", "date") and values(exchange.old) & values(changed):
        return False
    return _consistent(exchange, evidence) and _order(evidence) == _order(changed)


def _consistent(exchange: Exchange, claim: str) -> bool:
    """Whether nothing is left of the old value, and years still follow each other as they did."""
    changed = exchange.apply(claim)
    if changed == claim or exchange.old in changed:
        return False
    if exchange.kind == "date":
        if _SPAN.search(claim):
            return False
        return _order(claim) == _order(changed) and len(values(claim)) == len(values(changed))
    if exchange.kind == "name":
        core = exchange.old.strip("《》")
        pieces = core.split("·") if "·" in core else [core[-2:], core[:2]]
        return not any(piece in changed.replace(exchange.new, "") for piece in pieces)
    return True


def _order(text: str) -> list[bool]:
    years = [int(year) for year in re.findall(r"\d{3,4}(?=年|[\-–—至~～]\d)", text)]
    return [earlier <= other for earlier, other in combinations(years, 2)]


def _places(
    claim: str, _title: str, _offered: Stock, chance: random.Random, evidence: str
) -> Iterator[Exchange]:
    places = list(_PLACE.finditer(claim))
    for index, match in enumerate(places):
        following = places[index + 1] if index + 1 < len(places) else None
        if quoted(claim, match.start()) or (following and following.start() - match.end() < 2):
            continue
        before = claim[match.start() - 1] if match.start() else ""
        if before and before in _NO_PLACE_AFTER:
            continue
        group = chance.choice([group for group in PLACES if match[0] in group])
        for new in chance.sample(group, min(_TRIES, len(group))):
            if new != match[0] and new not in evidence and not foreign_script(new, claim + evidence):
                yield Exchange("place", match[0], new)
                break


def _names(
    claim: str, title: str, offered: Stock, chance: random.Random, evidence: str
) -> Iterator[Exchange]:
    script = traditional(evidence)
    sort = offered.sorts.get(title, "")
    if sort and re.search(rf"(?:\A|[，；]){re.escape(title)}(?![亚亞科属屬目站])", claim):
        yield from _others(title, sort, offered.names.get((sort, script), ()), evidence, chance, subject=True)
    for pattern in (WORK, FOREIGN):
        for match in pattern.finditer(claim):
            own = sort_of_mention(match[0])
            if match[0] not in (title, f"《{title}》"):
                near = offered.by_title.get((own, title), ())
                far = offered.names.get((own, script), ())
                yield from _others(match[0], own, near, evidence, chance)
                yield from _others(match[0], own, far, evidence, chance)


def _others(
    old: str, sort: str, options: Sequence[str], evidence: str, chance: random.Random, subject: bool = False
) -> Iterator[Exchange]:
    for new in chance.sample(options, min(_TRIES, len(options))):
        if new not in evidence and new not in old and old not in new and not foreign_script(new, evidence):
            yield Exchange("name", old, new, subject)
            return


def _in_claim(find: Callable[[str, random.Random], Iterator[Exchange]]) -> _Finder:
    """A finder that needs the claim alone."""
    return lambda claim, _title, _offered, chance, _evidence: find(claim, chance)


_FINDERS: Mapping[Kind, _Finder] = {
    "number": _in_claim(numbers),
    "date": _in_claim(dates),
    "unit": _in_claim(units),
    "name": _names,
    "place": _places,
}
