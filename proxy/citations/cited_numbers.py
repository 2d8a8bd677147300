"""What an answer cites: the documents that its markers name, for each of its claims."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate

from proxy.citations.markers import IDENTIFIER, Known, is_data, is_index, marks, numbers, without
from proxy.text.inline import tokens
from proxy.text.markdown import Span, blocks, numbered_labels, skipped
from proxy.text.sentences import CITATION
from proxy.types import Claim

_NAMED = re.compile(rf"[=∈+^][ \t]*$|_$|{IDENTIFIER.pattern}", re.A)
_MATHS = re.compile(
    r"(?:\b(?:array|domain|eq|equals?|equation|index|interval|is|item|list|matrix|outputs?|prints?"
    r"|range|returns?|sequence|set|tuple|vector|values?)[:：]?)[ \t]*$|区间[ \t]*$",
    re.I,
)
_BETWEEN = re.compile(r"\b(?:in|on|over|from|between|within)[ \t]*$", re.I)
_PLAIN = re.compile(r"\[\d{1,3}\]")
_BEFORE = 16
_MOST_DOCUMENTS = 100


def mentions(text: str) -> Iterator[Span]:
    """The markers that `strip_markers` left in `text` and that name documents, in order.

    An index (`a[1]`, `the array [1, 2]`) is no marker, nor is a value in data (`{"n": [3]}`) or an interval:
    a list after `in` or `between`.
    """
    for start, end in _outside_values(text):
        if not _MATHS.search(_before(text, start)) and (
            _PLAIN.fullmatch(text, start, end) or _may_list_documents(text, start, end)
        ):
            yield start, end


def _outside_values(text: str) -> Iterator[Span]:
    """What looks like a marker and is no index, no value in data, and not behind a sign (`x = [1]`)."""
    if "[" not in text and "【" not in text:
        return
    for block in blocks(text):
        for token in tokens(text, block.lines[0], block.lines[1:]):
            if (
                token.kind == "citation"
                and not token.whole
                and not _NAMED.search(_before(text, token.start))
                and not is_index(text, token.start, token.end)
                and not is_data(text, token.start)
            ):
                yield token.start, token.end


def _before(text: str, start: int) -> str:
    return text[max(0, start - _BEFORE) : start].rpartition("\n")[2]


def _may_list_documents(text: str, start: int, end: int) -> bool:
    before = _before(text, start)
    return not _BETWEEN.search(before) and max(numbers(text[start:end]), default=0) < _MOST_DOCUMENTS


_MENTION = re.compile(r"[\[【][^\[\]【】()^]+[\]】]")


def in_parentheses(text: str, known: Collection[int] = ()) -> str:
    """`text`, as long as before, with what `mentions` finds in parentheses: `according to (1)`. It names no
    reference of ours. Nor does a number that is a value (`returns [3]`), which looks like one.

    What names documents that are `known` stays.
    """
    spans = {span for span in mentions(text) if _MENTION.fullmatch(text, *span)}
    spans.update(span for span in _outside_values(text) if _PLAIN.fullmatch(text, *span))
    named = {span for span in spans if known and set(numbers(text[slice(*span)])) <= set(known)}
    return _in_parentheses(text, sorted(spans - named))


def with_raised_labels(text: str) -> str:
    """`text`, as long as before, with numbers that are labels of links as raised digits, where a link is
    defined and where one is made: `[the docs][¹]`, `[¹]: https://…`. A renderer would make links of our
    markers, to where the upstream's own led; and such a number cites nothing."""
    spans = sorted((*numbered_labels(text), *_labels_of_links(text)))
    return _with(text, ((start, end, text[start:end].translate(_RAISED)) for start, end in spans))


_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_LINK = re.compile(
    r"(?<![\w\]\\])\[(?!\^)((?:[^\[\]\\\n]|\\.|\[[^\[\]\n]{0,200}\]){1,1000}+)\](\[\d{1,3}\])(?!\()"
)


