"""The passages of an index, by id and by row: in a file, not in memory."""

from __future__ import annotations

import json
import mmap
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from hashlib import blake2b
from itertools import takewhile
from pathlib import Path
from typing import Protocol

import numpy as np

from proxy.errors import BrokenIndexError
from proxy.retrieval.generation import Generation
from proxy.retrieval.index_files import ArrayWriter, Index, map_array
from proxy.types import Passage

PASSAGES = "passages.jsonl"
OFFSETS = "offsets.npy"
KEYS = "keys.npy"

_OFFSET = np.dtype("<i8")
_KEY = np.dtype("<u8")


class PassageTable(Protocol):
    """Passages by id, as in `protocols.Passages`, and by row, to which vectors and postings point."""

    def get(self, passage_id: str) -> Passage | None:
        """The passage of that id, or None."""
        ...

    def around(self, passage_id: str, count: int) -> tuple[Sequence[Passage], Sequence[Passage]]:
        """At most `count` passages before and after that passage, as in `protocols.Passages`."""
        ...

    def passage(self, row: int) -> Passage:
        """The passage of row 0 .. len - 1."""
        ...

    def __len__(self) -> int: ...


class StoredPassages:
    """The passages of an index on disk. Each call reads one line of a mapped file; any thread may.

    Raises:
        BrokenIndexError: from the constructor or `passage`: the files are not what `write_passages` wrote.
    """

    def __init__(self, index: Index) -> None:
        self._path = index.file(PASSAGES)
        self._count = index.manifest.passages
        self._offsets = map_array(index.file(OFFSETS), _OFFSET, (self._count + 1,))
        keys = map_array(index.file(KEYS), _KEY, (2, self._count))
        self._hashes, self._rows = keys[0], keys[1]
        with self._path.open("rb") as file:
            self._lines = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    def __len__(self) -> int:
        return self._count

    def passage(self, row: int) -> Passage:
        """The passage of row 0 .. len - 1."""
        start, end = self._offsets[row : row + 2]
        try:
            return Passage(**json.loads(self._lines[start:end]))
        except (ValueError, TypeError) as error:
            raise BrokenIndexError(f"{self._path} has no passage in line {row + 1}.") from error

    def get(self, passage_id: str) -> Passage | None:
        """The passage of that id, or None."""
        row = self.row(passage_id)
        return None if row is None else self.passage(row)

    def around(self, passage_id: str, count: int) -> tuple[Sequence[Passage], Sequence[Passage]]:
        """At most `count` passages before and after that passage, as in `protocols.Passages`."""
        row = self.row(passage_id)
        return ([], []) if row is None else _around(self, row, count)

    def row(self, passage_id: str) -> int | None:
        """The row of that id, or None."""
        key = _key(passage_id)
        place = int(np.searchsorted(self._hashes, key))
        while place < self._count and self._hashes[place] == key:
            row = int(self._rows[place])
            if self.passage(row).id == passage_id:
                return row
            place += 1
        return None


class HeldPassages:
    """Passages in memory: the documents that came with a request."""

    def __init__(self, passages: Sequence[Passage]) -> None:
        self._passages = tuple(passages)
        self._row_of = {passage.id: row for row, passage in enumerate(self._passages)}

    def __len__(self) -> int:
        return len(self._passages)

    def passage(self, row: int) -> Passage:
        """The passage of row 0 .. len - 1."""
        return self._passages[row]

    def get(self, passage_id: str) -> Passage | None:
        """The passage of that id, or None."""
        row = self._row_of.get(passage_id)
        return None if row is None else self._passages[row]

    def around(self, passage_id: str, count: int) -> tuple[Sequence[Passage], Sequence[Passage]]:
        """At most `count` passages before and after that passage, as in `protocols.Passages`."""
        row = self._row_of.get(passage_id)
        return ([], []) if row is None else _around(self, row, count)


def _around(table: PassageTable, row: int, count: int) -> tuple[Sequence[Passage], Sequence[Passage]]:
    """The neighbours of a row in its document, whose passages have consecutive rows, in order."""
    document = table.passage(row).document_id

    def same(rows: Iterable[int]) -> list[Passage]:
        passages = map(table.passage, rows)
        return list(takewhile(lambda passage: passage.document_id == document, passages))

    before = same(range(row - 1, max(-1, row - 1 - count), -1))
    return before[::-1], same(range(row + 1, min(len(table), row + 1 + count)))


def write_passages(generation: Generation, passages: Iterable[Passage]) -> int:
    """Writes the passages of an index that is being built, one at a time. Returns their number.

    Only 8 bytes per passage stay in memory, for the sorted keys that ids are looked up by.
    """
    keys = array("Q")
    with (
        generation.file(PASSAGES).open("wb") as lines,
        ArrayWriter(generation.file(OFFSETS), _OFFSET) as offsets,
    ):
        offsets.append(np.array([0], dtype=_OFFSET))
        for passage in passages:
            lines.write(json.dumps(asdict(passage), ensure_ascii=False).encode() + b"\n")
            offsets.append(np.array([lines.tell()], dtype=_OFFSET))
            keys.append(_key(passage.id))
    hashes = np.frombuffer(keys, dtype=np.uint64)
    order = np.argsort(hashes, kind="stable").astype(_KEY)
    with ArrayWriter(generation.file(KEYS), _KEY, (len(keys),)) as table:
        table.append(hashes[order][np.newaxis])
        table.append(order[np.newaxis])
    return len(keys)


def read_passages(path: Path) -> Iterator[Passage]:
    """The passages in a file that `write_passages` has just written, in order."""
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            yield Passage(**json.loads(line))


def _key(passage_id: str) -> int:
    """A hash of 64 bits. Of ids that share one, `get` reads the passages to find the right one."""
    return int.from_bytes(blake2b(passage_id.encode(), digest_size=8).digest(), "little")
