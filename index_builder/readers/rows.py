"""Rows of `id`, `title`, `text`, `url`, `section`, all but `text` optional: JSON objects and tables.

One JSON object a line (.jsonl, .ndjson), a list of them (.json), or a table with a header (.csv, .tsv). What
else a row holds stands above its text. A table without a column `text` is read as those of other formats are.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from index_builder.documents import MAX_BYTES, BrokenDocument, Document
from index_builder.readers.text import decode, encoding_of_file, read_bytes
from index_builder.tables import row_line
from proxy.errors import SourceError

_BLOCK = 1 << 20
_SHORT = 80
"""Characters of a heading, and of a first column that is the title of its rows."""
_LONGEST_FACT = 500
"""Characters of a cell or value, with its name, that is read beside a text. Longer ones are the text again,
HTML or encoded data."""
_NAMED_DELIMITER = re.compile(r"(?i:\"?sep=([,;\t|])\"?)[,;]*\s*")
_FIELDS = frozenset({"id", "title", "text", "url", "section"})


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
        yield row_document(parsed, id_, path.stem, needs_text=True)  # it may be the settings of a program
        return
    for number, row in enumerate(parsed, start=1):
        try:
            yield row_document(row, f"{id_}#{number}", path.stem, f"entry {number}")
        except SourceError as error:
            yield BrokenDocument(f"{path}#{number}", error.message)


def read_csv(path: Path, id_: str) -> Iterator[Document | BrokenDocument]:
    """One document a row, separated by what the header holds most of: commas, semicolons or tabs, or by what
    Excel's line `sep=;` above it names. A row with more cells than headings is broken."""
    return _read_table(path, id_, "")


def read_tsv(path: Path, id_: str) -> Iterator[Document | BrokenDocument]:
    """One document a row, separated by tabs. A quote that no other one closes is a part of the text."""
    return _read_table(path, id_, "\t")


def row_document(row: object, id_: str, title: str, place: str = "", *, needs_text: bool = False) -> Document:
    """The document of one row, whose keys count in any case; `id_` and `title` stand in for missing ones, and
    the `place` in the file for a missing section. Behind an id of the row's own that place names the file.
    Short values of other keys stand above the text, as `key: value`. Unless it `needs_text`, a row of plain
    values without the key is read as a row of a table without such a column is.

    Raises:
        SourceError: the row is not an object, it has no text, or one of the fields is of another type.
    """
    if not isinstance(row, Mapping):
        raise SourceError(f"not an object but {type(row).__name__}")
    cells = [(str(key).strip(), value) for key, value in row.items()]
    if not needs_text and all(name.lower() != "text" for name, _ in cells):
        cells = _plain_as_text(cells)
    return _document(cells, id_, title, place)


def _plain_as_text(cells: Sequence[tuple[str, object]]) -> list[tuple[str, object]]:
    """The fields of an object without a text, out of its values.

    Raises:
        SourceError: there are no values of its own, or one holds others: its text may be in there.
    """
    held = next((name for name, value in cells if value and isinstance(value, list | dict)), None)
    if held is not None:
        raise SourceError(f"`text` is missing, and `{held[:_SHORT]}` is neither text nor a number")
    plain = [(name, _shown(value)) for name, value in cells if name[:1] != "_"]
    if not any(shown for name, shown in plain if name.lower() not in _FIELDS):
        raise SourceError("`text` is missing or empty")
    return _all_as_text(plain)


def _document(cells: Sequence[tuple[str, object]], id_: str, title: str, place: str) -> Document:
    fields = {name.lower(): value for name, value in cells}
    text = fields.get("text")
    if not isinstance(text, str) or not text.strip():
        raise SourceError("`text` is missing or empty")
    own_id = _plain(fields, "id")
    file = id_.rpartition("#")[0]
    section = _plain(fields, "section") or (f"{file}, {place}" if own_id and place and file else place)
    return Document(
        id=own_id or id_,
        title=_plain(fields, "title") or title,
        text="\n\n".join(filter(None, (_facts(cells), text))),
        url=_plain(fields, "url"),
        sections=((0, section),) if section else (),
    )


def _facts(cells: Sequence[tuple[str, object]]) -> str:
    """What a row says beside its text, in one line: `product: Pump P1 | price: EUR 310`."""
    others = [(name, _shown(value)) for name, value in cells if name.lower() not in _FIELDS]
    named = [(f"{name}: {shown}" if name else shown) for name, shown in others if shown and name[:1] != "_"]
    return " | ".join(" ".join(fact.split()) for fact in named if len(fact) <= _LONGEST_FACT)


def _shown(value: object) -> str:
    """A text, a number (other than NaN) or a truth value; "" for what else JSON has."""
    if isinstance(value, bool):
        return json.dumps(value)
    return str(value).strip() if isinstance(value, str | int | float) and value == value else ""


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
    encoding = encoding_of_file(path)
    with path.open(encoding=encoding, errors="replace", newline="") as file:
        above = 0
        if not delimiter:
            first = file.readline(MAX_BYTES)
            if named := _NAMED_DELIMITER.fullmatch(first):
                delimiter, above = named[1], 1
            else:
                delimiter = max(",;\t", key=first.count)
                file.seek(0)
        rows = _separated(file, _FORMATS[delimiter])
        columns = _columns(rows)
        for number, (line, row) in enumerate(rows, start=2):  # the header is row 1, as in a spreadsheet
            if row is not None and not any(row):
                continue
            try:
                cells = _cells(columns, row, _FORMATS[delimiter])
                yield _document(cells, f"{id_}#{line + above}", path.stem, f"row {number}")
            except SourceError as error:
                yield BrokenDocument(f"{path}:{line + above}", error.message)


