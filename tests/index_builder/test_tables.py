"""Tables of all formats become rows that can be read alone."""

from __future__ import annotations

from pathlib import Path

import docx
import pytest

from tests.corpora import dump, page
from tests.index_builder.test_readers import pdf, read_one, save

ROWS = """Model | Price | Reach
HR-10 | Price: EUR 31,500 | Reach: 1.2 m
HR-20 | Price: EUR 47,900 | Reach: 1.8 m"""

MARKDOWN = """Our robots:

| Model | Price | Reach |
|---|---:|---|
| HR-10 | EUR 31,500 | 1.2 m |
| *HR-20* | EUR 47,900 | 1.8 m |
"""

HTML = """<p>Our robots:</p><table><caption>Prices</caption><thead><tr><th>Model<th>Price<th>Reach</thead>
<tbody><tr><th scope=row>HR-10<td>EUR&nbsp;31,500<td>1.2<br>m</tr><tr><th>HR-20<td><b>EUR</b> 47,900<td>1.8 m
</table>"""

UNMARKED = """<p>Our robots:</p><table><tr><td>Model<td>Price<td>Reach<tr><td>HR-10<td>EUR 31,500<td>1.2 m
<tr><td>HR-20<td>EUR 47,900<td>1.8 m</table>"""

WIKI = """Our robots:
{| class="wikitable sortable" style="width: 50%"
|+ Prices
! Model !! Price !! Reach
|-
| [[HR-10]] || EUR 31,500<ref>2024</ref> || 1.2 m
|-
! scope="row" | HR-20
| style="text-align: right" | EUR&nbsp;47,900
| 1.8 m
|}
They ship in May."""


def test_rows_have_the_headings_of_their_columns(tmp_path: Path) -> None:
    assert read_one(save(tmp_path / "a.md", MARKDOWN)).text == f"Our robots:\n\n{ROWS}"
    assert read_one(save(tmp_path / "a.html", HTML)).text == f"Our robots:\n\nPrices\n\n{ROWS}"
    assert read_one(save(tmp_path / "b.html", UNMARKED)).text == f"Our robots:\n\n{ROWS}"
    wiki = read_one(save(tmp_path / "a.xml", dump(page(1, "Robots", WIKI))))
    assert wiki.text == f"Our robots:\n\nPrices\n\n{ROWS}\n\nThey ship in May."


def test_a_table_of_a_word_document(tmp_path: Path) -> None:
    word = docx.Document()
    table = word.add_table(rows=3, cols=3)
    texts = ["Model", "Price", "Reach", "HR-10", "EUR 31,500", "1.2 m", "HR-20", "EUR 47,900", "1.8 m"]
    for cell, text in zip(table._cells, texts, strict=True):
        cell.text = text
    word.save(str(tmp_path / "a.docx"))
    assert read_one(tmp_path / "a.docx").text == ROWS


def placed(*texts: tuple[int, int, str]) -> str:
    """What shows texts at places of a PDF page."""
    return " ".join(f"1 0 0 1 {x} {y} Tm ({text}) Tj" for x, y, text in texts)


def test_a_table_of_a_pdf_file(tmp_path: Path) -> None:
    rows = ["Model", "Price", "Reach"], ["HR-10", "EUR 31,500", "1.2 m"], ["HR-20", "EUR 47,900", "1.8 m"]
    cells = [
        (x, 660 - 14 * line, text)
        for line, row in enumerate(rows)
        for x, text in zip((50, 200, 350), row, strict=True)
    ]
    before = (50, 700, "Our robots are built in Basel. They are sold all over the world")
    more = (50, 686, "and come with a warranty of 2 years.")
    after = (50, 590, "They ship in May.")
    path = pdf(tmp_path / "a.pdf", [placed(before, more, *cells, after)])
    text = read_one(path).text
    assert ROWS in text
    assert text.startswith(
        "Our robots are built in Basel. They are sold all over the world and come with a warranty of 2 years."
    )
    assert text.endswith("They ship in May.")


