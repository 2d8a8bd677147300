"""MediaWiki XML dumps (.xml, .bz2), streamed: what Wikipedia offers for download.

Wikitext becomes prose: templates, references, files, categories and markup are gone. Tables become rows.
"""

from __future__ import annotations

import bz2
import io
import os
import re
import signal
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from multiprocessing import get_context, parent_process
from pathlib import Path
from threading import Thread
from typing import cast
from urllib.parse import quote
from xml.etree.ElementTree import ParseError

import mwparserfromhell
import mwxml
from mwparserfromhell.nodes import ExternalLink, Heading, HTMLEntity, Node, Tag, Template, Text, Wikilink
from mwparserfromhell.wikicode import Wikicode
from mwxml.element_iterator import ElementIterator
from mwxml.errors import MalformedXML

from index_builder import raised
from index_builder.documents import Block, BrokenDocument, Document, assemble
from index_builder.tables import Cell, table_blocks
from proxy.aio import cores
from proxy.errors import SourceError

_READ_BYTES = 1 << 16
"""Of a file, what is read at once. A dump's head begins in the first."""
_PART_BYTES = 4_000_000
"""Of a dump: what one process reads at a time."""
_IN_THIS_PROCESS = 2
"""Parts that are read before other processes are started, which takes longer than reading these."""
_MOST_PROCESSES = 32
_MOST_BYTES = 256_000_000
"""Of a page with all of its revisions."""
_PAGE, _PAGE_END, _END = b"<page>", b"</page>", b"</mediawiki>"
_MAX_SPAN = 1000
_MAX_WIKITEXT = 5_000_000  # MediaWiki itself stops at 2 MiB
_REDIRECT = re.compile(r"\s*#(?:redirect|重定向)", re.IGNORECASE)
_FILE_AND_CATEGORY = (6, 14)
_DROPPED_PREFIXES = frozenset({"file", "image", "media", "category", "文件", "檔案", "图像", "分类", "分類"})

_DROPPED_TAGS = raised.LEFT_OUT | frozenset(
    "ref references table gallery math chem score timeline imagemap syntaxhighlight source graph mapframe "
    "style script templatestyles includeonly hiero poem categorytree inputbox".split()
)
_SHOWN_ARGUMENTS: dict[str, tuple[str, ...]] = {
    "convert": ("1", "2"),
    "cvt": ("1", "2"),
    "lang": ("2",),
    "nowrap": ("1",),
    "nobold": ("1",),
    "small": ("1",),
    "abbr": ("1",),
    "formatnum": ("1",),
}
"""Templates inside of sentences, and the arguments that readers see: without them the prose has holes."""

_LINE = "\x01"
_BOLD = re.compile(r"'{2,}")
_MAGIC = re.compile(r"__[A-Z]{3,30}__")
_VARIANT = re.compile(r"-\{([^{}]{0,2000})\}-")
_CHOICE = re.compile(r"zh-(?:hans|cn)[ \t]*:([^;]*)")
_EMPTY_BRACKETS = re.compile(r"[ \t]?(?:\([\s,;]{0,9}\)|（[\s，；、]{0,9}）)")
_SPACES = re.compile(r"[ \t\xa0]{2,}|\xa0")
_SPACE_BEFORE_STOP = re.compile(r"(?<=\w) (?=[,.;](?:\s|$))")
_LANGUAGE_LINK = re.compile(r":?[a-z]{2,3}(?:-[a-z]{2,10})?:\S")


def read_dump(path: Path, _id: str) -> Iterator[Document | BrokenDocument]:
    """The articles (namespace 0, redirects left out), each in its last revision, as plain text.

    Ids are `enwiki:12` (the wiki's database name and the page's number). The url is made of the siteinfo's
    base. A page that can't be read is broken by itself; damaged XML ends the part that has it. The parts of a
    large dump are read by all cores.

    Raises:
        SourceError: the file is no MediaWiki dump, or declares XML entities.
    """
    parts = dump_parts(path)
    for part in islice(parts, _IN_THIS_PROCESS):
        yield from read_part(part, path)
    yield from _read_by_all_cores(parts, path)


