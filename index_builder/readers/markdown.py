"""Markdown: .md, .markdown. Front matter, headings as sections, and prose without its markup."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from markdown_it import MarkdownIt
from markdown_it.token import Token

from index_builder import raised
from index_builder.documents import Block, BrokenDocument, Document, assemble
from index_builder.readers.html import html_blocks
from index_builder.readers.text import decode, read_bytes
from index_builder.tables import Cell, table_blocks
from proxy.text.scripts import WIDE

_FRONT_MATTER = re.compile(r"---[ \t]*\n(.{0,65536}?)\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_FIELD = re.compile(r"(title|url|id)[ \t]*:[ \t]*(.+)")
_MAX_INLINE = 10_000  # characters; the parser's time grows with the square of a paragraph's open brackets
_MAX_NESTING = 200
"""Lists, their items and quotes in each other; the parser leaves out what lies deeper."""
_TAG = re.compile(r"<(/?)(br|sup|sub|del|strike|s)\b", re.IGNORECASE)
_WIDE_LINE_END = re.compile(rf"(?<=[{WIDE}])\r(?=[{WIDE}])")


def read_markdown(path: Path, id_: str) -> Iterator[Document | BrokenDocument]:
    """The file's prose: link targets, emphasis, images, struck-out text and the ticks around code are gone.

    `title`, `url` and `id` are the front matter's; the title otherwise is the first heading of level 1
    (which then is no section) or the file's name. A paragraph of over 10,000 characters keeps its markup.
    """
    text = decode(read_bytes(path))
    match = _FRONT_MATTER.match(text)
    fields = _front_matter(match.group(1)) if match else {}
    tokens = _tokens(text[match.end() :] if match else text)
    top = next((index for index, token in enumerate(tokens) if token.tag == "h1"), None)
    heading = _plain(tokens[top + 1]) if top is not None else ""
    title = fields.get("title") or heading or path.stem
    if top is not None and heading == title:
        del tokens[top : top + 3]
    if any(token.nesting == 1 and token.level == _MAX_NESTING - 1 for token in tokens):
        yield BrokenDocument(str(path), f"lists deeper than {_MAX_NESTING // 2} in each other were left out")
    yield assemble(fields.get("id") or id_, title, fields.get("url", ""), _blocks(tokens))


def _tokens(text: str) -> list[Token]:
    """Blocks first, then what is inside each, so that one endless paragraph can be left as it is."""
    parser = MarkdownIt("commonmark", {"maxNesting": _MAX_NESTING}).enable("table").disable("inline")
    within = MarkdownIt("commonmark").enable("strikethrough")
    references: dict[str, Any] = {}
    tokens = parser.parse(text, references)
    for token in tokens:
        if token.type == "inline" and len(token.content) <= _MAX_INLINE:
            token.children = []
            within.inline.parse(token.content, within, references, token.children)
    return tokens


def _front_matter(text: str) -> dict[str, str]:
    """The fields that we know. A title with a bare colon is common but no YAML: read line by line then."""
    try:
        fields = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError):  # a date that is none, 2024-02-30, is a ValueError
        matches = (_FIELD.match(line) for line in text.splitlines())
        return {match.group(1): match.group(2).strip(" \t'\"") for match in matches if match}
    if not isinstance(fields, Mapping):
        return {}
    scalars = ((name, fields.get(name)) for name in ("title", "url", "id"))
    return {name: str(value).strip() for name, value in scalars if isinstance(value, str | int | float)}


def _blocks(tokens: Sequence[Token]) -> Iterator[Block]:
    lists = 0
    heading = heading_cell = False
    level = 0
    rows: list[list[Cell]] = []
    in_table = False
    for token in tokens:
        if token.type in ("bullet_list_open", "ordered_list_open"):
            lists += 1
        elif token.type in ("bullet_list_close", "ordered_list_close"):
            lists -= 1
        elif token.type in ("heading_open", "heading_close"):
            heading, level = token.nesting == 1, int(token.tag[1])
        elif token.type in ("table_open", "table_close"):
            in_table = token.nesting == 1
            yield from table_blocks(rows)
            rows.clear()
        elif token.type == "tr_open":
            rows.append([])
        elif token.type in ("th_open", "td_open"):
            heading_cell = token.type == "th_open"
        elif token.type == "inline" and in_table:
            rows[-1].append(Cell(_plain(token), heading=heading_cell))
        elif token.type == "inline":
            yield Block(_plain(token), heading=heading, line=lists > 0, level=level)
        elif token.type in ("fence", "code_block"):
            yield Block(token.content)
        elif token.type == "html_block":
            yield from html_blocks(token.content)


def _plain(inline: Token) -> str:
    """A paragraph's text; line ends of its source are spaces, or nothing between Chinese characters."""
    if inline.children is None:
        return inline.content
    parts: list[str] = []
    struck_out = 0
    for token in inline.children:
        tag = _TAG.match(token.content) if token.type == "html_inline" else None
        name = tag[2].lower() if tag else token.tag
        if name in raised.LEFT_OUT:
            struck_out = max(0, struck_out + (token.nesting or (-1 if tag and tag[1] else 1)))
        elif struck_out:
            continue
        elif token.type in ("text", "code_inline", "text_special"):
            parts.append(token.content)
        elif token.type == "softbreak":
            parts.append("\r")
        elif name == "br":
            parts.append("\n")
        elif tag and name in raised.MARKS:
            parts.append(raised.MARKS[name][bool(tag[1])])
    return raised.plain(_WIDE_LINE_END.sub("", "".join(parts)).replace("\r", " ").strip())