def test_columns_of_prose_in_a_pdf_file_are_no_table(tmp_path: Path) -> None:
    left = [
        "Tin is a soft metal that",
        "melts at 232 degrees and",
        "was among the first to be",
        "worked by man.",
    ]
    right = [
        "Bronze is an alloy of 12",
        "parts of tin and copper",
        "in 1 of the 3 ages that",
        "are named so.",
    ]
    columns = [
        (x, 700 - 14 * line, text)
        for x, column in ((50, left), (300, right))
        for line, text in enumerate(column)
    ]
    text = read_one(pdf(tmp_path / "a.pdf", [placed(*columns)])).text
    assert "|" not in text
    assert "Tin is a soft metal that melts at 232 degrees" in text


def test_cells_that_span_rows_and_columns(tmp_path: Path) -> None:
    html = """<table><tr><th rowspan=2>City<th colspan=2>People<tr><th>1900<th>2000
    <tr><td rowspan=2>Bern<td>64,000<td>122,000<tr><td colspan=2>as counted</table>"""
    assert read_one(save(tmp_path / "a.html", html)).text == (
        "City | People\nCity | 1900 | 2000\nBern | People 1900: 64,000 | People 2000: 122,000\n"
        "Bern | People 1900: as counted"
    )


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<table><tr><td><h2>News</h2><p>One.<td><p>Two.</table>", "One. Two."),
        ("<table><tr><td>Left<td><table><tr><td>a<td>b</table></table>", "Left a | b"),
        ("<table><tr><td>Name<td>Robot<tr><td>Colour<td>red</table>", "Name | Robot\nColour | red"),
        ("<table><tr><td rowspan=0>a<td colspan=x>b<tr><td>c</table>", "a | b\nc"),
        ("<table></table><p>x", "x"),
    ],
    ids=["headings in cells", "a table in a table", "no headings", "nonsense spans", "empty"],
)
def test_tables_without_headings_stay_lines(tmp_path: Path, html: str, text: str) -> None:
    assert " ".join(read_one(save(tmp_path / "a.html", html)).text.split()) == " ".join(text.split())


def test_a_table_that_arranges_a_wiki_page_is_left_out(tmp_path: Path) -> None:
    text = 'Text.\n{| style="float: right"\n| [[Home]] || [[Back]]\n|}'
    assert read_one(save(tmp_path / "a.xml", dump(page(1, "A", text)))).text == "Text."


def test_a_table_in_a_table_that_arranges_the_page_keeps_its_headings(tmp_path: Path) -> None:
    for around in (
        "<table><tr><td>Menu<td>{}</table>",
        "<table><tr><td><table><tr><td>Left<td>{}</table></table>",
    ):
        text = read_one(save(tmp_path / "a.html", around.format(UNMARKED))).text
        assert text.endswith(f"Our robots:\n{ROWS}")


def test_spans_count_as_long_as_they_make_no_more_cells_than_a_table_may_have(tmp_path: Path) -> None:
    head = "<tr><th colspan=1000 rowspan=1000>x<td>y"
    bomb = read_one(save(tmp_path / "a.html", f"<table>{head * 2000}</table>"))
    assert bomb.text == "\n".join(["x | y"] * 2000)
    sparse = "<td>y" * 3000 + f"<td rowspan=1000>z{'<tr><td>x' * 3000}"
    assert len(read_one(save(tmp_path / "b.html", f"<table><tr>{sparse}</table>")).text) < 30_000
    wide = f"<table><tr><th rowspan=900>City<th>People{'<tr><td>1,000' * 300}</table>"
    assert read_one(save(tmp_path / "c.html", wide)).text.count("City | People: 1,000") == 300


def test_a_table_of_huge_spans_comes_to_an_end(tmp_path: Path) -> None:
    cells = "<td colspan=99999999 rowspan=99999999>1" * 3
    html = f"<table>{'<tr>' + cells}<tr><td>a</table>"
    assert read_one(save(tmp_path / "a.html", html)).text
