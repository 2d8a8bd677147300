"""The documents that a request brings along, made searchable, alone or together with the corpus."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from heapq import merge
from itertools import accumulate

from proxy.aio import FairThread
from proxy.protocols import Retriever
from proxy.retrieval.chunks import WindowedEncoder, chunk, passage_tokens
from proxy.retrieval.corpus import encoded_corpus, encoded_text, pieces, retriever
from proxy.types import Document, Evidence, Passage, RetrievalMode


@dataclass(frozen=True, slots=True)
class RequestCorpus:
    """The documents of one request as passages, searchable."""

    retriever: Retriever
    passages: tuple[Passage, ...] = ()


class RequestCorpora:
    """Makes the documents of requests searchable, in turns between keys, off the event loop.

    Chunking and encoding have a thread of their own, because the documents of one request may take long to
    encode and the searches of all others must not wait for that.

    Args:
        encoder: encodes the passages and, later, the queries.
        thread: where the searching happens (see `corpus.search_thread`). Its owner shuts it down.
        words: words per passage, about, as in the index.
        threshold: the cosine under which a passage is dropped; None: that of random passages.
    """

    def __init__(
        self,
        encoder: WindowedEncoder,
        *,
        thread: Executor,
        words: int,
        threshold: float | None = None,
    ) -> None:
        self._encoder = encoder
        self._search_thread = thread
        self._words = words
        self._max_tokens = passage_tokens(encoder)
        self._threshold = threshold
        self._thread = FairThread("documents")

    async def open(
        self, documents: Sequence[Document], mode: RetrievalMode, *, random_cosine: float
    ) -> RequestCorpus:
        """The documents, chunked and encoded; there may be none.

        Args:
            documents: those of one request.
            mode: how they are searched.
            random_cosine: the cosine of random passages. A request has too few passages to measure it, so it
                is the one of the index.
        """
        loop = asyncio.get_running_loop()
        passages: list[Passage] = []
        for document in documents:
            passages += await loop.run_in_executor(self._thread, self._chunked, document)
        texts = [encoded_text(passage) for passage in passages]
        vectors = [
            await loop.run_in_executor(self._thread, self._encoder.encode, piece)
            for piece in (*pieces(texts), *([] if texts else [()]))
        ]
        corpus = await loop.run_in_executor(self._thread, encoded_corpus, passages, vectors, random_cosine)
        search = retriever(corpus, self._encoder, mode, thread=self._search_thread, threshold=self._threshold)
        return RequestCorpus(search, tuple(passages))

    def close(self) -> None:
        """Ends the thread. Documents that still wait for it are dropped."""
        self._thread.shutdown(wait=True, cancel_futures=True)

    def _chunked(self, document: Document) -> list[Passage]:
        return list(chunk(document, words=self._words, max_tokens=self._max_tokens))


_Key = tuple[float, int, int]


class MergedRetriever:
    """Asks all retrievers at once and gives the best of what they found, per query.

    Their scores have to be comparable: cosines of one encoder. Each retriever's own order stays (a hybrid
    ranking is not ordered by cosine): a hit ranks by the highest cosine at or behind its place. At equal
    score the retriever that was named first goes first. Hits without a cosine (score 0: a lexical ranking's)
    are taken in turns.

    Args:
        retrievers: in order of precedence: a request's documents before the corpus.
        threshold: the cosine under which a hit is dropped, except the first of all, as each retriever drops
            its own (CEG, section 3.2). A hit without a cosine stays. None drops nothing more: each
            retriever's first stays, whatever its score.
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
                tasks = [group.create_task(_search(each, queries, k)) for each in self._retrievers]
        except BaseExceptionGroup as failed:
            raise failed.exceptions[0] from None
        per_query = zip(*(task.result() for task in tasks), strict=True)
        return [self._best(rankings, k) for rankings in per_query] if tasks else [()] * len(queries)

    def _best(self, rankings: Sequence[tuple[Evidence, ...]], k: int) -> tuple[Evidence, ...]:
        keyed = (_keyed(hits, precedence) for precedence, hits in enumerate(rankings))
        unique: dict[str, Evidence] = {}
        for _, hit in merge(*keyed, key=lambda pair: pair[0]):
            unique.setdefault(hit.passage.id, hit)
        kept = [hit for place, hit in enumerate(unique.values()) if place == 0 or self._clears(hit)]
        return tuple(kept[:k])

    def _clears(self, hit: Evidence) -> bool:
        return self._threshold is None or hit.score == 0 or hit.score >= self._threshold


async def _search(retriever: Retriever, queries: Sequence[str], k: int) -> Sequence[tuple[Evidence, ...]]:
    return await retriever.search(queries, k)


def _keyed(hits: Sequence[Evidence], precedence: int) -> Iterator[tuple[_Key, Evidence]]:
    """The hits with their sort keys, ascending."""
    heights = list(accumulate((hit.score for hit in reversed(hits)), max))[::-1]
    for rank, (height, hit) in enumerate(zip(heights, hits, strict=True)):
        yield (-height, rank if height == 0 else 0, precedence), hit
