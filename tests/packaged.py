"""The packaged encoder, loaded once for all tests."""

from __future__ import annotations

from functools import cache

from proxy.retrieval.encoder import SentenceTransformerEncoder


@cache
def packaged_encoder() -> SentenceTransformerEncoder:
    """The packaged all-MiniLM-L6-v2."""
    return SentenceTransformerEncoder()
