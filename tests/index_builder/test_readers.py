"""Every format, through real files made here."""

from __future__ import annotations

import bz2
import codecs
import json
import zipfile
from collections.abc import Sequence
from pathlib import Path

import docx
import pytest
from pypdf import PdfReader, PdfWriter

from index_builder.documents import MAX_BYTES, BrokenDocument, Document
from index_builder.readers import READERS, mediawiki
from index_builder.readers.markdown import read_markdown
from index_builder.readers.pdf import unwrapped
from index_builder.readers.rows import json_lines
from index_builder.sources import documents
from tests.corpora import dump, page


def save(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def read(path: Path) -> list[Document | BrokenDocument]:
    return list(documents([str(path)]))


def read_one(path: Path) -> Document:
    (document,) = read(path)
    assert isinstance(document, Document), document
    return document


def reason(path: Path) -> str:
    (document,) = read(path)
    assert isinstance(document, BrokenDocument), document
    assert document.source.startswith(str(path))
    return document.reason


def sections(document: Document) -> dict[str, str]:
    """Heading to the text under it."""
    starts = [start for start, _ in document.sections]
    ends = [*starts[1:], len(document.text)]
    return {
        heading: document.text[start:end].strip()
        for (start, heading), end in zip(document.sections, ends, strict=True)
    }


# Plain text


_TAIPEI = "臺北市立動物園位於臺北市文山區，一九一四年創立於圓山，一九八六年遷到木柵，面積約一百六十五公頃。"
_TOKYO = "東京タワーは1958年に完成した電波塔で、高さは333メートルです。"
_MOSCOW = "Москва — столица России, город федерального значения."


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("Größe – 中文", "Größe – 中文".encode()),
        ("Größe – 中文", "Größe – 中文".encode("utf-8-sig")),
        ("Größe – 中文", codecs.BOM_UTF16_LE + "Größe – 中文".encode("utf-16-le")),
        ("Größe – 中文", codecs.BOM_UTF16_BE + "Größe – 中文".encode("utf-16-be")),
        ("这是一段中文，用国标编码。", "这是一段中文，用国标编码。".encode("gb18030")),
        ("Größe, café — naïve", "Größe, café — naïve".encode("cp1252")),
        ("a\nb\nc", b"a\r\nb\rc"),
        *(
            (text, text.encode("cp1252"))
            for text in ["Größe: 12 m", "Ação", "Maçã, instalação", "GRÖßE", "Noël créée"]
        ),
        *((text, text.encode("gbk")) for text in ["锡", "A级", "T恤：99元", "3级", "第A组", "用Python写"]),
        (_TAIPEI, _TAIPEI.encode("big5")),
        (_TOKYO, _TOKYO.encode("shift_jis")),
        (_MOSCOW, _MOSCOW.encode("cp1251")),
    ],
)
def test_text_in_the_usual_encodings(tmp_path: Path, text: str, data: bytes) -> None:
    assert read_one(save(tmp_path / "name.txt", data)) == Document("name.txt", "name", text)


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("\nRefund policy \n\nNone.", "Refund policy"),
        ("退款政策\n \n不退。", "退款政策"),
        ("No refunds.\n\nNone.", "file"),
        ("Dear all,\n\nNo refunds.", "file"),
        ("Refunds are\nnot paid.\n\nNever.", "file"),
        ("- refunds\n\n- returns", "file"),
        ("Refund policy\n\n", "file"),
        ("x" * 81 + "\n\nNone.", "file"),
    ],
)
def test_the_title_of_a_text_is_its_first_line_if_that_looks_like_one(
    tmp_path: Path, text: str, title: str
) -> None:
    assert read_one(save(tmp_path / "file.txt", text)) == Document("file.txt", title, text)


def test_a_few_invalid_bytes_do_not_spoil_a_utf_8_text(tmp_path: Path) -> None:
    data = ("中文文本" * 20).encode() + b"\xff\xfe" + "结束".encode()
    assert read_one(save(tmp_path / "a.txt", data)).text == "中文文本" * 20 + "\ufffd\ufffd结束"


def test_a_table_whose_first_mebibyte_is_ascii_is_read_in_the_encoding_of_the_rest(tmp_path: Path) -> None:
    rows = "title,text\n" + "tin,It melts at 232 degrees.\n" * 50_000 + "锡,锡是一种金属。\n"
    *_, last = read(save(tmp_path / "a.csv", rows.encode("gbk")))
    assert isinstance(last, Document)
    assert (last.title, last.text) == ("锡", "锡是一种金属。")


def test_a_binary_file_is_broken(tmp_path: Path) -> None:
    assert reason(save(tmp_path / "a.txt", b"\x7fELF\0\0\1")) == "a binary file, not text"


def test_a_file_over_the_limit_is_broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("index_builder.readers.text.MAX_BYTES", 2_000_000)
    assert reason(save(tmp_path / "a.txt", b"x" * 2_000_001)).startswith("larger than 2 MB")


# Markdown