def dump_parts(path: Path) -> Iterator[bytes]:
    """A dump, divided into dumps of some megabytes: each has the head, whole pages and the end.

    The last one has no end where the file is cut short, or where a page is larger than `_MOST_BYTES`; what
    follows such a page is not read.

    Raises:
        SourceError: the file is no MediaWiki dump, or its compressed data end before its first page.
    """
    head, pages, end = b"", bytearray(), 0
    with _opened(path) as file:
        try:
            _check_head(file)
            while data := file.read1(_READ_BYTES):
                new = max(0, len(pages) - len(_PAGE_END))
                pages += data
                if not head and (start := pages.find(_PAGE, new)) >= 0:
                    head, new = bytes(pages[:start]), 0
                    del pages[:start]
                if head and (last := pages.rfind(_PAGE_END, new)) >= 0:
                    end = last + len(_PAGE_END)
                if end >= _PART_BYTES:
                    yield head + bytes(pages[:end]) + _END
                    del pages[:end]
                    end = 0
                elif len(pages) > _MOST_BYTES:
                    break
        except EOFError as error:
            if not head:
                raise SourceError("cut short: the compressed data end too early") from error
    if not head or pages.strip() != _END:
        yield head + bytes(pages)  # without an end it is reported when it is read


def read_part(part: bytes, path: Path) -> Iterator[Document | BrokenDocument]:
    """The articles of a part of the dump at `path`."""
    try:
        with io.BufferedReader(cast("io.RawIOBase", io.BytesIO(part)), _READ_BYTES) as file:
            yield from _articles(file, path)
    except (ParseError, MalformedXML) as error:
        yield BrokenDocument(str(path), f"damaged XML, or cut short: {error}")


def _read_by_all_cores(parts: Iterator[bytes], path: Path) -> Iterator[Document | BrokenDocument]:
    """The articles of the parts, in order. As many parts are read ahead as there are processes."""
    processes = min(cores(), _MOST_PROCESSES)
    with ProcessPoolExecutor(processes, get_context("spawn"), _end_with_parent) as pool:
        reading: deque[Future[list[Document | BrokenDocument]]] = deque()
        try:
            for part in parts:
                reading.append(pool.submit(_part_read, part, path))
                if len(reading) > processes:
                    yield from reading.popleft().result()
            while reading:
                yield from reading.popleft().result()
        except BrokenProcessPool as error:
            raise SourceError("a process that read a part of it has died; is there enough memory?") from error
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _end_with_parent() -> None:
    """In a process that reads parts: it leaves Ctrl-C to its parent, and ends when the parent does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()

    def wait() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    Thread(target=wait, daemon=True).start()


def _part_read(part: bytes, path: Path) -> list[Document | BrokenDocument]:
    return list(read_part(part, path))


def _opened(path: Path) -> io.BufferedReader[io.RawIOBase]:
    if path.suffix.lower() == ".bz2":
        return io.BufferedReader(cast("io.RawIOBase", bz2.open(path)), _READ_BYTES)
    return io.BufferedReader(path.open("rb", buffering=0), _READ_BYTES)


def _check_head(file: io.BufferedReader[io.RawIOBase]) -> None:
    """A dump has no document type; without one there are no entities to blow up the parser with."""
    head = file.peek(_READ_BYTES)
    start = head.find(b"<mediawiki")
    if start < 0:
        raise SourceError("not a MediaWiki XML dump")
    if b"<!" in re.sub(rb"<!--.*?-->", b"", head[:start], flags=re.DOTALL):
        raise SourceError("declares a document type, which no MediaWiki dump does")


def _articles(file: io.BufferedReader[io.RawIOBase], path: Path) -> Iterator[Document | BrokenDocument]:
    root = ElementIterator.from_file(file)
    dump = mwxml.Dump.from_element(root)
    prefixes = _prefixes(dump.site_info)
    wiki = dump.site_info.dbname
    for page in dump.pages:
        text = _wikitext(page)
        if text and not _REDIRECT.match(text):
            id_ = f"{wiki}:{page.id}" if wiki else str(page.id)
            yield from _article(id_, page.title, text, _url(dump.site_info.base, page.title), prefixes, path)
        root.element.clear()  # the parser would keep every page's empty element to the end


def _wikitext(page: mwxml.Page) -> str:
    """The last revision of an article; nothing of any other page."""
    if page.redirect is not None or page.namespace != 0:
        return ""
    last = None
    for last in page:  # noqa: B007 - revisions come oldest first
        pass
    usable = last is not None and last.model in (None, "wikitext")
    return (last.text or "") if usable and last is not None else ""


def _article(
    id_: str, title: str, wikitext: str, url: str, prefixes: frozenset[str], path: Path
) -> Iterator[Document | BrokenDocument]:
    if len(wikitext) > _MAX_WIKITEXT:
        yield BrokenDocument(f"{path}: {title}", f"more than {_MAX_WIKITEXT:,} characters of wikitext")
        return
    try:
        document = assemble(id_, title, url, wikitext_blocks(wikitext, prefixes))
    except Exception as error:  # one page out of millions must not end the run
        yield BrokenDocument(f"{path}: {title}", f"{type(error).__name__}: {error}")
        return
    if document.text:  # a page of templates only has no prose, and is no error
        yield document


def _prefixes(site: mwxml.SiteInfo) -> frozenset[str]:
    own = (space.name for space in site.namespaces or () if space.id in _FILE_AND_CATEGORY)
    return _DROPPED_PREFIXES | {name.lower() for name in own if name}


def _url(base: str | None, title: str) -> str:
    """`https://en.wikipedia.org/wiki/Main_Page` and a title to the page's address."""
    if not base or "/" not in base:
        return ""
    return base.rpartition("/")[0] + "/" + quote(title.replace(" ", "_"), safe="/:@!$'()*,;~")


