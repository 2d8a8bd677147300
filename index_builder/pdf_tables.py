"""Tables in the text of a PDF page, by where its words stand: a PDF file does not say what is a table.

Only what is plainly a table is taken for one: short cells under each other, with numbers in them. All other
text is left as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

from index_builder.tables import Cell

_CELL = re.compile(r"\S+(?: \S+)*")
_LONGEST_CELL = 40
_USUAL_CELL = 20
_FEWEST_ROWS = 3


@dataclass(frozen=True, slots=True)
class PlacedCell:
    """A text and the columns of characters that it covers."""

    text: str
    start: int
    end: int


def parts_of(layout: str) -> Iterator[str | list[list[Cell]]]:
    """The text of a page and the rows of its tables, in order. `layout` is the text as it is laid out, in a
    font of fixed width. A page without tables is one text."""
    lines = layout.splitlines()
    text: list[str] = []
    position = 0
    while position < len(lines):
        rows = _table(lines[position:])
        if rows:
            if text:
                yield "\n".join(text)
            text = []
            yield rows
            position += _length(lines[position:], len(rows))
        else:
            text.append(lines[position])
            position += 1
    if text:
        yield "\n".join(text)


def _length(lines: Sequence[str], rows: int) -> int:
    """How many lines the rows take, with blank ones between them."""
    places = [number for number, line in enumerate(lines) if line.strip()]
    return places[rows - 1] + 1


def _table(lines: Sequence[str]) -> list[list[Cell]]:
    """The rows of the table that begins with the first line, or none."""
    columns = _cells(lines[0])
    if len(columns) < 2 or any(len(cell.text) > _LONGEST_CELL for cell in columns):
        return []
    candidates = (_cells(line) for line in lines if line.strip())
    rows = [row for row in takewhile(bool, (_fitted(cells, columns) for cells in candidates)) if row]
    below = [text for row in rows[1:] for text in row[1:] if text]
    numbers = sum(any(map(str.isdigit, text)) for text in below)
    if len(rows) < _FEWEST_ROWS or not below or numbers * 2 < len(below):
        return []
    if sum(map(len, below)) > _USUAL_CELL * len(below):  # columns of prose
        return []
    headed = not any(character.isdigit() for text in rows[0] for character in text)
    return [[Cell(text, heading=headed and number == 0) for text in row] for number, row in enumerate(rows)]


def _cells(line: str) -> list[PlacedCell]:
    """The pieces of a line with two spaces or more between them."""
    return [PlacedCell(match.group(), match.start(), match.end()) for match in _CELL.finditer(line)]


def _fitted(cells: Sequence[PlacedCell], columns: Sequence[PlacedCell]) -> list[str]:
    """The texts of a line by column; none where the line is no row of the table: of one cell, of long ones,
    or of two in the same column."""
    texts = [""] * len(columns)
    for cell in cells:
        place = max(range(len(columns)), key=lambda column: _nearness(cell, columns[column]))
        if texts[place] or len(cell.text) > _LONGEST_CELL:
            return []
        texts[place] = cell.text
    return texts if texts[0] and sum(map(bool, texts)) > 1 else []


def _nearness(cell: PlacedCell, column: PlacedCell) -> int:
    """How many characters both cover; below zero the gap between them."""
    return min(cell.end, column.end) - max(cell.start, column.start)