MARKDOWN = """---
title: "Tin: a metal"
url: https://example.org/tin
id: 50
tags: [a, b]
---
Tin is a *soft* **metal** with [symbol](https://example.org/sn "t") `Sn`,
and it melts at 232&nbsp;°C.<br>New line. ![picture](x.png)

## Uses

- solder
- *pewter*

```python
print("tin")
```

| Alloy | Share |
|---|---|
| bronze | 12 % |

历史很
悠久。
<!-- comment --><div>Block <b>HTML</b></div>
"""


def test_markdown_is_read_as_prose(tmp_path: Path) -> None:
    document = read_one(save(tmp_path / "a.md", MARKDOWN))
    assert (document.id, document.title, document.url) == ("50", "Tin: a metal", "https://example.org/tin")
    assert document.text.startswith(
        "Tin is a soft metal with symbol Sn, and it melts at 232\xa0°C.\nNew line."
    )
    uses = sections(document)["Uses"]
    assert uses.startswith(
        'solder\npewter\n\nprint("tin")\n\nAlloy | Share\nbronze | Share: 12 %\n\n历史很悠久。'
    )
    assert not any(mark in document.text for mark in ("*", "`", "](", "comment", "<"))


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("# Tin #\n\nText.", "Tin"),
        ("Tin\n===\n\nText.", "Tin"),
        ("Text only.", "file"),
        ("---\ntitle: Tin: the metal\n---\nText.", "Tin: the metal"),
        ("---\n[1, 2]\n---\nText.", "file"),
        ("---\ntitle: Tin\ndate: 2024-02-30\n---\nText.", "Tin"),
        ("---\ntitle: [not, text]\n---\nText.", "file"),
    ],
)
def test_a_markdown_title(tmp_path: Path, text: str, title: str) -> None:
    document = read_one(save(tmp_path / "file.md", text))
    assert (document.title, document.text, document.sections) == (
        title,
        "Text." if "Text." in text else "Text only.",
        (),
    )


def test_a_rule_at_the_top_is_no_front_matter(tmp_path: Path) -> None:
    assert read_one(save(tmp_path / "a.md", "---\n\nText after a rule.")).text == "Text after a rule."


def test_lists_in_lists_are_read_and_those_beyond_the_limit_are_reported(tmp_path: Path) -> None:
    items = ["  " * depth + f"- item {depth}\n" for depth in range(120)]
    assert read_one(save(tmp_path / "a.md", "".join(items[:60]))).text.endswith("item 58\nitem 59")
    broken, document = read(save(tmp_path / "b.md", "".join(items)))
    assert isinstance(document, Document)
    assert "item 98" in document.text
    assert broken == BrokenDocument(f"{tmp_path}/b.md", "lists deeper than 100 in each other were left out")


@pytest.mark.parametrize(
    "text",
    [
        "[" * 2_000_000,
        "> " * 20_000 + "x",
        "*_" * 5_000,
        "---\n" + "a" * 500_000,
        "`" * 20_000,
        "<a " * 20_000,
    ],
    ids=["brackets", "quotes", "stars", "front matter", "ticks", "tags"],
)
def test_adversarial_markdown_comes_to_an_end(tmp_path: Path, text: str) -> None:
    list(read_markdown(save(tmp_path / "a.md", text), "a.md"))


# HTML

HTML = """<!doctype html><html><head><title>Tin &amp; lead</title><style>p{}</style>
<link rel="canonical" href="https://example.org/tin"></head><body>
<nav><a href="/">Home</a></nav><h1>Tin</h1><p>A <b>soft</b>
metal.<br>It melts.</p><script>alert("no")</script>
<h2><span>Its</span> uses</h2><ul><li>solder<li>pewter</ul>
<table><tr><th>Alloy<th>Share<tr><td>bronze<td>12 %</table><pre>a
  b</pre>tail<template>no</template><footer>no</footer></body></html>"""


def test_a_page_is_read_without_its_furniture(tmp_path: Path) -> None:
    document = read_one(save(tmp_path / "a.html", HTML))
    assert (document.title, document.url) == ("Tin & lead", "https://example.org/tin")
    assert sections(document) == {
        "Tin": "A soft metal.\nIt melts.",
        "Tin > Its uses": "solder\npewter\nAlloy | Share\nbronze | Share: 12 %\n\na\n  b\n\ntail",
    }


@pytest.mark.parametrize(
    ("charset", "encoding", "text"),
    [
        ("gbk", "gbk", "中文网页"),
        ("windows-1251", "windows-1251", "Привет"),
        ("bogus", "utf-8", "café"),
        ("undefined", "utf-8", "café"),
        ("iso-8859-1", "cp1252", "“Tin” costs 5 €"),
        ("us-ascii", "cp1252", "“Tin” costs 5 €"),
        ("utf-16", "utf-8", "“Tin” costs 5 €"),
        ("gb2312", "gb18030", "朱镕基"),
        ("shift_jis", "cp932", "新製品①は㈱山田製作所"),
        ("x-sjis", "cp932", "新製品①は㈱山田製作所"),
        ("ks_c_5601-1987", "cp949", "서울역 똠방각하 펲시콜라"),
        ("big5", "big5hkscs", "台北一零一大樓"),
        ("iso-8859-9", "cp1254", "İstanbul’da 5 €"),
        ("iso-8859-1", "utf-8-sig", "“Tin” costs 5 €"),
        ("utf-8", "utf-16", "café"),
    ],
)
def test_a_page_says_its_encoding(tmp_path: Path, charset: str, encoding: str, text: str) -> None:
    html = f'<meta charset="{charset}"><p>{text}</p>'.encode(encoding)
    assert read_one(save(tmp_path / "page.htm", html)) == Document("page.htm", "page", text)


