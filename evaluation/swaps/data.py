"""Sentences of a corpus, as they are and with one detail changed by rule: a number, a name, a "not"."""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from evaluation.datasets import CorpusRow, DataError, Passage, held_out, language_among, read_corpus
from evaluation.metrics import SEED
from proxy.checkers.builtin.conflicts import MONTHS
from proxy.checkers.builtin.word_lists import HAN_PLACES
from proxy.text.sentences import sentence_spans
from proxy.types import Language, Pair

Slot = Literal["number", "month", "name", "negation"]
Pool = Mapping[tuple[Slot, str], Sequence[str]]

_NUMBER = re.compile(
    r"(?<![\w.,])\d{1,3}(?:,\d{3})+(?![\w,])|(?<![A-Za-z\d.,])\d{1,6}(?:\.\d{1,3})?(?!\.?\d|[A-Za-z])"
)
_NAME = re.compile(r"(?<=[a-z,;] )[A-Z][a-zé]{2,}(?: [A-Z][a-zé]{2,}){0,3}(?![\w'’-])")
_NEGATE: Mapping[Language, tuple[tuple[re.Pattern[str], str], ...]] = {
    "en": (
        (re.compile(r"\b(is|was|are|were|can|could|has been|have been|had been) not\b"), r"\1"),
        (re.compile(r"\b(is|was|are|were|can|could)\b(?! not)"), r"\1 not"),
    ),
    "zh": (
        (re.compile(r"没有|未能|不能|并未|并不|不"), ""),
        (re.compile(r"(?<![不还就也都但可总若要只])(是|能够|属于|包括)"), r"不\1"),
        (re.compile(r"(?<=[\u4e00-\u9fff])(获得|成为|参加|发行|建造|修建|出版|加入|进入|击败)"), r"没有\1"),
    ),
}
"""Ways to turn a sentence round: the first that applies."""
_NEGATED_SHARE = 0.15
_TITLE = re.compile(r"《[^《》]{2,12}》|[A-Z][A-Za-z]{3,}")
_MARKUP = re.compile(r"[|\[\]{}<>=]|''|\(\)|（）|https?:|&\w|::")
_LENGTHS: Mapping[Language, tuple[int, int]] = {"en": (40, 300), "zh": (12, 120)}
_TRIES = 20


@dataclass(frozen=True, slots=True)
class Swap:
    """A claim made of a sentence of `passage`: as it is where `slot` is None, else with that slot changed."""

    claim: str
    passage: Passage
    slot: Slot | None


def make_swaps(passages: Sequence[Passage], language: Language, count: int, seed: int) -> list[Swap]:
    """One sentence each of at most `count` passages, as a pair: untouched, then swapped.

    What is put in is of the same kind and shape (digits for digits, month for month, a name of as many words
    or characters), comes from another passage, and is nowhere in the sentence's own. One in
    seven is denied instead. The same for the same arguments.
    """
    chance = random.Random(seed)
    chinese = language == "zh"
    names = {passage.title for passage in passages if 2 <= len(passage.title) <= 6} | set(HAN_PLACES)
    titles = sorted(names) if chinese else []
    pool = _pool(passages, titles)
    made: list[Swap] = []
    for passage in passages:
        if len(made) >= 2 * count:
            break
        sentences = [text for text in passage.sentences if _fit(text, language)]
        if not sentences:
            continue
        sentence = chance.choice(sentences)
        swapped = _turned(sentence, passage, language) if chance.random() < _NEGATED_SHARE else None
        swapped = swapped or _swap(sentence, passage, pool, titles, chance)
        if swapped:
            made += [Swap(sentence, passage, None), swapped]
    return made


def _fit(sentence: str, language: Language) -> bool:
    low, high = _LENGTHS[language]
    return low <= len(sentence) <= high and not _MARKUP.search(sentence)


def _swap(
    sentence: str, passage: Passage, pool: Pool, titles: Sequence[str], chance: random.Random
) -> Swap | None:
    slots = list(_slots(sentence, titles))
    chance.shuffle(slots)
    wanted = chance.choice(("number", "name"))
    slots.sort(key=lambda slot: slot[0] != wanted)
    known = passage.text + passage.title
    for kind, start, end in slots:
        own = set(sentence[start:end].split())
        choices = pool[kind, _shape(kind, sentence[start:end])]
        for other in chance.sample(choices, min(_TRIES, len(choices))):
            if other not in known and not own & set(other.split()):
                return Swap(sentence[:start] + other + sentence[end:], passage, kind)
    return None


