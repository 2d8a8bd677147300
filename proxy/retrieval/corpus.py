"""Passages with their vectors and words, on disk or in memory, and the retriever over them."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Protocol

import faiss
import numpy as np

from proxy.aio import FairThread
from proxy.errors import RetrievalError
from proxy.protocols import Encoder, Passages, Retriever
from proxy.retrieval.index_files import EncodedText, Index
from proxy.retrieval.lexical import LexicalIndex, open_postings, postings_of
from proxy.retrieval.parts import JoinedPassages, JoinedPostings, JoinedSearch, JoinedVectors, removed_rows
from proxy.retrieval.passages import HeldPassages, PassageTable, StoredPassages
from proxy.retrieval.rankings import DenseRanking, HybridRanking, LexicalRanking, Ranking
from proxy.retrieval.vector_index import ExactScan, VectorIndex, open_vector_index
from proxy.retrieval.vector_table import HeldVectors, VectorRows, open_vectors
from proxy.types import Evidence, Passage, RetrievalMode, Vectors

_LONGEST_KEPT = 4_000
_PIECE = 16
_PIECE_CHARACTERS = 2_000
"""Queries searched, or passages encoded, in one call: between two calls other requests get their turn."""

ENCODED: EncodedText = "text"
"""What the encoder sees of a passage. With title and section before it, all-MiniLM-L6-v2's recall@1 over
WikiRetr fell from 96.2 to 95.3 (GPT-3) and from 92.4 to 90.9 (GPT-4)."""


class SearchableCorpus(Protocol):
    """What a store of passages offers: an index in a folder (`Corpus`), or one in a vector database
    (`milvus.milvus_search`). What it opens is whole and does not change: a new build is another corpus."""

    @property
    def passages(self) -> Passages:
        """The passages, by id: what `/v1/references/{id}` shows. Called off the event loop: may block."""
        ...

    @property
    def threshold(self) -> float:
        """The cosine under which a passage is taken for a random one, measured when the index was built."""
        ...

    def retriever(
        self, encoder: Encoder, mode: RetrievalMode, *, thread: Executor, threshold: float | None = None
    ) -> Retriever:
        """A `protocols.Retriever` that searches by cosine, by words, or by both. See `retriever`."""
        ...


@dataclass(frozen=True, slots=True)
class Corpus:
    """All that a retriever needs. Row i of `vectors`, `nearest` and `postings` is `passages.passage(i)`.

    `nearest` searches the vectors. `threshold` is the cosine under which a passage is taken for a random one.
    """

    passages: PassageTable
    vectors: VectorRows
    nearest: VectorIndex
    postings: LexicalIndex
    threshold: float

    def retriever(
        self, encoder: Encoder, mode: RetrievalMode, *, thread: Executor, threshold: float | None = None
    ) -> Retriever:
        """See `retriever`. What was found lately is kept: an index never changes, a new one is another
        corpus."""
        return CachedRetriever(retriever(self, encoder, mode, thread=thread, threshold=threshold))


def open_corpus(index: Index) -> Corpus:
    """The corpus of an index on disk, mapped into memory: opening takes no time, whatever its size.

    Raises:
        BrokenIndexError: its files are not what a build writes.
    """
    made, parts = index.manifest, index.parts()
    passages = [StoredPassages(part) for part in parts]
    vectors = [open_vectors(part) for part in parts]
    nearest = [open_vector_index(part, table) for part, table in zip(parts, vectors, strict=True)]
    postings = [open_postings(part) for part in parts]
    if not made.parts:
        return Corpus(passages[0], vectors[0], nearest[0], postings[0], made.threshold)
    counts = [part.manifest.passages for part in parts]
    removed = removed_rows(index)
    return Corpus(
        JoinedPassages(passages, counts, removed),
        JoinedVectors(vectors, counts, made.dimension),
        JoinedSearch(nearest, counts, removed),
        JoinedPostings(
            [replace(words, removed=rows) for words, rows in zip(postings, removed, strict=True)], counts
        ),
        made.threshold,
    )


def hold_corpus(passages: Sequence[Passage], encoder: Encoder, threshold: float) -> Corpus:
    """A corpus in memory. Blocking: call it off the event loop."""
    texts = [encoded_text(passage) for passage in passages]
    vectors = [encoder.encode(piece) for piece in pieces(texts)]
    return encoded_corpus(passages, vectors or [encoder.encode([])], threshold)


def encoded_corpus(passages: Sequence[Passage], vectors: Sequence[Vectors], threshold: float) -> Corpus:
    """A corpus in memory, of passages whose vectors are known, in pieces. Blocking."""
    joined = np.concatenate(vectors)
    return Corpus(
        HeldPassages(passages), HeldVectors(joined), ExactScan(joined), postings_of(passages), threshold
    )


def pieces(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    """The texts, few at a time: what a thread does for one request before it looks at the others."""
    piece: list[str] = []
    characters = 0
    for text in texts:
        if piece and (len(piece) >= _PIECE or characters + len(text) > _PIECE_CHARACTERS):
            yield piece
            piece, characters = [], 0
        piece.append(text)
        characters += len(text)
    if piece:
        yield piece


def encoded_text(passage: Passage) -> str:
    """What the encoder sees of a passage."""
    return passage.text


def search_thread() -> Executor:
    """One thread that searches, in turns between keys. Retrievers may share it; more threads would only share
    the processor."""
    return FairThread("search", _use_one_thread)


def _use_one_thread() -> None:
    """For the calling thread: with two, FAISS took six times as long for a single query as with one."""
    faiss.omp_set_num_threads(1)


@contextmanager
def searching(what: str) -> Iterator[None]:
    """Whatever goes wrong in the search of `what` is a `RetrievalError`, its cause attached."""
    try:
        yield
    except RetrievalError:
        raise
    except Exception as error:
        raise RetrievalError(f"{what} can't be searched: {type(error).__name__}: {error}") from error


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
        """Per query at most k passages, best first; a few queries at a time.

        Raises:
            RetrievalError: whatever went wrong, its cause attached.
        """
        if not queries or k < 1:
            return [()] * len(queries)
        found: list[tuple[Evidence, ...]] = []
        with searching("The corpus"):
            loop = asyncio.get_running_loop()
            for piece in pieces(queries):
                found += await loop.run_in_executor(self._thread, self._search, piece, k)
        return found

    def _search(self, queries: Sequence[str], k: int) -> list[tuple[Evidence, ...]]:
        return [
            tuple(Evidence(self._passages.passage(hit.row), hit.cosine, bm25=hit.bm25) for hit in hits)
            for hits in self._ranking.rank(queries, k)
        ]


class CachedRetriever:
    """Keeps what was found for the queries that were searched last, over one index. Implements
    `protocols.Retriever`; for one event loop.

    Args:
        inner: searches for what is not kept.
        most: passages that are kept, of however many queries. Those of queries over `_LONGEST_KEPT`
            characters are not.
    """

    def __init__(self, inner: Retriever, most: int = 10_000) -> None:
        self._inner = inner
        self._most = most
        self._passages = 0
        self._kept: OrderedDict[tuple[str, int], tuple[Evidence, ...]] = OrderedDict()

    async def search(self, queries: Sequence[str], k: int) -> Sequence[tuple[Evidence, ...]]:
        """What the retriever itself finds; a failure is not kept. Raises what it raises."""
        found: dict[str, tuple[Evidence, ...]] = {}
        for query in queries:
            if (query, k) in self._kept:
                self._kept.move_to_end((query, k))
                found[query] = self._kept[query, k]
        missing = [query for query in dict.fromkeys(queries) if query not in found]
        if missing:
            found |= zip(missing, await self._inner.search(missing, k), strict=True)
        for query in missing:
            if len(query) <= _LONGEST_KEPT and (query, k) not in self._kept:  # another search may have ended
                self._kept[query, k] = found[query]
                self._passages += max(1, len(found[query]))
        while self._passages > self._most:
            _, dropped = self._kept.popitem(last=False)
            self._passages -= max(1, len(dropped))
        return [found[query] for query in queries]


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
        threshold: the cosine under which a passage is dropped, except the first; None is the corpus's own. A
            lexical search has no cosine and drops none.
    """
    limit = corpus.threshold if threshold is None else threshold
    dense = DenseRanking(corpus.vectors, encoder, limit, corpus.nearest)
    lexical = LexicalRanking(corpus.postings)
    rankings: dict[RetrievalMode, Ranking] = {
        "dense": dense,
        "lexical": lexical,
        "hybrid": HybridRanking(dense, lexical),
    }
    return RankingRetriever(rankings[mode], corpus.passages, thread)