def test_a_page_of_xml_says_its_encoding_and_a_few_bad_bytes_do_not_spoil_it(tmp_path: Path) -> None:
    html = "<?xml version='1.0' encoding='windows-1251'?><p>Привет".encode("cp1251")
    assert read_one(save(tmp_path / "a.html", html)).text == "Привет"
    html = '<meta charset="euc-kr"><p>서울역은 문을 열었습니다'.encode("euc-kr") + b"\xff."
    assert read_one(save(tmp_path / "b.html", html)).text == "서울역은 문을 열었습니다\ufffd."
    html = '<meta charset="gbk"><p>Größe über café'.encode("cp1252")
    assert "Größe" in read_one(save(tmp_path / "c.html", html.replace(b"gbk", b"utf-8"))).text


def test_a_button_is_read_where_it_names_what_it_opens(tmp_path: Path) -> None:
    html = """<h2 class="accordion-header"><button>Is software refunded?</button></h2><div>No, never.</div>
    <dl><dt><span><button>Shipping</button></span><dd>Nine days.</dl><button>Buy now</button>
    <button aria-expanded="false">Do you ship to Iceland?</button><div>Yes.</div>"""
    document = read_one(save(tmp_path / "a.html", html))
    assert sections(document) == {
        "Is software refunded?": "No, never.\n\nShipping\nNine days.\n\nDo you ship to Iceland?\n\nYes."
    }


def test_a_deeply_nested_page_is_refused(tmp_path: Path) -> None:
    assert "nested more than 1,000 deep" in reason(save(tmp_path / "a.html", "<div>" * 100_000 + "x"))


def test_what_looks_like_tags_in_scripts_and_comments_is_not_deep(tmp_path: Path) -> None:
    less = "if (a<b) c();" * 2000
    html = f"<!--{less}--><style>{less}</style><script>{less}</script><textarea>{less}</textarea><p>x"
    assert read_one(save(tmp_path / "a.html", html)).text == "x"


HEADINGS = [(1, "Robots", ""), (2, "Prices", ""), (2, "Colours", ""), (1, "Help", "Call."), (2, "Empty", "")]


def test_headings_that_nothing_stands_under_become_text(tmp_path: Path) -> None:
    html = "".join(f"<h{level}>{name}</h{level}><p>{text}" for level, name, text in HEADINGS)
    markdown = "\n\n".join(f"{'#' * level} {name}\n\n{text}" for level, name, text in HEADINGS)
    word = docx.Document()
    for level, name, text in HEADINGS:
        word.add_heading(name, level=level)
        word.add_paragraph(text)
    word.save(str(tmp_path / "a.docx"))
    under = {"Robots": "Prices\nColours", "Help": "Call.\n\nEmpty"}
    assert sections(read_one(save(tmp_path / "a.html", f"<title>T</title>{html}"))) == under
    assert sections(read_one(save(tmp_path / "a.md", f"# T\n\n{markdown}"))) == under
    assert sections(read_one(tmp_path / "a.docx")) == under


def test_a_heading_above_a_section_and_one_that_is_the_title_do_not(tmp_path: Path) -> None:
    html = "<title>Tin</title><h1>Tin</h1><h2>Uses</h2><h3>Solder</h3><p>Text."
    assert read_one(save(tmp_path / "a.html", html)).text == "Text."
    assert reason(save(tmp_path / "b.html", "<title>Tin</title><h1>Tin</h1>")) == "holds no text"
    assert reason(save(tmp_path / "b.md", "# Tin\n")) == "holds no text"
    assert read_one(save(tmp_path / "c.md", "## Tin\n")).text == "Tin"


NESTED = [(1, "Holidays", "Yes."), (2, "Germany", "Many."), (3, "Bavaria", "More."), (2, "France", "Few.")]


def test_a_section_is_named_by_all_headings_above_it_but_the_title(tmp_path: Path) -> None:
    html = "".join(f"<h{level}>{name}</h{level}><p>{text}" for level, name, text in NESTED)
    markdown = "\n\n".join(f"{'#' * (level + 1)} {name}\n\n{text}" for level, name, text in NESTED)
    word = docx.Document()
    for level, name, text in NESTED:
        word.add_heading(name, level=level)
        word.add_paragraph(text)
    word.save(str(tmp_path / "a.docx"))
    above = ["Holidays", "Holidays > Germany", "Holidays > Germany > Bavaria", "Holidays > France"]
    assert list(sections(read_one(save(tmp_path / "a.html", f"<title>T</title>{html}")))) == above
    assert list(sections(read_one(save(tmp_path / "a.md", f"# T\n\n{markdown}")))) == above
    assert list(sections(read_one(tmp_path / "a.docx"))) == above
    titled = read_one(save(tmp_path / "b.html", f"<title>Holidays</title>{html}"))
    assert list(sections(titled)) == ["Holidays", "Germany", "Germany > Bavaria", "France"]


