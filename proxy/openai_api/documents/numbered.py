"""Passages under a number: `Document [1](Title: X): …` (ALCE), `Source 1:` (LlamaIndex),
`[Document 1] (Source: x)`, `[1] Title`, `文档1：`, `【1】`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from proxy.openai_api.documents.announced import ends_material
from proxy.openai_api.documents.described import MAX_NUMBER, Found, is_url, labelled, named, number_of
from proxy.text.markdown import Span

_KINDS = (
    "documents?|docs?|sources?|passages?|contexts?|references?|ref|(?:search )?results?|chunks?|excerpts?"
    "|snippets?|web ?pages?|evidence|citations?|参考资料|参考文档|参考文献|参考|文档|资料|文献|文章|片段"
    "|段落|来源|检索结果|搜索结果|网页|材料|引用|证据|上下文|知识"
)
_LEAD = r"^[ \t]{0,8}(?:[-*>#]{1,6} ?)?\*{0,2}"
_INSIDE = r"(?:[ \t]?[-:：|,][ \t]?([^\]】>)\n]{1,200}))?"
_AFTER = r"\*{0,2}[ \t]{0,4}"
_TITLE = r"(?:[（(](?:title|source|file|url|标题|来源)[:：][ \t]?([^\n]{0,300}?)[)）](?=[:：\s]))?"


@dataclass(frozen=True, slots=True)
class _Shape:
    """A header: group 1 is the number, the others are titles where it says one.

    A `bare` one, `[1]`, has nothing but its number, so that in running text it is believed only where the
    numbers are consecutive and there are two at least.
    """

    header: re.Pattern[str]
    bare: bool = False


def _header(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.I | re.M)


_SHAPES = (
    _Shape(
        _header(
            rf"{_LEAD}(?:{_KINDS})[ \t]{{0,2}}[\[【(#]?[ \t]?(\d{{1,7}})[\]】)]?{_AFTER}{_TITLE}{_AFTER}"
            r"(?:[:：][ \t]*\*{0,2}|[ \t]?[-–—][ \t]|$)"
        )
    ),
    _Shape(
        _header(
            rf"{_LEAD}[\[【<(](?:{_KINDS})[ \t]{{0,2}}[#:：]?[ \t]?(\d{{1,7}}){_INSIDE}[\]】>)]"
            rf"{_AFTER}{_TITLE}{_AFTER}[:：]?"
        )
    ),
    _Shape(_header(rf"{_LEAD}[\[【]\^?(\d{{1,7}})[\]】](?!\(){_AFTER}{_TITLE}{_AFTER}[:：]?"), bare=True),
)

_RULE = re.compile(r"\s*+(?:(?:-{3,}+|={3,}+|\*{3,}+)\s*+)?$")
_TITLE_LINE = re.compile(r"[^\n]{1,200}(?=\n)")
_SENTENCE_ENDS = tuple(".!?。！？；;，,")
_PARAGRAPH = re.compile(r"\n[ \t\r]*+\n")


def passages(text: str) -> list[Found]:
    """The passages of a text that is all material: each reaches to the next header, the last to the end."""
    return _passages(text, closed=True)


def in_running_text(text: str) -> list[Found]:
    """Those of a message that says other things too.

    There the last one ends before the line that ends the material (`Question:`, say), and where there is
    none, or the others have one paragraph each, with its paragraph.
    """
    return _passages(text, closed=False)


def spans(text: str) -> list[Span]:
    """Where the passages of `in_running_text` stand, with their headers."""
    headers = _headers(text, closed=False)
    ends = [header.start() for header in headers[1:]]
    return [
        (header.start(), end)
        for header, end in zip(headers, [*ends, _last_end(text, headers)] if headers else (), strict=True)
    ]


def _passages(text: str, *, closed: bool) -> list[Found]:
    headers = _headers(text, closed=closed)
    return _cut(text, headers, closed) if headers else []


def _headers(text: str, *, closed: bool) -> Sequence[re.Match[str]]:
    """The headers of the first shape that the text has any of."""
    for shape in _SHAPES:
        headers = _rising(shape.header.finditer(text), strictly=shape.bare)
        if headers and (closed or not shape.bare or _consecutive(headers)):
            return headers
    return ()


def _consecutive(headers: Sequence[re.Match[str]]) -> bool:
    numbers = [int(header.group(1)) for header in headers]
    return len(numbers) > 1 and numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def _rising(headers: Iterable[re.Match[str]], *, strictly: bool) -> list[re.Match[str]]:
    """Those whose numbers rise: what stands between and does not is a list or a footnote of a passage."""
    rising: list[re.Match[str]] = []
    last = -1
    for header in headers:
        number = int(header.group(1))
        if number <= MAX_NUMBER and (number > last or (number == last and not strictly)):
            rising.append(header)
            last = number
    return rising


def _cut(text: str, headers: Sequence[re.Match[str]], closed: bool) -> list[Found]:
    last = text[headers[-1].end() : len(text) if closed else _last_end(text, headers)]
    cut = (
        _passage(header, text) for header, text in zip(headers, [*_inner(text, headers), last], strict=True)
    )
    return [passage for passage in cut if passage.text and not is_url(passage.text)]


def _inner(text: str, headers: Sequence[re.Match[str]]) -> list[str]:
    """The texts of all passages but the last."""
    return [text[header.end() : following.start()] for header, following in pairwise(headers)]


def _last_end(text: str, headers: Sequence[re.Match[str]]) -> int:
    """Where the last passage of a running text ends."""
    start = headers[-1].end()
    several = any(_PARAGRAPH.search(inner.strip()) for inner in _inner(text, headers))
    return start + _end(text[start:], several=several)


def _end(text: str, *, several: bool) -> int:
    """Where the last passage of a running text ends; `several`: the others have several paragraphs."""
    end = ends_material(text)
    if end is not None and several:
        return end
    begin = len(text) - len(text.lstrip())
    paragraph = _PARAGRAPH.search(text, begin)
    ends = [position for position in (end, paragraph.start() if paragraph else None) if position is not None]
    return min(ends, default=len(text))


def _passage(header: re.Match[str], inner: str) -> Found:
    text = inner.strip()
    separator = text.rfind("\n")
    if separator >= 0 and _RULE.fullmatch(text, separator):
        text = text[:separator].rstrip()
    passage = Found(text, number_of(header.group(1)), extent=len(header.group()) + len(inner))
    if title := next(filter(None, header.groups()[1:]), ""):
        passage = named(passage, title)
    read = labelled(passage)
    if read.title or (line := _TITLE_LINE.match(read.text)) is None:
        return read
    # The line stays in the text: it may as well be its first sentence.
    name = line.group().strip(" \t*#")
    return read if name.endswith(_SENTENCE_ENDS) else replace(read, title=name)
