"""From rankings to evidence, off the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import Executor, ThreadPoolExecutor

from proxy.backends.retriever.dense import use_one_thread
from proxy.backends.retriever.ranking import Ranking
from proxy.errors import RetrievalError
from proxy.passages import PassageTable
from proxy.types import Evidence


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