def test_headings_that_are_long_together_leave_out_the_highest_and_a_long_one_is_text(tmp_path: Path) -> None:
    html = f"<h1>{'a' * 150}</h1><h2>{'b' * 100}</h2><h3>c</h3><p>Text.<h2>{'d ' * 150}</h2><p>More."
    document = read_one(save(tmp_path / "a.html", f"<title>T</title>{html}"))
    assert sections(document) == {f"{'b' * 100} > c": f"Text.\n\n{('d ' * 150).strip()}\n\nMore."}


def test_many_elements_that_need_no_end_tag_are_not_deep(tmp_path: Path) -> None:
    assert read_one(save(tmp_path / "a.html", "<p>x<br/>y" * 3000)).text.startswith("x\ny\n\nx\ny")


# PDF


def pdf(path: Path, pages: Sequence[list[str] | str], title: str = "") -> Path:
    """A PDF file of the given lines, or of operators that show text, written by hand."""
    kids = " ".join(f"{4 + 2 * n} 0 R" for n in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    ]
    for number, lines in enumerate(pages):
        shown = lines if isinstance(lines, str) else " T* ".join(f"({line}) Tj" for line in lines)
        content = f"BT /F1 12 Tf 14 TL 50 700 Td {shown} ET"
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {5 + 2 * number} 0 R "
            "/Resources << /Font << /F1 3 0 R >> >> >>"
        )
        objects.append(f"<< /Length {len(content)} >>\nstream\n{content}\nendstream")
    objects.append(f"<< /Title ({title}) >>")
    body, offsets = "%PDF-1.4\n", []
    for number, content in enumerate(objects, start=1):
        offsets.append(len(body))
        body += f"{number} 0 obj\n{content}\nendobj\n"
    rows = "".join(f"{offset:010} 00000 n \n" for offset in offsets)
    trailer = f"<< /Size {len(objects) + 1} /Root 1 0 R /Info {len(objects)} 0 R >>"
    table = f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{rows}"
    return save(path, f"{body}{table}trailer\n{trailer}\nstartxref\n{len(body)}\n%%EOF\n")


LINES = [
    "Tin is a soft metal whose melting point is unusu-",
    "ally low, so that it was among the first to be",
    "worked.",
    "Bronze is an alloy of copper and tin that is harder",
    "than either.",
]


def test_a_pdf_file_is_read_by_page_and_its_lines_are_joined(tmp_path: Path) -> None:
    document = read_one(pdf(tmp_path / "a.pdf", [LINES, ["Second page."]], title="On tin"))
    assert document.title == "On tin"
    assert sections(document) == {
        "page 1": "Tin is a soft metal whose melting point is unusually low, so that it was among the first "
        "to be worked.\n\nBronze is an alloy of copper and tin that is harder than either.",
        "page 2": "Second page.",
    }


def test_a_pdf_file_without_title_has_its_name(tmp_path: Path) -> None:
    assert read_one(pdf(tmp_path / "report.pdf", [["Text."]])).title == "report"


@pytest.mark.parametrize(
    "data", [b"%PDF-1.4\ngarbage", b"no pdf at all", b"", b"%PDF-1.7\n" + b"\xff\0" * 5000]
)
def test_a_corrupt_pdf_file_is_broken(tmp_path: Path, data: bytes) -> None:
    assert reason(save(tmp_path / "a.pdf", data)).startswith("not a PDF file, or damaged: ")


def test_a_truncated_pdf_file_is_read_or_broken_but_never_raises(tmp_path: Path) -> None:
    data = pdf(tmp_path / "whole.pdf", [LINES]).read_bytes()
    for size in range(0, len(data), 97):
        (document,) = read(save(tmp_path / "cut.pdf", data[:size]))
        assert isinstance(document, BrokenDocument) or "tin" in document.text.lower()


def test_an_encrypted_pdf_file_is_broken(tmp_path: Path) -> None:
    writer = PdfWriter(clone_from=PdfReader(pdf(tmp_path / "open.pdf", [LINES])))
    writer.encrypt("secret", algorithm="RC4-128")
    with (tmp_path / "locked.pdf").open("wb") as file:
        writer.write(file)
    assert reason(tmp_path / "locked.pdf") == "encrypted; save it without its password"


def test_a_scanned_pdf_file_says_what_to_do(tmp_path: Path) -> None:
    assert "OCR" in reason(pdf(tmp_path / "scan.pdf", [[]]))


def test_chinese_lines_are_joined_without_a_space() -> None:
    assert unwrapped("锡是一种柔软的金\n属，熔点很低") == ["锡是一种柔软的金属，熔点很低"]


# Word


