"""The packaged encoder and checker, loaded once for all tests."""

from __future__ import annotations

from functools import cache

from proxy.checkers.nli import NLIChecker
from proxy.checkers.nli import packaged_checker as load_checker
from proxy.checkers.nli_sizes import default_size
from proxy.retrieval.encoder import SentenceTransformerEncoder


@cache
def packaged_encoder() -> SentenceTransformerEncoder:
    """The packaged all-MiniLM-L6-v2."""
    return SentenceTransformerEncoder()


@cache
def packaged_checker() -> NLIChecker:
    """The checker that serves without settings."""
    return load_checker(default_size())
