"""The vectors of an index that is being built, and the cosine that tells related text from random text.

A vector is taken over where the text was encoded before, for the index that is replaced or by a build that
was killed (`journal`), else computed.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Iterable, Sequence
from hashlib import blake2b
from itertools import islice
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from proxy.errors import BrokenIndexError
from proxy.protocols import Encoder
from proxy.retrieval.corpus import ENCODED, encoded_text
from proxy.retrieval.generation import Generation
from proxy.retrieval.index_files import ArrayWriter, Index, map_array
from proxy.retrieval.vector_table import VECTOR, VECTORS, VectorRows, open_vectors
from proxy.types import Passage, Vectors

log = logging.getLogger(__name__)

Digests = NDArray[np.uint8]

DIGESTS = "digests.npy"
DIGEST_BYTES = 16
_BLOCK = 512

SAMPLE = 256
"""How many passages the threshold is measured on: 65,000 pairs."""

_CLAIM_SHARE = 5
_RANDOM_PERCENTILE = 99
_OWN_PERCENTILE = 1


class OldVectors:
    """What was encoded before, by the digests of the texts. Holds 16 bytes per text.

    Args:
        digests: of the texts, shape (texts, 16), bytes.
        vectors: of the texts.
    """

    def __init__(self, digests: Digests, vectors: VectorRows) -> None:
        keys = _keys(digests)
        self._order = np.argsort(keys, kind="stable")
        self.keys = keys[self._order]
        self._digests = digests
        self.vectors = vectors

    def rows(self, digests: Digests) -> NDArray[np.int64]:
        """The rows of these texts' vectors, -1 for those of texts that were not encoded."""
        if not len(self.keys):
            return np.full(len(digests), -1, np.int64)
        # Of texts that share the first half of their digests only one is found: the other is encoded again.
        places = np.minimum(np.searchsorted(self.keys, _keys(digests)), len(self.keys) - 1)
        rows = self._order[places]
        same = (self._digests[rows] == digests).all(axis=1)
        found: NDArray[np.int64] = np.where(same, rows, -1)
        return found


def _keys(digests: Digests) -> NDArray[np.uint64]:
    return np.ascontiguousarray(digests[:, :8]).view("<u8").ravel()


def old_vectors(index: Index, encoder: Encoder) -> list[OldVectors]:
    """The vectors of each part of an index; none where another encoder made it."""
    made = index.manifest
    if (made.encoder, made.dimension, made.encoded) != (encoder.name, encoder.dimension, ENCODED):
        return []
    try:
        return [
            OldVectors(
                map_array(part.file(DIGESTS), "u1", (part.manifest.passages, DIGEST_BYTES)),
                open_vectors(part),
            )
            for part in index.parts()
        ]
    except BrokenIndexError as error:
        log.warning("All passages are encoded again, because of the old index: %s", error.message)
        return []


class Kept(Protocol):
    """Where new vectors are kept as soon as they are known, in case the build is killed."""

    def append(self, digests: Digests, vectors: Vectors) -> None:
        """Keeps the vectors of the texts with these digests."""
        ...


def write_vectors(
    generation: Generation,
    passages: Iterable[Passage],
    encoder: Encoder,
    old: Sequence[OldVectors],
    progress: Callable[[int], None],
    kept: Kept | None = None,
) -> int:
    """Writes a vector and a digest per passage, block by block. Returns how many vectors were taken over.

    `progress` is called with the number of passages that are done.
    """
    reused = done = 0
    with (
        ArrayWriter(generation.file(VECTORS), VECTOR, (encoder.dimension,)) as vectors,
        ArrayWriter(generation.file(DIGESTS), "u1", (DIGEST_BYTES,)) as digests,
    ):
        stream = iter(passages)
        while block := list(islice(stream, _BLOCK)):
            texts = [encoded_text(passage) for passage in block]
            keys = digests_of(texts)
            found, new = _known(keys, encoder.dimension, old)
            if len(new):
                found[new] = encoder.encode([texts[row] for row in new])
                if kept is not None:
                    kept.append(keys[new], found[new])
            reused += len(block) - len(new)
            vectors.append(found)
            digests.append(keys)
            done += len(block)
            progress(done)
    return reused


def digests_of(texts: Iterable[str]) -> Digests:
    """Shape (texts, 16)."""
    return np.frombuffer(b"".join(map(_digest, texts)), "u1").reshape(-1, DIGEST_BYTES)


def _digest(text: str) -> bytes:
    return blake2b(text.encode(), digest_size=DIGEST_BYTES).digest()


def _known(digests: Digests, dimension: int, old: Sequence[OldVectors]) -> tuple[Vectors, NDArray[np.intp]]:
    """The vectors of a block as far as they are known, and the rows of those that are not."""
    vectors = np.empty((len(digests), dimension), VECTOR)
    missing = np.ones(len(digests), bool)
    for table in old:
        rows = table.rows(digests)
        here = missing & (rows >= 0)
        vectors[here] = table.vectors.take(rows[here])
        missing &= ~here
    return vectors, np.flatnonzero(missing)


def sample_rows(passages: int) -> list[int]:
    """The rows to measure on: the same ones for the same number of passages, ascending."""
    return sorted(random.Random(passages).sample(range(passages), min(SAMPLE, passages)))


def sample_claims(passages: Sequence[Passage], encoder: Encoder) -> Vectors:
    """The vectors of texts that stand for claims: the last fifth of each passage."""
    return encoder.encode([_claim(passage.text) for passage in passages])


def measure_threshold(passages: Sequence[Passage], vectors: Vectors, encoder: Encoder) -> float:
    """The `threshold_of` a random sample of passages, whose claims `encoder` has yet to encode."""
    return threshold_of(passages, vectors, sample_claims(passages, encoder))


def threshold_of(passages: Sequence[Passage], vectors: Vectors, claims: Vectors) -> float:
    """The cosine that 99% of random pairs of claim and passage stay under, lowered where true pairs do too.

    The threshold is the lower of two figures: the 99th
    percentile of the claims' cosines to passages of other documents, and the 1st percentile of their cosines
    to their own passages. An encoder that does not know the corpus's language can't tell the two apart, and
    then little must be dropped. Over Wikipedia with all-MiniLM-L6-v2 the threshold is about 0.15 in English,
    which drops nine in ten random passages and one in a thousand of those that WikiRetr's claims were made
    from. In Chinese it is 0.39, where 0.63, the first figure alone, would drop every second passage that
    bears a CiteCheck claim out.

    Args:
        passages: a random sample.
        vectors: of the passages, shape (passages, dimension).
        claims: their `sample_claims`, of the same shape.
    """
    cosines = claims @ vectors.T
    threshold = float(np.percentile(np.diagonal(cosines), _OWN_PERCENTILE))
    documents = np.array([passage.document_id for passage in passages])
    others = cosines[documents[:, np.newaxis] != documents[np.newaxis, :]]
    if len(others):
        threshold = min(threshold, float(np.percentile(others, _RANDOM_PERCENTILE)))
    return threshold


def _claim(text: str) -> str:
    return text[-max(1, len(text) // _CLAIM_SHARE) :]