def test_a_word_document(tmp_path: Path) -> None:
    word = docx.Document()
    word.add_paragraph("Tin", style="Title")
    word.add_paragraph("A soft metal.")
    word.add_heading("Uses", level=1)
    word.add_paragraph("solder", style="List Bullet")
    word.add_paragraph("pewter", style="List Bullet")
    table = word.add_table(rows=2, cols=2)
    for cell, text in zip(table._cells, ["Alloy", "Share", "bronze", "12 %"], strict=True):
        cell.text = text
    word.core_properties.title = ""
    word.save(str(tmp_path / "a.docx"))
    document = read_one(tmp_path / "a.docx")
    assert document.title == "Tin"
    assert document.text == "A soft metal.\n\nsolder\npewter\nAlloy | Share\nbronze | Share: 12 %"
    assert list(sections(document)) == ["Uses"]


@pytest.mark.parametrize("data", [b"", b"not a zip file", b"PK\x03\x04 cut short"])
def test_a_corrupt_word_document_is_broken(tmp_path: Path, data: bytes) -> None:
    assert "not a Word document" in reason(save(tmp_path / "a.docx", data))


def test_a_zip_file_is_no_word_document(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.docx", "w") as archive:
        archive.writestr("hello.txt", "hello")
    assert "not a Word document" in reason(tmp_path / "a.docx")


def test_a_word_document_that_unpacks_to_too_much_is_broken(tmp_path: Path) -> None:
    with (
        zipfile.ZipFile(tmp_path / "a.docx", "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("word/document.xml", "w") as member,
    ):
        for _ in range(501):
            member.write(bytes(1_000_000))
    assert reason(tmp_path / "a.docx") == "unpacks to more than 500 MB"


def test_a_word_document_of_too_many_elements_is_broken(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.docx", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/media/image1.bmp", bytes(MAX_BYTES + 1))
        archive.writestr("word/document.XML", b"<w:p/>" * (MAX_BYTES // 6 + 1))
    assert reason(tmp_path / "a.docx") == "unpacks to more than 50 MB of XML"


# Rows


def test_json_lines_with_bad_ones_among_them(tmp_path: Path) -> None:
    lines = [
        b'\xef\xbb\xbf{"id": 7, "title": "T", "text": "One.", "url": "https://e.org", "section": "S"}',
        b"{broken",
        b"",
        b'{"text": "Four."}',
        b'"text"',
        b'{"title": "no text"}',
        b'{"text": "x", "title": ["list"]}',
        b'{"text": "\xff"}',
        b"[" * 100_000,
        b'{"text": "Last."}',
    ]
    documents_read = read(save(tmp_path / "a.jsonl", b"\n".join(lines)))
    assert documents_read[0] == Document("7", "T", "One.", "https://e.org", ((0, "S"),))
    assert [each.sections for each in documents_read[1:] if isinstance(each, Document)] == [
        ((0, "line 4"),),
        ((0, "line 10"),),
    ]
    assert [each.id for each in documents_read if isinstance(each, Document)] == [
        "7",
        "a.jsonl#4",
        "a.jsonl#10",
    ]
    broken = {
        each.source.rpartition(":")[2]: each.reason
        for each in documents_read
        if isinstance(each, BrokenDocument)
    }
    assert list(broken) == ["2", "5", "6", "7", "8", "9"]
    assert broken["2"].startswith("not valid JSON")
    assert broken["5"] == "not an object but str"
    assert broken["6"] == "`text` is missing or empty"
    assert broken["7"] == "`title` is neither text nor a number"
    assert broken["8"].startswith("not valid UTF-8")


def test_a_json_line_over_the_limit_is_skipped_and_the_rest_goes_on(tmp_path: Path) -> None:
    path = save(tmp_path / "a.jsonl", json.dumps({"text": "x" * 3_000_000}) + '\n{"text": "short"}\n')
    with path.open("rb") as file:
        broken, short = json_lines(file, "a", title="a", source="a", limit=1000)
    assert broken == BrokenDocument("a:1", "a line of more than 1,000 bytes")
    assert isinstance(short, Document)
    assert short.id == "a#2"


def test_a_json_list(tmp_path: Path) -> None:
    first, broken, second = read(
        save(tmp_path / "a.json", '[{"text": "One."}, 5, {"id": "b", "text": "Two."}]')
    )
    assert isinstance(first, Document)
    assert isinstance(second, Document)
    assert (first.id, first.sections) == ("a.json#1", ((0, "entry 1"),))
    assert (second.id, second.sections) == ("b", ((0, "a.json, entry 3"),))
    assert broken == BrokenDocument(f"{tmp_path}/a.json#2", "not an object but int")


def test_objects_without_a_text_are_read_as_rows_of_a_table(tmp_path: Path) -> None:
    table = read_one(save(tmp_path / "faq.csv", "id,question,answer\n7,Is it refunded?,No.\n"))
    row = {"id": 7, "question": "Is it refunded?", "answer": "No.", "_score": 1, "note": None, "tags": []}
    listed = read_one(save(tmp_path / "faq.json", json.dumps([row])))
    line = read_one(save(tmp_path / "faq.jsonl", json.dumps(row)))
    for document in (listed, line):
        assert (document.id, document.title, document.text) == (table.id, table.title, table.text)
    nested = json.dumps([{"title": "Tin", "paragraphs": ["Tin is a metal."]}])
    expected = "`text` is missing, and `paragraphs` is neither text nor a number"
    assert reason(save(tmp_path / "a.json", nested)) == expected
    assert reason(save(tmp_path / "b.json", '[{"id": 1, "title": "Tin"}]')) == "`text` is missing or empty"
    assert reason(save(tmp_path / "package.json", '{"name": "x"}')) == "`text` is missing or empty"


def test_one_json_object(tmp_path: Path) -> None:
    assert read_one(save(tmp_path / "a.json", '{"Title": "T", "text": "One."}')) == Document(
        "a.json", "T", "One."
    )


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.csv", 'ID,Title , TEXT,extra\n1,T,"One, ""two""\nthree",\n'.encode("utf-8-sig")),
        ("a.csv", b'id;title;text\n1;T;"One, ""two""\nthree"\n'),
        ("a.tsv", 'id\ttitle\ttext\n1\tT\t"One, ""two""\nthree"\n'.encode("utf-16")),
    ],
    ids=["comma", "semicolon", "tab"],
)
def test_a_table(tmp_path: Path, name: str, data: bytes) -> None:
    place = ((0, f"{name}, row 2"),)
    assert read_one(save(tmp_path / name, data)) == Document("1", "T", 'One, "two"\nthree', sections=place)


@pytest.mark.parametrize(
    ("first", "text"),
    [
        ('"Tin" is a metal.', '"Tin" is a metal.'),
        ('"Tin is a metal.', '"Tin is a metal.'),
        ('"', '"'),
        ('"Tin, ""the"" metal"', 'Tin, "the" metal'),
        ('"Tin\tand lead"', "Tin\tand lead"),
        ('"Tin\n\nand ""lead"""', 'Tin\n\nand "lead"'),
    ],
)
def test_a_quote_in_a_tsv_file_swallows_no_other_row(tmp_path: Path, first: str, text: str) -> None:
    rows = f'id\ttext\n1\t{first}\n2\tLead is "heavy"\n3\tThe pipe is 5"\n'
    found = [row.text for row in read(save(tmp_path / "a.tsv", rows)) if isinstance(row, Document)]
    assert found == [text, 'Lead is "heavy"', 'The pipe is 5"']


def test_a_chinese_table_out_of_a_spreadsheet(tmp_path: Path) -> None:
    document = read_one(save(tmp_path / "a.csv", "title,text\n锡,锡是一种金属。\n".encode("gb18030")))
    assert (document.title, document.text) == ("锡", "锡是一种金属。")


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (
            "Paid for all goods, except for software.",
            "4 cells under 3 headings; put quotation marks around a text",
        ),
        ('"Paid for all goods", except for software.', "4 cells under 3 headings"),
        ('"Paid for ""all"" goods, or none.', "a quotation mark is not closed"),
        ('"Paid for "all" goods.', '"Paid for "all" goods.'),
        ('"Paid for all ""goods"", or none."', 'Paid for all "goods", or none.'),
        ('"Paid for all,\n\nor none."', "Paid for all,\n\nor none."),
        ('Paid for "all" goods.,,', 'Paid for "all" goods.'),
        ('"All" goods.', '"All" goods.'),
    ],
)
def test_no_cell_is_cut_off_and_no_row_swallowed(tmp_path: Path, row: str, expected: str) -> None:
    table = f'id,title,text,\n1,Refunds,{row}\n2,Lamp,"Of brass, 9"" high."\n3,"Desk","Of oak."\n'
    first, *others = read(save(tmp_path / "a.csv", table))
    if isinstance(first, Document):
        assert first.text == expected
    else:
        assert first.reason.startswith(expected)
    assert [row.text for row in others if isinstance(row, Document)] == ['Of brass, 9" high.', "Of oak."]


