"""What readers give (a document as plain text, or why there is none), and how they put one together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from proxy.errors import SourceError
from proxy.types import Document

__all__ = ["MAX_BYTES", "MAX_CHARACTERS", "Block", "BrokenDocument", "Document", "Reader", "assemble"]

MAX_BYTES = 50_000_000
"""Largest text file, line or table cell that is read as one document."""

MAX_CHARACTERS = 50_000_000
"""Longest plain text of one document, whatever format it came out of."""


@dataclass(frozen=True, slots=True)
class BrokenDocument:
    """A document that could not be read. `source` is its file, with `:line` where a file holds several."""

    source: str
    reason: str


Reader = Callable[[Path, str], Iterator[Document | BrokenDocument]]
"""Reads the file at a path. The second argument is the id of its document, where the file names none itself.

Raises `errors.SourceError`, OSError, or whatever its parser raises on a file that it can't read.
"""


@dataclass(frozen=True, slots=True)
class Block:
    """A heading, a paragraph, or a line: a list item or a table row, with no blank line before the next."""

    text: str
    heading: bool = False
    line: bool = False


def assemble(id_: str, title: str, url: str, blocks: Iterable[Block]) -> Document:
    """One document: a blank line between paragraphs, a line end between lines. Headings are not in the text
    but become `sections`.

    Raises:
        SourceError: the text is longer than `MAX_CHARACTERS`. `blocks` is read no further then.
    """
    parts: list[str] = []
    sections: list[tuple[int, str]] = []
    length, after_line = 0, False
    heading: str | None = None
    for block in blocks:
        text = block.text.strip()
        if block.heading:
            heading = text
        if block.heading or not text:
            continue
        if parts:
            parts.append("\n" if block.line and after_line and heading is None else "\n\n")
            length += len(parts[-1])
        if heading is not None:
            sections.append((length, heading))
            heading = None
        parts.append(text)
        length += len(text)
        after_line = block.line
        if length > MAX_CHARACTERS:
            raise SourceError(f"holds more than {MAX_CHARACTERS:,} characters of text")
    return Document(id_, title, "".join(parts), url, tuple(sections))
