"""A quick encoder for tests that are not about encoders."""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import blake2b

import numpy as np

from proxy.types import Vectors


class HashingEncoder:
    """A bag of words, each hashed to one of 64 places. Keeps what it was asked, to be counted."""

    def __init__(self, name: str = "hashing", dimension: int = 64) -> None:
        self.name = name
        self.dimension = dimension
        self.max_tokens = 256
        self.encoded: list[str] = []
        self.calls = 0

    def encode(self, texts: Sequence[str]) -> Vectors:
        self.calls += 1
        self.encoded += texts
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            for word in re.findall(r"\w+", text.lower()) or [""]:
                digest = blake2b(word.encode(), digest_size=8).digest()
                vectors[row, int.from_bytes(digest, "little") % self.dimension] += 1
        unit: Vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return unit
