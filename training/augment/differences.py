"""Where two texts differ (by word in English, by character in Chinese), and how a reviewer sees it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher

from rich.text import Text

_TOKEN = re.compile(r"[A-Za-z0-9\u00c0-\u024f]+|\s+|.", re.S)


@dataclass(frozen=True, slots=True)
class Change:
    """`old[start:end]`, in code points, is `new` in the other text. One of both may be empty."""

    start: int
    end: int
    new: str


def changes(old: str, new: str) -> Iterator[Change]:
    """The changes that make `new` of `old`, in order, no two of them adjacent."""
    one, other = _TOKEN.findall(old), _TOKEN.findall(new)
    starts = [0]
    for token in one:
        starts.append(starts[-1] + len(token))
    for tag, i, j, k, m in SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        if tag != "equal":
            yield Change(starts[i], starts[j], "".join(other[k:m]))


_CONTEXT = 160
"""Code points of unchanged text that are shown to either side of a change."""
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
Piece = tuple[str, str]
"""A stretch of text and what it is: `same`, `old` or `new`."""
_STYLES = {"same": "", "old": "red strike", "new": "bold green"}
_MARKS = {"same": ("", ""), "old": ("[-", "-]"), "new": ("{+", "+}")}


def difference(old: str, new: str, *, colour: bool) -> Text:
    """Both texts in one, long stretches that are the same left out. Without colour, as wdiff marks it."""
    shown = Text()
    for text, kind in _shortened(list(_pieces(old, new))):
        before, behind = ("", "") if colour else _MARKS[kind]
        shown.append(before + plain(text) + behind, style=_STYLES[kind])
    return shown


def plain(text: str) -> str:
    """Without what could steer a terminal."""
    return _CONTROL.sub("\ufffd", text)


def _pieces(old: str, new: str) -> Iterator[Piece]:
    end = 0
    for change in changes(old, new):
        yield old[end : change.start], "same"
        yield old[change.start : change.end], "old"
        yield change.new, "new"
        end = change.end
    yield old[end:], "same"


def _shortened(pieces: list[Piece]) -> Iterator[Piece]:
    changed = len(pieces) > 1
    for number, (text, kind) in enumerate(pieces):
        first, last = number == 0, number == len(pieces) - 1
        long = len(text) > (_CONTEXT if first or last else 2 * _CONTEXT) + 20
        if not (changed and kind == "same" and long):
            if text:
                yield text, kind
            continue
        head = "" if first else text[:_CONTEXT]
        tail = "" if last else text[-_CONTEXT:]
        yield f"{head} […] {tail}".strip(" " if first or last else ""), kind
