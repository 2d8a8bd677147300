"""An update of an index: which documents stay where they are, and which passages a new part holds.

An updated index has two parts: a large one, which is left as it is, and a small one with what came later,
which every update writes anew. What was removed from the large part is a list of rows. When the small part
and that list outgrow a share of the large one, all that is left becomes one part again (compaction).
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from index_builder.catalog import (
    DIGEST,
    DOCUMENTS,
    FILE,
    FILES,
    ID,
    PASSAGES,
    ROW,
    TOKENS,
    Documents,
    Table,
    id_key,
    read_documents,
    read_files,
)
from proxy.retrieval.generation import Generation
from proxy.retrieval.index_files import ArrayWriter, Index, Part
from proxy.retrieval.parts import REMOVED, removed_rows
from proxy.retrieval.parts import ROW as REMOVED_ROW
from proxy.retrieval.passages import StoredPassages
from proxy.retrieval.vector_table import Rows
from proxy.types import Passage

log = logging.getLogger(__name__)

COMPACT = 0.2
"""Passages added and removed, as a share of the large part, above which an update compacts."""

_Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Standing:
    """An index as it is before an update: its parts, which of their documents are still there, and what its
    files were like. `present` has a mask per table."""

    index: Index
    parts: tuple[Index, ...]
    tables: tuple[Table, ...]
    present: tuple[_Mask, ...]
    files: dict[int, int]


def standing_of(index: Index) -> Standing | None:
    """An index that can be updated; None for one that an older version made, which says nothing of its files.

    Raises:
        BrokenIndexError: its files are not what a build writes.
    """
    parts = index.parts()
    if FILES not in index.manifest.files or any(DOCUMENTS not in part.manifest.files for part in parts):
        return None
    tables = tuple(read_documents(part) for part in parts)
    present = tuple(
        ~np.isin(table[:, ROW].astype(np.int64), removed)
        for table, removed in zip(tables, removed_rows(index), strict=True)
    )
    return Standing(index, parts, tables, present, read_files(index))


@dataclass(frozen=True, slots=True)
class Left:
    """What is left of the part that an update keeps: the part, unless all was compacted, its rows that are
    there no more, ascending, and how many documents, passages and tokens are there still."""

    parts: tuple[Index, ...] = ()
    removed: Rows = field(default_factory=lambda: np.empty(0, REMOVED_ROW))
    documents: int = 0
    passages: int = 0
    tokens: int = 0


class Update:
    """What an update does with an index that stands. First ask of every file whether it is to be read, and
    of every document in those whether it stays; then `rest` gives the passages to be written after the new.

    Args:
        standing: the index.
        states: of the files that are there now, by their keys (see `catalog.states_of`).
    """

    def __init__(self, standing: Standing, states: dict[int, int]) -> None:
        self._standing = standing
        self._changed = {
            key for key, state in states.items() if not state or standing.files.get(key) != state
        }
        reread = np.array(sorted({*self._changed, *(standing.files.keys() - states.keys())}), np.uint64)
        touched = tuple(np.isin(table[:, FILE], reread) & here for table, here in self._each())
        self._stays = tuple(here & ~found for here, found in zip(standing.present, touched, strict=True))
        self._taken = np.sort(
            np.concatenate(
                [table[:, ID][stay] for table, stay in zip(standing.tables, self._stays, strict=True)]
            )
        )
        self._places = {
            (int(file), int(id_)): (part, int(place))
            for part, (table, found) in enumerate(zip(standing.tables, touched, strict=True))
            for place, (file, id_) in zip(np.flatnonzero(found), table[found][:, [FILE, ID]], strict=True)
        }
        self._kept: tuple[Index, ...] = ()
        self._removed = np.empty(0, REMOVED_ROW)

    def _each(self) -> Iterable[tuple[Table, _Mask]]:
        return zip(self._standing.tables, self._standing.present, strict=True)

    def reads(self, key: int) -> bool:
        """Whether the file of that key has changed."""
        return key in self._changed

    def taken(self, document_id: str) -> bool:
        """Whether a document of a file that is not read has this id."""
        key = np.uint64(id_key(document_id))
        place = int(np.searchsorted(self._taken, key))
        return place < len(self._taken) and bool(self._taken[place] == key)

    def stays(self, file: int, document_id: str, digest: tuple[int, int]) -> bool:
        """Whether a document is in the index already, just as it is. If so, it is not to be written."""
        found = self._places.get((file, id_key(document_id)))
        if found is None:
            return False
        part, place = found
        if tuple(self._standing.tables[part][place, DIGEST].tolist()) != digest:
            return False
        self._stays[part][place] = True
        return True

    def rest(self, documents: Documents) -> Iterator[Passage]:
        """The passages that stay and are written anew: those of the small part, or when compacting all. Their
        documents are added to the table, in which the new ones are already.

        Once this is through, `left` is known.
        """
        parts, tables = self._standing.parts, self._standing.tables
        rows = [int(table[stay, PASSAGES].sum()) for table, stay in zip(tables, self._stays, strict=True)]
        whole = parts[0].manifest.passages
        changed = documents.rows + sum(rows[1:]) + (whole - rows[0])
        first = 0 if changed > COMPACT * whole else 1
        self._kept = parts[:first]
        if self._kept:
            gone = np.ones(whole, np.bool_)
            for row, count in tables[0][self._stays[0]][:, [ROW, PASSAGES]].tolist():
                gone[row : row + count] = False
            self._removed = np.flatnonzero(gone)
        for part, table, stay in zip(parts[first:], tables[first:], self._stays[first:], strict=True):
            stored = StoredPassages(part)
            for document in table[stay].tolist():
                file, id_, row, count = (document[column] for column in (FILE, ID, ROW, PASSAGES))
                yield from map(stored.passage, range(row, row + count))
                documents.add(file, id_, tuple(document[DIGEST]), count, document[TOKENS])

    def left(self) -> Left:
        """What is left of the part that is kept."""
        if not self._kept:
            return Left()
        table, stay = self._standing.tables[0], self._stays[0]
        return Left(
            self._kept,
            self._removed,
            documents=int(stay.sum()),
            passages=self._kept[0].manifest.passages - len(self._removed),
            tokens=int(table[stay, TOKENS].sum()),
        )


def write_removed(generation: Generation, left: Left) -> None:
    """Writes which rows of the part that is kept are there no more. Raises OSError."""
    with ArrayWriter(generation.file(REMOVED), REMOVED_ROW) as writer:
        writer.append(left.removed)


def kept_parts(kept: Sequence[Index]) -> tuple[Part, ...]:
    """Parts of an index as the next manifest names them."""
    return tuple(
        Part(
            made.generation,
            made.passages,
            {name: file for name, file in made.files.items() if name not in (FILES, REMOVED)},
            made.dense,
        )
        for made in (part.manifest for part in kept)
    )


def updatable(index: Index | None, out: Path) -> Standing | None:
    """What an update starts from; None, and the reason in the log, where everything must be built anew."""
    standing = standing_of(index) if index else None
    if standing is None:
        log.warning(
            "The index at %s can't be updated: there is none yet, or it was made with other settings or by "
            "an older version. Everything is read.",
            out,
        )
    return standing