def test_quotation_marks_without_end_are_read_in_time_linear_in_their_number(tmp_path: Path) -> None:
    for cell in ('"a', '"a,"b', '""a', '"""a', '"a,""b'):
        read(save(tmp_path / "a.csv", "id,text\n" + f"{cell}\n" * 50_000))


def test_a_table_without_a_text_column_is_read_as_other_tables_are(tmp_path: Path) -> None:
    prices = "Model;Price, net;Reach\nHR-10;EUR 31,500;1.2 m\nHR-20;;1.8 m\n"
    first, second = read(save(tmp_path / "a.csv", prices))
    place = ((0, "row 2"),)
    text = "HR-10 | Price, net: EUR 31,500 | Reach: 1.2 m"
    assert first == Document("a.csv#2", "HR-10", text, sections=place)
    assert isinstance(second, Document)
    assert second.text == "HR-20 | Reach: 1.8 m"
    faq = f'id,question,answer\n7,Is it refunded?,"No, never."\n8,{"Why " * 30}?,Because.\n'
    short, long = read(save(tmp_path / "faq.csv", faq))
    assert isinstance(short, Document)
    assert isinstance(long, Document)
    assert (short.id, short.title) == ("7", "Is it refunded?")
    assert short.text == "7 | question: Is it refunded? | answer: No, never."
    assert long.title == "faq"


