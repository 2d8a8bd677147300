"""Which cosine tells a passage that has to do with a claim from a random one: measured, per index."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np

from proxy.protocols import Encoder
from proxy.types import Passage, Vectors

SAMPLE = 256
"""Passages that are looked at. Each claim meets each passage: 65,000 pairs."""

_CLAIM_SHARE = 5
_RANDOM_PERCENTILE = 99
_OWN_PERCENTILE = 1


def sample_rows(passages: int) -> list[int]:
    """The rows to measure on: the same ones for the same number of passages, ascending."""
    return sorted(random.Random(passages).sample(range(passages), min(SAMPLE, passages)))


def measure_threshold(passages: Sequence[Passage], vectors: Vectors, encoder: Encoder) -> float:
    """The cosine that 99% of random claims and passages stay under, unless that would cost true ones.

    The last fifth of a passage stands for a claim. The threshold is the lower of the 99th percentile of its
    cosine to passages of other documents and the 1st percentile of that to its own passage: an encoder that
    does not know the corpus's language can't tell the two apart, and then little must be dropped. Over
    Wikipedia with all-MiniLM-L6-v2 that is about 0.15 in English, which drops nine in ten random passages and
    one in a thousand of those that WikiRetr's claims were made from; and 0.39 in Chinese, where 0.63, the
    first percentile alone, would drop every second passage that bears a CiteCheck claim out.

    Args:
        passages: a random sample.
        vectors: theirs, shape (passages, dimension).
        encoder: the one that made them.
    """
    claims = encoder.encode([_claim(passage.text) for passage in passages])
    cosines = claims @ vectors.T
    threshold = float(np.percentile(np.diagonal(cosines), _OWN_PERCENTILE))
    documents = np.array([passage.document_id for passage in passages])
    others = cosines[documents[:, np.newaxis] != documents[np.newaxis, :]]
    if len(others):
        threshold = min(threshold, float(np.percentile(others, _RANDOM_PERCENTILE)))
    return threshold


def _claim(text: str) -> str:
    return text[-max(1, len(text) // _CLAIM_SHARE) :]
