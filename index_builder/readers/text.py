"""Plain text: .txt."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from index_builder.documents import Document
from index_builder.readers.encodings import decode, read_bytes


def read_text(path: Path, id_: str) -> Iterator[Document]:
    """The file as it is, in any encoding that `encodings.encoding_of` knows. Its name is its title."""
    yield Document(id_, path.stem, decode(read_bytes(path)))
