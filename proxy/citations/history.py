"""What Vouch adds to a reply, removed again when the reply comes back in a conversation.

The footer, a list of sources for clients that show nothing but text, is written here too.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from proxy.citations.markers import marks
from proxy.claims.segment import segment
from proxy.text.markdown import Span, blocks

_HEAD = "\n\n---\n\n"
_ENTRY = re.compile(r"- \[(\d{1,3})\] (?:\[[^\[\]\n]+\]\([^\s()]+\)|[^\[\]\n]+)")
_SPECIAL = re.compile(r"[\\`*_\[\]<>|~$&]")
_MARK = re.compile(r"\[{1,2}(\d{1,3})\]")
_MAX_NUMBER = 999
"""The highest that is known as a mark when it comes back."""


@dataclass(frozen=True, slots=True)
class Source:
    """A line of the list: the number of its marks, and where its title leads, if a browser can open that."""

    n: int
    title: str
    url: str


def footer(content: str, sources: Sequence[Source]) -> str:
    """What stands behind `content`, whose marks are those of all the sources: a ruler and a list.

    Empty where there is nothing to list, and where a list would not be one, or would change how the content
    is read: behind code that was never closed.
    """
    if not sources or max(source.n for source in sources) > _MAX_NUMBER:
        return ""
    text = _HEAD + "\n".join(map(_entry, sources))
    same = blocks(content + text)[: -len(sources)] == blocks(content)
    return text if same else ""


def footer_span(text: str) -> Span | None:
    """Where our footer stands in a text that has come back, or None.

    It ends the text, but for white space, and lists exactly the numbers that are marked above. So a list
    that the model itself wrote in the very same form stays, unless it is of the same numbers as our marks.
    """
    start = text.rfind(_HEAD)
    if start < 0:
        return None
    entries = [_ENTRY.fullmatch(line) for line in text[start + len(_HEAD) :].rstrip().split("\n")]
    listed = [int(entry.group(1)) for entry in entries if entry]
    if len(listed) < len(entries) or set(listed) != _marked(text[:start]):
        return None
    return start, len(text)


def _entry(source: Source) -> str:
    title = _SPECIAL.sub(_entity, " ".join(source.title.split()))
    opens = source.url.startswith(("http://", "https://"))
    return f"- [{source.n}] [{title}]({source.url})" if opens else f"- [{source.n}] {title}"


def _entity(special: re.Match[str]) -> str:
    """Not a backslash before it: `\\[` begins a formula."""
    return f"&#{ord(special.group())};"


def _marked(text: str) -> set[int]:
    """The numbers of the marks that stand as citations."""
    found = (_MARK.match(text, *span) for run in marks(text) for span in run.each)
    return {int(mark.group(1)) for mark in found if mark}


_RETURN = re.compile(r"\r(?=\n)")


def bare(parts: Sequence[str], signs: Sequence[str] = ()) -> list[str]:
    """The parts of one text without what we added to it: signs behind claims, the footer, marks.

    Nothing else is changed: whatever a client did to the text itself (line ends, white space at its end)
    stays. With the text in one part, as it was sent, what is left is the draft, byte for byte, unless that
    has a sign of its own behind a claim, or ends in a list that looks like our footer and lists our marks.
    """
    text = "".join(parts)
    returns = [match.start() - index for index, match in enumerate(_RETURN.finditer(text))]
    spans = [
        (start + bisect_left(returns, start), end + bisect_left(returns, end))
        for start, end in _ours(_RETURN.sub("", text), signs)
    ]
    if not spans:
        return list(parts)
    ends = list(accumulate(map(len, parts)))
    return [
        _without(part, _within(spans, end - len(part), end)) for part, end in zip(parts, ends, strict=True)
    ]


def _ours(text: str, signs: Sequence[str]) -> list[Span]:
    """The spans of what is ours in a text with single line feeds, in order, disjoint."""
    spans: list[Span] = []
    for sign in signs:
        left = _without(text, spans)
        if sign and sign in left:
            spans = _with(spans, _sign_spans(left, sign))
    left = _without(text, spans)
    end = footer_span(left)
    if end is not None:
        spans = _with(spans, [end])
        left = left[: end[0]]
    return _with(spans, [(run.start, run.end) for run in marks(left)])


def _sign_spans(text: str, sign: str) -> list[Span]:
    """The signs that stand behind claims, or the marks of claims, of the text as it is without either."""
    signs = [(match.start(), match.end()) for match in re.finditer(re.escape(sign), text)]
    unsigned = _without(text, signs)
    runs = [(run.start, run.end) for run in marks(unsigned)]
    removed = _with(signs, runs)
    ends = {claim.end for claim in segment(_without(text, removed))}
    return [span for span, place in zip(signs, _places(signs, removed), strict=True) if place in ends]


def _places(spans: Sequence[Span], removed: Sequence[Span]) -> Iterator[int]:
    """Where each of the spans, all of them removed, stood in what is left."""
    gone = index = 0
    for start, _ in spans:
        while index < len(removed) and removed[index][1] <= start:
            gone += removed[index][1] - removed[index][0]
            index += 1
        within = start - removed[index][0] if index < len(removed) and removed[index][0] < start else 0
        yield start - gone - within


def _with(spans: Sequence[Span], added: Iterable[Span]) -> list[Span]:
    """The spans and what was found in the text without them, as spans of the text with them."""
    moved, gone, index = list(spans), 0, 0
    for start, end in added:
        edges = []
        for edge in (start, end):
            while index < len(spans) and spans[index][0] - gone <= edge:
                gone += spans[index][1] - spans[index][0]
                index += 1
            edges.append(edge + gone)
        moved.append((edges[0], edges[1]))
    return list(_joined(sorted(moved)))


def _joined(spans: Iterable[Span]) -> Iterator[Span]:
    """Sorted spans, those that touch as one."""
    held: Span | None = None
    for span in spans:
        if held is not None and span[0] <= held[1]:
            held = held[0], max(held[1], span[1])
            continue
        if held is not None:
            yield held
        held = span
    if held is not None:
        yield held


def _within(spans: Iterable[Span], start: int, end: int) -> list[Span]:
    """The spans as far as they lie from `start` to `end`, counted from there."""
    return [
        (max(left, start) - start, min(right, end) - start)
        for left, right in spans
        if left < end and right > start
    ]


def _without(text: str, spans: Iterable[Span]) -> str:
    kept, position = [], 0
    for start, end in spans:
        kept.append(text[position:start])
        position = end
    return "".join(kept) + text[position:]