def wikitext_blocks(wikitext: str, dropped_prefixes: frozenset[str]) -> Iterator[Block]:
    """The blocks of one page, without headings under which there is no text: mostly notes and links.

    Args:
        wikitext: the page's source.
        dropped_prefixes: the wiki's names for files and categories, lower case, in its languages. Links
            into these namespaces are no prose.
    """
    waiting: list[Block] = []
    for block in _blocks(wikitext, dropped_prefixes):
        if block.heading:
            while waiting and waiting[-1].level >= block.level:
                waiting.pop()
            waiting.append(block)
        elif block.text.strip():
            yield from waiting
            waiting.clear()
            yield block


def _blocks(wikitext: str, dropped_prefixes: frozenset[str]) -> Iterator[Block]:
    run: list[str] = []
    for node in mwparserfromhell.parse(wikitext, skip_style_tags=True).nodes:
        if isinstance(node, Heading):
            yield from _paragraphs("".join(run))
            run.clear()
            yield Block(_clean(_plain(node.title, dropped_prefixes)), heading=True, level=node.level)
        elif isinstance(node, Tag) and _name(node) == "table":
            yield from _paragraphs("".join(run))
            run.clear()
            yield from _table(node, dropped_prefixes)
        else:
            run.append(_shown(node, dropped_prefixes))
    yield from _paragraphs("".join(run))


def _table(table: Tag, dropped: frozenset[str]) -> Iterator[Block]:
    """A table of data: of class `wikitable`, or with headings. Others arrange the page, and are left out."""
    caption = ""
    rows: list[list[Cell]] = [[]]
    for node in table.contents.nodes if table.contents is not None else ():
        name = _name(node) if isinstance(node, Tag) else ""
        if name == "tr":
            cells = node.contents.nodes if node.contents is not None else ()
            rows.append([_cell(cell, dropped) for cell in cells if _is_cell(cell)])
        elif _is_cell(node):
            cell = _cell(node, dropped)
            if cell.text.startswith("+"):  # the parser takes `|+ Caption` for a cell
                caption = cell.text.removeprefix("+").strip()
            else:
                rows[0].append(cell)
    if max(map(len, rows)) < 2:
        return
    of_data = "wikitable" in _attribute(table, "class") or any(cell.heading for row in rows for cell in row)
    if of_data:
        yield Block(caption)
        yield from table_blocks(rows, guess=True)


