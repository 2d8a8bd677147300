"""An index that Milvus holds, searchable: by cosine, by words, or by both, merged by the server."""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from proxy.config.store_settings import Milvus
from proxy.errors import BrokenIndexError, ConfigError, RetrievalError
from proxy.protocols import Encoder
from proxy.retrieval.corpus import Corpus, RankingRetriever, open_corpus, pieces, retriever, searching
from proxy.retrieval.index_files import open_index
from proxy.retrieval.milvus.collection import (
    PASSAGE_FIELDS,
    StoredIndex,
    find,
    passage_of,
    query_words,
    quoted,
)
from proxy.retrieval.milvus.connection import Connection, RefusedError
from proxy.retrieval.rankings import DEPTH, FUSION_K, LEXICAL_WEIGHT
from proxy.retrieval.vector_table import Rows
from proxy.types import Evidence, Passage, RetrievalMode, Vectors

_QUERIES = 64
"""Queries of one call, at most."""

_KEPT = 20_000
"""Passages that are kept."""

_SPARE = 4
"""So many times as many hits as are wanted are asked for: some are dropped because of their cosines."""


@dataclass(frozen=True, slots=True)
class Found:
    """A hit: its row in the index, its passage, its cosine and BM25 score, 0 where nobody computed it."""

    row: int
    passage: Passage
    cosine: float = 0.0
    bm25: float = 0.0


class PassagesInMilvus:
    """`protocols.Passages` in Milvus, of those that the filter lets through. Blocking: one call each.

    Those that were found lately are kept, so that a reply that cites them asks for nothing again.
    """

    def __init__(self, connection: Connection, stored: StoredIndex, filter_: str) -> None:
        self._connection = connection
        self._stored = stored
        self._filter = filter_
        self._kept: OrderedDict[str, Passage] = OrderedDict()
        self._lock = threading.Lock()

    def keep(self, passages: Iterable[Passage]) -> None:
        """Keeps what a search found."""
        with self._lock:
            for passage in passages:
                self._kept[passage.id] = passage
                self._kept.move_to_end(passage.id)
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)

    def kept(self, passage_id: str) -> Passage | None:
        """The passage, if it was found lately. Asks nobody."""
        with self._lock:
            return self._kept.get(passage_id)

    def __len__(self) -> int:
        return self._stored.passages

    def get(self, passage_id: str) -> Passage | None:
        """The passage of that id, or None. Raises `RetrievalError`."""
        if passage := self.kept(passage_id):
            return passage
        row = self._find(passage_id)
        return passage_of(row) if row else None

    def around(self, passage_id: str, count: int) -> tuple[Sequence[Passage], Sequence[Passage]]:
        """At most `count` passages before and after that passage, as in `protocols.Passages`."""
        row = self._find(passage_id)
        if row is None or count < 1:
            return [], []
        place = row["row"]
        found = self._query(
            f"row >= {place - count} and row <= {place + count} "
            f"and document_id == {quoted(row['document_id'])}"
        )
        found.sort(key=lambda each: each["row"])
        before = [passage_of(each) for each in found if each["row"] < place]
        after = [passage_of(each) for each in found if each["row"] > place]
        return before, after

    def _find(self, passage_id: str) -> Any:
        rows = self._query(f"id == {quoted(passage_id)}")
        return rows[0] if rows else None

    def _query(self, expression: str) -> list[Any]:
        return list(
            self._connection.read(
                "query",
                self._stored.collection,
                filter=_both(self._filter, expression),
                output_fields=[*PASSAGE_FIELDS, "row"],
                limit=1000,
            )
        )


