"""The vectors of a corpus, from which a ranking takes some rows: in memory, or in a file."""

from __future__ import annotations

import os
import weakref
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from proxy.errors import BrokenIndexError
from proxy.retrieval.index_files import Index, map_array
from proxy.types import Vectors

Rows = NDArray[np.int64]

VECTORS = "vectors.npy"
VECTOR = np.dtype("<f4")


class VectorRows(Protocol):
    """Some vectors of a corpus."""

    def take(self, rows: Rows) -> Vectors:
        """Those of the rows, shape (rows, dimension), float32."""
        ...


class VectorTable(VectorRows, Protocol):
    """All vectors of a corpus."""

    @property
    def array(self) -> Vectors:
        """All of them, shape (passages, dimension), unit rows."""
        ...


class HeldVectors:
    """Vectors in memory, shape (passages, dimension), float32, unit rows."""

    def __init__(self, array: Vectors) -> None:
        self.array = array

    def take(self, rows: Rows) -> Vectors:
        """Those of the rows, shape (rows, dimension), float32."""
        taken: Vectors = self.array[rows]
        return taken


class StoredVectors:
    """Vectors in a `.npy` file. A few rows are read; only `array` maps the file.

    A page that is read through a mapping counts as the process's memory, and Linux maps those around it too:
    after a thousand searches that was the whole file. Reading a row takes a microsecond.

    Args:
        path: the file.
        passages: how many vectors it must have.
        dimension: of each.

    Raises:
        BrokenIndexError: the file holds no such array. From `take` too, if it changes afterwards.
    """

    def __init__(self, path: Path, passages: int, dimension: int) -> None:
        self.array: Vectors = map_array(path, VECTOR, (passages, dimension))
        self._path = path
        self._width = dimension * VECTOR.itemsize
        with path.open("rb") as file:
            npy.read_magic(file)
            npy.read_array_header_1_0(file)
            self._start = file.tell()
        self._file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        weakref.finalize(self, os.close, self._file)

    def take(self, rows: Rows) -> Vectors:
        """Those of the rows, shape (rows, dimension), float32."""
        taken = np.empty((len(rows), self._width // VECTOR.itemsize), VECTOR)
        view = taken.reshape(-1).view(np.uint8).data
        width = self._width
        for place, row in enumerate(rows.tolist()):
            target = view[place * width : (place + 1) * width]
            if os.preadv(self._file, [target], self._start + row * width) != width:
                raise BrokenIndexError(f"{self._path} ends before row {row}.")
        return taken


def open_vectors(index: Index) -> StoredVectors:
    """The vectors of an index on disk. Raises `BrokenIndexError`."""
    made = index.manifest
    return StoredVectors(index.file(VECTORS), made.passages, made.dimension)