def _name(tag: Tag) -> str:
    return str(tag.tag).strip().lower()


def _is_cell(node: Node) -> bool:
    return isinstance(node, Tag) and _name(node) in ("td", "th")


def _cell(node: Tag, dropped: frozenset[str]) -> Cell:
    text = _clean(_plain(node.contents, dropped).replace(_LINE, " ").replace("\n", " "))
    rows, columns = (_span(_attribute(node, name)) for name in ("rowspan", "colspan"))
    return Cell(text, heading=_name(node) == "th", rows=rows, columns=columns)


def _attribute(tag: Tag, name: str) -> str:
    return str(tag.get(name).value).strip() if tag.has(name) else ""


def _span(given: str) -> int:
    return min(int(given), _MAX_SPAN) if given.isascii() and given.isdigit() and int(given) else 1


def _plain(code: Wikicode | None, dropped: frozenset[str]) -> str:
    return "".join(_shown(node, dropped) for node in code.nodes) if code is not None else ""


def _shown(node: Node, dropped: frozenset[str]) -> str:
    """The text of a node that a reader of the page sees. The parser bounds its depth (40)."""
    show = _SHOW.get(type(node))
    return show(node, dropped) if show else ""


def _text(node: Node, _: frozenset[str]) -> str:
    return str(node.value)


def _entity(node: Node, _: frozenset[str]) -> str:
    return str(node.normalize())


def _link(node: Node, dropped: frozenset[str]) -> str:
    target = str(node.title).strip()
    prefix = target.partition(":")[0].strip().lower() if ":" in target else ""
    if prefix in dropped or (node.text is None and _LANGUAGE_LINK.match(target)):
        return ""
    return _plain(node.text, dropped) if node.text is not None else target.lstrip(":").partition("#")[0]


def _external(node: Node, dropped: frozenset[str]) -> str:
    return _plain(node.title, dropped) if node.brackets else ""


def _template(node: Node, dropped: frozenset[str]) -> str:
    arguments = _SHOWN_ARGUMENTS.get(str(node.name).strip().lower(), ())
    return " ".join(_plain(node.get(name).value, dropped).strip() for name in arguments if node.has(name))


def _tag(node: Node, dropped: frozenset[str]) -> str:
    name = str(node.tag).strip().lower()
    if name in _DROPPED_TAGS:
        return ""
    if name == "br":
        return "\n"
    if name in ("li", "dd", "dt"):
        return _LINE + _plain(node.contents, dropped)
    if name in raised.MARKS:
        return _plain(node.contents, dropped).join(raised.MARKS[name])
    return _plain(node.contents, dropped)


_SHOW: dict[type[Node], Callable[[Node, frozenset[str]], str]] = {
    Text: _text,
    HTMLEntity: _entity,
    Wikilink: _link,
    ExternalLink: _external,
    Template: _template,
    Tag: _tag,
}


def _paragraphs(text: str) -> Iterator[Block]:
    """Paragraphs end at blank lines; a single line end is a space, as MediaWiki shows it."""
    paragraph: list[str] = []
    for line in [*text.split("\n"), ""]:
        is_item = line.startswith(_LINE)
        if paragraph and (is_item or not line.strip()):
            yield Block(_clean(" ".join(paragraph)))
            paragraph = []
        if is_item:
            yield Block(_clean(line), line=True)
        elif line.strip():
            paragraph.append(line.strip())


def _clean(text: str) -> str:
    text = raised.plain(_BOLD.sub("", text.replace(_LINE, "")))
    text = _VARIANT.sub(_variant, _MAGIC.sub("", text))
    text = _SPACES.sub(" ", _EMPTY_BRACKETS.sub("", text))
    return _SPACE_BEFORE_STOP.sub("", text).strip()


def _variant(match: re.Match[str]) -> str:
    """Chinese wikis write words that differ by region as `-{zh-hans:A;zh-hant:B}-`."""
    inner = match.group(1)
    choice = _CHOICE.search(inner)
    if choice:
        return choice.group(1).strip()
    return inner if ":" not in inner else ""