def _turned(sentence: str, passage: Passage, language: Language) -> Swap | None:
    """The sentence denied, or a denial taken out of it."""
    for pattern, replacement in _NEGATE[language]:
        turned, count = pattern.subn(replacement, sentence, count=1)
        if count:
            return Swap(turned, passage, "negation")
    return None


def _pool(passages: Sequence[Passage], titles: Sequence[str]) -> Pool:
    """What can be put in, by kind and shape."""
    pool: defaultdict[tuple[Slot, str], set[str]] = defaultdict(set)
    for passage in passages:
        for sentence in passage.sentences:
            if not _MARKUP.search(sentence):
                for kind, start, end in _slots(sentence, ()):
                    pool[kind, _shape(kind, sentence[start:end])].add(sentence[start:end])
    for title in titles:
        pool["name", _shape("name", title)].add(title)
    pool["month", ""].update(MONTHS)
    return defaultdict(list, {shape: sorted(words) for shape, words in pool.items()})


def _slots(sentence: str, titles: Sequence[str]) -> Iterator[tuple[Slot, int, int]]:
    """The places of a sentence that can be changed: digits, capitalised names, titles of the corpus."""
    for match in _NUMBER.finditer(sentence):
        yield "number", match.start(), match.end()
    for match in _NAME.finditer(sentence):
        yield ("month" if match[0] in MONTHS else "name"), match.start(), match.end()
    for match in _TITLE.finditer(sentence) if titles else ():
        yield "name", match.start(), match.end()
    for title in titles:
        start = sentence.find(title)
        if start >= 0:
            yield "name", start, start + len(title)


def _shape(kind: Slot, text: str) -> str:
    if kind == "number":
        return re.sub(r"\d", "0", text)
    if kind == "month":
        return ""
    return f"{len(text.split())} words" if text.isascii() else f"{len(text)} characters"


Kind = Literal["number", "date", "name", "negation"]
EXCHANGED: tuple[Kind, ...] = ("number", "date", "name")
"""What counts as an exchanged detail. Denied sentences are drawn too, and are a matter of their own."""

_MONTHS = f"(?:{'|'.join(MONTHS)})"
_DATE_PART = re.compile(
    rf"(?<![\d.,])(?:1\d{{3}}|20\d\d)(?![\d,]|\.\d)|\d+(?=[年月日])|\d{{1,2}}(?= {_MONTHS})"
    rf"|{_MONTHS} \d{{1,2}}"
)
"""A year, or the day or month of a date. Any number from 1000 to 2099 without a comma counts."""


@dataclass(frozen=True, slots=True)
class Swapped:
    """A sentence of a passage, untouched and with a detail of `kind` exchanged, each against the passage."""

    untouched: Pair
    changed: Pair
    kind: Kind


@dataclass(frozen=True, slots=True)
class Sample:
    """What was drawn from a corpus."""

    swapped: tuple[Swapped, ...]
    language: Language


def draw_swapped(path: Path, count: int) -> Sample:
    """At most `count` sentences, one a passage; the same for the same arguments. Raises `DataError`."""
    rows = [row for row in read_corpus(path) if held_out(row.title)]
    random.Random(SEED).shuffle(rows)
    language = language_among([row.text for row in rows])
    swaps = make_swaps(_passages(rows), language, count, SEED)
    swapped = tuple(_swapped(*two) for two in zip(swaps[::2], swaps[1::2], strict=True))
    if not any(swap.kind in EXCHANGED for swap in swapped):
        raise DataError(
            f"{path}: no sentence of the held-out tenth of its titles has a number, date or name to exchange."
        )
    return Sample(swapped, language)


def kind_of(slot: Slot | None, untouched: str, changed: str) -> Kind:
    """The kind of what was exchanged: numbers that are part of a date count as dates."""
    if slot == "month":
        return "date"
    if slot != "number":
        return "name" if slot == "name" else "negation"
    parted = (index for index, two in enumerate(zip(untouched, changed, strict=False)) if len(set(two)) > 1)
    start = next(parted, len(untouched))
    dated = any(match.start() <= start <= match.end() for match in _DATE_PART.finditer(untouched))
    return "date" if dated else "number"


def _passages(rows: Sequence[CorpusRow]) -> list[Passage]:
    return [
        Passage(
            row.title,
            row.text,
            tuple(row.text[start:end] for start, end in sentence_spans(row.text)),
        )
        for row in rows
    ]


def _swapped(untouched: Swap, changed: Swap) -> Swapped:
    passage = untouched.passage
    return Swapped(
        Pair(untouched.claim, passage.text, title=passage.title),
        Pair(changed.claim, passage.text, title=passage.title),
        kind_of(changed.slot, untouched.claim, changed.claim),
    )
