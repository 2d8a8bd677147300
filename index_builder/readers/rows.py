"""Rows of `id`, `title`, `text`, `url`, `section`, all but `text` optional: JSON objects and tables.

One JSON object a line (.jsonl, .ndjson), a list of them (.json), or a table with a header (.csv, .tsv).
"""

from __future__ import annotations

import csv
import json
import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from index_builder.documents import MAX_BYTES, BrokenDocument, Document
from index_builder.readers.text import decode, encoding_of_file, read_bytes
from proxy.errors import SourceError

_BLOCK = 1 << 20
_CELL = re.compile(r'(?:"((?:[^"\t]|"")*+)"|"((?:[^"\r\n]|"")*+)"|([^\t\r\n]*))(\t|\r?\n|\r|\Z)')
"""A cell of a TSV file and what ends it. One in quotes may hold line ends or tabs, but not both."""
_IN_QUOTES = re.compile(r'(?:[^"\t]|"")*+')


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
                yield row_document(_parsed(stripped), f"{id_}#{number}", title, f"line {number}")
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
            yield row_document(row, f"{id_}#{number}", path.stem, f"entry {number}")
        except SourceError as error:
            yield BrokenDocument(f"{path}#{number}", error.message)


def read_csv(path: Path, id_: str) -> Iterator[Document | BrokenDocument]:
    """One document a row, separated by comma, or by semicolon where the header holds that and no comma."""
    return _read_table(path, id_, "")


def read_tsv(path: Path, id_: str) -> Iterator[Document | BrokenDocument]:
    """One document a row, separated by tabs. A quote that no other one closes is a part of the text."""
    return _read_table(path, id_, "\t")


def row_document(row: object, id_: str, title: str, place: str = "") -> Document:
    """The document of one row, whose keys count in any case; `id_` and `title` stand in for missing ones, and
    the `place` in the file for a missing section. Behind an id of the row's own that place names the file.

    Raises:
        SourceError: the row is not an object, it has no text, or one of the fields is of another type.
    """
    if not isinstance(row, Mapping):
        raise SourceError(f"not an object but {type(row).__name__}")
    fields = {str(key).strip().lower(): value for key, value in row.items()}
    text = fields.get("text")
    if not isinstance(text, str) or not text.strip():
        raise SourceError("`text` is missing or empty")
    own_id = _plain(fields, "id")
    file = id_.rpartition("#")[0]
    section = _plain(fields, "section") or (f"{file}, {place}" if own_id and place and file else place)
    return Document(
        id=own_id or id_,
        title=_plain(fields, "title") or title,
        text=text,
        url=_plain(fields, "url"),
        sections=((0, section),) if section else (),
    )


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


def _read_table(path: Path, id_: str, delimiter: str) -> Iterator[Document | BrokenDocument]:
    # The limit is the process's (131,072 characters), not a reader's, and a document is often longer.
    csv.field_size_limit(max(csv.field_size_limit(), MAX_BYTES))
    encoding = encoding_of_file(path)
    with path.open(encoding=encoding, errors="replace", newline="") as file:
        if not delimiter:
            header = file.readline(MAX_BYTES)
            delimiter = ";" if ";" in header and "," not in header else ","
            file.seek(0)
        rows = _tab_separated(file) if delimiter == "\t" else _separated(file, delimiter)
        columns = _columns(rows)
        for number, (line, row) in enumerate(rows, start=2):  # the header is row 1, as in a spreadsheet
            if not any(row):
                continue
            try:
                fields = dict(zip(columns, row, strict=False))
                yield row_document(fields, f"{id_}#{line}", path.stem, f"row {number}")
            except SourceError as error:
                yield BrokenDocument(f"{path}:{line}", error.message)


def _separated(file: TextIO, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Rows with the numbers of their last lines."""
    rows = csv.reader(file, delimiter=delimiter)
    for row in rows:
        yield rows.line_num, row


def _tab_separated(file: TextIO) -> Iterator[tuple[int, list[str]]]:
    """As `_separated`, of a format that knows no quotes, though spreadsheets write them: one that begins a
    cell counts where another one ends it."""
    number = 0
    ahead: deque[str] = deque()

    def following() -> str:
        return ahead.popleft() if ahead else file.readline()

    while line := following():
        taken = [line]
        row, is_open = _cells(line)
        while is_open:
            more, closed = _until_closed(following)
            if not closed:
                ahead.extendleft(reversed(more))
                break
            taken += more
            row, is_open = _cells("".join(taken))
        number += len(taken)
        yield number, row


def _cells(text: str) -> tuple[list[str], bool]:
    """The cells of a row, and whether the last one begins with a quote that a later line may close."""
    cells: list[str] = []
    position, is_open, end = 0, False, "\t"
    while end == "\t" and (match := _CELL.match(text, position)):
        quoted = match[1] if match[1] is not None else match[2]
        cells.append(match[3] if quoted is None else quoted.replace('""', '"'))
        is_open = quoted is None and match[3].startswith('"') and bool(_IN_QUOTES.fullmatch(match[3], 1))
        position, end = match.end(), match[4]
    return cells, is_open and end != "\t"


def _until_closed(following: Callable[[], str]) -> tuple[list[str], bool]:
    """The lines up to the one with the next tab or single quote, and whether that quote ends a cell."""
    lines: list[str] = []
    size = 0
    while size <= MAX_BYTES and (line := following()):
        lines.append(line)
        size += len(line)
        inside = _IN_QUOTES.match(line)
        end = inside.end() if inside else 0
        if end < len(line):
            return lines, line[end] == '"' and line[end + 1 : end + 2] in ("", "\t", "\r", "\n")
    return lines, False


def _columns(rows: Iterator[tuple[int, list[str]]]) -> list[str]:
    columns = [name.strip().lower() for name in next(rows, (0, []))[1]]
    if not any(columns):
        raise SourceError("holds no header")
    if "text" not in columns:
        raise SourceError(f"no column `text`; its columns are {', '.join(columns)[:200]}")
    return columns


def _plain(fields: Mapping[str, object], name: str) -> str:
    value = fields.get(name)
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise SourceError(f"`{name}` is neither text nor a number")
    return str(value).strip()
