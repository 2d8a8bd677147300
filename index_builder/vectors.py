"""The vectors of an index that is being built, and the cosine that tells related text from random text.

A vector is taken over from the index that is replaced where the text is the same, else encoded.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import islice
from pathlib import Path

import numpy as np

from proxy.errors import BrokenIndexError
from proxy.protocols import Encoder
from proxy.retrieval.corpus import ENCODED, VECTOR, VECTORS, encoded_text
from proxy.retrieval.generation import Generation
from proxy.retrieval.index_files import MANIFEST, ArrayWriter, map_array, open_index
from proxy.types import Passage, Vectors

log = logging.getLogger(__name__)

DIGESTS = "digests.npy"
_DIGEST_BYTES = 16
_BLOCK = 512

SAMPLE = 256
"""How many passages the threshold is measured on: 65,000 pairs."""

_CLAIM_SHARE = 5
_RANDOM_PERCENTILE = 99
_OWN_PERCENTILE = 1


@dataclass(frozen=True, slots=True)
class OldVectors:
    """What an earlier build encoded: the rows of `vectors` by the digest of their text."""

    rows: dict[bytes, int]
    vectors: Vectors


def old_vectors(out: Path, encoder: Encoder) -> OldVectors:
    """The vectors of the index at `out`; none where there is no index or another encoder made it."""
    nothing = OldVectors({}, np.empty((0, encoder.dimension), VECTOR))
    if not (out / MANIFEST).exists():
        return nothing
    try:
        index = open_index(out)
        made = index.manifest
        if (made.encoder, made.dimension, made.encoded) != (encoder.name, encoder.dimension, ENCODED):
            return nothing
        digests = map_array(index.file(DIGESTS), "u1", (made.passages, _DIGEST_BYTES))
        vectors = map_array(index.file(VECTORS), VECTOR, (made.passages, made.dimension))
    except BrokenIndexError as error:
        log.warning("All passages are encoded again, because of the old index: %s", error.message)
        return nothing
    return OldVectors({digest.tobytes(): row for row, digest in enumerate(digests)}, vectors)


def write_vectors(
    generation: Generation,
    passages: Iterable[Passage],
    encoder: Encoder,
    old: OldVectors,
    progress: Callable[[int], None],
) -> int:
    """Writes a vector and a digest per passage, block by block. Returns how many vectors were taken over.

    `progress` is called with the number of passages that are done.
    """
    reused = done = 0
    with (
        ArrayWriter(generation.file(VECTORS), VECTOR, (encoder.dimension,)) as vectors,
        ArrayWriter(generation.file(DIGESTS), "u1", (_DIGEST_BYTES,)) as digests,
    ):
        stream = iter(passages)
        while block := list(islice(stream, _BLOCK)):
            texts = [encoded_text(passage) for passage in block]
            keys = [blake2b(text.encode(), digest_size=_DIGEST_BYTES).digest() for text in texts]
            reused += sum(key in old.rows for key in keys)
            vectors.append(_vectors(texts, keys, encoder, old))
            digests.append(np.frombuffer(b"".join(keys), "u1").reshape(-1, _DIGEST_BYTES))
            done += len(block)
            progress(done)
    return reused


def _vectors(texts: Sequence[str], keys: Sequence[bytes], encoder: Encoder, old: OldVectors) -> Vectors:
    known = [row for row, key in enumerate(keys) if key in old.rows]
    new = [row for row, key in enumerate(keys) if key not in old.rows]
    vectors = np.empty((len(texts), encoder.dimension), VECTOR)
    vectors[known] = old.vectors[[old.rows[keys[row]] for row in known]]
    vectors[new] = encoder.encode([texts[row] for row in new])
    return vectors


def sample_rows(passages: int) -> list[int]:
    """The rows to measure on: the same ones for the same number of passages, ascending."""
    return sorted(random.Random(passages).sample(range(passages), min(SAMPLE, passages)))


def measure_threshold(passages: Sequence[Passage], vectors: Vectors, encoder: Encoder) -> float:
    """The cosine that 99% of random pairs of claim and passage stay under, lowered where true pairs do too.

    The last fifth of a passage stands for a claim. The threshold is the lower of two figures: the 99th
    percentile of the claims' cosines to passages of other documents, and the 1st percentile of their cosines
    to their own passages. An encoder that does not know the corpus's language can't tell the two apart, and
    then little must be dropped. Over Wikipedia with all-MiniLM-L6-v2 the threshold is about 0.15 in English,
    which drops nine in ten random passages and one in a thousand of those that WikiRetr's claims were made
    from. In Chinese it is 0.39, where 0.63, the first figure alone, would drop every second passage that
    bears a CiteCheck claim out.

    Args:
        passages: a random sample.
        vectors: of the passages, shape (passages, dimension).
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
