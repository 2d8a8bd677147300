"""Word documents as Word writes them: with changes that were tracked, fields, controls, tables in tables."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

import docx
import pytest
from docx.opc.packuri import PackURI
from docx.opc.part import Part
from docx.oxml import parse_xml
from docx.oxml.ns import nsmap

from tests.index_builder.test_readers import read_one


def word_file(path: Path, body: str) -> Path:
    """A Word document with that body and no properties."""
    docx.Document().save(str(path))
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist() if name != "docProps/core.xml"}
    start, end = re.split(rb"<w:body>.*</w:body>", members["word/document.xml"], flags=re.DOTALL)
    members["word/document.xml"] = start + f"<w:body>{body}</w:body>".encode() + end
    members["_rels/.rels"] = re.sub(rb"<Relationship [^>]*core\.xml[^>]*>", b"", members["_rels/.rels"])
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def run(text: str, properties: str = "") -> str:
    return f"<w:r><w:rPr>{properties}</w:rPr><w:t xml:space='preserve'>{text}</w:t></w:r>"


def paragraph(text: str) -> str:
    return f"<w:p>{run(text)}</w:p>"


def row(*cells: str, mark: str = "") -> str:
    return f"<w:tr>{mark}{''.join(f'<w:tc>{cell}</w:tc>' for cell in cells)}</w:tr>"


def table(*rows: str) -> str:
    return f"<w:tbl>{''.join(rows)}</w:tbl>"


SUPERSCRIPT = "<w:vertAlign w:val='superscript'/>"
NOT_STRUCK = "<w:strike w:val='0'/>"
SUBSCRIPT = "<w:vertAlign w:val='subscript'/>"
HUGE_SPAN = "<w:tcPr><w:gridSpan w:val='1000000000'/></w:tcPr>"
EQUATION = (
    "<m:oMath xmlns:m='http://schemas.openxmlformats.org/officeDocument/2006/math'><m:r><m:t>E=</m:t></m:r>"
    "<m:f><m:num><m:r><m:t>1</m:t></m:r></m:num><m:den><m:sSup><m:e><m:r><m:t>(a+b)</m:t></m:r></m:e>"
    "<m:sup><m:r><m:t>2</m:t></m:r></m:sup></m:sSup></m:den></m:f></m:oMath>"
)
BOXED = f"<w:pict><w:txbxContent>{paragraph('Boxed.')}</w:txbxContent></w:pict>"
BOX = (
    "<w:r><mc:AlternateContent xmlns:mc='http://schemas.openxmlformats.org/markup-compatibility/2006'>"
    f"<mc:Choice>{BOXED}</mc:Choice><mc:Fallback>{BOXED}</mc:Fallback></mc:AlternateContent></w:r>"
)
DELETED = "<w:trPr><w:del/></w:trPr>"
MERGED = "<w:tcPr><w:vMerge {}/></w:tcPr>"
PROMPT = "<w:sdtPr><w:showingPlcHdr/></w:sdtPr>"
CONTENTS = "<w:sdtPr><w:docPartObj><w:docPartGallery w:val='Table of Contents'/></w:docPartObj></w:sdtPr>"
TIN = table(
    row(MERGED.format("w:val='restart'") + paragraph("old"), paragraph("old"), mark=DELETED),
    row(MERGED.format("") + paragraph("bronze"), paragraph("12 %")),
    f"<w:ins>{row(paragraph('pewter'), paragraph('90 %'))}</w:ins>",
)


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (f"<w:p>{run('It ')}<w:ins>{run('is')}</w:ins></w:p>", "It is"),
        (f"<w:p>{run('It ')}<w:del><w:r><w:delText>was</w:delText></w:r></w:del>{run('is')}</w:p>", "It is"),
        (
            f"<w:p><w:moveFrom>{run('is')}</w:moveFrom>{run('It ')}<w:moveTo>{run('is')}</w:moveTo></w:p>",
            "It is",
        ),
        (f"<w:p>{run('It ')}<w:sdt><w:sdtContent>{run('is')}</w:sdtContent></w:sdt></w:p>", "It is"),
        (f"<w:sdt><w:sdtContent>{paragraph('It is')}</w:sdtContent></w:sdt>", "It is"),
        (f"<w:p>{run('It ')}<w:smartTag><w:smartTag>{run('is')}</w:smartTag></w:smartTag></w:p>", "It is"),
        (
            f"<w:p><w:hyperlink>{run('It ')}<w:fldSimple>{run('is')}</w:fldSimple></w:hyperlink></w:p>",
            "It is",
        ),
        (
            f"{paragraph('It is')}<w:sdt>{PROMPT}<w:sdtContent>{paragraph('Click')}</w:sdtContent></w:sdt>",
            "It is",
        ),
        (
            f"<w:sdt>{CONTENTS}<w:sdtContent>{paragraph('It 1')}</w:sdtContent></w:sdt>{paragraph('It is')}",
            "It is",
        ),
        (f"<w:p>{run('10')}{run('6', SUPERSCRIPT)}{run(' in CO')}{run('2', SUBSCRIPT)}</w:p>", "10⁶ in CO2"),
        (table(row(f"<w:p>{run('5')}{run('2', SUPERSCRIPT)}</w:p>", paragraph("x"))), "5² | x"),
        (f"<w:p>{run('5', '<w:strike/>')}{run('7', '<w:dstrike/>')}{run('60')}</w:p>", "60"),
        (
            f"<w:p>{run('60')}{run('99', '<w:vanish/>')}{run(' euros', NOT_STRUCK)}</w:p>",
            "60 euros",
        ),
        (table(row(HUGE_SPAN + paragraph("5"), paragraph("x"))), "5 | x"),
        (f"<w:p>{run('It ')}<w:bdo>{run('is')}</w:bdo><w:dir>{run(' so')}</w:dir></w:p>", "It is so"),
        (f"<w:p>{run('It is ')}{EQUATION}{run(' m')}</w:p>", "It is E=1/((a+b)²) m"),
        (f"<w:p>{run('It')}{BOX}{run(' is')}</w:p>{paragraph('so')}", "It is\n\nBoxed.\n\nso"),
        (TIN, "bronze | 12 %\npewter | 90 %"),
        (table(row(paragraph("Around.") + TIN)), "Around.\n\nbronze | 12 %\npewter | 90 %"),
    ],
    ids=(
        "inserted deleted moved control block tag field prompt contents raised cell struck hidden span "
        "direction equation box rows tables"
    ).split(),
)
def test_a_word_document_is_read_as_it_is_shown(tmp_path: Path, body: str, text: str) -> None:
    document = read_one(word_file(tmp_path / "report.docx", body))
    assert (document.title, document.text) == ("report", text)


def test_notes_follow_the_paragraph_or_table_that_they_belong_to(tmp_path: Path) -> None:
    word, reference = docx.Document(), "<w:r><w:{}Reference w:id='{}'/></w:r>"
    for kind in ("footnote", "endnote"):
        notes = "".join(
            f"<w:{kind} w:id='{number}'>{paragraph(f'{kind.title()} {number}.')}</w:{kind}>"
            for number in (0, 1, 2)
        )
        name, content_type = PackURI(f"/word/{kind}s.xml"), "application/xml"
        root = f"<w:{kind}s xmlns:w='{nsmap['w']}'>{notes}</w:{kind}s>"
        part = Part(name, content_type, root.encode(), word.part.package)
        word.part.relate_to(part, f"{nsmap['r']}/{kind}s")
    one, two = (
        parse_xml(f"<w:p xmlns:w='{nsmap['w']}'>{run(name)}{''.join(references)}</w:p>")
        for name, references in (
            ("One", [reference.format("footnote", 1), reference.format("endnote", 2)]),
            ("Two", [f"<w:del>{reference.format('footnote', 0)}</w:del>", reference.format("footnote", 2)]),
        )
    )
    word.element.body.insert(0, one)
    table = word.add_table(rows=1, cols=2)
    table.cell(0, 0)._tc.append(two)
    table.cell(0, 1).text = "x"
    word.save(str(tmp_path / "a.docx"))
    text = read_one(tmp_path / "a.docx").text
    assert text == "One\n\nFootnote 1.\n\nEndnote 2.\n\nTwo | x\n\nFootnote 2."
