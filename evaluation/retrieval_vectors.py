"""Vectors of many passages: encoded once, block by block, and kept in a folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import blake2b
from pathlib import Path

import numpy as np

from evaluation.options import writable_folder
from proxy.errors import ConfigError
from proxy.protocols import Encoder
from proxy.retrieval.corpus import ENCODED, VECTOR, encoded_text
from proxy.retrieval.index_files import ArrayWriter, map_array
from proxy.types import Passage, Vectors

BLOCK = 512
"""Passages of a file: what an interruption loses at most."""


class RememberingEncoder:
    """`protocols.Encoder`, each text asked for once: the same claims go through every retriever."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._known: dict[str, Vectors] = {}

    @property
    def name(self) -> str:
        """The encoder's own."""
        return self._encoder.name

    @property
    def dimension(self) -> int:
        """The encoder's own."""
        return self._encoder.dimension

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Shape (len(texts), dimension)."""
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        self._known.update(zip(new, self._encoder.encode(new), strict=True))
        return np.stack([self._known[text] for text in texts]) if texts else self._encoder.encode([])


def vectors_of(
    passages: Sequence[Passage], encoder: Encoder, folder: Path | None, progress: Callable[[int], None]
) -> Vectors:
    """Shape (passages, dimension), float32.

    With a folder, each block is a file there, named by the encoder and the block's text: what was encoded
    before an interruption, or for a smaller corpus that begins the same, is only read.

    Args:
        passages: in the order of the rows.
        encoder: is asked for what the folder doesn't hold.
        folder: made where it is missing; None keeps nothing.
        progress: hears how many more passages are done.

    Raises:
        ConfigError: the folder can't be made or written.
        BrokenIndexError: a file in it is not what was written: remove it.
    """
    kept = writable_folder(folder) if folder else None
    blocks = []
    for start in range(0, len(passages), BLOCK):
        texts = [encoded_text(passage) for passage in passages[start : start + BLOCK]]
        blocks.append(_kept(kept, texts, encoder) if kept else encoder.encode(texts))
        progress(len(texts))
    return np.concatenate(blocks) if blocks else np.empty((0, encoder.dimension), VECTOR)


def _kept(folder: Path, texts: Sequence[str], encoder: Encoder) -> Vectors:
    path = folder / f"{_key(texts, encoder)}.npy"
    if not path.exists():
        _write(path, encoder.encode(texts))
    return map_array(path, VECTOR, (len(texts), encoder.dimension))


def _write(path: Path, vectors: Vectors) -> None:
    """Under another name until it is whole, so that what is killed meanwhile leaves no half of it."""
    temporary = path.with_suffix(".tmp")
    try:
        with ArrayWriter(temporary, VECTOR, vectors.shape[1:]) as rows:
            rows.append(vectors)
        temporary.replace(path)
    except OSError as error:
        raise ConfigError(f"{path} can't be written: {error.strerror}. Name another folder.") from error


def _key(texts: Sequence[str], encoder: Encoder) -> str:
    digest = blake2b(f"{encoder.name}\n{ENCODED}".encode(), digest_size=16)
    for text in texts:
        digest.update(blake2b(text.encode(), digest_size=16).digest())
    return digest.hexdigest()
