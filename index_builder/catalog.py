"""What an index was made of: its files and documents, so that an update reads only the files that changed and
cuts and encodes only the documents in them that did."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import asdict
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from index_builder.changes import file_key, file_state, hashed
from index_builder.sources import File
from proxy.retrieval.generation import Generation
from proxy.retrieval.index_files import ArrayWriter, Index, map_array
from proxy.types import Document

FILES = "files.npy"
"""Of every file its `file_key` and `file_state`, of shape (files, 2); one for the whole index."""

DOCUMENTS = "documents.npy"
"""Of every document of a part its `Columns`, of shape (documents, 7), in the order of their rows."""

NUMBER = np.dtype("<u8")

Table = NDArray[np.uint64]

FILE, ID, DIGEST, ROW, PASSAGES, TOKENS = 0, 1, slice(2, 4), 4, 5, 6
"""Columns of a table of documents: the key of its file, that of its id, the digest of all that it is, its
first row in its part, how many passages it has, and how many tokens they have."""

_COLUMNS = 7


def id_key(document_id: str) -> int:
    """64 bits of a document's id."""
    return hashed(document_id)


def digest_of(document: Document) -> tuple[int, int]:
    """Of all that a document is, in twice 64 bits."""
    digest = blake2b(repr(asdict(document)).encode("utf-8", "surrogatepass"), digest_size=16).digest()
    return int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:], "little")


class Documents:
    """The table of documents of a part that is being written. Holds 56 bytes per document."""

    def __init__(self) -> None:
        self._numbers = array("Q")
        self.rows = 0

    def __len__(self) -> int:
        return len(self._numbers) // _COLUMNS

    def add(self, file: int, id_: int, digest: tuple[int, int], passages: int, tokens: int) -> None:
        """The next document. One without passages is in no table, and is read again by every update."""
        if passages:
            self._numbers.extend((file, id_, *digest, self.rows, passages, tokens))
            self.rows += passages

    @property
    def tokens(self) -> int:
        """Of all of them."""
        return int(self.table()[:, TOKENS].sum())

    def table(self) -> Table:
        """The `Columns` of all documents so far; a copy."""
        return np.array(self._numbers, NUMBER).reshape(-1, _COLUMNS)

    def write(self, generation: Generation) -> None:
        """Writes the table. Raises OSError."""
        with ArrayWriter(generation.file(DOCUMENTS), NUMBER, (_COLUMNS,)) as writer:
            writer.append(self.table())


def read_documents(part: Index) -> Table:
    """The table of a part of an index. Raises `BrokenIndexError`."""
    return map_array(part.file(DOCUMENTS), NUMBER, (None, _COLUMNS))


def write_files(generation: Generation, states: dict[int, int]) -> None:
    """Writes of every file its key and state. Raises OSError."""
    with ArrayWriter(generation.file(FILES), NUMBER, (2,)) as writer:
        writer.append(np.array(list(states.items()), NUMBER).reshape(-1, 2))


def read_files(index: Index) -> dict[int, int]:
    """The states of the files that an index was made of, by their keys. Raises `BrokenIndexError`."""
    table = map_array(index.file(FILES), NUMBER, (None, 2))
    return dict(zip(table[:, 0].tolist(), table[:, 1].tolist(), strict=True))


def states_of(files: Iterable[File]) -> dict[int, int]:
    """The states of files as they are now, by their keys."""
    return {file_key(file): file_state(file) for file in files}
