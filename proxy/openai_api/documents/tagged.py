"""Passages between tags: `<source id="1" name="…">` (Open WebUI), `<document index="1">` with `<source>` and
`<document_content>` (Anthropic's advice), `<context>` (Dify), `<file>` in `<context>` (LibreChat).

No XML parser: what clients send is text with tags around it, seldom well formed. A tag that is never closed,
or closed without having been opened, is text. Everything is linear in the length of the text.
"""

from __future__ import annotations

import html
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from proxy.openai_api.documents.described import Found, labelled, named, number_of
from proxy.text.markdown import Span

Role = Literal["text", "name", "number", "number or name", "nothing"]

_WRAPPERS = frozenset(
    """
    context contexts documents docs sources references passages chunks search_results search-results
    retrieved_documents retrieved_context retrieved_docs retrieved_passages reference_material knowledge
    knowledge_base relevant_documents
    """.split()
)
"""What holds passages, or is one where it holds none."""

_ITEMS = frozenset(
    """
    document doc source passage reference chunk search_result search-result webpage web_page document_content
    retrieved_document
    """.split()
)
"""What is a passage wherever it stands."""

_INNER_ITEMS = _ITEMS | frozenset("result file article snippet item knowledge contextitem".split())
"""What is a passage inside of a wrapper; elsewhere such tags are HTML, code or the prompt's own."""

_CHILDREN: Mapping[str, Role] = {
    "document_content": "text",
    "source_context": "text",
    "page_content": "text",
    "pagecontent": "text",
    "content": "text",
    "text": "text",
    "snippet": "text",
    "body": "text",
    "context": "text",
    "contextitem": "text",
    "source": "name",
    "title": "name",
    "name": "name",
    "filename": "name",
    "file_name": "name",
    "url": "name",
    "uri": "name",
    "link": "name",
    "id": "number",
    "index": "number",
    "number": "number",
    "ref_id": "number",
    "source_id": "number or name",
    "document_id": "number or name",
    "type": "nothing",
    "score": "nothing",
}
"""What stands at the start of a passage and says something about it. A name may be an address."""

_NUMBERS = ("id", "index", "number", "n", "ref", "ref_id", "idx")
_TITLES = ("title", "name", "filename", "file_name", "source", "path", "document")
_URLS = ("url", "href", "uri", "link")
_HTML = ("src", "srcset")
"""Attributes of HTML's own `<source>`, which is never closed."""

_TAG = re.compile(
    r"""<(?:(!\[CDATA\[)|(/?)([a-z][\w-]{1,24}+)"""
    r"""((?>\s++[\w:.-]{1,32}+\s*+=\s*+(?>"[^"]{0,500}+"|'[^']{0,500}+'|[^\s"'<>]{1,500}+))*+)\s*+(/?)>)""",
    re.I,
)
_ATTRIBUTE = re.compile(
    r"""([\w:.-]{1,32}+)\s*+=\s*+(?>"([^"]{0,500}+)"|'([^']{0,500}+)'|([^\s"'<>]{1,500}+))"""
)
_CDATA, _CDATA_END = "<![CDATA[", "]]>"
_SAID = re.compile(r"\W{0,16}(?:and|to|or|和|与|到)?\W{0,16}", re.I)
"""What is between two tags that are only talked about: `inside <context> and </context>`."""
_DEPTH = 3


@dataclass(frozen=True, slots=True)
class _Block:
    """`text[start:end]` is from tag to tag, `text[inner:close]` what is between them."""

    name: str
    attributes: str
    start: int
    inner: int
    close: int
    end: int


def regions(text: str) -> list[str]:
    """What stands between tags that hold passages: of a wrapper the inside, of a passage all of it."""
    return [
        text[block.inner : block.close] if block.name in _WRAPPERS else text[block.start : block.end]
        for block in _holding(text)
    ]


def spans(text: str) -> list[Span]:
    """Where the tags of `regions` stand, with what is between them."""
    return [(block.start, block.end) for block in _holding(text)]


def _holding(text: str) -> list[_Block]:
    """The blocks that hold passages, without tags that are only mentioned."""
    return [
        block
        for block in _blocks(text, _WRAPPERS | _ITEMS)
        if not _SAID.fullmatch(text, block.inner, block.close)
    ]


