"""Delimiters between a prompt's own words and material from outside.

A document that contains a fixed delimiter could end its own block. This delimiter is derived from the
material and never part of it, so nothing inside can end the block. The same material always gets the same
delimiter, so that providers' prompt caches still hit.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

LENGTH = 12
"""Hexadecimal digits of a delimiter."""


def delimiter_for(texts: Iterable[str]) -> str:
    """`LENGTH` hexadecimal digits that occur in none of the texts, in upper or lower case."""
    folded = [text.casefold() for text in texts]
    digest = hashlib.sha256()
    for text in folded:
        data = text.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "big"))
        digest.update(data)
    delimiter = digest.hexdigest()[:LENGTH]
    while any(delimiter in text for text in folded):
        digest.update(delimiter.encode())
        delimiter = digest.hexdigest()[:LENGTH]
    return delimiter


def delimited(name: str, text: str) -> str:
    """The text between the lines `<name-delimiter>` and `</name-delimiter>`."""
    delimiter = delimiter_for((text,))
    return f"<{name}-{delimiter}>\n{text}\n</{name}-{delimiter}>"
