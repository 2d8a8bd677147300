"""One document for each number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate

from proxy.types import Document

_GAP = "\n\n"

_Content = tuple[str, str]


def numbered_once(messages: Sequence[Sequence[Document]]) -> tuple[Document, ...]:
    """The documents of all messages, no two with the same number, none said twice.

    Open WebUI gives all passages of one file its number: those of one message with one number, title and url
    become one document, in which each is a section, so that no passage reaches over two. Where two other
    documents have one number (each turn of a chat counts anew), the later keeps it and the earlier has none.
    """
    documents = [document for message in messages for document in _files(message)]
    last = {document.number: document.id for document in documents}
    settled = [
        document if last[document.number] == document.id else replace(document, number=None)
        for document in documents
    ]
    # One that says the same under a number is the better of two.
    contents = {_content(document) for document in settled if document.number is not None}
    kept = []
    for document in settled:
        if document.number is not None or _content(document) not in contents:
            kept.append(document)
            contents.add(_content(document))
    return tuple(kept)


def _files(message: Sequence[Document]) -> list[Document]:
    parts: dict[tuple[str, str, int] | str, list[Document]] = {}
    for document in message:
        key = document.id if document.number is None else (document.title, document.url, document.number)
        parts.setdefault(key, []).append(document)
    return [_joined(group) for group in parts.values()]


def _content(document: Document) -> _Content:
    return document.url, document.text


def _joined(group: Sequence[Document]) -> Document:
    texts = list(dict.fromkeys(document.text for document in group))
    ends = accumulate(len(text) + len(_GAP) for text in texts[:-1])
    return replace(group[0], text=_GAP.join(texts), sections=tuple((end, "") for end in ends))
