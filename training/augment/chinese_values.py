"""What can be exchanged in a Chinese text for another of its kind: numbers, dates, units, names, places."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations

from training.augment.chinese_exchange import Exchange, Kind, any_of, quoted
from training.augment.chinese_names import NOT_A_PLACE_BEFORE, PLACES
from training.augment.chinese_numbers import dates, numbers, units
from training.augment.chinese_stock import FOREIGN, WORK, Stock, sort_of_mention
from training.augment.chinese_text import foreign_script, traditional, value, values

_Finder = Callable[[str, str, Stock, random.Random, str], Iterator[Exchange]]
"""The exchanges in a claim, by its title, what the corpus offers, and its evidence."""

_PLACE = re.compile(rf"(?:{any_of(PLACES)})(?![{NOT_A_PLACE_BEFORE}])")
_NO_PLACE_AFTER = "东東西南北欧歐英美中"
_SPAN = re.compile(
    r"(?:前后|前後|历时|歷時|长达|長達|为期|為期|享年|时年|時年|年仅|年僅)"
    r"|[\d一二三四五六七八九十][岁歲]|共[\d一二三四五六七八九十]+年"
)
_TRIES = 12


def exchanges(
    claim: str, evidence: str, title: str, kind: Kind, offered: Stock, chance: random.Random
) -> Iterator[Exchange]:
    """What can be exchanged in a claim, in random order: what is put in is nowhere in the evidence.

    A claim in which the old value would live on, or contradict the new one, is passed over.
    """
    found = list(_FINDERS[kind](claim, title, offered, chance, evidence))
    chance.shuffle(found)
    known = values(evidence + claim)
    for one in found:
        numeric = kind in ("number", "date")
        number = re.sub(r"[^\d.,一二三四五六七八九十两兩]", "", one.new)
        if (value(number) in known) if numeric else (one.new in evidence or one.new in title):
            continue
        if _consistent(one, claim):
            yield one


def revised(one: Exchange, evidence: str) -> bool:
    """Whether evidence can be exchanged in too: nothing of the old value is left, years keep their order."""
    changed = one.apply(evidence)
    if one.kind in ("number", "date") and values(one.old) & values(changed):
        return False
    return _consistent(one, evidence) and _order(evidence) == _order(changed)


def _consistent(one: Exchange, claim: str) -> bool:
    """Whether nothing is left of the old value, and years still follow each other as they did."""
    changed = one.apply(claim)
    if changed == claim or one.old in changed:
        return False
    if one.kind == "date":
        if _SPAN.search(claim):
            return False
        return _order(claim) == _order(changed) and len(values(claim)) == len(values(changed))
    if one.kind == "name":
        core = one.old.strip("《》")
        pieces = core.split("·") if "·" in core else [core[-2:], core[:2]]
        return not any(piece in changed.replace(one.new, "") for piece in pieces)
    return True


def _order(text: str) -> list[bool]:
    years = [int(year) for year in re.findall(r"\d{3,4}(?=年|[\-–—至~～]\d)", text)]
    return [one <= other for one, other in combinations(years, 2)]


def _places(
    claim: str, _title: str, _offered: Stock, chance: random.Random, evidence: str
) -> Iterator[Exchange]:
    found = list(_PLACE.finditer(claim))
    for at, match in enumerate(found):
        following = found[at + 1] if at + 1 < len(found) else None
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
