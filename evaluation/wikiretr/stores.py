"""The same recall, and how long a claim's search takes, with the passages in Milvus."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime

import numpy as np

from evaluation.measurement import progress
from evaluation.wikiretr.passage_recall import DEPTH, Space
from proxy.config.settings import Settings
from proxy.retrieval.corpus import ENCODED
from proxy.retrieval.lexical import Postings
from proxy.retrieval.milvus.collection import StoredIndex, publish, remove
from proxy.retrieval.milvus.milvus_search import (
    MilvusCorpus,
    MilvusPlace,
    NearestInMilvus,
    PassagesInMilvus,
    milvus_place,
)
from proxy.retrieval.rankings import DenseRanking, Hit, HybridRanking, LexicalRanking, Ranking
from proxy.retrieval.vector_table import HeldVectors
from proxy.types import Passage, RetrievalMode

COLLECTION = "vouch_wikiretr"
"""The index is called so in Milvus; it is removed at the end."""

TIMED = 300
"""Claims that are searched for one by one, to take the time."""


class InMilvus:
    """`rankings.Ranking` by a server that ranks by words."""

    def __init__(self, corpus: MilvusCorpus, space: Space, mode: RetrievalMode, threshold: float) -> None:
        self._corpus = corpus
        self._space = space
        self._mode = mode
        self._threshold = threshold

    def rank(self, queries: Sequence[str], k: int) -> list[tuple[Hit, ...]]:
        """Per query at most k hits, best first."""
        vectors = None if self._mode == "lexical" else self._space.encoder.encode(queries)
        found = self._corpus.search(queries, vectors, self._mode, k, self._threshold)
        return [tuple(Hit(hit.row, hit.cosine, hit.bm25) for hit in hits) for hits in found]


@contextmanager
def milvus_rankings(
    settings: Settings,
    modes: Sequence[RetrievalMode],
    passages: Sequence[Passage],
    postings: Postings,
    space: Space,
) -> Iterator[list[tuple[str, Ranking]]]:
    """The rankings of `passage_recall.rankings`, by the Milvus server of the settings, which holds the
    passages meanwhile. Raises `ConfigError`, `RetrievalError`."""
    milvus = settings.retrieval.milvus.model_copy(update={"collection": COLLECTION, "filter": ""})
    place = milvus_place(milvus)
    try:
        stored = _send(place, passages, space)
        yield list(_rankings(place, stored, modes, postings, space))
    finally:
        remove(place.connection, COLLECTION)
        place.close()


def search_times(ranking: Ranking, claims: Sequence[str]) -> tuple[float, float]:
    """Median and 99th percentile of the milliseconds that one claim's search takes, its vector being known.
    Blocking."""
    ranking.rank(claims[:TIMED], DEPTH)  # what loads at first use is loaded, and the claims are encoded
    taken = []
    for claim in claims[:TIMED]:
        begun = time.perf_counter()
        ranking.rank([claim], DEPTH)
        taken.append(1000 * (time.perf_counter() - begun))
    return float(np.percentile(taken, 50)), float(np.percentile(taken, 99))


def _send(place: MilvusPlace, passages: Sequence[Passage], space: Space) -> StoredIndex:
    created = datetime.now(UTC)
    generation = f"{created.timestamp():.6f}".replace(".", "")
    stored = StoredIndex(
        collection=f"{COLLECTION}_{generation}",
        ranks_words=place.connection.ranks_words(),
        generation=generation,
        created=created.isoformat(timespec="seconds"),
        encoder=space.encoder.name,
        dimension=space.encoder.dimension,
        encoded=ENCODED,
        splitter="",
        words=0,
        max_tokens=0,
        threshold=space.threshold,
        documents=len(passages),
        passages=len(passages),
        broken=0,
        tokens=0,
    )
    done = 0
    with progress("passages sent", len(passages)) as advance:

        def tell(now: int) -> None:
            nonlocal done
            advance(now - done)
            done = now

        publish(place.connection, COLLECTION, stored, enumerate(passages), HeldVectors(space.vectors), tell)
    return stored


def _rankings(
    place: MilvusPlace,
    stored: StoredIndex,
    modes: Sequence[RetrievalMode],
    postings: Postings,
    space: Space,
) -> Iterator[tuple[str, Ranking]]:
    limits = {"": -1.0, f", threshold {space.threshold:.2f}": space.threshold}
    if stored.ranks_words:
        known = PassagesInMilvus(place.connection, stored, "")
        corpus = MilvusCorpus(place.connection, stored, place.calls, "", known)
        for mode in modes:
            for name, limit in limits.items() if mode != "lexical" else [("", -1.0)]:
                yield f"milvus {mode}{name}", InMilvus(corpus, space, mode, limit)
        return
    nearest, lexical = NearestInMilvus(place.connection, stored), LexicalRanking(postings)
    for name, limit in limits.items():
        dense = DenseRanking(HeldVectors(space.vectors), space.encoder, limit, nearest)
        if "dense" in modes:
            yield f"milvus dense{name}", dense
        if "hybrid" in modes:
            yield f"milvus hybrid{name}", HybridRanking(dense, lexical)
