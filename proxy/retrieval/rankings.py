"""Ways of ranking a corpus: by cosine (FAISS), by words (BM25), or by both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from proxy.protocols import Encoder
from proxy.retrieval.fusion import fused
from proxy.retrieval.lexical import LexicalIndex
from proxy.retrieval.vector_index import VectorIndex
from proxy.retrieval.vector_table import Rows, VectorRows
from proxy.types import Vectors

DEPTH = 100
"""How many hits of each ranking are merged."""

FUSION_K, LEXICAL_WEIGHT = 5, 2.0
"""See `HybridRanking`."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage found for a query: its row, its cosine to the query and its BM25 score, each 0 where nobody
    computed it."""

    row: int
    cosine: float = 0.0
    bm25: float = 0.0


class Ranking(Protocol):
    """One way of ranking a corpus. Blocking, one thread at a time."""

    def rank(self, queries: Sequence[str], k: int) -> list[tuple[Hit, ...]]:
        """Per query at most k hits, best first."""
        ...


class DenseRanking:
    """Passages by the cosine of their vector to the query's (CEG, section 3.2).

    Args:
        vectors: of the passages.
        encoder: the one that made them.
        threshold: the cosine under which a hit is dropped, except the first.
        index: what finds the nearest of the vectors.
    """

    def __init__(self, vectors: VectorRows, encoder: Encoder, threshold: float, index: VectorIndex) -> None:
        self.threshold = threshold
        self._vectors = vectors
        self._encoder = encoder
        self._index = index

    def rank(self, queries: Sequence[str], k: int) -> list[tuple[Hit, ...]]:
        """Per query at most k hits, best first; one encoder call and one search for all of them."""
        cosines, rows = self.nearest(self.encode(queries), k)
        return [
            _over(self.threshold, [Hit(row, cosine) for row, cosine in zip(*nearest, strict=True)])
            for nearest in zip(rows.tolist(), cosines.tolist(), strict=True)
        ]

    def encode(self, queries: Sequence[str]) -> Vectors:
        """Shape (queries, dimension)."""
        return self._encoder.encode(queries)

    def nearest(self, queries: Vectors, k: int) -> tuple[Vectors, Rows]:
        """Cosines and rows, each of shape (queries, at most k), best first."""
        return self._index.nearest(queries, k)

    def cosines(self, query: Vectors, rows: Sequence[int]) -> Vectors:
        """Of one query vector, shape (dimension,), to the passages of these rows."""
        similarities: Vectors = self._vectors.take(np.array(rows, np.int64)) @ query
        return np.clip(similarities, -1.0, 1.0)


class LexicalRanking:
    """Passages by BM25. Those that share no word with the query are no hits."""

    def __init__(self, postings: LexicalIndex) -> None:
        self._postings = postings

    def rank(self, queries: Sequence[str], k: int) -> list[tuple[Hit, ...]]:
        """Per query at most k hits, best first, without a cosine."""
        return [
            tuple(Hit(row, bm25=score) for row, score in self._postings.best(query, k)) for query in queries
        ]


class HybridRanking:
    """Passages by reciprocal rank fusion of the first 100 by cosine and the first 100 by BM25.

    The latter have `weight`, the former 1. For claims, which name what they are about, k = 5 and weight 2
    were measured better at every cut-off (docs/benchmarks.md). Each hit has its cosine, whichever ranking
    found it, so the threshold holds for all.
    """

    def __init__(
        self,
        dense: DenseRanking,
        lexical: LexicalRanking,
        *,
        k: int = FUSION_K,
        weight: float = LEXICAL_WEIGHT,
    ) -> None:
        self._dense = dense
        self._lexical = lexical
        self._k = k
        self._weight = weight

    def rank(self, queries: Sequence[str], k: int) -> list[tuple[Hit, ...]]:
        """Per query at most k hits, best first; one encoder call and one search for all of them."""
        depth = max(k, DEPTH)
        vectors = self._dense.encode(queries)
        _, nearest = self._dense.nearest(vectors, depth)
        lexical = self._lexical.rank(queries, depth)
        ranked = []
        for vector, by_cosine, by_words in zip(vectors, nearest.tolist(), lexical, strict=True):
            rows = fused([by_cosine, [hit.row for hit in by_words]], self._k, [1.0, self._weight])
            cosines = self._dense.cosines(vector, rows)
            scores = {hit.row: hit.bm25 for hit in by_words}
            hits = [
                Hit(row, float(cosine), scores.get(row, 0.0))
                for row, cosine in zip(rows, cosines, strict=True)
            ]
            ranked.append(_over(self._dense.threshold, hits)[:k])
        return ranked


def _over(threshold: float, hits: Sequence[Hit]) -> tuple[Hit, ...]:
    """The hits whose cosine is at least `threshold`, and always the first (CEG, section 3.2)."""
    return tuple(hit for place, hit in enumerate(hits) if place == 0 or hit.cosine >= threshold)
