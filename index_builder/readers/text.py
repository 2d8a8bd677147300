"""Plain text: .txt; and bytes to text, for files that do not say their encoding."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from pathlib import Path

from charset_normalizer import from_bytes

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
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]+")
_BLOCK = 1 << 20
_NOT_LATIN = ("big5", "cp932", "euc_jp", "cp949", "cp1251", "koi8_r", "cp1253", "cp1255", "cp1256", "cp874")
_FEWEST_GUESSED, _GUESSED = 16, 1 << 16
"""Bytes beyond ASCII from which an encoding can be told, and how much of the text tells it."""
_TITLE = re.compile(
    r"\s{0,99}(?![-*#=_>|•])(\S(?:[^\n]{0,78}[^\s.!?:;,。！？：；，、])?)[ \t]{0,9}\n[ \t]{0,99}\n\s*\S"
)


def read_text(path: Path, id_: str) -> Iterator[Document]:
    """The file as it is, in any encoding that `encoding_of` knows.

    The title is the first line, if it is short, doesn't end with a stop, and a blank line follows; else the
    file's name. The line stays in the text.
    """
    text = decode(read_bytes(path))
    title = _TITLE.match(text)
    yield Document(id_, title[1] if title else path.stem, text)


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
    GB2312 range and make Chinese words, not single characters within Latin ones; where most of them stand
    side by side, as in no Latin text, what charset-normalizer takes them for (Big5, Shift JIS, Windows-1251
    and others); else Windows-1252, the superset of Latin-1 that browsers take for it.

    Raises:
        SourceError: the bytes are not text (they hold NUL, and no byte order mark explains it).
    """
    if marked := marked_encoding(data):
        return marked
    if b"\0" in data:
        raise SourceError("a binary file, not text")
    valid, invalid = _utf8_characters(data)
    if invalid <= valid // 10:
        return "utf-8"
    runs = _HIGH.findall(data[:_BLOCK])
    high = sum(map(len, runs))
    paired = 2 * sum(len(_GB2312_PAIR.findall(run)) for run in runs)
    if paired >= 0.8 * high and _reads_as_chinese(data[:_BLOCK]):
        return "gb18030"
    if high < _FEWEST_GUESSED or sum(len(run) for run in runs if len(run) > 1) < 0.6 * high:
        return "cp1252"
    beyond_ascii = data.index(runs[0])
    guess = from_bytes(data[beyond_ascii : beyond_ascii + _GUESSED], cp_isolation=list(_NOT_LATIN)).best()
    return guess.encoding if guess else "cp1252"


def marked_encoding(data: bytes) -> str:
    """The encoding that a byte order mark tells; empty where there is none."""
    return next((encoding for bom, encoding in _BOMS if data.startswith(bom)), "")


def _reads_as_chinese(data: bytes) -> bool:
    """Whether at least half of what is beyond ASCII makes Chinese words, if read as GB18030.

    Read so, `Größe` is `Gr鲞e`. Of a word at least one character is of the common ones, which GB2312 has
    first. A character alone, as in `A级`, stands beside no small letter and not between two letters.
    """
    text = data.decode("gb18030", errors="replace")
    chinese = other = 0
    for run in _BEYOND_ASCII.finditer(text):
        before, after = text[run.start() - 1 : run.start()], text[run.end() : run.end() + 1]
        within = before.isalpha() and after.isalpha()
        alone = len(run.group()) == 1 and (within or before.islower() or after.islower())
        if not alone and any(map(_is_common, run.group())):
            chinese += len(run.group())
        else:
            other += len(run.group())
    return chinese >= other


def _is_common(character: str) -> bool:
    return b"\xb0" <= character.encode("gb18030", errors="replace")[:1] <= b"\xd7"


def encoding_of_file(path: Path) -> str:
    """As `encoding_of`, from the first MiB in which there is anything beyond ASCII, and the rest of its last
    line. The file may be of any size."""
    with path.open("rb") as file:
        block = file.read(_BLOCK)
        while block.isascii() and b"\0" not in block and (following := file.read(_BLOCK)):
            block = following
        return encoding_of(block + file.readline(_BLOCK))


def _utf8_characters(data: bytes) -> tuple[int, int]:
    """How many characters beyond ASCII are valid UTF-8, and how many are not."""
    text = data.decode("utf-8", errors="replace")
    if text.isascii():
        return 0, 0
    invalid = text.count("\ufffd") - data.count("\ufffd".encode())
    beyond_ascii = len(text) - len(text.encode("ascii", errors="ignore"))
    return beyond_ascii - invalid, invalid
