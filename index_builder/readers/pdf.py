"""PDF files. Their pages are the sections: `page 12` is what a reader of a citation can turn to."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Iterator
from pathlib import Path

from pypdf import PageObject, PdfReader
from pypdf.errors import DependencyError, PyPdfError

from index_builder.documents import Block, BrokenDocument, Document, assemble
from index_builder.pdf_tables import parts_of
from index_builder.tables import table_blocks
from proxy.errors import SourceError
from proxy.text.scripts import WIDE

log = logging.getLogger(__name__)

_MAX_PAGES = 20_000
_MAX_SECONDS = 300.0
"""Per file, looked at between pages; pypdf itself bounds the work on one page's streams."""

_FEWEST_DIGITS = 2
"""A page without numbers has no table that could be told from columns of prose."""
_GAP = re.compile(r"\S {3,}\S")

_HYPHEN = re.compile(r"(?<=[^\W\d_])[-\u2010]$")
_BULLET = re.compile(r"(?:[•‣▪●○◦·*\u2013-]|\(?\d{1,3}[.)])\s")
_ENDED = tuple(".!?:;。！？：；”\"’')）")
_WIDE = re.compile(f"[{WIDE}]")


def read_pdf(path: Path, id_: str) -> Iterator[Document | BrokenDocument]:
    """The text of all pages, line ends and hyphens mended. A page that can't be read is broken by itself.

    Raises:
        SourceError: the file is damaged, needs a password, holds no text, or takes over five minutes.
    """
    with path.open("rb") as file:
        try:
            reader = PdfReader(file)
            if reader.is_encrypted and not reader.decrypt(""):
                raise SourceError("encrypted; save it without its password")
            pages, title = len(reader.pages), _title(reader)
        except DependencyError as error:
            raise SourceError("encrypted; save it without its password") from error
        except (PyPdfError, RecursionError) as error:
            raise SourceError(f"not a PDF file, or damaged: {error}") from error
        if pages > _MAX_PAGES:
            raise SourceError(f"holds more than {_MAX_PAGES:,} pages")
        broken: list[BrokenDocument] = []
        document = assemble(id_, title or path.stem, "", _blocks(reader, pages, path, broken))
    yield from broken
    if not document.text and not broken:
        raise SourceError("holds no text, only images; run it through text recognition (OCR) first")
    if document.text:
        yield document


def _title(reader: PdfReader) -> str:
    title = reader.metadata.title if reader.metadata else None
    return title.strip() if isinstance(title, str) else ""


def _blocks(reader: PdfReader, pages: int, path: Path, broken: list[BrokenDocument]) -> Iterator[Block]:
    deadline = time.monotonic() + _MAX_SECONDS
    for number in range(pages):
        if time.monotonic() > deadline:
            raise SourceError(f"takes more than {_MAX_SECONDS:.0f} s to read; split it")
        try:
            page = list(_page_blocks(reader.pages[number]))
        except Exception as error:  # pypdf lets whatever a damaged page provokes through
            broken.append(BrokenDocument(f"{path}, page {number + 1}", f"{type(error).__name__}: {error}"))
            continue
        yield Block(f"page {number + 1}", heading=True)
        yield from page


def _page_blocks(page: PageObject) -> Iterator[Block]:
    """Paragraphs, and the rows of tables. Where a table is found, the page is read as it is laid out, unless
    that would mix columns of prose."""
    plain = page.extract_text()
    parts = list(parts_of(_layout(page))) if sum(map(str.isdigit, plain)) >= _FEWEST_DIGITS else []
    texts = [part for part in parts if isinstance(part, str)]
    if len(texts) == len(parts) or any(_GAP.search(line) for text in texts for line in text.splitlines()):
        yield from map(Block, unwrapped(plain))
        return
    for part in parts:
        yield from map(Block, unwrapped(part)) if isinstance(part, str) else table_blocks(part)


def _layout(page: PageObject) -> str:
    """The page's text laid out in a font of fixed width; empty where that can't be done."""
    try:
        return page.extract_text(extraction_mode="layout")
    except Exception:  # pypdf lets whatever an odd page provokes through; its plain text can be read
        log.debug("A page can't be laid out", exc_info=True)
        return ""


def unwrapped(text: str) -> list[str]:
    """The paragraphs of a page whose lines were broken to fit its width.

    A line goes on in the next one unless a blank line or a bullet follows, or it is shorter than three
    quarters of the longest line and ends like a sentence, or shorter than half of it (a heading, a cell).
    A hyphen at the end of a line, between a letter and a small letter, is the typesetter's and goes.
    """
    lines = [" ".join(line.split()) for line in text.replace("\xad\n", "").splitlines()]
    longest = max(map(len, lines), default=0)
    paragraphs: list[list[str]] = []
    ended = True
    for line in lines:
        if not line:
            ended = True
            continue
        if ended or _BULLET.match(line):
            paragraphs.append([line])
        else:
            paragraphs[-1].append(line)
        short = len(line) < longest * 0.75 and line.endswith(_ENDED)
        ended = short or len(line) < longest * 0.5
    return [_joined(paragraph) for paragraph in paragraphs]


def _joined(lines: list[str]) -> str:
    parts: list[str] = []
    for line in lines:
        if parts and _HYPHEN.search(parts[-1]) and line[0].islower():
            parts[-1] = parts[-1][:-1]
        elif parts and not (_WIDE.match(parts[-1][-1]) and _WIDE.match(line)):
            parts.append(" ")
        parts.append(line)
    return "".join(parts)