@dataclass(frozen=True, slots=True)
class MilvusCorpus:
    """An index in Milvus, of which `filter`, an expression, lets through what may be read; empty: all."""

    connection: Connection
    stored: StoredIndex
    calls: ThreadPoolExecutor
    filter: str
    passages: PassagesInMilvus

    @property
    def threshold(self) -> float:
        """The cosine under which a passage is taken for a random one."""
        return self.stored.threshold

    def retriever(
        self, encoder: Encoder, mode: RetrievalMode, *, thread: Executor, threshold: float | None = None
    ) -> MilvusRetriever:
        """As `retrieval.retriever`, searched by the server."""
        limit = self.stored.threshold if threshold is None else threshold
        return MilvusRetriever(self, encoder, mode, thread, limit)

    def search(
        self, queries: Sequence[str], vectors: Vectors | None, mode: RetrievalMode, k: int, threshold: float
    ) -> list[list[Found]]:
        """Per query at most k hits, best first; those under the threshold are dropped, but not the first.

        Args:
            queries: the texts.
            vectors: of the queries, shape (queries, dimension); a lexical search needs none.
            mode: how to search.
            k: hits of each query.
            threshold: a cosine.

        Raises:
            RetrievalError: the server can't be used, or refuses.
        """
        found: list[list[Found]] = []
        for start in range(0, len(queries), _QUERIES):
            part = slice(start, start + _QUERIES)
            asked = None if vectors is None else vectors[part]
            answers = self._ask(list(queries[part]), asked, mode, k)
            for place, answer in enumerate(answers):
                vector = None if asked is None else asked[place]
                found.append(_over(threshold, [_found(hit, vector, mode) for hit in answer])[:k])
        self.passages.keep(hit.passage for hits in found for hit in hits)
        return found

    def _ask(self, queries: list[str], vectors: Vectors | None, mode: RetrievalMode, k: int) -> Any:
        fields = [*PASSAGE_FIELDS, "row"]
        words = [query_words(query) for query in queries]
        by_words = {"metric_type": "BM25", "params": {}}
        by_cosine = {"metric_type": "IP", "params": dict(self.connection.settings.search_params)}
        most = min(_SPARE * k, max(DEPTH, k))
        collection = self.stored.collection
        if mode == "lexical":
            return self.connection.read(
                "search",
                collection,
                words,
                anns_field="weights",
                search_params=by_words,
                filter=self.filter,
                limit=k,
                output_fields=fields,
            )
        points = [] if vectors is None else [np.asarray(vector, np.float32) for vector in vectors]
        if mode == "dense":
            return self.connection.read(
                "search",
                collection,
                points,
                anns_field="vector",
                search_params=by_cosine,
                filter=self.filter,
                limit=k,
                output_fields=fields,
            )
        ask = self.connection.pymilvus.AnnSearchRequest
        depth = max(k, DEPTH)
        expression = self.filter or None
        nearest = ask(data=points, anns_field="vector", param=by_cosine, limit=depth, expr=expression)
        matching = ask(data=words, anns_field="weights", param=by_words, limit=depth, expr=expression)
        return self.connection.read(
            "hybrid_search",
            collection,
            # Milvus's fusion has no weights. A list that is given twice counts twice.
            [nearest, *[matching] * round(LEXICAL_WEIGHT)],
            self.connection.pymilvus.RRFRanker(FUSION_K),
            limit=most,
            output_fields=[*fields, "vector"],
        )


class MilvusRetriever:
    """`protocols.Retriever` over a `MilvusCorpus`.

    The event loop is never blocked: encoding has the thread that all searches share, and calls have threads
    of their own, so that a server that is slow holds up nobody else.
    """

    def __init__(
        self, corpus: MilvusCorpus, encoder: Encoder, mode: RetrievalMode, thread: Executor, threshold: float
    ) -> None:
        self._corpus = corpus
        self._encoder = encoder
        self._mode = mode
        self._thread = thread
        self._threshold = threshold

    async def search(self, queries: Sequence[str], k: int) -> Sequence[tuple[Evidence, ...]]:
        """Per query at most k passages, best first; all queries in one call for each 64 of them.

        Raises:
            RetrievalError: whatever went wrong, its cause attached.
        """
        if not queries or k < 1:
            return [()] * len(queries)
        asked = tuple(queries)
        with searching("Milvus"):
            loop = asyncio.get_running_loop()
            vectors = None
            if self._mode != "lexical":
                vectors = np.concatenate(
                    [
                        await loop.run_in_executor(self._thread, self._encoder.encode, piece)
                        for piece in pieces(asked)
                    ]
                )
            found = await loop.run_in_executor(
                self._corpus.calls, self._corpus.search, asked, vectors, self._mode, k, self._threshold
            )
        return [tuple(Evidence(hit.passage, hit.cosine, bm25=hit.bm25) for hit in hits) for hits in found]


class NearestInMilvus:
    """`vector_index.VectorIndex` by a server that can't rank by words: a folder has the rest."""

    def __init__(self, connection: Connection, stored: StoredIndex) -> None:
        self._connection = connection
        self._stored = stored

    def nearest(self, queries: Vectors, k: int) -> tuple[Vectors, Rows]:
        """Cosines and rows, each of shape (queries, at most k), best first. Raises `RetrievalError`."""
        k = min(k, self._stored.passages)
        settings = self._connection.settings
        answers: list[Any] = []
        for start in range(0, len(queries), _QUERIES):
            answers += self._connection.read(
                "search",
                self._stored.collection,
                [np.asarray(query, np.float32) for query in queries[start : start + _QUERIES]],
                anns_field="vector",
                search_params={"metric_type": "IP", "params": dict(settings.search_params)},
                limit=k,
                output_fields=["row"],
            )
        found = min((len(answer) for answer in answers), default=0)  # an index of graphs may find fewer
        cosines = [[hit["distance"] for hit in answer[:found]] for answer in answers]
        rows = [[hit["entity"]["row"] for hit in answer[:found]] for answer in answers]
        shape = (len(answers), found)
        return (
            np.clip(np.array(cosines, np.float32).reshape(shape), -1.0, 1.0),
            np.array(rows, np.int64).reshape(shape),
        )


