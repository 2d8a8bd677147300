"""A retriever for each `retrieval.mode`."""

from __future__ import annotations

from concurrent.futures import Executor

from proxy.backends.retriever.corpus import Corpus
from proxy.backends.retriever.dense import DenseRanking
from proxy.backends.retriever.hybrid import HybridRanking
from proxy.backends.retriever.lexical import LexicalRanking
from proxy.backends.retriever.ranking import Ranking
from proxy.backends.retriever.search import RankingRetriever
from proxy.protocols import Encoder
from proxy.types import RetrievalMode


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
