"""Standard input: JSON lines where the first line is a JSON object, else one plain text."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import BinaryIO

from index_builder.documents import MAX_BYTES, BrokenDocument, Document
from index_builder.readers.encodings import decode
from index_builder.readers.jsonl import json_lines
from proxy.errors import SourceError


def read_stdin(stream: BinaryIO, id_: str) -> Iterator[Document | BrokenDocument]:
    """The stream's documents. Raises SourceError where it is text and larger than `MAX_BYTES`."""
    title = "Standard input"
    first = stream.readline(MAX_BYTES + 1)
    if _is_object(first):
        with io.BufferedReader(_Rejoined(first, stream)) as whole:
            yield from json_lines(whole, id_, title=title, source="standard input")
        return
    data = first + stream.read(MAX_BYTES + 1 - len(first))
    if len(data) > MAX_BYTES:
        raise SourceError(f"larger than {MAX_BYTES // 1_000_000} MB; index a file of JSON lines instead")
    yield Document(id_, title, decode(data))


def _is_object(line: bytes) -> bool:
    if not line.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{"):
        return False
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


class _Rejoined(io.RawIOBase):
    """A stream, with what was already read of it put back in front."""

    def __init__(self, head: bytes, rest: BinaryIO) -> None:
        self._head = io.BytesIO(head)
        self._rest = rest

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Fills `buffer` from the head, then from the rest."""
        data = self._head.read(len(buffer)) or self._rest.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)
