"""What the readers give: a document as plain text, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from proxy.types import Document

__all__ = ["MAX_BYTES", "MAX_CHARACTERS", "BrokenDocument", "Document", "Reader"]

MAX_BYTES = 50_000_000
"""Largest text file, line or table cell that is read as one document."""

MAX_CHARACTERS = 50_000_000
"""Longest plain text of one document, whatever format it came out of."""


@dataclass(frozen=True, slots=True)
class BrokenDocument:
    """A document that could not be read. `source` is its file, with `:line` for one of several in a file."""

    source: str
    reason: str


Reader = Callable[[Path, str], Iterator[Document | BrokenDocument]]
"""Reads the file at a path, whose documents take their ids from the second argument where they have none.

Raises `errors.SourceError`, OSError, or whatever its parser raises on a file that it can't read.
"""
