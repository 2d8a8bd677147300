"""Details of an English text that can be exchanged for others of their kind."""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from proxy.checkers.builtin.conflicts import MONTHS
from proxy.checkers.builtin.numbers import ONES

_DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
_COUNTS = tuple(ONES)[2:13]
_ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth".split()
_PEOPLES = (
    "American British English Scottish Irish Canadian Australian Indian Chinese Japanese Korean French "
    "German Italian Spanish Portuguese Dutch Belgian Swiss Austrian Swedish Norwegian Danish Finnish "
    "Polish Russian Ukrainian Greek Turkish Israeli Iranian Egyptian Nigerian Mexican Brazilian "
    "Argentine Chilean Cuban Pakistani Filipino Thai Vietnamese Hungarian Romanian Czech"
).split()
_KINDS = (
    "film|movie|album|song|novel|book|play|opera|painting|video game|magazine|newspaper|television series|"
    "documentary|poem|musical",
    "actor|singer|writer|politician|footballer|painter|director|producer|composer|journalist|lawyer|"
    "physicist|chemist|dancer|comedian|guitarist|drummer|engineer|historian|novelist|poet",
    "actress|model|songwriter|novelist|journalist|dancer|producer|businesswoman",
    "city|town|village|river|lake|mountain|island|county|district|province",
    "king|queen|president|emperor|prime minister|governor|mayor|bishop|general",
    "drama|comedy|thriller|horror|western|romance|fantasy",
    "rock|pop|jazz|folk|country|hip hop|blues|classical|punk",
    "university|hospital|museum|church|school|library|airport|stadium|theatre|bank",
    "son|daughter|brother|sister|father|mother|husband|wife|cousin|uncle|nephew",
    "football|basketball|baseball|tennis|hockey|rugby|cricket|golf",
    "red|blue|green|yellow|white|black|brown",
    "kilometres|miles|metres|feet|kilometers|meters",
    "million|billion|thousand|hundred",
    "north|south|east|west",
    "northern|southern|eastern|western",
    "spring|summer|autumn|winter",
    "days|weeks|months|years|hours|minutes",
    "gold|silver|bronze",
)
_NUMBER = re.compile(
    r"(?<![\w.,:/-])\d{1,3}(?:,\d{3})+(?![\w,])|(?<![\w.,:/-])\d{1,6}(?:\.\d{1,3})?(?![\w:/]|\.\d|,\d)"
)
_NAME = re.compile(
    r"(?<![\w.'’-])(?:[A-Z][\w’'-]*[a-zé])(?: (?:(?:of|de|van|von|the) )?[A-Z][\w’'-]*[a-zé])*(?![\w’'-])"
)
_NOT_NAMES = frozenset(
    "The A An In On At It He She They This That These Those His Her Its Their There When While After Before "
    "As For From By With And But Or If Since Although Though However Also Some Many Most All One Two Three "
    "Both Each During Under Over Between Among According Because To Of Not No Yes We You I What Who Which "
    "Where Why How Then Later Today Other Another Such Despite Following Until Upon Within Without".split()
)
_CLOSED = {
    "month": MONTHS,
    "day": _DAYS,
    "count": _COUNTS,
    "ordinal": _ORDINALS,
    "people": _PEOPLES,
    **{f"kind{index}": words.split("|") for index, words in enumerate(_KINDS)},
}
_FAMILY = {word: family for family, words in _CLOSED.items() for word in words}
_CLOSED_WORDS = re.compile(
    r"(?<![\w'’-])(?:" + "|".join(sorted(_FAMILY, key=lambda word: (-len(word), word))) + r")(?![\w'’-])"
)
_TRIES = 30
_YEARS = range(1000, 2031)


@dataclass(frozen=True, slots=True)
class Detail:
    """A detail of a text: `text[start:end]`; `family` tells what may stand in its place."""

    family: str
    start: int
    end: int
    text: str


def details(text: str) -> list[Detail]:
    """The details of a text, in order, none overlapping another. Linear in its length."""
    matched = [
        Detail(_FAMILY[match[0]], match.start(), match.end(), match[0])
        for match in _CLOSED_WORDS.finditer(text)
    ]
    matched += [
        Detail(_shape(match[0]), match.start(), match.end(), match[0]) for match in _NUMBER.finditer(text)
    ]
    matched += _names(text)
    taken: list[Detail] = []
    for candidate in sorted(matched, key=lambda detail: (detail.start, -detail.end)):
        if not taken or candidate.start >= taken[-1].end:
            taken.append(candidate)
    return taken


class Stock:
    """What a corpus offers in place of a detail, by family. Same texts, same stock."""

    def __init__(self, texts: Iterable[str]) -> None:
        x: defaultdict[str, set[str]] = defaultdict(set)
        for text in texts:
            for detail in details(text):
                x[detail.family].add(detail.text)
        x.update({family: set(words) for family, words in _CLOSED.items()})
        self._stock: Mapping[str, Sequence[str]] = {family: sorted(words) for family, words in x.items()}

    def other(self, detail: Detail, known: str, chance: random.Random) -> str | None:
        """Another of its family that `known` does not hold, nor any word of it; None where none is found."""
        if detail.family.startswith("number"):
            return _other_number(detail.text, known, chance)
        choices = self._stock.get(detail.family, ())
        own = set(detail.text.lower().split())
        for word in chance.sample(choices, min(_TRIES, len(choices))):
            if not own & set(word.lower().split()) and not _holds(known, word):
                return word
        return None


def exchanged(text: str, old: str, new: str) -> str:
    """The text with every `old` that stands as a word of its own become `new`; "a" and "an" follow."""
    text = re.sub(rf"(?<![\w]){re.escape(old)}(?!\w)", lambda _: new, text)
    article = "an" if new[:1].lower() in "aeiou" else "a"
    return re.sub(rf"\b([Aa])n?(?= {re.escape(new)}(?!\w))", lambda match: match[1] + article[1:], text)


def _names(text: str) -> Iterator[Detail]:
    for match in _NAME.finditer(text):
        words = match[0].split()
        dropped = 0
        while dropped < len(words) and words[dropped] in _NOT_NAMES:
            dropped += 1
        start = match.start() + sum(len(word) + 1 for word in words[:dropped])
        name = text[start : match.end()]
        first = start == 0 or text[max(0, start - 2) : start] in (". ", "! ", "? ", '" ')
        if name and len(name) > 2 and not (first and len(words) - dropped == 1):
            yield Detail(f"name {len(name.split())}", start, match.end(), name)


def _shape(number: str) -> str:
    return "number year" if number.isdigit() and int(number) in _YEARS and len(number) == 4 else "number"


def _other_number(number: str, known: str, chance: random.Random) -> str | None:
    """Half the time a near miss, else other digits of the same shape."""
    for _ in range(_TRIES):
        plain = number.replace(",", "")
        if chance.random() < 0.5 and plain.isdigit():
            near = max(1, int(plain) + chance.choice((-10, -5, -3, -2, -1, 1, 2, 3, 5, 10)))
            other = f"{near:,}" if "," in number else str(near)
        elif _shape(number) == "number year":
            other = str(min(2030, max(1000, int(plain) + chance.randint(-60, 60))))
        else:
            leading = [str(chance.randint(1 if index == 0 else 0, 9)) for index, _ in enumerate(number)]
            other = "".join(
                digit if here.isdigit() else here for digit, here in zip(leading, number, strict=True)
            )
        if other != number and not _holds(known, other):
            return other
    return None


def _holds(text: str, words: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(words)}(?!\w)", text) is not None
