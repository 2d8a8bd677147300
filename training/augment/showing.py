"""A row as its reviewer sees it: what was put in and what was taken out, in colour or between marks."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rich.text import Text

from training.augment.diffs import changes

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
    at = 0
    for change in changes(old, new):
        yield old[at : change.start], "same"
        yield old[change.start : change.end], "old"
        yield change.new, "new"
        at = change.end
    yield old[at:], "same"


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
