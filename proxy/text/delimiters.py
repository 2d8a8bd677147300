"""Marks that set material from outside apart from what we say ourselves.

A fixed mark can be closed by a document that contains it. This one is derived from the material and is
never part of it, so that nothing inside can end it; and the same material always gets the same mark, so
that providers' prompt caches still hit.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

LENGTH = 12
"""Hexadecimal digits of a mark."""


def delimiter_for(texts: Iterable[str]) -> str:
    """A mark of `LENGTH` hexadecimal digits that occurs in none of the texts, whatever its case."""
    folded = [text.casefold() for text in texts]
    digest = hashlib.sha256()
    for text in folded:
        data = text.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "big"))
        digest.update(data)
    mark = digest.hexdigest()[:LENGTH]
    while any(mark in text for text in folded):
        digest.update(mark.encode())
        mark = digest.hexdigest()[:LENGTH]
    return mark


def delimited(name: str, text: str) -> str:
    """The text between `<name-mark>` and `</name-mark>`, each on a line of its own."""
    mark = delimiter_for((text,))
    return f"<{name}-{mark}>\n{text}\n</{name}-{mark}>"
