"""Wikitext to prose: templates, references, tables, files, categories and markup are gone."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import mwparserfromhell
from mwparserfromhell.nodes import ExternalLink, Heading, HTMLEntity, Node, Tag, Template, Text, Wikilink
from mwparserfromhell.wikicode import Wikicode

from index_builder.readers.blocks import Block

_DROPPED_TAGS = frozenset(
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


def wikitext_blocks(wikitext: str, dropped_prefixes: frozenset[str]) -> Iterator[Block]:
    """The blocks of one page.

    Args:
        wikitext: the page's source.
        dropped_prefixes: the wiki's names for files and categories, lower case, in its languages. Links
            into these namespaces are no prose.
    """
    run: list[str] = []
    for node in mwparserfromhell.parse(wikitext, skip_style_tags=True).nodes:
        if isinstance(node, Heading):
            yield from _paragraphs("".join(run))
            run.clear()
            yield Block(_clean(_plain(node.title, dropped_prefixes)), heading=True)
        else:
            run.append(_shown(node, dropped_prefixes))
    yield from _paragraphs("".join(run))


def _plain(code: Wikicode | None, dropped: frozenset[str]) -> str:
    return "".join(_shown(node, dropped) for node in code.nodes) if code is not None else ""


def _shown(node: Node, dropped: frozenset[str]) -> str:
    """What a reader of the page would see of a node; its depth is bounded by the parser (40)."""
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
    """Blank lines part paragraphs; a single line end is a space, as MediaWiki shows it."""
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
    text = _BOLD.sub("", text.replace(_LINE, ""))
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