def test_columns_beside_the_text_stand_above_it(tmp_path: Path) -> None:
    rows = "Product,Text,Price,Id,Warranty\nPump P1,Moves up to 40 l.,EUR 310,7,24 months\nP2,Small.,,8,\n"
    first, second = read(save(tmp_path / "a.csv", rows))
    text = "Product: Pump P1 | Price: EUR 310 | Warranty: 24 months\n\nMoves up to 40 l."
    assert first == Document("7", "a", text, sections=((0, "a.csv, row 2"),))
    assert isinstance(second, Document)
    assert second.text == "Product: P2\n\nSmall."
    unnamed = read_one(save(tmp_path / "b.csv", ",Text,Note,note\nPump,Moves.,a,b\n"))
    assert unnamed.text == "Pump | Note: a | note: b\n\nMoves."


def test_short_values_of_an_object_stand_above_its_text_and_others_do_not(tmp_path: Path) -> None:
    row = {
        "question": "How long\nis it?",
        "text": "It is 24 months.",
        "Product": "P1",
        "price": 310,
        "new": True,
    }
    left_out = {
        "embedding": [0.1, 0.2],
        "metadata": {"source": "x"},
        "html": "x" * 500,
        "missing": None,
        "empty": " ",
        "nan": float("nan"),
        "_score": 1,
    }
    expected = "question: How long is it? | Product: P1 | price: 310 | new: true\n\nIt is 24 months."
    for name, data in (("a.jsonl", row | left_out), ("a.json", [row | left_out])):
        assert read_one(save(tmp_path / name, json.dumps(data))).text == expected


@pytest.mark.parametrize("line", ["sep=;\r\n", '"sep=;"\n', "\ufeffSEP=;\r\n", "sep=|\n"])
def test_a_line_for_excel_names_the_delimiter_and_is_no_header(tmp_path: Path, line: str) -> None:
    delimiter = "|" if "|" in line else ";"
    table = 'Model;"Price, net, in EUR";Note\nHR-10;31,500;"new; blue"\n1;2;3;4\n'.replace(";", delimiter)
    document, broken = read(save(tmp_path / "a.csv", line + table))
    text = f"HR-10 | Price, net, in EUR: 31,500 | Note: new{delimiter} blue"
    assert document == Document("a.csv#3", "HR-10", text, sections=((0, "row 2"),))
    assert isinstance(broken, BrokenDocument)
    assert broken.source == f"{tmp_path}/a.csv:4"


@pytest.mark.parametrize(
    "header", ["name", "This is no header but a row of prose, which goes on and on" + " and on" * 9]
)
def test_a_table_without_names_of_columns_is_broken(tmp_path: Path, header: str) -> None:
    assert reason(save(tmp_path / "a.csv", f"{header}\nx\n")).startswith("no column `text`; its columns are ")


def test_an_empty_table_is_broken(tmp_path: Path) -> None:
    assert reason(save(tmp_path / "a.csv", "")) == "holds no header"
    assert reason(save(tmp_path / "b.csv", "text\n")) == "holds no documents"


def test_a_row_without_text_is_broken_and_a_long_cell_is_not(tmp_path: Path) -> None:
    broken, long = read(save(tmp_path / "a.csv", "id,text\n1,\n2," + "x" * 200_000 + "\n"))
    assert broken == BrokenDocument(f"{tmp_path}/a.csv:2", "`text` is missing or empty")
    assert isinstance(long, Document)
    assert len(long.text) == 200_000


# MediaWiki dumps

WIKITEXT = """{{Infobox metal|name=Tin}}
[[File:Tin.jpg|thumb|A [[link]] in a caption]]
'''Tin''' ({{lang-la|stannum}}) is a ''soft'' [[metal|metallic]] [[element]]&nbsp;&mdash; see
[https://example.org its page].<ref name="a">A ''source''.</ref> It melts at {{convert|232|C}}.<!-- no -->

{| class="wikitable"
| cell
|}
== Uses ==
* [[Solder]]
* pewter<br>and more
=== ''Empty'' ===
=== In food ===
Cans of tinplate.
== History ==
Known -{zh-hans:很久;zh-hant:很久了}- since the [[Bronze Age|<b>Bronze</b> Age]].
[[Category:Metals]] [[fr:Étain]]
"""


DUMP = dump(
    page(12, "Tin (metal)", WIKITEXT),
    page(13, "Stannum", "#REDIRECT [[Tin]]"),
    page(14, "Sn", "Text", '<ns>0</ns><redirect title="Tin" />'),
    page(15, "Talk:Tin", "Talk.", "<ns>1</ns>"),
    page(16, "Only a template", "{{stub}}"),
    page(17, "Zinn", "Lead. [[Bestand:Zinn.jpg|Foto]]"),
)


