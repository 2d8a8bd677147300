"""The citations that an answer already has: which documents it names behind which of its claims."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate

from proxy.citations.markers import marks, mentions, without
from proxy.types import Claim

Span = tuple[int, int]

_NUMBERS = re.compile(r"(\d{1,3})(?:[ \t]?[-–][ \t]?(\d{1,3}))?")
_LONGEST_RANGE = 100


@dataclass(frozen=True, slots=True)
class Mark:
    """Marks that stood at `position` of the stripped text, and the numbers that they name, each once."""

    position: int
    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Cited:
    """An answer without its marks, and where each stood, in order. `mentions` are marks that stay in it."""

    text: str
    marks: tuple[Mark, ...]
    mentions: tuple[Mark, ...]
    removed: tuple[int, ...] = field(repr=False)
    """After each mark, how many code points of the answer were taken out up to there."""

    def original(self, start: int, end: int) -> Span:
        """The span of the answer that `text[start:end]`, not empty, comes from, with the marks in it."""
        return self._place(start), self._place(end - 1) + 1

    def _place(self, index: int) -> int:
        before = bisect_right(self.marks, index, key=lambda mark: mark.position)
        return index + (self.removed[before - 1] if before else 0)


def read_citations(text: str) -> Cited:
    """The answer without the marks that `strip_marks` takes out, with what these were.

    Read are `[1]`, `[1][2]`, `[1, 2]`, `[1-3]`, `【1】`, `【1†source】`, `[^1]`, `[citation:1]`, `[[1](url)]`
    and `[1](url)`. A footnote by name (`[^note]`) has no number; a range of over 100 is read as its two ends.
    What `strip_marks` leaves is part of the sentence, and cites only as a mention (`according to [1]`): not
    `a[1]`, not a line of marks alone.
    """
    runs = tuple(marks(text))
    removed = tuple(accumulate(run.end - run.start for run in runs))
    found = (
        Mark(run.end - gone, _once(number for span in run.each for number in _numbers(text[slice(*span)])))
        for run, gone in zip(runs, removed, strict=True)
    )
    stripped = without(text, runs)
    mentioned = (Mark(start, _once(_numbers(stripped[start:end]))) for start, end in mentions(stripped))
    return Cited(stripped, tuple(found), tuple(mentioned), removed)


def assign(claims: Sequence[Claim], cited: Cited) -> tuple[Claim, ...]:
    """The claims of `segment(cited.text)`, each with the numbers cited for it.

    Marks within a claim are its own, and so are those behind it on the same line, before the next claim; one
    that begins a line belongs to the claim behind it.
    Marks at the end of a paragraph belong to its last sentence alone: nothing says that they mean the others
    too. Marks behind something that is no claim (code alone on its line) belong to none.
    """
    starts = [claim.start for claim in claims]
    lines = [match.start() for match in re.finditer("\n", cited.text)]
    numbers: dict[int, list[int]] = {}
    for mark in sorted((*cited.marks, *cited.mentions), key=lambda mark: mark.position):
        following = bisect_left(starts, mark.position)
        line = bisect_left(lines, mark.position)
        if following > 0 and line <= bisect_left(lines, claims[following - 1].end):
            numbers.setdefault(following - 1, []).extend(mark.numbers)
        elif following < len(claims) and line == bisect_left(lines, starts[following]):
            numbers.setdefault(following, []).extend(mark.numbers)
    return tuple(replace(claim, cited=_once(numbers.get(at, ()))) for at, claim in enumerate(claims))


def _once(numbers: Iterator[int] | Sequence[int]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(numbers))


def _numbers(mark: str) -> Iterator[int]:
    """The numbers of one mark as it is written."""
    label = mark.partition("](")[0].strip("[]【】")
    if label.startswith("^"):
        label = label[1:] if label[1:].isdecimal() else ""
    if mark.startswith("【"):
        label = re.split("[†:]", label, maxsplit=1)[0]
    for match in _NUMBERS.finditer(label):
        first, last = int(match[1]), int(match[2] or match[1])
        yield from range(first, last + 1) if first <= last < first + _LONGEST_RANGE else (first, last)
