"""Sentences of held-out passages of a corpus: as they are, and with one detail exchanged."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from evaluation.metrics import SEED
from evaluation.rows import CorpusRow, DataError, held_out, language_among, read_corpus
from proxy.checkers.builtin.months import MONTHS
from proxy.text.sentences import sentence_spans
from proxy.types import Language, Pair
from training.swaps import Passage, Slot, Swap, make_swaps

Kind = Literal["number", "date", "name", "negation"]
EXCHANGED: tuple[Kind, ...] = ("number", "date", "name")
"""What counts as an exchanged detail. Denied sentences are drawn too, and are a matter of their own."""

_MONTH = f"(?:{'|'.join(MONTHS)})"
_DATE = re.compile(
    rf"(?<![\d.,])(?:1\d{{3}}|20\d\d)(?![\d,]|\.\d)|\d+(?=[年月日])|\d{{1,2}}(?= {_MONTH})|{_MONTH} \d{{1,2}}"
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
    if not any(one.kind in EXCHANGED for one in swapped):
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
    parted = (at for at, two in enumerate(zip(untouched, changed, strict=False)) if len(set(two)) > 1)
    at = next(parted, len(untouched))
    dated = any(match.start() <= at <= match.end() for match in _DATE.finditer(untouched))
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
