"""The corpus, searchable: by cosine (FAISS), by words (bm25s), or by both.

corpus = open_corpus(open_index(path))
evidence = await retriever(corpus, encoder, "hybrid", thread=search_thread()).search(claims, k=5)
"""

from proxy.retrieval.corpus import (
    Corpus,
    RankingRetriever,
    SearchableCorpus,
    hold_corpus,
    open_corpus,
    retriever,
    search_thread,
)

__all__ = [
    "Corpus",
    "RankingRetriever",
    "SearchableCorpus",
    "hold_corpus",
    "open_corpus",
    "retriever",
    "search_thread",
]
