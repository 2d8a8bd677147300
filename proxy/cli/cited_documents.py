"""The documents that `vouch check --cited` numbers: files, folders, or JSON Lines with their own numbers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from index_builder.documents import BrokenDocument, Document
from index_builder.readers import suffix
from index_builder.readers.rows import row_document
from index_builder.sources import documents
from proxy.citations.report import numbered
from proxy.errors import SourceError

_LINES = (".jsonl", ".ndjson")


def read_documents(sources: Sequence[str]) -> tuple[Document, ...]:
    """The documents in the order of the sources, sorted within a folder, numbered from 1.

    A row of a `.jsonl` file has the `number` that it gives, if any. Raises `SourceError` for what can't be
    read, without which the others would have other numbers, and `RequestError` where two have the same.
    """
    return numbered([one for source in sources for one in _read(source)])


def _read(source: str) -> Iterator[Document]:
    path = Path(source)
    if suffix(path) in _LINES and path.is_file():
        yield from _rows(path)
        return
    for found in documents([source]):
        if isinstance(found, BrokenDocument):
            raise SourceError(f"{found.source}: {found.reason}. All documents are needed to number them.")
        yield found


def _rows(path: Path) -> Iterator[Document]:
    with path.open("rb") as file:
        for place, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                yield _row(json.loads(line), f"{path.name}#{place}", path.stem)
            except SourceError as error:
                raise SourceError(f"{path}:{place}: {error.message}.") from error
            except (ValueError, RecursionError) as error:
                raise SourceError(f"{path}:{place}: not valid JSON: {error}.") from error


def _row(row: object, id_: str, title: str) -> Document:
    document = row_document(row, id_, title)
    number = row.get("number") if isinstance(row, Mapping) else None
    if number is None:
        return document
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        raise SourceError("`number` is not a whole number from 1")
    return replace(document, number=number)
