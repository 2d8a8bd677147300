"""From rankings to evidence, off the event loop.

A retriever for each `retrieval.mode`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import Executor, ThreadPoolExecutor

from proxy.errors import RetrievalError
from proxy.protocols import Encoder
from proxy.retrieval.corpus import Corpus
from proxy.retrieval.dense import DenseRanking, Ranking, use_one_thread
from proxy.retrieval.fusion import HybridRanking
from proxy.retrieval.lexical import LexicalRanking
from proxy.retrieval.passages import PassageTable
from proxy.types import Evidence, RetrievalMode


def search_thread() -> ThreadPoolExecutor:
    """One thread that searches. Retrievers may share it; more threads would only share the processor."""
    return ThreadPoolExecutor(max_workers=1, thread_name_prefix="search", initializer=use_one_thread)


class RankingRetriever:
    """A ranking as a `protocols.Retriever`.

    The event loop is never blocked. A search that is cancelled before its turn is never run; one that
    runs ends by itself, and nobody waits for it.
    """

    def __init__(self, ranking: Ranking, passages: PassageTable, thread: Executor) -> None:
        self._ranking = ranking
        self._passages = passages
        self._thread = thread

    async def search(self, queries: Sequence[str], k: int) -> Sequence[tuple[Evidence, ...]]:
        """Per query at most k passages, best first; all queries in one batch.

        Raises:
            RetrievalError: whatever went wrong, its cause attached.
        """
        if not queries or k < 1:
            return [()] * len(queries)
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._thread, self._search, tuple(queries), k)
        except RetrievalError:
            raise
        except Exception as error:
            raise RetrievalError(f"The corpus can't be searched: {type(error).__name__}: {error}") from error

    def _search(self, queries: Sequence[str], k: int) -> list[tuple[Evidence, ...]]:
        return [
            tuple(Evidence(self._passages.passage(hit.row), hit.cosine) for hit in hits)
            for hits in self._ranking.rank(queries, k)
        ]


def retriever(
    corpus: Corpus,
    encoder: Encoder,
    mode: RetrievalMode,
    *,
    thread: Executor,
    threshold: float | None = None,
) -> RankingRetriever:
    """The corpus, searchable.

    Args:
        corpus: what is searched.
        encoder: the one that made its vectors (see `Index.require`).
        mode: by cosine, by words, or by both.
        thread: where the searching happens: a `search_thread`. Its owner shuts it down.
        threshold: the cosine under which a passage is dropped, the first excepted; None is the corpus's
            own. A lexical search has no cosine and drops none.
    """
    dense = DenseRanking(corpus.vectors, encoder, corpus.threshold if threshold is None else threshold)
    lexical = LexicalRanking(corpus.postings)
    rankings: dict[RetrievalMode, Ranking] = {
        "dense": dense,
        "lexical": lexical,
        "hybrid": HybridRanking(dense, lexical),
    }
    return RankingRetriever(rankings[mode], corpus.passages, thread)
