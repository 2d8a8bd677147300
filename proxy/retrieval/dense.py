"""What a way of ranking passages gives, and what it must not be under.

Cosine search: FAISS's exhaustive inner product over unit vectors, straight from the mapped file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import faiss
import numpy as np
from numpy.typing import NDArray

from proxy.protocols import Encoder
from proxy.types import Vectors


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage found for a query: its row, and its cosine to the query, 0 where nobody computed it."""

    row: int
    cosine: float = 0.0


class Ranking(Protocol):
    """One way of ranking a corpus. Blocking, one thread at a time."""

    def rank(self, queries: Sequence[str], k: int) -> list[tuple[Hit, ...]]:
        """Per query at most k hits, best first."""
        ...


def over(threshold: float, hits: Sequence[Hit]) -> tuple[Hit, ...]:
    """The hits whose cosine is at least `threshold`, and the first in any case (CEG, section 3.2)."""
    return tuple(hit for place, hit in enumerate(hits) if place == 0 or hit.cosine >= threshold)


Rows = NDArray[np.int64]


class DenseRanking:
    """Passages by the cosine of their vector to the query's (CEG, section 3.2).

    Args:
        vectors: shape (passages, dimension), float32, unit rows.
        encoder: the one that made them.
        threshold: the cosine under which a hit is dropped, the first excepted.
    """

    def __init__(self, vectors: Vectors, encoder: Encoder, threshold: float) -> None:
        self.threshold = threshold
        self._vectors = vectors
        self._encoder = encoder

    def rank(self, queries: Sequence[str], k: int) -> list[tuple[Hit, ...]]:
        """Per query at most k hits, best first; one encoder call and one search for all of them."""
        cosines, rows = self.nearest(self.encode(queries), k)
        return [
            over(self.threshold, [Hit(int(row), float(cosine)) for row, cosine in zip(*found, strict=True)])
            for found in zip(rows, cosines, strict=True)
        ]

    def encode(self, queries: Sequence[str]) -> Vectors:
        """Shape (queries, dimension)."""
        return self._encoder.encode(queries)

    def nearest(self, queries: Vectors, k: int) -> tuple[Vectors, Rows]:
        """Cosines and rows, each of shape (queries, at most k), best first."""
        k = min(k, len(self._vectors))
        if k == 0:
            return np.empty((len(queries), 0), np.float32), np.empty((len(queries), 0), np.int64)
        # The same scan as IndexFlatIP's, without its copy of the vectors: pages are read when they are needed
        # and shared by the processes of a machine.
        cosines, rows = faiss.knn(queries, self._vectors, k, metric=faiss.METRIC_INNER_PRODUCT)
        return np.clip(cosines, -1.0, 1.0), rows

    def cosines(self, query: Vectors, rows: Sequence[int]) -> Vectors:
        """Of one query vector, shape (dimension,), to the passages of these rows."""
        similarities: Vectors = self._vectors[list(rows)] @ query
        return np.clip(similarities, -1.0, 1.0)


def use_one_thread() -> None:
    """For the calling thread: with two, a single query was measured six times slower than with one."""
    faiss.omp_set_num_threads(1)
