"""A passage as a client wrote it into a message, and what its first lines say about it."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

MAX_NUMBER = 1_000_000

_MAX_LABELS = 8
_MAX_LINE = 500
_DIGITS = re.compile(r"\d{1,7}")
_URL = re.compile(r"https?://\S+", re.I)
_LABEL = re.compile(r"[ \t]*([^\W\d][\w -]{0,24}?)[ \t]*[:：][ \t]*")
_FIELDS = {
    "title": "title",
    "name": "title",
    "file": "title",
    "filename": "title",
    "file_name": "title",
    "file name": "title",
    "file_path": "title",
    "name of source file": "title",
    "document": "title",
    "source": "title",
    "标题": "title",
    "题目": "title",
    "文件名": "title",
    "来源": "title",
    "出处": "title",
    "url": "url",
    "link": "url",
    "uri": "url",
    "链接": "url",
    "网址": "url",
    "page": "",
    "page_label": "",
    "score": "",
    "相关度": "",
    "页码": "",
    "content": "text",
    "text": "text",
    "snippet": "text",
    "内容": "text",
    "正文": "text",
}
"""What a line `Label: value` before a passage's text is about; an empty one is skipped."""


@dataclass(frozen=True, slots=True)
class Found:
    """A passage of a message.

    `number` is the client's, from 1 to `MAX_NUMBER`, or None. `title` and `url` are empty where it gave none.
    `extent` is how many characters of the message, markup included, it was read from.
    """

    text: str
    number: int | None = None
    title: str = ""
    url: str = ""
    extent: int = 0


def number_of(value: Any) -> int | None:
    """A number that a document can have, out of an integer or its digits."""
    if isinstance(value, str) and _DIGITS.fullmatch(value.strip()):
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MAX_NUMBER:
        return value
    return None


def is_url(text: str) -> bool:
    """Whether the text is an address on the web and nothing else."""
    return _URL.fullmatch(text.strip()) is not None


def named(passage: Found, name: str) -> Found:
    """With the name as its title, or as its url where it is one, unless it has them."""
    name = name.strip()
    if is_url(name):
        return passage if passage.url else replace(passage, url=name)
    return passage if passage.title else replace(passage, title=name)


def labelled(passage: Found) -> Found:
    """Without the lines `Title: …`, `URL: …` and so on that stand before its text, which are read.

    A passage that has nothing else keeps them.
    """
    text, position = passage.text, 0
    for _ in range(_MAX_LABELS):
        match = _LABEL.match(text, position)
        field = _FIELDS.get(match.group(1).lower()) if match else None
        if match is None or field is None:
            break
        if field == "text":
            position = match.end()
            break
        end = text.find("\n", match.end())
        if end < 0 or end - match.end() > _MAX_LINE:
            break
        value = text[match.end() : end].strip()
        if field == "url" and is_url(value):
            passage = replace(passage, url=passage.url or value)
        elif field == "title":
            passage = named(passage, value)
        position = end + 1
        if text[position : position + 1] == "\n":
            position += 1
            break
    rest = text[position:].strip()
    return replace(passage, text=rest or text.strip())
