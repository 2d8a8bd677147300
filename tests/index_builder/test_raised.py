"""What a file raises, lowers, strikes out or hides never joins the text beside it into another number."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.corpora import dump, page
from tests.index_builder.test_readers import read_one, save

IN_EVERY_MARKUP = [
    ("10<sup>6</sup> bolts", "10⁶ bolts"),
    ("10<sup>-6</sup> m, (2 m)<sup>3</sup>", "10⁻⁶ m, (2 m)³"),
    ("10 <sup>6</sup> bolts", "10 ⁶ bolts"),
    ("2<sup>n+1</sup> and 10<sup>0.5</sup>", "2^(n+1) and 10^0.5"),
    ("35 m<sup>2</sup>, 5 feet<sup>2</sup>, 3 s<sup>-2</sup>, x<sup>2</sup>", "35 m², 5 feet², 3 s⁻², x²"),
    ("Ca<sup>2+</sup> in H<sub>2</sub>O", "Ca²⁺ in H2O"),
    ("the isotope <sup>14</sup>C", "the isotope ¹⁴C"),
    ("3<sup>1</sup>/<sub>2</sub> litres, <sup>1</sup>/<sub>4</sub> left", "3 1/2 litres, 1/4 left"),
    ("101<sub>2</sub> is five, log<sub>10</sub>5", "101₂ is five, log₁₀5"),
    ("See note<sup>4</sup>. In May.<sup>1, 2</sup> In 1932.<sup>[3]</sup>", "See note. In May. In 1932."),
    ("On the 19<sup>th</sup> of May, the 1<sup>er</sup>", "On the 19th of May, the 1er"),
    (
        "It costs <del>50</del><ins>60</ins> euros, <s>now</s>once 5<strike>0</strike>.",
        "It costs 60 euros, once 5.",
    ),
]


@pytest.mark.parametrize(("markup", "text"), IN_EVERY_MARKUP)
def test_raised_lowered_and_struck_out_text(tmp_path: Path, markup: str, text: str) -> None:
    wiki = markup.replace("[3]", "&#91;3&#93;")
    assert read_one(save(tmp_path / "a.html", f"<p>{markup}")).text == text
    assert read_one(save(tmp_path / "b.html", f"<table><tr><td>{markup}<td>y</table>")).text == f"{text} | y"
    assert read_one(save(tmp_path / "a.md", markup)).text == text
    assert read_one(save(tmp_path / "a.xml", dump(page(1, "A", wiki)))).text == text


def test_text_struck_out_in_markdown_is_left_out(tmp_path: Path) -> None:
    assert read_one(save(tmp_path / "a.md", "It costs ~~5~~6 euros, ~ 7.")).text == "It costs 6 euros, ~ 7."


@pytest.mark.parametrize(
    ("maths", "text"),
    [
        ("1<math><mfrac><mn>1</mn><mn>2</mn></mfrac></math> litres", "1 1/2 litres"),
        (
            "<math><mfrac><mrow><mi>a</mi><mo>+</mo><mn>1</mn></mrow> "
            "<msup><mi>b</mi><mn>2</mn></msup></mfrac></math>",
            "(a+1)/b²",
        ),
        ("<math><mfrac><mn>1</mn><mfrac><mn>2</mn><mn>3</mn></mfrac></mfrac></math>", "1/(2/3)"),
        ("<math><msubsup><mn>10</mn><mn>2</mn><mn>3</mn></msubsup></math>", "10₂³"),
    ],
)
def test_formulas_of_a_page(tmp_path: Path, maths: str, text: str) -> None:
    assert read_one(save(tmp_path / "a.html", f"<p>{maths}")).text == text


def test_fractions_deep_in_each_other_keep_their_bars(tmp_path: Path) -> None:
    deep = "<mfrac><mn>1</mn>" * 300 + "<mn>1</mn>"
    text = read_one(save(tmp_path / "a.html", f"<p><math>{deep}")).text
    assert (text.count("1"), text.count("/")) == (301, 300)


def test_what_a_page_does_not_show_is_left_out(tmp_path: Path) -> None:
    html = """<h1>Price <s>old</s></h1><p>It costs 60 euros.<p hidden>It costs 40 euros.
    <div style="color: red; display : none">Not <p>50.</div><p style="display: block">Call.
    <table><tr><td>a<td>1<tr hidden><td>b<td>2<tr><td>c<td>3<td style="display:none">4</table>
    <div hidden role="region">Opened with a click.</div><div hidden="until-found">Found by a search.</div>"""
    document = read_one(save(tmp_path / "a.html", html))
    assert document.title == "Price"
    assert document.text.split("\n\n") == [
        "It costs 60 euros.",
        "Call.",
        "a | 1\nc | 3",
        "Opened with a click.",
        "Found by a search.",
    ]


@pytest.mark.parametrize("markup", ["1<sup>2</sup>", "<sup>", "<sup>1</sup>/<sub>", "<sub>1</sub>/"])
def test_much_of_it_is_read_in_linear_time(tmp_path: Path, markup: str) -> None:
    assert read_one(save(tmp_path / "a.md", "x" + markup * (9_000 // len(markup)))).text
    assert read_one(save(tmp_path / "a.html", "<p>x" + "1<sup>2</sup>" * 50_000)).text
