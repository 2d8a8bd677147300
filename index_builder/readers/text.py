"""Plain text: .txt; and bytes to text, for files that do not say their encoding."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from pathlib import Path

from index_builder.documents import MAX_BYTES, Document
from proxy.errors import SourceError

_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_HIGH = re.compile(rb"[\x80-\xff]+")
_GB2312_PAIR = re.compile(rb"[\xa1-\xf7][\xa1-\xfe]")
_BLOCK = 1 << 20


def read_text(path: Path, id_: str) -> Iterator[Document]:
    """The file as it is, in any encoding that `encoding_of` knows. Its name is its title."""
    yield Document(id_, path.stem, decode(read_bytes(path)))


def read_bytes(path: Path) -> bytes:
    """The whole file. Raises SourceError where it is larger than `MAX_BYTES`."""
    with path.open("rb") as file:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise SourceError(f"larger than {MAX_BYTES // 1_000_000} MB; split it into smaller documents")
    return data


def decode(data: bytes) -> str:
    """The text of a whole file, its line ends as `\\n`; bytes that the encoding lacks become U+FFFD.

    Raises:
        SourceError: the bytes are not text.
    """
    text = data.decode(encoding_of(data), errors="replace")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def encoding_of(data: bytes) -> str:
    """The name of the encoding of `data`: by its byte order mark, else the first of these that fits.

    UTF-8 where every character is valid, or nearly every one beyond ASCII (a few damaged bytes must not
    turn a whole Chinese document into noise); GB18030 where the bytes beyond ASCII come in pairs of the
    GB2312 range, as in Chinese text; else Windows-1252, the superset of Latin-1 that browsers take for it.

    Raises:
        SourceError: the bytes are not text (they hold NUL, and no byte order mark explains it).
    """
    for bom, encoding in _BOMS:
        if data.startswith(bom):
            return encoding
    if b"\0" in data:
        raise SourceError("a binary file, not text")
    valid, invalid = _utf8_characters(data)
    if invalid <= valid // 10:
        return "utf-8"
    high = _HIGH.findall(data[:_BLOCK])
    paired = 2 * sum(len(_GB2312_PAIR.findall(run)) for run in high)
    return "gb18030" if paired >= 0.8 * sum(map(len, high)) else "cp1252"


def encoding_of_file(path: Path) -> str:
    """As `encoding_of`, from the first MiB of the file alone, which may be of any size."""
    with path.open("rb") as file:
        head = file.read(_BLOCK)
        cut = len(head) == _BLOCK
    if cut:  # not in the middle of a character
        head = head[: head.rfind(b"\n") + 1] or head[: _BLOCK - 4]
    return encoding_of(head)


def _utf8_characters(data: bytes) -> tuple[int, int]:
    """How many characters beyond ASCII are valid UTF-8, and how many are not."""
    text = data.decode("utf-8", errors="replace")
    if text.isascii():
        return 0, 0
    invalid = text.count("\ufffd") - data.count("\ufffd".encode())
    beyond_ascii = len(text) - len(text.encode("ascii", errors="ignore"))
    return beyond_ascii - invalid, invalid
