"""Word documents: .docx."""

from __future__ import annotations

import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import docx
from docx.document import Document as WordDocument
from docx.opc.exceptions import OpcError
from docx.table import Table
from docx.text.paragraph import Paragraph

from index_builder.documents import Block, Document, assemble
from index_builder.tables import Cell, table_blocks
from proxy.errors import SourceError

_MAX_UNPACKED = 500_000_000


def read_docx(path: Path, id_: str) -> Iterator[Document]:
    """Paragraphs and tables in their order; headings are the sections. The row of a table is a line.

    The title is the document's property, else its paragraph of style `Title`, else the file's name.

    Raises:
        SourceError: the file is no Word document, is damaged, or unpacks to more than 500 MB.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            unpacked = sum(member.file_size for member in archive.infolist())
        if unpacked > _MAX_UNPACKED:
            raise SourceError(f"unpacks to more than {_MAX_UNPACKED // 1_000_000} MB")
        word = docx.Document(str(path))
    except (zipfile.BadZipFile, OpcError, KeyError, ValueError) as error:
        raise SourceError(f"not a Word document (.docx), or damaged: {error}") from error
    titles = (item.text for item in word.paragraphs if _style(item) == "title")
    title = (word.core_properties.title or "").strip() or next(titles, "") or path.stem
    yield assemble(id_, title, "", _blocks(word))


def _blocks(word: WordDocument) -> Iterator[Block]:
    for item in word.iter_inner_content():
        if isinstance(item, Table):
            yield from _rows(item)
            continue
        style = _style(item)
        if style != "title":
            yield Block(item.text, heading=style.startswith("heading"), line=style.startswith("list"))


def _style(paragraph: Paragraph) -> str:
    return (paragraph.style.name or "").lower() if paragraph.style is not None else ""


def _rows(table: Table) -> Iterator[Block]:
    rows = []
    for row in table.rows:
        cells = Counter(row.cells)  # a merged cell is there once per column
        marked = bool(row._tr.xpath("./w:trPr/w:tblHeader"))
        rows.append([Cell(cell.text, heading=marked, columns=count) for cell, count in cells.items()])
    yield from table_blocks(rows, guess=True)