def _columns(rows: Iterator[tuple[int, list[str] | None]]) -> list[str]:
    columns = [name.strip() for name in next(rows, (0, None))[1] or ()]
    while columns and not columns[-1]:
        columns.pop()
    if not columns:
        raise SourceError("holds no header")
    if "text" not in map(str.lower, columns) and (len(columns) < 2 or max(map(len, columns)) > _SHORT):
        raise SourceError(f"no column `text`; its columns are {', '.join(columns)[:200]}")
    return columns


def _cells(columns: list[str], row: list[str] | None, form: _Format) -> list[tuple[str, object]]:
    """The cells of a row with the names of their columns. Where no column is the text, all columns are, as in
    tables of other formats.

    Raises:
        SourceError: the row has more cells than columns, or is None.
    """
    if row is None:
        raise SourceError("a quotation mark is not closed")
    count = max(number for number, cell in enumerate(row, start=1) if cell)
    if count > len(columns):
        raise SourceError(
            f"{count} cells under {len(columns)} headings; put quotation marks around a text with {form.name}"
        )
    cells = list(zip(columns, row, strict=False))
    has_text = any(name.lower() == "text" for name, _ in cells)
    return list(cells) if has_text else _all_as_text([(name, cell.strip()) for name, cell in cells])


def _all_as_text(cells: Sequence[tuple[str, str]]) -> list[tuple[str, object]]:
    """The fields of a row that has no cell for the text. Its title is the first cell but the id, if short."""
    line = row_line([cell for _, cell in cells], [name for name, _ in cells])
    name = next((cell for column, cell in cells if column.lower() != "id"), "")
    title = ("title", name if len(name) <= _SHORT else "")
    return [title, *((name, cell) for name, cell in cells if name.lower() in _FIELDS), ("text", line)]


def _separated(file: TextIO, form: _Format) -> Iterator[tuple[int, list[str] | None]]:
    """Rows with the numbers of their last lines, and None for one with a quotation mark that is not closed.

    A quotation mark that begins a cell counts where another one ends the cell. Where none does, the next row
    is that of the next line. Tab-separated values know no quotation marks, though spreadsheets write them:
    one that isn't closed is a part of the text there.
    """
    number = 0
    ahead: deque[str] = deque()

    def following() -> str:
        line = ahead.popleft() if ahead else file.readline(MAX_BYTES)
        if len(line) == MAX_BYTES and not line.endswith(("\r", "\n")):
            raise SourceError(f"a line of more than {MAX_BYTES:,} characters")
        return line

    while text := following():
        number += 1
        row, position = form.cells(text)
        while position < len(text):
            more, closed = form.until_closed(following)
            if not closed:
                ahead.extendleft(reversed(more))
                row.append(text[position:].rstrip("\r\n"))
                break
            number += len(more)
            text = text[position:] + "".join(more)
            cells, position = form.cells(text)
            row += cells
        yield number, row if position == len(text) or form.bare_quotes else None


class _Format:
    """A format of rows of cells, which one sign separates.

    Parameters:
        delimiter: the sign.
        name: what several of it are called.
        bare_quotes: quotation marks may be a part of the text, unescaped. Then a cell in quotation marks
            holds line ends or delimiters, but not both.
    """

    def __init__(self, delimiter: str, name: str, *, bare_quotes: bool = False) -> None:
        self.name = name
        self.bare_quotes = bare_quotes
        self._delimiter = delimiter
        sign = re.escape(delimiter)
        within = rf'(?:[^"{sign}]|"")*+' if bare_quotes else r'(?:[^"]|"")*+'
        in_line = r'(?:[^"\r\n]|"")*+'
        self._within = re.compile(within)
        self._cell = re.compile(rf'(?:"({within}|{in_line})"|([^{sign}\r\n]*))({sign}|\r?\n|\r|\Z)')

    def cells(self, text: str) -> tuple[list[str], int]:
        """The cells of a row, and where one begins with a quotation mark that a later line may close. There
        the cells end."""
        if '"' not in text:
            return text.rstrip("\r\n").split(self._delimiter), len(text)
        cells: list[str] = []
        position, end = 0, self._delimiter
        while end == self._delimiter and (match := self._cell.match(text, position)):
            quoted, bare, end = match.groups()
            if quoted is None and bare.startswith('"') and self._reaches_end(text, position + 1):
                return cells, position
            cells.append(bare if quoted is None else quoted.replace('""', '"'))
            position = match.end()
        return cells, len(text)

    def _reaches_end(self, text: str, position: int) -> bool:
        inside = self._within.match(text, position)
        return inside is not None and inside.end() == len(text)

    def until_closed(self, following: Callable[[], str]) -> tuple[list[str], bool]:
        """The lines up to the one in which the quotation ends, and whether a cell ends there too."""
        lines: list[str] = []
        size = 0
        while size <= MAX_BYTES and (line := following()):
            lines.append(line)
            size += len(line)
            inside = self._within.match(line)
            end = inside.end() if inside else 0
            if end < len(line):
                return lines, line[end] == '"' and line[end + 1 : end + 2] in (
                    "",
                    self._delimiter,
                    "\r",
                    "\n",
                )
        return lines, False


_FORMATS = {
    ",": _Format(",", "commas"),
    ";": _Format(";", "semicolons"),
    "\t": _Format("\t", "tabs", bare_quotes=True),
    "|": _Format("|", "vertical bars"),
}


def _plain(fields: Mapping[str, object], name: str) -> str:
    value = fields.get(name)
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise SourceError(f"`{name}` is neither text nor a number")
    return str(value).strip()
