"""What a build has encoded so far, so that a build that is killed costs at most one block of passages.

The journal is a folder in the index's own: rows of vectors and of their texts' digests, appended to as they
are computed. The next build takes them over, and the one that commits removes the journal.
"""

from __future__ import annotations

import json
import logging
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

import numpy as np

from index_builder.vectors import DIGEST_BYTES, Digests, OldVectors
from proxy.protocols import Encoder
from proxy.retrieval.corpus import ENCODED
from proxy.retrieval.generation import JOURNAL
from proxy.retrieval.vector_table import VECTOR, HeldVectors
from proxy.types import Vectors

log = logging.getLogger(__name__)

_MADE = "made.json"
_VECTORS = "vectors.bin"
_DIGESTS = "digests.bin"
_BLOCK = 65_536
_TOLERANCE = 0.01
_MOST_BYTES = 10_000


@dataclass(frozen=True, slots=True)
class _Made:
    """What the vectors were made with; those of anything else are of no use."""

    encoder: str
    dimension: int
    encoded: str


class Journal:
    """The journal of the index at `out`, for one build at a time: hold the index's lock.

    Args:
        out: the index's folder, which is there.
        encoder: the one that encodes.

    Raises:
        OSError: it can't be written.
    """

    def __init__(self, out: Path, encoder: Encoder) -> None:
        self._folder = out / JOURNAL
        self._made = _Made(encoder.name, encoder.dimension, ENCODED)
        self._files: tuple[BinaryIO, BinaryIO] | None = None
        self.old = self._take_over()

    def append(self, digests: Digests, vectors: Vectors) -> None:
        """Keeps the vectors of the texts with these digests. Once this returns, they are the operating
        system's to write, and the process may be killed."""
        vector_file, digest_file = self._files or self._open()
        # A digest without its vector would be a lie; a vector without its digest is only lost.
        vector_file.write(np.ascontiguousarray(vectors, VECTOR).data)
        vector_file.flush()
        digest_file.write(np.ascontiguousarray(digests).data)
        digest_file.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for file in self._files or ():
            file.close()

    def _open(self) -> tuple[BinaryIO, BinaryIO]:
        if not self._folder.exists():
            self._folder.mkdir()
            (self._folder / _MADE).write_text(json.dumps(asdict(self._made)), encoding="utf-8")
        self._files = (self._folder / _VECTORS).open("ab"), (self._folder / _DIGESTS).open("ab")
        return self._files

    def _take_over(self) -> OldVectors:
        """What earlier builds left, cut off where it is not whole; nothing of another encoder."""
        rows = self._whole_rows()
        dimension = self._made.dimension
        if not rows:
            shutil.rmtree(self._folder, ignore_errors=True)
            return OldVectors(
                np.empty((0, DIGEST_BYTES), "u1"), HeldVectors(np.empty((0, dimension), VECTOR))
            )
        for name, width in ((_VECTORS, dimension * VECTOR.itemsize), (_DIGESTS, DIGEST_BYTES)):
            with (self._folder / name).open("r+b") as file:
                file.truncate(rows * width)
        log.info("An unfinished build has left %s vectors, which are taken over.", f"{rows:,}")
        return OldVectors(
            np.fromfile(self._folder / _DIGESTS, "u1").reshape(rows, DIGEST_BYTES),
            HeldVectors(np.memmap(self._folder / _VECTORS, VECTOR, "r", shape=(rows, dimension))),
        )

    def _whole_rows(self) -> int:
        """How many rows are there whole. After a power cut a file may be longer than what was written to it:
        the first vector that has not the length 1 is the end."""
        try:
            with (self._folder / _MADE).open("rb") as file:
                if json.loads(file.read(_MOST_BYTES)) != asdict(self._made):
                    return 0
            width = self._made.dimension * VECTOR.itemsize
            rows = min(
                (self._folder / _VECTORS).stat().st_size // width,
                (self._folder / _DIGESTS).stat().st_size // DIGEST_BYTES,
            )
            if not rows:
                return 0
            vectors = np.memmap(self._folder / _VECTORS, VECTOR, "r", shape=(rows, self._made.dimension))
        except (OSError, ValueError):
            return 0
        for start in range(0, rows, _BLOCK):
            lengths = np.linalg.norm(vectors[start : start + _BLOCK], axis=1)
            wrong = np.flatnonzero(~(np.abs(lengths - 1) <= _TOLERANCE))
            if len(wrong):
                return start + int(wrong[0])
        return int(rows)
