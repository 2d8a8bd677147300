"""One document for each number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from proxy.types import Document

_GAP = "\n\n"

_Key = tuple[str, str, int]


def numbered_once(documents: Sequence[Document]) -> tuple[Document, ...]:
    """The documents, no two with the same number, none said twice.

    Open WebUI gives all passages of one file its number: those of one number, title and url become one
    document, in which each is a section, so that no passage reaches over two. Where two different documents
    have one number (each turn of a chat counts anew), the later one keeps it and the earlier one has none.
    """
    parts: dict[_Key | str, list[Document]] = {}
    for document in documents:
        key = document.id if document.number is None else (document.title, document.url, document.number)
        parts.setdefault(key, []).append(document)
    last = {document.number: (document.title, document.url) for document in documents}
    said: set[tuple[str, str]] = set()
    kept = []
    for group in parts.values():
        joined = _joined(group)
        if joined.number is not None and last[joined.number] != (joined.title, joined.url):
            joined = replace(joined, number=None)
        kept.append(joined)
    # One that says the same under a number is the better of two.
    numbered = {_content(one) for one in kept if one.number is not None}
    result = []
    for one in kept:
        content = _content(one)
        if one.number is None and (content in said or content in numbered):
            continue
        said.add(content)
        result.append(one)
    return tuple(result)


def _content(document: Document) -> tuple[str, str]:
    return document.url, document.text


def _joined(group: Sequence[Document]) -> Document:
    texts = list(dict.fromkeys(document.text for document in group))
    sections, at = [], 0
    for text in texts[:-1]:
        at += len(text) + len(_GAP)
        sections.append((at, ""))
    return replace(group[0], text=_GAP.join(texts), sections=tuple(sections))
