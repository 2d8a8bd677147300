"""Reads the answer of an extractor LLM strictly: `[n]` for a sentence, then one triplet per line.

Nothing is evaluated. A line that can be read in no way, or in more than one, is skipped and counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from proxy.claims.decompose.locate import ALIGNED, aligned
from proxy.types import Claim, Triplet

MAX_TRIPLETS = 50
"""Per sentence. Further triplets count as malformed."""
MAX_STRAYS = 100
"""Triplets without a sentence's number that are aligned with all sentences; each alignment costs time."""
MAX_ELEMENT_CHARS = 300
MAX_LINE_CHARS = 2_000
MAX_ANSWER_CHARS = 200_000
_MAX_SEPARATORS = 12

_PAIRS = {'"': '"', "'": "'", "“": "”", "‘": "’", "「": "」", "『": "』", "＂": "＂"}
_OPEN = "".join(_PAIRS)
_CLOSE = "".join(_PAIRS.values())
_UNESCAPED = r"(?<!\\)(?:\\\\){0,8}"
_SEPARATOR = re.compile(rf"{_UNESCAPED}(?P<close>[{_CLOSE}])\s{{0,9}}[,，、]\s{{0,9}}(?=(?P<open>[{_OPEN}]))")
_BETWEEN = re.compile(
    rf"(?<=[{_CLOSE}])(?P<close>\s{{0,9}}[)）\]】])\s{{0,9}}[,，;；]?\s{{0,9}}(?=[(（\[【]\s{{0,9}}[{_OPEN}])"
)
_ESCAPE = re.compile(r"\\([\\\"'“”‘’])")
_TRIPLET = re.compile(
    rf"[(（\[【]\s{{0,9}}(?P<inside>[{_OPEN}].*[{_CLOSE}])\s{{0,9}}[,，]?\s{{0,9}}[)）\]】]"
    rf"\s{{0,9}}(?:[\[【](?P<number>\d{{1,4}})[\]】])?[\s,，;；.。]{{0,9}}"
)
_MARKER = re.compile(r"[*_#\s]{0,9}[\[【［](?P<number>\d{1,4})[\]】］][*_:：.。\s]{0,9}(?P<rest>.*)")
_BULLET = re.compile(r"(?:[-*•·+]|\d{1,3}[.)、])\s{0,9}(?=[(（\[【])")
_DECORATION = re.compile(r"```\s{0,9}\w{0,20}|~~~|[\s\[\](),;，；*_-]{1,20}")
_LIST_OPENS = re.compile(rf"\[\s{{0,9}}(?=[(（\[【]\s{{0,9}}[{_OPEN}])")
_LIST_CLOSES = re.compile(r"(?<=[)）\]】])\s{0,9},?\s{0,9}\]$")
_THOUGHT = re.compile(r"<think>.*", re.S)


@dataclass(frozen=True, slots=True)
class Reading:
    """The triplets of each sentence asked about, in order.

    `malformed` counts the unreadable lines of each sentence. `said`: the answer was readable, even if it only
    says that a sentence states nothing.
    """

    triplets: tuple[tuple[Triplet, ...], ...]
    malformed: tuple[int, ...]
    said: bool


def read_triplets(answer: str, claims: Sequence[Claim]) -> Reading:
    """The triplets of an answer about `claims`, which it numbers from 1.

    A triplet belongs to the sentence whose `[n]` stands behind or above it. One without the number of a
    sentence that exists goes to the sentence that it aligns with best, or is malformed. Identical triplets of
    a sentence are one. What is malformed and has no number counts against the first sentence. Bounded: see
    the constants.
    """
    reading = _Reading(claims)
    shown = _without_thought(answer)
    cut = len(shown) > MAX_ANSWER_CHARS
    for line in (shown[:MAX_ANSWER_CHARS].rpartition("\n")[0] if cut else shown).splitlines():
        reading.line(line.strip())
    if cut:
        reading.unreadable()
    return reading.done()


def read_line(line: str) -> tuple[Triplet, int | None] | None:
    """The one triplet of a line and the number after it, or None where the line is malformed.

    A quotation mark closes an element only before a comma and the next element, or before the bracket at the
    end; so `("the "Big" one", "is", "x")` is readable. A line that can be divided in two ways is not.
    """
    match = _TRIPLET.fullmatch(line) if len(line) <= MAX_LINE_CHARS else None
    elements = _elements(match["inside"]) if match else None
    if match is None or elements is None:
        return None
    return Triplet(*elements), int(match["number"]) if match["number"] else None