def items(text: str) -> list[Found]:
    """The passages between tags, in order."""
    return [passage for block in _blocks(text, _INNER_ITEMS) if (passage := _item(text, block)).text]


def whole(text: str) -> list[Found]:
    """What stood in a wrapper, as one passage."""
    return [replace(_read(Found(""), text, _DEPTH), extent=len(text))]


def unmarked(text: str) -> str:
    """The text with its entities resolved, and as it is where a CDATA section says so."""
    pieces, position = [], 0
    while (start := text.find(_CDATA, position)) >= 0 and (end := text.find(_CDATA_END, start)) >= 0:
        pieces += [_unescaped(text[position:start]), text[start + len(_CDATA) : end]]
        position = end + len(_CDATA_END)
    return "".join(pieces) + _unescaped(text[position:])


def _unescaped(text: str) -> str:
    try:
        return html.unescape(text)
    except ValueError:  # a numeric entity of thousands of digits
        return text


def _item(text: str, block: _Block) -> Found:
    attributes = _attributes(block.attributes)
    passage = Found("", extent=block.end - block.start)
    for name in (*_TITLES, *_URLS):
        if name in attributes:
            passage = named(passage, attributes[name])
    number = next((number_of(attributes[name]) for name in _NUMBERS if name in attributes), None)
    return _read(replace(passage, number=number), text[block.inner : block.close], _DEPTH)


def _read(passage: Found, inner: str, depth: int) -> Found:
    """The passage with what its leading child elements say, and the text that remains."""
    texts: list[str] = []
    position = 0
    for block in _blocks(inner, frozenset(_CHILDREN)):
        if inner[position : block.start].strip():
            break
        position = block.end
        value, role = inner[block.inner : block.close], _CHILDREN[block.name]
        if role == "text":
            passage = (
                _read(passage, value, depth - 1) if depth else replace(passage, text=unmarked(value).strip())
            )
            texts.append(passage.text)
        else:
            passage = _with_detail(passage, unmarked(value), role)
    rest = unmarked(inner[position:]).strip()
    if texts:
        return replace(passage, text="\n\n".join(filter(None, [*texts, rest])))
    # A passage that is nothing but a title says what the title says.
    return labelled(replace(passage, text=rest or unmarked(inner).strip()))


def _with_detail(passage: Found, value: str, role: Role) -> Found:
    number = number_of(value) if role.startswith("number") else None
    if number is not None:
        return replace(passage, number=passage.number or number)
    return named(passage, value) if role.endswith("name") else passage


def _attributes(text: str) -> dict[str, str]:
    attributes: dict[str, str] = {}
    for match in _ATTRIBUTE.finditer(text):
        value = next(group for group in match.groups()[1:] if group is not None)
        attributes.setdefault(match.group(1).lower(), _unescaped(value))
    return attributes


def _blocks(text: str, names: frozenset[str]) -> list[_Block]:
    """The outermost blocks of those names, in order; a closing tag belongs to the last one that opened."""
    opened: defaultdict[str, list[re.Match[str]]] = defaultdict(list)
    pairs = []
    for tag in _tags(text):
        name = tag.group(3).lower()
        if name not in names or tag.group(5):
            continue
        if not tag.group(2):
            if not any(f"{attribute}=" in tag.group(4).lower() for attribute in _HTML):
                opened[name].append(tag)
        elif opened[name]:
            first = opened[name].pop()
            pairs.append(_Block(name, first.group(4), first.start(), first.end(), tag.start(), tag.end()))
    outermost: list[_Block] = []
    for pair in sorted(pairs, key=lambda pair: pair.start):
        if not outermost or pair.start >= outermost[-1].end:
            outermost.append(pair)
    return outermost


def _tags(text: str) -> Iterator[re.Match[str]]:
    """Every tag but those inside of CDATA sections."""
    skipped = 0
    for match in _TAG.finditer(text):
        if match.start() < skipped:
            continue
        if not match.group(1):
            yield match
        elif skipped >= 0:
            end = text.find(_CDATA_END, match.end())
            # One that is never closed is text, and so are those behind it.
            skipped = end if end >= 0 else -1
