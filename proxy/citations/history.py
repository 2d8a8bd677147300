"""What we add to a reply, found again when the reply comes back in a conversation."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate

from proxy.citations.footer import footer_span
from proxy.citations.markers import marks
from proxy.claims.segment import segment
from proxy.text.markdown import Span

_RETURN = re.compile(r"\r(?=\n)")


def bare(parts: Sequence[str], signs: Sequence[str] = ()) -> list[str]:
    """The parts of one text without what we added to it: signs behind claims, the footer, marks.

    Nothing else is changed: whatever a client did to the text itself (line ends, white space at its end)
    stays. With the text in one part, as it was sent, what is left is the draft, byte for byte, unless that
    has a sign of its own behind a claim, or ends in a list that looks like our footer and lists our marks.
    """
    text = "".join(parts)
    returns = [match.start() - at for at, match in enumerate(_RETURN.finditer(text))]
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
    gone = at = 0
    for start, _ in spans:
        while at < len(removed) and removed[at][1] <= start:
            gone += removed[at][1] - removed[at][0]
            at += 1
        within = start - removed[at][0] if at < len(removed) and removed[at][0] < start else 0
        yield start - gone - within


def _with(spans: Sequence[Span], found: Iterable[Span]) -> list[Span]:
    """The spans and what was found in the text without them, as spans of the text with them."""
    moved, gone, at = list(spans), 0, 0
    for start, end in found:
        edges = []
        for edge in (start, end):
            while at < len(spans) and spans[at][0] - gone <= edge:
                gone += spans[at][1] - spans[at][0]
                at += 1
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
