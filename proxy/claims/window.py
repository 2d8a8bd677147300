"""The end of a text that is being written, with only as much before it as decides how it is read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from proxy.claims.continuations import Agreement, Read, moved, states
from proxy.types import Claim

Reading = tuple[str, tuple[Claim, ...]]

_LEAST_KEPT = 64
"""Code points of a line: more than the length from which the line is taken for a wrapped one."""


@dataclass(frozen=True, slots=True)
class Window:
    """A stretch of the raw text. What is read at `i` of it stands at `i + shift` of the whole text read.

    Its first `skip` code points, with `claims` claims in them, only stand for what is before: the container
    marks (`- `) of the line it starts in, or what comes before code that was left out.
    """

    raw: str = ""
    shift: int = 0
    skip: int = 0
    claims: int = 0


@dataclass(frozen=True, slots=True)
class _Cut:
    """Where a text that was read may be cut, and what then stands for what is before."""

    position: int
    marks: str = ""


def shortened(read: Read, window: Window, whole: str, agreement: Agreement) -> Window | None:
    """The window without what no longer decides anything, or None where nothing can be cut.

    `whole` is the part of `window.raw` that was agreed on. A cut is only made where all that may follow is
    read behind it as it is in the longer window.
    """
    text, claims = agreement.readings[""]
    readings = dict(agreement.readings)
    readings.update((suffix, read(whole + suffix)) for suffix in states())
    for cut in _cuts(text, claims[: agreement.claims], agreement.end):
        behind = raw_end(window.raw, text[: cut.position])
        if cut.position <= window.skip or behind is None:
            continue
        if _reads_alike(read, cut.marks + whole[behind:], cut, readings):
            moved_by = cut.position - len(cut.marks)
            return Window(cut.marks + window.raw[behind:], window.shift + moved_by, len(cut.marks))
    return None


def raw_end(raw: str, text: str) -> int | None:
    """Where the raw text starts that follows `text`, which is `raw` with stretches taken out, or None."""
    if raw.startswith(text):
        return len(text)
    at = 0
    for char in text:
        at = raw.find(char, at) + 1
        if at == 0:
            return None
    return at


def _cuts(text: str, claims: tuple[Claim, ...], end: int) -> Iterator[_Cut]:
    """Places to cut at, the best first: before a claim, before a line, before a paragraph."""
    kept = [claim for claim in claims if end - claim.start >= _LEAST_KEPT]
    if kept:
        start = text.rfind("\n", 0, kept[-1].start) + 1
        first = next(claim for claim in claims if claim.end > start)
        if first.start < start or first is kept[-1]:
            yield _Cut(start)
        else:
            yield _Cut(kept[-1].start, text[start : first.start])
    limit = kept[-1].start if kept else end
    yield _Cut(text.rfind("\n", 0, max(0, end - 1)) + 1)
    line = limit
    while (line := text.rfind("\n", 0, line)) >= 0:
        if not text[line + 1 : line + 2].isspace() and line + 1 < end:
            yield _Cut(line + 1)
            break
    paragraph = text.rfind("\n\n", 0, limit)
    if paragraph >= 0:
        yield _Cut(paragraph + 2)


def _reads_alike(read: Read, raw: str, cut: _Cut, readings: Mapping[str, Reading]) -> bool:
    skip = len(cut.marks)
    for suffix, (text, claims) in readings.items():
        if any(claim.start < cut.position < claim.end for claim in claims):
            return False
        text_behind, claims_behind = read(raw + suffix)
        if text_behind[skip:] != text[cut.position :]:
            return False
        expected = moved((claim for claim in claims if claim.start >= cut.position), skip - cut.position)
        if claims_behind != expected:
            return False
    return True
