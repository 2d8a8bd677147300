"""The corpus, searchable: by cosine (FAISS), by words (bm25s), or by both.

corpus = open_corpus(open_index(path))
found = await retriever(corpus, encoder, "hybrid", thread=search_thread()).search(claims, k=5)
"""

from proxy.backends.retriever.compose import retriever
from proxy.backends.retriever.corpus import Corpus, hold_corpus, open_corpus
from proxy.backends.retriever.search import RankingRetriever, search_thread

__all__ = ["Corpus", "RankingRetriever", "hold_corpus", "open_corpus", "retriever", "search_thread"]