class _Reading:
    """Reads an answer line by line, and assigns triplets to sentences."""

    def __init__(self, claims: Sequence[Claim]) -> None:
        self._claims = claims
        self._sections = [_Section() for _ in claims]
        self._section: int | None = None
        self._strays = 0
        self._begun = False
        self._marked = False

    def line(self, line: str) -> None:
        marker = _MARKER.fullmatch(line)
        if marker:
            self._section = self._index(int(marker["number"]))
            self._begun = True
            self._marked |= self._section is not None
            line = marker["rest"].strip()
            if self._section is not None and _same(line, self._claims[self._section].plain):
                return
        if not line or _DECORATION.fullmatch(line):
            return
        for piece in _pieces(line):
            self._piece(piece)

    def _piece(self, piece: str) -> None:
        read = read_line(piece)
        if read is not None:
            self._begun = True
            self._put(*read)
        elif self._begun or piece[:1] in ("(", "（"):  # talk before the first sentence is no lost triplet
            self.unreadable()

    def _put(self, triplet: Triplet, number: int | None) -> None:
        section = self._section if number is None else self._index(number)
        section = self._best(triplet) if section is None else section
        if section is None:
            self.unreadable()
        elif len(self._sections[section].triplets) < MAX_TRIPLETS:
            self._sections[section].triplets.setdefault(_folded(triplet), triplet)
        elif _folded(triplet) not in self._sections[section].triplets:
            self._sections[section].malformed += 1

    def unreadable(self) -> None:
        """Counts a malformed line for the sentence that it stands under, or the first."""
        if self._sections:
            self._sections[self._section or 0].malformed += 1

    def done(self) -> Reading:
        triplets = tuple(tuple(section.triplets.values()) for section in self._sections)
        malformed = tuple(section.malformed for section in self._sections)
        return Reading(triplets, malformed, any(triplets) or (self._marked and not any(malformed)))

    def _index(self, number: int) -> int | None:
        return number - 1 if 1 <= number <= len(self._claims) else None

    def _best(self, triplet: Triplet) -> int | None:
        """The index of the sentence that a triplet without a number aligns with best."""
        self._strays += 1
        if self._strays > MAX_STRAYS:
            return None
        shares = ((aligned(triplet, claim).share, -index) for index, claim in enumerate(self._claims))
        share, index = max(shares, default=(0.0, 0))
        return -index if share >= ALIGNED else None


@dataclass(slots=True)
class _Section:
    """The triplets of one sentence, by their case-folded words, and the count of malformed ones."""

    triplets: dict[tuple[str, ...], Triplet] = field(default_factory=dict)
    malformed: int = 0


def _without_thought(answer: str) -> str:
    """The answer after a reasoning model's thoughts; empty where they never end."""
    return _THOUGHT.sub("", answer.rpartition("</think>")[2])


def _pieces(line: str) -> Iterator[str]:
    """The triplets of a line, without list brackets and bullet."""
    line = _BULLET.sub("", line, count=1)
    line, opened = _LIST_OPENS.subn("", line, count=1) if line.startswith("[") else (line, 0)
    if opened or line.endswith("]"):
        line = _LIST_CLOSES.sub("", line)
    start = 0
    for match in _BETWEEN.finditer(line):
        yield line[start : match.end("close")].strip()
        start = match.end()
    yield line[start:].strip()


def _elements(inside: str) -> tuple[str, str, str] | None:
    """The three elements of a triplet, or None unless there is exactly one way to divide the text."""
    separators = list(_SEPARATOR.finditer(inside))
    if len(separators) > _MAX_SEPARATORS:
        return None
    divisions = [
        (inside[1 : first.start("close")], inside[first.end() + 1 : second.start("close")],
         inside[second.end() + 1 : -1])
        for first, second in combinations(separators, 2)
        if _pair(inside[0], first["close"])
        and first.end() < second.start("close")
        and _pair(first["open"], second["close"])
        and _pair(second["open"], inside[-1])
        and second.end() < len(inside) - 1
    ]  # fmt: skip
    if len(divisions) != 1:
        return None
    head, relation, tail = (" ".join(_ESCAPE.sub(r"\1", element).split()) for element in divisions[0])
    sound = all(any(map(str.isalnum, element)) for element in (head, relation, tail))
    short = max(map(len, (head, relation, tail))) <= MAX_ELEMENT_CHARS
    return (head, relation, tail) if sound and short else None


def _pair(opening: str, closing: str) -> bool:
    return _PAIRS[opening] == closing


def _same(line: str, plain: str) -> bool:
    return " ".join(line.split()).casefold() == " ".join(plain.split()).casefold()


def _folded(triplet: Triplet) -> tuple[str, ...]:
    return tuple(element.casefold() for element in (triplet.head, triplet.relation, triplet.tail))
