"""Word documents: .docx."""

from __future__ import annotations

import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import docx
from docx.document import Document as WordDocument
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.opc.exceptions import OpcError
from docx.oxml import OxmlElement, parse_xml
from docx.oxml.ns import qn
from docx.oxml.xmlchemy import BaseOxmlElement
from docx.table import Table, _Cell
from docx.text.paragraph import Paragraph
from lxml.etree import iterwalk

from index_builder import raised
from index_builder.documents import MAX_BYTES, Block, Document, assemble
from index_builder.tables import Cell, table_blocks
from proxy.errors import SourceError

_MAX_UNPACKED = 500_000_000
_XML = (".xml", ".rels")
"""Parts that are held as trees, which take 25 times as much memory as the XML; the others are pictures."""

_LEFT_OUT = (
    "//w:del | //w:moveFrom | //w:tr[w:trPr/w:del] | //w:sdt[w:sdtPr/w:showingPlcHdr] "
    "| //w:sdt[w:sdtPr/w:docPartObj/w:docPartGallery/@w:val='Table of Contents'] "
    "| //w:r[w:rPr/*[self::w:strike or self::w:dstrike or self::w:vanish]"
    "[not(@w:val='0' or @w:val='false' or @w:val='off')]]"
)
"""Text that was deleted, struck out, hidden or moved away, prompts to fill in, and tables of contents."""
_RAISED = "//w:r[w:rPr/w:vertAlign/@w:val='superscript']"
_LOWERED = "//w:r[w:rPr/w:vertAlign/@w:val='subscript']"
_MERGED_WITH_NOTHING = "//w:tbl/w:tr[1]/w:tc/w:tcPr/w:vMerge[not(@w:val='restart')]"
"""Marks of cells that go on those above them, in a first row."""
_NOTES = {
    RELATIONSHIP_TYPE.ENDNOTES: qn("w:endnoteReference"),
    RELATIONSHIP_TYPE.FOOTNOTES: qn("w:footnoteReference"),
}
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_MATHS = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_EQUATION_MARKS = {
    **raised.MARKS,
    "den": (raised.FRACTION_BAR, ""),
    "f": (raised.FRACTION, raised.FRACTION_END),
}
_MOST_COLUMNS = 63
"""Of a table in Word. python-docx makes as many cells as a cell says it spans."""
_WRAPPERS = ("bdo", "dir", "ins", "moveTo", "sdt", "sdtContent", "smartTag", "customXml", "fldSimple")
"""Elements around paragraphs, rows, cells and runs which python-docx does not look into."""


