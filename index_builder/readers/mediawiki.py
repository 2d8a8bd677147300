"""MediaWiki XML dumps (.xml, .bz2), streamed: what Wikipedia offers for download."""

from __future__ import annotations

import bz2
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import cast
from urllib.parse import quote
from xml.etree.ElementTree import ParseError

import mwxml
from mwxml.element_iterator import ElementIterator
from mwxml.errors import MalformedXML

from index_builder.documents import BrokenDocument, Document
from index_builder.readers.blocks import assemble
from index_builder.readers.wikitext import wikitext_blocks
from proxy.errors import SourceError

_HEAD = 1 << 16
_MAX_WIKITEXT = 5_000_000  # MediaWiki itself stops at 2 MiB
_REDIRECT = re.compile(r"\s*#(?:redirect|重定向)", re.IGNORECASE)
_FILE_AND_CATEGORY = (6, 14)
_DROPPED_PREFIXES = frozenset({"file", "image", "media", "category", "文件", "檔案", "图像", "分类", "分類"})


def read_dump(path: Path, _id: str) -> Iterator[Document | BrokenDocument]:
    """The articles (namespace 0, redirects left out), each in its last revision, as plain text.

    Ids are `enwiki:12` (the wiki's database name and the page's number). The url is made of the siteinfo's
    base. A page that can't be read is broken by itself; a damaged end of the file ends the stream.

    Raises:
        SourceError: the file is no MediaWiki dump, is cut short, or declares XML entities.
    """
    with _opened(path) as file:
        try:
            _check_head(file)
            yield from _articles(file, path)
        except EOFError as error:
            raise SourceError("cut short: the compressed data end too early") from error
        except (ParseError, MalformedXML) as error:
            raise SourceError(f"damaged XML, or cut short: {error}") from error


def _opened(path: Path) -> io.BufferedReader[io.RawIOBase]:
    if path.suffix.lower() == ".bz2":
        return io.BufferedReader(cast("io.RawIOBase", bz2.open(path)), _HEAD)
    return io.BufferedReader(path.open("rb", buffering=0), _HEAD)


def _check_head(file: io.BufferedReader[io.RawIOBase]) -> None:
    """A dump has no document type; without one there are no entities to blow up the parser with."""
    head = file.peek(_HEAD)
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
