"""Marks that are part of the sentence and name a document all the same: `According to [1]`, `(see [2])`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from proxy.text.inline import tokens
from proxy.text.markdown import Span, blocks

_MATHS = re.compile(
    r"(?:[=∈+^]|\b(?:array|domain|eq|equals?|equation|index|interval|is|item|list|matrix|outputs?|prints?"
    r"|range|returns?|sequence|set|tuple|vector|values?)[:：]?)[ \t]*$|区间[ \t]*$",
    re.I,
)
_BETWEEN = re.compile(r"\b(?:in|on|over|from|between|within)[ \t]*$", re.I)
_PLAIN = re.compile(r"\[\d{1,3}\]")
_BEFORE = 16


def mentions(text: str) -> Iterator[Span]:
    """Marks of `text` that stand for documents, in order, where `strip_marks` has left them.

    Not those that index (`a[1]`, `the array [1, 2]`), nor a list behind `in` or `between`: an interval.
    """
    if "[" not in text and "【" not in text:
        return
    for block in blocks(text):
        for token in tokens(text, block.lines[0], block.lines[1:]):
            if (
                token.kind == "citation"
                and not token.whole
                and _stands_for_a_document(text, token.start, token.end)
            ):
                yield token.start, token.end


def _stands_for_a_document(text: str, start: int, end: int) -> bool:
    before = text[max(0, start - _BEFORE) : start].rpartition("\n")[2]
    if before[-1:].isascii() and (before[-1:].isalnum() or before[-1:] == "_"):
        return False
    if _MATHS.search(before):
        return False
    return _PLAIN.fullmatch(text, start, end) is not None or not _BETWEEN.search(before)