def read_docx(path: Path, id_: str) -> Iterator[Document]:
    """Paragraphs and tables in their order; headings are the sections. The row of a table is a line.

    The text is as if all changes were accepted. Notes and text boxes follow the paragraph or table that they
    belong to. A table that holds tables arranges the page: its cells are
    read one after the other. The title is the document's property, else its paragraph of style `Title`, else
    the file's name.

    Raises:
        SourceError: the file is no Word document, is damaged, or unpacks to more than 500 MB, or to more than
            `MAX_BYTES` of XML.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
        if sum(member.file_size for member in members) > _MAX_UNPACKED:
            raise SourceError(f"unpacks to more than {_MAX_UNPACKED // 1_000_000} MB")
        if sum(member.file_size for member in members if member.filename.lower().endswith(_XML)) > MAX_BYTES:
            raise SourceError(f"unpacks to more than {MAX_BYTES // 1_000_000} MB of XML")
        word = docx.Document(str(path))
    except (zipfile.BadZipFile, OpcError, KeyError, ValueError) as error:
        raise SourceError(f"not a Word document (.docx), or damaged: {error}") from error
    _move_asides(word)
    _unwrap(word.element.body)
    titles = (raised.plain(item.text) for item in word.paragraphs if _style(item) == "title")
    title = _property_title(word) or next(titles, "") or path.stem
    yield assemble(id_, title, "", _blocks(word))


def _property_title(word: WordDocument) -> str:
    """Empty where the file has no properties: python-docx would make some up."""
    relations = word.part.package.rels.values()
    if not any(relation.reltype == RELATIONSHIP_TYPE.CORE_PROPERTIES for relation in relations):
        return ""
    return (word.core_properties.title or "").strip()


def _move_asides(word: WordDocument) -> None:
    """Puts notes and text boxes behind the paragraph or table that they belong to, and text for equations.

    What is not to be read is taken out first, with the notes that it has, and then out of the others.
    """
    body = word.element.body
    notes: dict[tuple[str, str | None], BaseOxmlElement] = {}
    for relation in word.part.rels.values():
        if relation.reltype in _NOTES and not relation.is_external:
            blob = relation.target_part.blob
            for note in parse_xml(blob) if len(blob) <= MAX_BYTES else ():
                notes[_NOTES[relation.reltype], note.get(qn("w:id"))] = note
    _leave_out(body)
    for element in list(body.iter(_FALLBACK)):  # it holds again what the choice before it holds
        if element.getprevious() is not None:
            element.getparent().remove(element)
    for element in reversed(body.xpath("//w:txbxContent | //w:footnoteReference | //w:endnoteReference")):
        aside = notes.pop((element.tag, element.get(qn("w:id"))), None)
        aside = element if element.tag == qn("w:txbxContent") else aside
        tables, paragraphs = (list(element.iterancestors(qn(name))) for name in ("w:tbl", "w:p"))
        for block in reversed(aside if aside is not None and paragraphs else ()):
            (tables[-1] if tables else paragraphs[0]).addnext(block)
    _leave_out(body)
    for element in body.xpath("//m:oMath"):
        run = OxmlElement("w:r")
        run.text = _equation(element)
        element.addprevious(run)
        element.getparent().remove(element)


def _leave_out(body: BaseOxmlElement) -> None:
    for element in body.xpath(_LEFT_OUT):
        element.getparent().remove(element)


def _equation(element: BaseOxmlElement) -> str:
    parts: list[str] = []
    for event, part in iterwalk(element, events=("start", "end")):
        name = part.tag.rpartition("}")[2] if part.tag.startswith(_MATHS) else ""
        if name == "t" and event == "start":
            parts.append(part.text or "")
        elif name in _EQUATION_MARKS:
            parts.append(_EQUATION_MARKS[name][event == "end"])
    return "".join(parts)


def _unwrap(body: BaseOxmlElement) -> None:
    """Marks what is raised or lowered, and puts the content of wrappers in their place."""
    for runs, marks in ((_RAISED, raised.MARKS["sup"]), (_LOWERED, raised.MARKS["sub"])):
        for run in body.xpath(runs):
            if texts := run.findall(qn("w:t")):
                texts[0].text = marks[0] + (texts[0].text or "")
                texts[-1].text = (texts[-1].text or "") + marks[1]
    for element in list(body.iter(*(qn(f"w:{name}") for name in _WRAPPERS))):
        for child in list(element):
            element.addprevious(child)
        element.getparent().remove(element)
    for element in body.xpath(_MERGED_WITH_NOTHING):
        element.getparent().remove(element)
    for element in body.xpath(f"//w:gridSpan[@w:val > {_MOST_COLUMNS}]"):
        element.set(qn("w:val"), "1")


def _blocks(container: WordDocument | _Cell) -> Iterator[Block]:
    for item in container.iter_inner_content():
        if isinstance(item, Table) and item._tbl.xpath(".//w:tbl"):
            cells = {cell._tc: cell for row in item.rows for cell in row.cells}
            for cell in cells.values():
                yield from _blocks(cell)
            continue
        if isinstance(item, Table):
            yield from _rows(item)
            continue
        style = _style(item)
        if style != "title":
            level = style.removeprefix("heading ")
            yield Block(
                raised.plain(item.text),
                heading=style.startswith("heading"),
                line=style.startswith("list"),
                level=int(level) if level.isdecimal() else 0,
            )


def _style(paragraph: Paragraph) -> str:
    return (paragraph.style.name or "").lower() if paragraph.style is not None else ""


def _rows(table: Table) -> Iterator[Block]:
    rows = []
    for row in table.rows:
        cells = Counter(row.cells)  # a merged cell is there once per column
        marked = bool(row._tr.xpath("./w:trPr/w:tblHeader"))
        rows.append(
            [Cell(raised.plain(cell.text), heading=marked, columns=count) for cell, count in cells.items()]
        )
    yield from table_blocks(rows, guess=True)
