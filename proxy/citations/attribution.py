"""What the documents' numbers in an answer say: which claim cites which.

`read_citations` takes the markers out; `assign` gives each claim the numbers that the answer cites for it.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate

from proxy.citations.markers import Known, marks, mentions, numbers_in, without
from proxy.text.markdown import Span
from proxy.types import Claim

_GLUED = re.compile(r"[a-zA-Z\d]")


@dataclass(frozen=True, slots=True)
class Mark:
    """Markers that stood at `position` of the stripped text, and the distinct numbers that they name."""

    position: int
    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Cited:
    """An answer without its markers, and where each stood, in order. `mentions` are markers that stay in
    it."""

    text: str
    marks: tuple[Mark, ...]
    mentions: tuple[Mark, ...]
    removed: tuple[int, ...] = field(repr=False)
    """For each marker, the number of code points of the answer removed up to and including it."""

    def original(self, start: int, end: int) -> Span:
        """The span of the answer that `text[start:end]`, not empty, comes from, with its markers."""
        return self._place(start), self._place(end - 1) + 1

    def _place(self, index: int) -> int:
        before = bisect_right(self.marks, index, key=lambda mark: mark.position)
        return index + (self.removed[before - 1] if before else 0)


def read_citations(text: str, known: Known = None) -> Cited:
    """The answer without the markers that `strip_markers` removes, and what these cite.

    It reads `[1]`, `[1][2]`, `[1, 2]`, `[1-3]`, `【1】`, `【1†source】`, `[^1]`, `[citation:1]`, `[[1](url)]`
    and the links `[(1)](url)` and `[1](url)`. A footnote by name (`[^note]`) has no number; a range of over
    100 is read as its two ends. A marker that `strip_markers` leaves is part of the sentence, and cites only
    as a mention (`according to [1]`); `a[1]` and a line of nothing but markers cite nothing.
    """
    runs = tuple(marks(text, known))
    removed = tuple(accumulate(run.end - run.start for run in runs))
    cited = (
        Mark(run.end - gone, _once(number for span in run.each for number in numbers_in(text[slice(*span)])))
        for run, gone in zip(runs, removed, strict=True)
    )
    stripped = without(text, runs)
    mentioned = (
        Mark(start, _once(numbers_in(stripped[start:end])))
        for start, end in mentions(stripped)
        if not _GLUED.search(stripped, max(0, start - 1), start)
    )
    return Cited(stripped, tuple(cited), tuple(mentioned), removed)


def assign(claims: Sequence[Claim], cited: Cited) -> tuple[Claim, ...]:
    """The claims of `segment(cited.text)`, each with the numbers cited for it.

    Markers within a claim belong to it, and so do those behind it on the same line, before the next claim. A
    marker that begins a line belongs to the claim after it. Markers at the end of a paragraph belong to its
    last sentence alone, since nothing says that they cover the others. Markers behind something that is no
    claim (code alone on its line) belong to none.
    """
    starts = [claim.start for claim in claims]
    lines = [match.start() for match in re.finditer("\n", cited.text)]
    numbers: dict[int, list[int]] = {}
    for marker in sorted((*cited.marks, *cited.mentions), key=lambda marker: marker.position):
        following = bisect_left(starts, marker.position)
        line = bisect_left(lines, marker.position)
        if following > 0 and line <= bisect_left(lines, claims[following - 1].end):
            numbers.setdefault(following - 1, []).extend(marker.numbers)
        elif following < len(claims) and line == bisect_left(lines, starts[following]):
            numbers.setdefault(following, []).extend(marker.numbers)
    return tuple(replace(claim, cited=_once(numbers.get(index, ()))) for index, claim in enumerate(claims))


def _once(numbers: Iterator[int] | Sequence[int]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(numbers))
