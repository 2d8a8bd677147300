"""What documents with a structure are put together from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from index_builder.documents import MAX_CHARACTERS, Document
from proxy.errors import SourceError


@dataclass(frozen=True, slots=True)
class Block:
    """A heading, a paragraph, or a line: a list's item or a table's row, which stand close together."""

    text: str
    heading: bool = False
    line: bool = False


def assemble(id_: str, title: str, url: str, blocks: Iterable[Block]) -> Document:
    """One document: paragraphs apart by a blank line, lines by a line end, headings kept out of the text.

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
