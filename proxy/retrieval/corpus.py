"""What is searched: passages, their vectors and their words, on disk or in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from proxy.protocols import Encoder
from proxy.retrieval.arrays import map_array
from proxy.retrieval.index_files import EncodedText, Index
from proxy.retrieval.lexical import Postings, open_postings, postings_of
from proxy.retrieval.passages import HeldPassages, PassageTable, StoredPassages
from proxy.types import Passage, Vectors

VECTORS = "vectors.npy"
VECTOR = np.dtype("<f4")

_BLOCK = 32
"""Passages encoded in one call: between two calls the queries of other requests get their turn."""

ENCODED: EncodedText = "text"
"""What the encoder sees of a passage. With title and section before it, all-MiniLM-L6-v2's recall@1 over
WikiRetr fell from 96.2 to 95.3 (GPT-3) and from 92.4 to 90.9 (GPT-4)."""


@dataclass(frozen=True, slots=True)
class Corpus:
    """All that a retriever needs; row i of `vectors` and of `postings` is `passages.passage(i)`.

    `threshold` is the cosine under which a passage is taken for a random one.
    """

    passages: PassageTable
    vectors: Vectors
    postings: Postings
    threshold: float


def open_corpus(index: Index) -> Corpus:
    """The corpus of an index on disk, mapped into memory: opening takes no time, whatever its size.

    Raises:
        BrokenIndexError: its files are not what a build writes.
    """
    manifest = index.manifest
    vectors = map_array(index.file(VECTORS), VECTOR, (manifest.passages, manifest.dimension))
    return Corpus(StoredPassages(index), vectors, open_postings(index), manifest.threshold)


def hold_corpus(passages: Sequence[Passage], encoder: Encoder, threshold: float) -> Corpus:
    """A corpus in memory, of documents that came with a request. Blocking: call it off the event loop.

    So few passages say nothing about random ones, so `threshold` is the one of the corpus on disk.
    """
    texts = [encoded_text(passage) for passage in passages]
    blocks = [encoder.encode(texts[at : at + _BLOCK]) for at in range(0, max(1, len(texts)), _BLOCK)]
    vectors = np.concatenate(blocks)
    return Corpus(HeldPassages(passages), vectors, postings_of(passages), threshold)


def encoded_text(passage: Passage) -> str:
    """What the encoder sees of a passage."""
    return passage.text
