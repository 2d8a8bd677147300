"""Rows of tables as lines that can be read alone: `HR-10 | Price: EUR 31,500`.

A sentence about one cell finds its row, and the row says what the cell is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from index_builder.documents import Block

_LONGEST_HEADING = 60
_MOST_SPANNED = 10
_FEW_CELLS = 1000
"""Cells that a small table may have whatever is in it."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a table. `rows` and `columns` are how many of them it spans."""

    text: str
    heading: bool = False
    rows: int = 1
    columns: int = 1


_EMPTY = Cell("")


def grid(rows: Sequence[Sequence[Cell]]) -> list[list[Cell]]:
    """The rows with every cell at its column.

    A cell that spans rows stands in each of them. One that spans columns stands in each as well if it is a
    heading, and otherwise in the first, with empty cells behind it. Spans count as 1 where they would make
    more than `_MOST_SPANNED` times as many cells as there are.
    """
    most = _MOST_SPANNED * sum(map(len, rows)) + _FEW_CELLS
    placed = _placed(rows, most)
    return [list(row) for row in rows] if placed is None else placed


def _placed(rows: Sequence[Sequence[Cell]], most: int) -> list[list[Cell]] | None:
    """None where there would be more cells than that."""
    result: list[list[Cell]] = []
    open_: dict[int, tuple[int, Cell]] = {}
    for row in rows:
        line: list[Cell] = []
        cells = iter(row)
        end = max(open_, default=-1)
        while len(line) <= most:
            if len(line) in open_:
                left, cell = open_.pop(len(line))
                if left > 1:
                    open_[len(line)] = (left - 1, cell)
                line.append(cell)
                continue
            given = next(cells, None)
            if given is None:
                if len(line) > end:
                    break
                line.append(_EMPTY)
                continue
            behind = given if given.heading else replace(given, text="")
            for number in range(min(given.columns, most)):
                cell = given if number == 0 else behind
                if given.rows > 1:
                    open_[len(line)] = (given.rows - 1, cell)
                line.append(cell)
        result.append(line)
        most -= len(line)
        if most < 0:
            return None
    return result


def table_blocks(rows: Sequence[Sequence[Cell]], *, guess: bool = False) -> Iterator[Block]:
    """The rows as lines. Rows of headings alone, at the top, head the columns of those below.

    The headings stand in a line of their own, and before each cell but the first. With `guess` a first row
    that looks like one is taken for headings where none is marked.
    """
    lines = grid([[replace(cell, text=" ".join(cell.text.split())) for cell in row] for row in rows])
    lines = [row for row in lines if any(cell.text for cell in row)]
    count = 0
    while count < len(lines) and all(cell.heading or not cell.text for cell in lines[count]):
        count += 1
    if guess and not count and _looks_like_headings(lines):
        count = 1
    if count == len(lines):
        count = 0
    headings = _headings(lines[:count])
    for row in lines[:count]:
        yield Block(" | ".join(_distinct([cell.text for cell in row])), line=True)
    for row in lines[count:]:
        yield Block(row_line([cell.text for cell in row], headings), line=True)


def _headings(rows: Sequence[Sequence[Cell]]) -> list[str]:
    """The heading of each column: those of several rows joined (`2019 Price`)."""
    width = max(map(len, rows), default=0)
    stacked = [[row[column].text for row in rows if column < len(row)] for column in range(width)]
    return [" ".join(_distinct(texts)).rstrip(":：")[:_LONGEST_HEADING] for texts in stacked]


def row_line(cells: Sequence[str], headings: Sequence[str]) -> str:
    """A row with the heading of its column before each cell but the first."""
    if sum(bool(text) for text in cells) == 1:  # a heading among the rows
        return next(filter(None, cells))
    named = (
        f"{headings[column]}: {text}" if 0 < column < len(headings) and headings[column] else text
        for column, text in enumerate(cells)
        if text
    )
    return " | ".join(named)


def _distinct(texts: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(filter(None, texts)))


def _looks_like_headings(rows: Sequence[Sequence[Cell]]) -> bool:
    """Whether the first row has names only, all different, and the rows below have numbers."""
    if len(rows) < 2 or len(rows[0]) < 2:
        return False
    first = [cell.text for cell in rows[0]]
    named = all(first) and len(set(first)) == len(first)
    short = all(len(text) <= _LONGEST_HEADING and not any(map(str.isdigit, text)) for text in first)
    below = [cell.text for row in rows[1:] for cell in row[1:]]
    return named and short and sum(any(map(str.isdigit, text)) for text in below) * 2 >= len(below)
