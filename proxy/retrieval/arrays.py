"""NumPy arrays on disk: written row by row, read without being loaded. Never pickled."""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.lib import format as npy
from numpy.typing import DTypeLike, NDArray

from proxy.errors import BrokenIndexError


class ArrayWriter:
    """Appends rows to a `.npy` file whose length is not known before the end.

    NumPy leaves room in a header for the first axis to grow, so the final one fits where the first was.
    """

    def __init__(self, path: Path, dtype: DTypeLike, row: tuple[int, ...] = ()) -> None:
        self.dtype_of = np.dtype(dtype)
        self._row = row
        self._rows = 0
        self._file = path.open("wb")
        self._header()
        self._start = self._file.tell()

    def append(self, rows: NDArray[Any]) -> None:
        """Adds `rows`, of shape (any, *row)."""
        if rows.shape[1:] != self._row:
            raise ValueError(f"rows of shape {rows.shape[1:]} in an array of {self._row}")
        self._file.write(np.ascontiguousarray(rows, dtype=self.dtype_of).data)
        self._rows += len(rows)

    def _header(self) -> None:
        shape = (self._rows, *self._row)
        npy.write_array_header_1_0(
            self._file,
            {"descr": npy.dtype_to_descr(self.dtype_of), "fortran_order": False, "shape": shape},
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._file:
            if kind is None:
                self._file.seek(0, os.SEEK_SET)
                self._header()
                if self._file.tell() != self._start:
                    raise RuntimeError("the array's header outgrew its room")


def map_array(path: Path, dtype: DTypeLike, shape: tuple[int | None, ...]) -> NDArray[Any]:
    """The array in a `.npy` file, mapped into memory read-only. None in `shape` is any length.

    Raises:
        BrokenIndexError: the file is no array of that type and shape.
    """
    try:
        array = np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))
    except (OSError, ValueError) as error:
        raise BrokenIndexError(f"{path} can't be read: {error}") from error
    fits = len(array.shape) == len(shape) and all(
        wanted in (None, found) for wanted, found in zip(shape, array.shape, strict=True)
    )
    if array.dtype != np.dtype(dtype) or not fits:
        raise BrokenIndexError(
            f"{path} holds {array.dtype} of shape {array.shape}, not {np.dtype(dtype)} of {shape}."
        )
    return array