def _labels_of_links(text: str) -> Iterator[Span]:
    """The spans of the numbers behind the words of a link: of `[1]` in `[the docs][1]`."""
    if "][" not in text:
        return
    for block in blocks(text):
        markers: set[Span] | None = None
        for line in block.lines:
            for link in _LINK.finditer(text, *line):
                if not any(map(str.isalpha, link[1])) or CITATION.fullmatch(f"[{link[1]}]"):
                    continue
                if markers is None:
                    within = tokens(text, block.lines[0], block.lines[1:])
                    markers = {(token.start, token.end) for token in within if token.kind == "citation"}
                if link.span(2) in markers:
                    yield link.span(2)


_SOURCES = re.compile(
    r"^[ \t>]*(?:#{1,6}[ \t]+)?[*_]{0,3}"
    r"(?:sources?(?: cited)?|references?|citations?|bibliography|works cited"
    r"|来源|信息来源|参考(?:资料|文献|来源|链接)|引用)"
    r"[*_]{0,3}[ \t]*[:：]?[*_]{0,3}[ \t]*$",
    re.I | re.M,
)
"""The line before a list of sources."""
_LISTED = re.compile(r"[ \t>]*(\d{1,3}[.)])[ \t]+\S|[ \t>]*$|[ \t]{2,}\S", re.M)
"""A line of such a list: an item, a blank line, or one that goes on."""


def with_bullets(text: str) -> str:
    """`text`, as long as before, with bullets for the numbers of a list of sources (`Sources:`, then
    `1. https://…`): beside our markers they would name other sources."""
    spans = list(_listed_numbers(text))
    code = skipped(text) if spans else []
    ends = [end for _, end in code]
    outside = [
        (start, end)
        for start, end in spans
        if (index := bisect_right(ends, start)) == len(code) or start < code[index][0]
    ]
    return _with(text, ((start, end, "-".ljust(end - start)) for start, end in outside))


def _listed_numbers(text: str) -> Iterator[Span]:
    start = 0
    for heading in _SOURCES.finditer(text):
        if heading.start() < start:
            continue
        start = heading.end() + 1
        while start < len(text) and (line := _LISTED.match(text, start)):
            if line[1]:
                yield line.span(1)
            start = text.find("\n", start) + 1 or len(text)


def _in_parentheses(text: str, spans: Iterable[Span]) -> str:
    return _with(text, ((start, end, f"({text[start + 1 : end - 1]})") for start, end in spans))


def _with(text: str, changes: Iterable[tuple[int, int, str]]) -> str:
    pieces, position = list[str](), 0
    for start, end, written in changes:
        pieces += [text[position:start], written]
        position = end
    return "".join(pieces) + text[position:]


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

    It reads `[1]`, `[1][2]`, `[1, 2]`, `[1-3]`, `[1]–[3]`, `【1】`, `【1†source】`, `[^1]`, `[citation:1]`,
    `[[1](url)]` and the links `[(1)](url)` and `[1](url)`. A footnote by name (`[^note]`) has no number; a
    range of over 100 is read as its two ends. A marker that `strip_markers` leaves is part of the sentence,
    and cites only as a mention (`according to [1]`); `a[1]` and a line of nothing but markers cite nothing.
    """
    runs = tuple(marks(text, known))
    removed = tuple(accumulate(run.end - run.start for run in runs))
    cited = (
        Mark(run.end - gone, _once(number for span in run.each for number in numbers(text[slice(*span)])))
        for run, gone in zip(runs, removed, strict=True)
    )
    stripped = without(text, runs)
    mentioned = (
        Mark(start, _once(numbers(stripped[start:end])))
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
    found: dict[int, list[int]] = {}
    for marker in sorted((*cited.marks, *cited.mentions), key=lambda marker: marker.position):
        following = bisect_left(starts, marker.position)
        line = bisect_left(lines, marker.position)
        if following > 0 and line <= bisect_left(lines, claims[following - 1].end):
            found.setdefault(following - 1, []).extend(marker.numbers)
        elif following < len(claims) and line == bisect_left(lines, starts[following]):
            found.setdefault(following, []).extend(marker.numbers)
    return tuple(replace(claim, cited=_once(found.get(index, ()))) for index, claim in enumerate(claims))


def _once(named: Iterable[int]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(named))