@pytest.mark.parametrize("name", ["dump.xml", "dump.xml.bz2"])
def test_a_wiki_dump_gives_the_prose_of_its_articles(tmp_path: Path, name: str) -> None:
    data = bz2.compress(DUMP.encode()) if name.endswith("bz2") else DUMP.encode()
    tin, zinn = read(save(tmp_path / name, data))
    assert isinstance(tin, Document)
    assert isinstance(zinn, Document)
    assert (tin.id, tin.title) == ("testwiki:12", "Tin (metal)")
    assert tin.url == "https://en.example.org/wiki/Tin_(metal)"
    assert tin.text[: tin.sections[0][0]].strip() == (
        "Tin is a soft metallic element — see its page. It melts at 232 C."
    )
    assert sections(tin) == {
        "Uses": "Solder\npewter\n\nand more",
        "Uses > In food": "Cans of tinplate.",
        "History": "Known 很久 since the Bronze Age.",
    }
    assert zinn.text == "Lead."


def test_a_truncated_archive_gives_what_it_has_and_says_so(tmp_path: Path) -> None:
    pages = [page(n, f"Page {n}", f"Text of page {n}. " * 300) for n in range(1000)]
    data = bz2.compress(dump(*pages).encode(), compresslevel=1)
    *articles, broken = read(save(tmp_path / "dump.xml.bz2", data[: len(data) * 2 // 3]))
    assert 0 < len(articles) < 1000
    assert isinstance(broken, BrokenDocument)
    assert "cut short" in broken.reason


def test_a_large_dump_is_read_in_parts_by_all_cores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pages = [page(n, f"Page {n}", f"Text of page {n}. " * (n % 40)) for n in range(200)]
    whole = save(tmp_path / "dump.xml", dump(*pages))
    cut = save(tmp_path / "cut.xml", dump(*pages)[:-60])
    damaged = save(
        tmp_path / "damaged.xml", dump(*pages[:150], "<page><title>A</other></page>", *pages[150:])
    )
    expected = read(whole)
    assert len(expected) == 195  # five have no text
    monkeypatch.setattr(mediawiki, "_PART_BYTES", 20_000)
    monkeypatch.setattr(mediawiki, "_READ_BYTES", 8_192)
    parts = [*mediawiki.dump_parts(whole)]
    assert len(parts) > 5
    assert [document for part in parts for document in mediawiki.read_part(part, whole)] == expected
    assert read(whole) == expected
    assert read(cut)[:-1] == expected[:-1]
    articles = [document for document in read(damaged) if isinstance(document, Document)]
    (broken,) = (document for document in read(damaged) if isinstance(document, BrokenDocument))
    assert "damaged XML" in broken.reason
    assert 180 < len(articles) < 195, "only the part that has it is lost"
    assert articles == [document for document in expected if document in articles]


def test_a_page_without_an_end_is_not_held_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mediawiki, "_MOST_BYTES", 100_000)
    endless = dump(page(1, "A", "First."), "<page><title>" + "a" * 300_000)
    first, broken = read(save(tmp_path / "dump.xml", endless))
    assert isinstance(first, Document)
    assert isinstance(broken, BrokenDocument)
    assert "cut short" in broken.reason


def test_a_truncated_dump_gives_what_it_has_and_says_so(tmp_path: Path) -> None:
    cut = dump(page(1, "A", "First."), page(2, "B", "Second."))[:-60]
    first, broken = read(save(tmp_path / "dump.xml", cut))
    assert isinstance(first, Document)
    assert isinstance(broken, BrokenDocument)
    assert "cut short" in broken.reason


BOMB = (
    '<?xml version="1.0"?><!-- c --><!DOCTYPE mediawiki [<!ENTITY a "aaaaaaaaaa">'
    '<!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>' + dump(page(1, "A", "&b;"))
)


@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        ("a.xml", b"<rss><channel/></rss>", "not a MediaWiki XML dump"),
        ("a.xml", b"", "not a MediaWiki XML dump"),
        ("a.xml", b"<mediawiki><other/></mediawiki>", "damaged XML"),
        ("a.xml", BOMB.encode(), "declares a document type"),
        ("a.bz2", b"not compressed", "Invalid data stream"),
        ("a.bz2", bz2.compress(b"some other file"), "not a MediaWiki XML dump"),
        ("a.bz2", bz2.compress(DUMP.encode())[:50], "cut short"),
    ],
)
def test_what_is_no_wiki_dump_is_broken(tmp_path: Path, name: str, data: bytes, expected: str) -> None:
    assert expected in reason(save(tmp_path / name, data))


@pytest.mark.parametrize(
    "text",
    ["{{" * 20_000, "[[" * 20_000, "<b>" * 5_000, "{|" * 5_000, "''" * 100_000, "-{" * 50_000 + "(" * 50_000],
)
def test_adversarial_wikitext_comes_to_an_end(tmp_path: Path, text: str) -> None:
    read(save(tmp_path / "a.xml", dump(page(1, "A", text + " end"))))


@pytest.mark.parametrize("suffix", sorted(READERS))
@pytest.mark.parametrize("data", [b"\xff\xfe\xfd\0\x01" * 999, "中文".encode()[:-1], b"\0"])
def test_no_reader_raises_on_garbage(tmp_path: Path, suffix: str, data: bytes) -> None:
    assert read(save(tmp_path / f"a{suffix}", data))
