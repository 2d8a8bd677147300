"""JSON objects, one a line (.jsonl, .ndjson) or in one list (.json)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from index_builder.documents import MAX_BYTES, BrokenDocument, Document
from index_builder.readers.encodings import decode, read_bytes
from index_builder.readers.rows import row_document
from proxy.errors import SourceError

_BLOCK = 1 << 20


def read_jsonl(path: Path, id_: str) -> Iterator[Document | BrokenDocument]:
    """One document a line. A bad line is broken, the rest goes on. Lines are UTF-8, as JSON has to be."""
    with path.open("rb") as file:
        yield from json_lines(file, id_, title=path.stem, source=str(path))


def json_lines(
    file: BinaryIO, id_: str, *, title: str, source: str, limit: int = MAX_BYTES
) -> Iterator[Document | BrokenDocument]:
    """As `read_jsonl`, of any stream; `id_#line` is the id of an object without one.

    A line over `limit` bytes is broken; its rest is skipped without being held in memory.
    """
    number = 0
    while line := file.readline(limit + 1):
        number += 1
        if len(line) > limit:
            _skip_rest(file, line)
            yield BrokenDocument(f"{source}:{number}", f"a line of more than {limit:,} bytes")
        elif stripped := line.removeprefix(b"\xef\xbb\xbf").strip():
            try:
                yield row_document(_parsed(stripped), f"{id_}#{number}", title)
            except SourceError as error:
                yield BrokenDocument(f"{source}:{number}", error.message)


def read_json(path: Path, id_: str) -> Iterator[Document | BrokenDocument]:
    """One document per object of a list, or the one object that the file holds."""
    parsed = _parsed(decode(read_bytes(path)))
    if not isinstance(parsed, list):
        yield row_document(parsed, id_, path.stem)
        return
    for number, row in enumerate(parsed, start=1):
        try:
            yield row_document(row, f"{id_}#{number}", path.stem)
        except SourceError as error:
            yield BrokenDocument(f"{path}#{number}", error.message)


def _parsed(text: str | bytes) -> Any:
    try:
        return json.loads(text)
    except UnicodeDecodeError as error:
        raise SourceError(f"not valid UTF-8 at byte {error.start}") from error
    except json.JSONDecodeError as error:
        raise SourceError(f"not valid JSON: {error.msg} at character {error.pos}") from error
    except (ValueError, RecursionError) as error:  # a number of thousands of digits; nesting without end
        raise SourceError(f"not usable JSON: {error}") from error


def _skip_rest(file: BinaryIO, line: bytes) -> None:
    while line and not line.endswith(b"\n"):
        line = file.readline(_BLOCK)
