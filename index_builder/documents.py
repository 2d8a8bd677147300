"""What readers give (a document as plain text, or why there is none), and how they put one together."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from proxy.errors import SourceError
from proxy.types import MAX_SECTION, Document

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
    """A heading, a paragraph, or a line: a list item or a table row, with no blank line before the next.

    `level` is a heading's, 1 for the highest; 0 where it is not known, or no text of its own.
    """

    text: str
    heading: bool = False
    line: bool = False
    level: int = 0


def assemble(id_: str, title: str, url: str, blocks: Iterable[Block]) -> Document:
    """One document: a blank line between paragraphs, a line end between lines. Headings are not in the text
    but become `sections`, each below those of higher levels (`Holidays > Germany`), but for the title. One
    with neither text nor a heading of a lower level under it becomes a line of text, unless it is the title;
    so does one of more than `MAX_SECTION` characters.

    Raises:
        SourceError: the text is longer than `MAX_CHARACTERS`. `blocks` is read no further then.
    """
    parts: list[str] = []
    sections: list[tuple[int, str]] = []
    length, after_line = 0, False
    headings: list[Block] = []
    headed = False
    for block in _without_empty_headings(map(_as_text_if_long, blocks), title):
        text = block.text.strip()
        if block.heading:
            while headings and not 0 < headings[-1].level < block.level:
                headings.pop()
            headings.append(block)
            headed = True
        if block.heading or not text:
            continue
        if parts:
            parts.append("\n" if block.line and after_line and not headed else "\n\n")
            length += len(parts[-1])
        if headed:
            sections.append((length, _section(headings, title)))
            headed = False
        parts.append(text)
        length += len(text)
        after_line = block.line
        if length > MAX_CHARACTERS:
            raise SourceError(f"holds more than {MAX_CHARACTERS:,} characters of text")
    return Document(id_, title, "".join(parts), url, tuple(sections))


def _as_text_if_long(block: Block) -> Block:
    return replace(block, heading=False, line=True) if len(block.text) > MAX_SECTION else block


def _section(headings: Sequence[Block], title: str) -> str:
    """The headings, the highest first; of those above the last only as many as fit, from below."""
    shown = [" ".join(block.text.split()) for block in headings]
    path = shown[-1]
    for above in reversed(shown[:-1]):
        if len(f"{above} > {path}") > MAX_SECTION:
            break
        if above and above != " ".join(title.split()):
            path = f"{above} > {path}"
    return path


def _without_empty_headings(blocks: Iterable[Block], title: str) -> Iterator[Block]:
    """The blocks, with lines in the place of headings that no text and no lower heading follows."""
    waiting: list[Block] = []
    end = Block("", heading=True, level=1)
    for block in itertools.chain(blocks, [end]):
        if not block.heading:
            if block.text.strip():
                yield from waiting
                waiting.clear()
                yield block
            continue
        while waiting and waiting[-1].level >= block.level > 0:
            empty = waiting.pop()
            if " ".join(empty.text.split()) not in ("", " ".join(title.split())):
                yield from waiting
                waiting.clear()
                yield replace(empty, heading=False, line=True)
        if block is not end:
            waiting.append(block)
