"""Web pages: .html, .htm."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Literal

from selectolax.lexbor import LexborHTMLParser, LexborNode

from index_builder import raised
from index_builder.documents import Block, Document, assemble
from index_builder.readers.text import decode, marked_encoding, read_bytes
from index_builder.tables import Cell, table_blocks
from proxy.errors import SourceError

_DROPPED = raised.LEFT_OUT | frozenset(
    "head script style noscript template nav footer svg iframe object embed audio video canvas map "
    "select textarea input datalist annotation".split()
)
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_LINES = frozenset({"li", "tr", "dt", "dd", "option"})
_CELLS = frozenset({"td", "th"})
_BLOCKS = (
    _HEADINGS
    | _LINES
    | frozenset(
        "address article aside blockquote body caption center details dialog div dl fieldset figcaption "
        "figure form header hgroup hr main menu ol p pre section summary table tbody tfoot thead ul".split()
    )
)
_BREAKS = _BLOCKS | {"br"}
_NOT_DISPLAYED = re.compile(r"display\s{0,9}:\s{0,9}none", re.IGNORECASE)
_SHOWN_LATER = frozenset({"region", "tabpanel"})
"""Roles of parts that are hidden until the reader opens them."""
_OPENING = frozenset({"aria-controls", "aria-expanded"})
"""Attributes of a button that opens a part of the page: it is what names that part."""
_NAMING = _HEADINGS | {"dt", "summary"}
_WITHIN_HEADING = 5
"""Elements between a heading and a button in it."""
_MATHS = {
    "mfrac": ("", raised.FRACTION_BAR),
    "msub": ("", raised.LOWERED),
    "msubsup": ("", raised.LOWERED, raised.RAISED),
    "msup": ("", raised.RAISED),
}
"""The marks before the parts of elements of MathML."""
_MATHS_END = {raised.LOWERED: raised.LOWERED_END, raised.RAISED: raised.RAISED_END}
_VOID_OR_IMPLIED = frozenset(  # those that need no end tag
    "area base br col embed hr img input link meta param source track wbr "
    "p li dt dd tr td th thead tbody tfoot option optgroup colgroup rt rp html head body".split()
)
_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]{0,20})([^<>]*)")
_NO_TAGS = re.compile(
    r"<!--(?:-?>|.*?(?:--!?>|\Z))|<(script|style|textarea|title)(?=[\s/>]).*?(?:</\1|\Z)",
    re.DOTALL | re.IGNORECASE,
)
_MAX_DEPTH = 1000
_SPACE = re.compile(r"[^\S\xa0]+|\xa0")
_AROUND_BREAK = re.compile(r" ?\r ?")  # `<br>`; of all other line ends only those of `<pre>` are left
_DECLARED = re.compile(rb"<meta[^>]{0,200}?charset\s{0,9}=\s{0,9}[\"']?([\w.:-]{1,40})", re.IGNORECASE)

_XML_DECLARED = re.compile(rb"\s{0,9}<\?xml\s[^<>]{0,99}?encoding\s{0,9}=\s{0,9}[\"']([\w.:-]{1,40})")
_MEANT = {
    "ascii": "cp1252",
    "big5": "big5hkscs",
    "euc_kr": "cp949",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "shift_jis": "cp932",
    "utf-16": "utf-8",
    "utf-16-le": "utf-8",
    "utf-16-be": "utf-8",
}
"""The encodings that browsers take for those that a page declares (WHATWG, Encoding, section 4.2)."""

_LONGEST_CELL = 500
_MAX_SPAN = 1000

Event = Literal["open", "close", "text"]
_Step = tuple[Event, str, str, list[Block] | None]


def read_html(path: Path, id_: str) -> Iterator[Document]:
    """The page's text without scripts, styles, navigation, controls and what it doesn't show or strikes out;
    its headings are the sections.

    The title is `<title>`, else the first `<h1>`, else the file's name; the url is `<link rel=canonical>`.

    Raises:
        SourceError: elements are nested more than 1,000 deep (browsers stop at 512; the parser's time
            grows with the square of the depth).
    """
    tree = _parsed(_decoded(read_bytes(path)))
    head, heading = tree.css_first("head > title"), tree.css_first("h1")
    title = " ".join(head.text().split()) if head else ""
    title = title or (_cell(heading).text if heading else "") or path.stem
    canonical = tree.css_first('link[rel~="canonical"]')
    url = canonical.attributes.get("href") if canonical else None
    yield assemble(id_, title, url or "", _blocks(tree))


def html_blocks(html: str) -> Iterator[Block]:
    """The blocks of a piece of HTML."""
    return _blocks(_parsed(html))


def _decoded(data: bytes) -> str:
    """By the byte order mark, else as the page declares if nine in ten characters are valid then, else as
    `decode` finds out."""
    declared = _XML_DECLARED.match(data) or _DECLARED.search(data[:2048])
    if declared is None or marked_encoding(data):
        return decode(data)
    try:
        name = codecs.lookup(declared.group(1).decode("ascii").lower().removeprefix("x-")).name
        text = data.decode(_MEANT.get(name, name), errors="replace")
    except (LookupError, ValueError):  # the page declares what is no encoding
        return decode(data)
    beyond_ascii = len(text) - len(text.encode("ascii", errors="ignore"))
    return text if text.count("\ufffd") * 10 <= beyond_ascii else decode(data)


def _parsed(html: str) -> LexborHTMLParser:
    depth = 0
    for match in _TAG.finditer(_NO_TAGS.sub("", html)):
        closing, name, rest = match.groups()
        if name.lower() in _VOID_OR_IMPLIED or rest.endswith("/"):
            continue
        depth = max(0, depth - 1) if closing else depth + 1
        if depth > _MAX_DEPTH:
            raise SourceError(f"elements are nested more than {_MAX_DEPTH:,} deep, or never closed")
    return LexborHTMLParser(html)


def _blocks(tree: LexborHTMLParser) -> Iterator[Block]:
    """The text between the starts and ends of block elements."""
    if tree.body is None:
        return
    run: list[str] = []
    level = 0
    open_: dict[str, int] = {"heading": 0, "line": 0, "pre": 0}
    for event, tag, text, table in _walk(tree.body):
        if table is not None:
            if block := _block(run, heading=open_["heading"] > 0, line=open_["line"] > 0):
                yield block
            run.clear()
            yield from table
        elif event == "text":
            run.append(text if open_["pre"] else _SPACE.sub(" ", text))
        elif tag == "br":
            run.append("\r" if event == "open" else "")
        elif tag in _CELLS:
            run.append(" | " if event == "open" and "".join(run).strip() else "")
        elif tag in _BLOCKS and (tag in _HEADINGS or not open_["heading"]):
            if block := _block(run, heading=open_["heading"] > 0, line=open_["line"] > 0):
                yield replace(block, level=level)
            run.clear()
            level = int(tag[1]) if tag in _HEADINGS else 0
            step = 1 if event == "open" else -1
            open_["heading"] += step if tag in _HEADINGS else 0
            open_["line"] += step if tag in _LINES else 0
            open_["pre"] += step if tag == "pre" else 0
    if block := _block(run, heading=False, line=False):
        yield block


def _block(run: list[str], *, heading: bool, line: bool) -> Block | None:
    text = raised.plain(_AROUND_BREAK.sub("\n", "".join(run))).strip(" |\n")
    return Block(text, heading=heading, line=line) if text else None


def _walk(root: LexborNode) -> Iterator[_Step]:
    """The tree in document order, without recursion: pages may be nested deeper than Python's stack.

    A table of data is one event, with its blocks.
    """
    node = root.first_child
    marks: dict[int, tuple[str, str]] = {}
    while node is not None:
        child = None
        if node.is_text_node:
            yield "text", "", node.text_content or "", None
        elif node.is_element_node and not _is_left_out(node):
            for part, (before, after) in _marks(node).items():
                outer = marks.get(part, ("", ""))
                marks[part] = outer[0] + before, after + outer[1]
            if node.mem_id in marks:
                yield "text", "", marks[node.mem_id][0], None
            blocks = _table(node) if node.tag == "table" else None
            yield "open", node.tag or "", "", blocks
            child = node.first_child if blocks is None else None
            if child is None and blocks is None:
                yield from _closed(node, marks)
        if child is not None:
            node = child
            continue
        while node is not None and node.next is None:
            node = node.parent
            if node is None or node.mem_id == root.mem_id:
                return
            yield from _closed(node, marks)
        node = node.next if node is not None else None


def _closed(node: LexborNode, marks: Mapping[int, tuple[str, str]]) -> Iterator[_Step]:
    if node.mem_id in marks:
        yield "text", "", marks[node.mem_id][1], None
    yield "close", node.tag or "", "", None


def _marks(node: LexborNode) -> dict[int, tuple[str, str]]:
    """Marks before and after an element that is raised or lowered, a fraction, and parts of it."""
    tag = node.tag or ""
    if tag in raised.MARKS:
        return {node.mem_id: raised.MARKS[tag]}
    if tag not in _MATHS:
        return {}
    parts = zip(node.iter(), _MATHS[tag], strict=False)
    marks = {part.mem_id: (mark, _MATHS_END.get(mark, "")) for part, mark in parts if mark}
    return {node.mem_id: (raised.FRACTION, raised.FRACTION_END), **marks} if tag == "mfrac" else marks


def _is_left_out(node: LexborNode) -> bool:
    if node.tag in _DROPPED:
        return True
    given = node.attributes
    if node.tag == "button" and not given.keys() & _OPENING and not _is_in_heading(node):
        return True
    hidden = "hidden" in given and given["hidden"] != "until-found"
    hidden = hidden or _NOT_DISPLAYED.search(given.get("style") or "") is not None
    return hidden and given.get("role") not in _SHOWN_LATER and "aria-labelledby" not in given


def _is_in_heading(node: LexborNode) -> bool:
    for _ in range(_WITHIN_HEADING):
        if node.parent is None:
            return False
        node = node.parent
        if node.tag in _NAMING:
            return True
    return False


def _table(node: LexborNode) -> list[Block] | None:
    """The blocks of a table of data; None of one that arranges a page: a table in a table, with headings,
    lists or long texts in its cells, or of one column."""
    arranging = "table, h1, h2, h3, h4, h5, h6, ul, ol, pre, form"
    if any(child.css_first(arranging) is not None for child in node.iter()):
        return None
    rows = [
        [_cell(cell) for cell in row.iter() if cell.tag in _CELLS and not _is_left_out(cell)]
        for row in node.css("tr")
        if not _is_left_out(row) and (row.parent is None or not _is_left_out(row.parent))
    ]
    longest = max((len(cell.text) for row in rows for cell in row), default=0)
    if max(map(len, rows), default=0) < 2 or longest > _LONGEST_CELL:
        return None
    caption = node.css_first("caption")
    title = [Block(_cell(caption).text)] if caption is not None else []
    return [*title, *table_blocks(rows, guess=True)]


def _cell(node: LexborNode) -> Cell:
    shown = (
        text if event == "text" else " " if tag in _BREAKS else "" for event, tag, text, _ in _walk(node)
    )
    rows, columns = (_span(node.attributes.get(name)) for name in ("rowspan", "colspan"))
    return Cell(
        raised.plain(" ".join("".join(shown).split())), heading=node.tag == "th", rows=rows, columns=columns
    )


def _span(given: str | None) -> int:
    """How many rows or columns a cell spans: 1 where it does not say, or says nonsense."""
    return min(int(given), _MAX_SPAN) if given and given.isascii() and given.isdigit() and int(given) else 1
