"""Both rankings as one.

Several retrievers as one: the request's own documents and the corpus, say.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterator, Sequence
from heapq import merge
from itertools import accumulate

from proxy.protocols import Retriever
from proxy.retrieval.dense import DenseRanking, Hit, over
from proxy.retrieval.lexical import LexicalRanking
from proxy.types import Evidence

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


_Key = tuple[float, int, int]


class MergedRetriever:
    """Asks all retrievers at once and gives the best of what they found, per query.

    Their scores have to be comparable: cosines of one encoder. Each retriever's own order stays (a hybrid
    ranking's is not that of the cosines): a hit stands as high as the best one at or behind its place. At
    equal score the retriever that was named first goes first. Hits without a cosine (score 0: a lexical
    ranking's) are taken in turns.

    Args:
        retrievers: in order of precedence: a request's documents before the corpus.
        threshold: the cosine under which a hit is dropped, the first of all excepted, as each retriever drops
            its own (CEG, section 3.2); one without a cosine stays. None drops nothing more: each retriever's
            first stays, whatever its score.
    """

    def __init__(self, retrievers: Sequence[Retriever], threshold: float | None = None) -> None:
        self._retrievers = tuple(retrievers)
        self._threshold = threshold

    async def search(self, queries: Sequence[str], k: int) -> Sequence[tuple[Evidence, ...]]:
        """Per query at most k passages, best first. Where one retriever fails or the search is cancelled, the
        others are cancelled too.

        Raises:
            RetrievalError: of the first retriever that failed.
        """
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(_search(one, queries, k)) for one in self._retrievers]
        except BaseExceptionGroup as failed:
            raise failed.exceptions[0] from None
        found = zip(*(task.result() for task in tasks), strict=True)
        return [self._best(hits, k) for hits in found] if tasks else [()] * len(queries)

    def _best(self, found: Sequence[tuple[Evidence, ...]], k: int) -> tuple[Evidence, ...]:
        ranked = merge(*(_keyed(hits, place) for place, hits in enumerate(found)), key=lambda one: one[0])
        unique: dict[str, Evidence] = {}
        for _, hit in ranked:
            unique.setdefault(hit.passage.id, hit)
        kept = [hit for place, hit in enumerate(unique.values()) if place == 0 or self._clears(hit)]
        return tuple(kept[:k])

    def _clears(self, hit: Evidence) -> bool:
        return self._threshold is None or hit.score == 0 or hit.score >= self._threshold


async def _search(retriever: Retriever, queries: Sequence[str], k: int) -> Sequence[tuple[Evidence, ...]]:
    return await retriever.search(queries, k)


def _keyed(hits: Sequence[Evidence], place: int) -> Iterator[tuple[_Key, Evidence]]:
    """The hits with what they are merged by, ascending."""
    heights = list(accumulate((hit.score for hit in reversed(hits)), max))[::-1]
    for rank, (height, hit) in enumerate(zip(heights, hits, strict=True)):
        yield (-height, rank if height == 0 else 0, place), hit
