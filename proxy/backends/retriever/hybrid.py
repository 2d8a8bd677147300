"""Both rankings as one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from proxy.backends.retriever.dense import DenseRanking
from proxy.backends.retriever.lexical import LexicalRanking
from proxy.backends.retriever.ranking import Hit, over

_DEPTH = 100


class HybridRanking:
    """Passages by reciprocal rank fusion (Cormack, Clarke and Buettcher, SIGIR 2009).

    score(p) = 1 / (k + rank by cosine) + weight / (k + rank by BM25), over the first 100 of each. The
    paper has k = 60 and equal weights; for claims, which name what they are about, k = 5 and weight 2
    were measured better at every cut-off (docs/benchmarks.md). Each hit has its cosine, whoever found it,
    so the threshold holds for all.
    """

    def __init__(
        self, dense: DenseRanking, lexical: LexicalRanking, *, k: int = 5, weight: float = 2.0
    ) -> None:
        self._dense = dense
        self._lexical = lexical
        self._k = k
        self._weight = weight

    def rank(self, queries: Sequence[str], k: int) -> list[tuple[Hit, ...]]:
        """Per query at most k hits, best first; one encoder call and one search for all of them."""
        depth = max(k, _DEPTH)
        vectors = self._dense.encode(queries)
        _, near = self._dense.nearest(vectors, depth)
        worded = self._lexical.rank(queries, depth)
        ranked = []
        for vector, by_cosine, by_words in zip(vectors, near.tolist(), worded, strict=True):
            rows = self._fused(by_cosine, [hit.row for hit in by_words])
            cosines = self._dense.cosines(vector, rows)
            hits = [Hit(row, float(cosine)) for row, cosine in zip(rows, cosines, strict=True)]
            ranked.append(over(self._dense.threshold, hits)[:k])
        return ranked

    def _fused(self, by_cosine: Sequence[int], by_words: Sequence[int]) -> list[int]:
        scores: defaultdict[int, float] = defaultdict(float)
        for weight, rows in ((1.0, by_cosine), (self._weight, by_words)):
            for rank, row in enumerate(rows, 1):
                scores[row] += weight / (self._k + rank)
        return sorted(scores, key=lambda row: -scores[row])