@dataclass(frozen=True, slots=True)
class FolderCorpus:
    """An index whose vectors an older Milvus searches, and whose passages and words are in a folder."""

    corpus: Corpus
    calls: ThreadPoolExecutor

    @property
    def passages(self) -> Any:
        """The passages, by id."""
        return self.corpus.passages

    @property
    def threshold(self) -> float:
        """The cosine under which a passage is taken for a random one."""
        return self.corpus.threshold

    def retriever(
        self, encoder: Encoder, mode: RetrievalMode, *, thread: Executor, threshold: float | None = None
    ) -> RankingRetriever:
        """As `retrieval.retriever`, in threads of its own: it waits for the server."""
        del thread
        return retriever(self.corpus, encoder, mode, thread=self.calls, threshold=threshold)


@dataclass(frozen=True, slots=True)
class MilvusPlace:
    """An index in Milvus, by its name, and what of it may be read.

    `filter` is an expression of Milvus, empty for all. `folder` is that of the index, which is opened if the
    server can't rank by words.
    """

    connection: Connection
    calls: ThreadPoolExecutor
    name: str
    filter: str = ""
    folder: Path | None = None

    def find(self) -> StoredIndex:
        """What the server holds now. Blocking.

        Raises:
            BrokenIndexError: nothing, or nothing that can be used, or it can't be asked.
        """
        try:
            stored = find(self.connection, self.name)
            if stored and not self.connection.call("has_collection", stored.collection):
                stored = None
        except RetrievalError as error:
            raise BrokenIndexError(error.message, param="retrieval.milvus.uri") from error
        if stored is None:
            raise BrokenIndexError(
                f"Milvus holds no index {self.name}. Build one with: vouch index SOURCE --store milvus "
                f"--collection {self.name}",
                param="retrieval.milvus.collection",
            )
        return stored

    def current(self) -> str:
        """The generation that is there now. Blocking. Raises as `find` does."""
        return self.find().generation

    def open(self, stored: StoredIndex) -> MilvusCorpus | FolderCorpus:
        """What was found, searchable. Blocking.

        Raises:
            ConfigError: the filter is wrong, or the server can't do with one.
            BrokenIndexError: the folder is needed and missing, or it holds another build.
        """
        if stored.ranks_words:
            passages = PassagesInMilvus(self.connection, stored, self.filter)
            self._try_filter(passages)
            return MilvusCorpus(self.connection, stored, self.calls, self.filter, passages)
        if self.filter or self.folder is None:
            raise ConfigError(
                "This Milvus does not rank by words, so passages and words come from the index's folder, "
                "which knows no filter and only one index. Use Milvus 2.5 or newer.",
                param="retrieval.milvus.filter",
            )
        index = open_index(self.folder)
        if index.manifest.generation != stored.generation:
            raise BrokenIndexError(
                f"The folder {self.folder} and the collection {stored.collection} are of different builds. "
                "This Milvus does not rank by words, so it needs the folder. Build again: vouch index SOURCE "
                f"--store milvus --out {self.folder}",
                param="index.path",
            )
        nearest = NearestInMilvus(self.connection, stored)
        return FolderCorpus(replace(open_corpus(index), nearest=nearest), self.calls)

    def _try_filter(self, passages: PassagesInMilvus) -> None:
        if not self.filter:
            return
        try:
            passages.get("")
        except RefusedError as error:
            raise ConfigError(
                f"The filter {self.filter!r} can't be used: {error.message}", param="retrieval.milvus.filter"
            ) from error
        except RetrievalError as error:
            raise BrokenIndexError(error.message, param="retrieval.milvus.uri") from error

    def close(self) -> None:
        """Ends the threads and closes the connection."""
        self.calls.shutdown(wait=False, cancel_futures=True)
        self.connection.close()


def milvus_place(settings: Milvus, folder: Path | None = None) -> MilvusPlace:
    """The index that the settings name; nothing is asked yet. Raises `ConfigError` without pymilvus."""
    connection = Connection(settings)
    calls = ThreadPoolExecutor(max_workers=settings.connections, thread_name_prefix="milvus")
    return MilvusPlace(connection, calls, settings.collection, settings.filter, folder)


def _found(hit: Any, vector: Any, mode: RetrievalMode) -> Found:
    entity, score = hit["entity"], float(hit["distance"])
    row, passage = int(entity["row"]), passage_of(entity)
    if mode == "lexical":
        return Found(row, passage, bm25=abs(score))  # Milvus Lite gives it with a minus
    # A merged hit's score is of ranks: its cosine is computed here.
    cosine = float(np.dot(np.asarray(entity["vector"], np.float32), vector)) if mode == "hybrid" else score
    return Found(row, passage, min(1.0, max(-1.0, cosine)))


def _over(threshold: float, hits: list[Found]) -> list[Found]:
    return [hit for place, hit in enumerate(hits) if place == 0 or hit.cosine >= threshold or hit.bm25]


def _both(first: str, second: str) -> str:
    return f"({first}) and {second}" if first else second
