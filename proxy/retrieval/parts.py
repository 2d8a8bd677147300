"""An index that has been updated: a large part, a small one with what came later, and passages of either that
are there no more. A search asks both and merges what they find."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from proxy.errors import BrokenIndexError
from proxy.retrieval.index_files import Index, map_array
from proxy.retrieval.lexical import LexicalIndex
from proxy.retrieval.passages import PassageTable
from proxy.retrieval.vector_index import VectorIndex
from proxy.retrieval.vector_table import Rows, VectorRows
from proxy.types import Passage, Vectors

REMOVED = "removed.npy"
"""The rows that are there no more, ascending. Rows are counted through all parts."""

ROW = np.dtype("<i8")


class _Table(PassageTable, Protocol):
    """Passages of a part, whose rows by id are known."""

    def row(self, passage_id: str) -> int | None:
        """The row of that id, or None."""
        ...


def removed_rows(index: Index) -> tuple[Rows, ...]:
    """For each part of an index the rows of it that are there no more, ascending.

    Raises:
        BrokenIndexError: the file of them is not what an update wrote.
    """
    parts = index.parts()
    if REMOVED not in index.manifest.files:
        return tuple(np.empty(0, ROW) for _ in parts)
    rows = map_array(index.file(REMOVED), ROW, (None,))
    starts = starts_of([part.manifest.passages for part in parts])
    if len(rows) and not (rows[0] >= 0 and rows[-1] < starts[-1] and np.all(np.diff(rows) > 0)):
        raise BrokenIndexError(f"{index.file(REMOVED)} holds no ascending rows of this index.")
    cuts = np.searchsorted(rows, starts)
    return tuple(
        np.array(rows[first:last]) - start
        for first, last, start in zip(cuts[:-1], cuts[1:], starts[:-1], strict=True)
    )


def starts_of(counts: Sequence[int]) -> list[int]:
    """The first row of each part of so many passages, and behind the last."""
    return [0, *np.cumsum(counts).tolist()]


class JoinedPassages:
    """The passages of several parts. Implements `passages.PassageTable`; its length is without those removed.

    Args:
        tables: of the parts.
        counts: how many rows each has.
        removed: for each part its rows that are there no more, ascending.
    """

    def __init__(self, tables: Sequence[_Table], counts: Sequence[int], removed: Sequence[Rows]) -> None:
        self._tables = tables
        self._starts = starts_of(counts)
        self._removed = removed

    def __len__(self) -> int:
        return self._starts[-1] - sum(map(len, self._removed))

    def passage(self, row: int) -> Passage:
        """The passage of a row of any part, removed or not."""
        part = bisect_right(self._starts, row) - 1
        return self._tables[part].passage(row - self._starts[part])

    def get(self, passage_id: str) -> Passage | None:
        """The passage of that id, or None."""
        table = self._table_of(passage_id)
        return None if table is None else table.get(passage_id)

    def around(self, passage_id: str, count: int) -> tuple[Sequence[Passage], Sequence[Passage]]:
        """At most `count` passages before and after that passage, as in `protocols.Passages`. A document is
        in one part."""
        table = self._table_of(passage_id)
        return ([], []) if table is None else table.around(passage_id, count)

    def _table_of(self, passage_id: str) -> _Table | None:
        for table, removed in zip(self._tables, self._removed, strict=True):
            row = table.row(passage_id)
            if row is not None and not _among(removed, np.array([row]))[0]:
                return table
        return None


class JoinedVectors:
    """The vectors of several parts. Implements `vector_table.VectorRows`."""

    def __init__(self, tables: Sequence[VectorRows], counts: Sequence[int], dimension: int) -> None:
        self._tables = tables
        self._starts = np.array(starts_of(counts))
        self._dimension = dimension

    def take(self, rows: Rows) -> Vectors:
        """Those of the rows, shape (rows, dimension), float32."""
        taken = np.empty((len(rows), self._dimension), np.float32)
        parts = np.searchsorted(self._starts, rows, side="right") - 1
        for part, table in enumerate(self._tables):
            here = np.flatnonzero(parts == part)
            taken[here] = table.take(rows[here] - self._starts[part])
        return taken


class JoinedPostings:
    """The words of several parts. Implements `lexical.LexicalIndex`."""

    def __init__(self, parts: Sequence[LexicalIndex], counts: Sequence[int]) -> None:
        self._parts = parts
        self._starts = starts_of(counts)

    def best(self, query: str, k: int) -> list[tuple[int, float]]:
        """Rows and BM25 scores of at most k passages, best first."""
        found = [
            (row + start, score)
            for part, start in zip(self._parts, self._starts, strict=False)
            for row, score in part.best(query, k)
        ]
        return sorted(found, key=lambda hit: -hit[1])[:k]


class JoinedSearch:
    """The nearest vectors of several parts. Implements `vector_index.VectorIndex`.

    Of each part more are asked for while removed ones are among what it finds.

    Args:
        parts: what searches each.
        counts: how many rows each has.
        removed: for each part its rows that are there no more, ascending.
    """

    def __init__(self, parts: Sequence[VectorIndex], counts: Sequence[int], removed: Sequence[Rows]) -> None:
        self._parts = parts
        self._counts = counts
        self._starts = starts_of(counts)
        self._removed = removed

    def nearest(self, queries: Vectors, k: int) -> tuple[Vectors, Rows]:
        """Cosines and rows, each of shape (queries, at most k), best first."""
        found = [self._of_part(part, queries, k) for part in range(len(self._parts))]
        cosines = np.concatenate([cosines for cosines, _ in found], axis=1)
        rows = np.concatenate([rows for _, rows in found], axis=1)
        order = np.argsort(-cosines, axis=1, kind="stable")[:, :k]
        return np.take_along_axis(cosines, order, 1), np.take_along_axis(rows, order, 1)

    def _of_part(self, part: int, queries: Vectors, k: int) -> tuple[Vectors, Rows]:
        removed, count = self._removed[part], self._counts[part]
        k = min(k, count - len(removed))
        depth = min(count, k + min(k, len(removed)))
        while True:
            cosines, rows = self._parts[part].nearest(queries, depth)
            live = ~_among(removed, rows)
            if depth == count or np.all(live.sum(axis=1) >= k):
                break
            depth = min(count, 4 * depth)
        # Those that are left first, in their order.
        order = np.argsort(~live, axis=1, kind="stable")[:, :k]
        return (
            np.take_along_axis(cosines, order, 1),
            np.take_along_axis(rows, order, 1) + self._starts[part],
        )


def _among(ascending: Rows, rows: Rows) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Which of the rows are among the ascending ones."""
    if not len(ascending):
        return np.zeros(rows.shape, np.bool_)
    places = np.minimum(np.searchsorted(ascending, rows), len(ascending) - 1)
    among: np.ndarray[tuple[int, ...], np.dtype[np.bool_]] = ascending[places] == rows
    return among
