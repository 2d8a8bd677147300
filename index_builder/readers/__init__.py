"""The readers by file suffix. Each is a function from a path to documents.

A reader is a module in this folder and an entry in `READERS`. One whose library is an extra is imported when
the first file of its kind is met, so that the others work without it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from index_builder.documents import BrokenDocument, Document, Reader
from index_builder.readers.html import read_html
from index_builder.readers.markdown import read_markdown
from index_builder.readers.rows import read_csv, read_json, read_jsonl, read_tsv
from index_builder.readers.text import read_text
from proxy.errors import SourceError


def _read_docx(path: Path, id_: str) -> Iterator[Document | BrokenDocument]:
    with _extra("docx", "Word documents"):
        from index_builder.readers.docx import read_docx
    return read_docx(path, id_)


def _read_dump(path: Path, id_: str) -> Iterator[Document | BrokenDocument]:
    with _extra("mediawiki", "MediaWiki dumps"):
        from index_builder.readers.mediawiki import read_dump
    return read_dump(path, id_)


def dump_parts(path: Path) -> Iterator[bytes]:
    """See `mediawiki.dump_parts`. Raises `SourceError`."""
    with _extra("mediawiki", "MediaWiki dumps"):
        from index_builder.readers import mediawiki
    return mediawiki.dump_parts(path)


def read_dump_part(part: bytes, path: Path) -> Iterator[Document | BrokenDocument]:
    """See `mediawiki.read_part`."""
    with _extra("mediawiki", "MediaWiki dumps"):
        from index_builder.readers import mediawiki
    return mediawiki.read_part(part, path)


def _read_pdf(path: Path, id_: str) -> Iterator[Document | BrokenDocument]:
    with _extra("pdf", "PDF files"):
        from index_builder.readers.pdf import read_pdf
    return read_pdf(path, id_)


READERS: dict[str, Reader] = {
    ".bz2": _read_dump,
    ".csv": read_csv,
    ".docx": _read_docx,
    ".htm": read_html,
    ".html": read_html,
    ".json": read_json,
    ".jsonl": read_jsonl,
    ".markdown": read_markdown,
    ".md": read_markdown,
    ".ndjson": read_jsonl,
    ".pdf": _read_pdf,
    ".tsv": read_tsv,
    ".txt": read_text,
    ".xml": _read_dump,
}


DUMPS = frozenset(suffix for suffix, reader in READERS.items() if reader is _read_dump)
"""The suffixes of files that may be cut into parts, each of which is read by itself."""


def suffix(path: Path) -> str:
    """What decides which reader a file gets."""
    return path.suffix.lower()


@contextmanager
def _extra(name: str, kind: str) -> Iterator[None]:
    """Says how to install a reader's library where its import fails. Raises `SourceError`."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise SourceError(f"{kind} need an optional library: pip install 'vouch[{name}]'") from error
