"""Passages in JSON: what search tools and retrievers return, as objects with a text and more about it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from proxy.openai_api.documents.described import Found, is_url, named, number_of

_TEXTS = (
    "text",
    "content",
    "page_content",
    "pageContent",
    "document_content",
    "passage",
    "chunk",
    "snippet",
    "excerpt",
    "body",
    "raw_content",
    "extra_snippets",
    "highlights",
    "内容",
    "正文",
)
"""Where the text of an object is. Of several, those count that no other one contains."""

_DESCRIPTIONS = ("description", "summary", "abstract", "摘要", "简介")
"""Where it is else; such an object says more in its other values, which are kept behind it, one a line."""

_TITLES = ("title", "name", "filename", "file_name", "file_path", "document_name", "source", "标题", "来源")
_URLS = ("url", "link", "href", "uri", "source_url", "链接")
_NUMBERS = ("number", "id", "ref_id", "citation_id", "编号", "序号")
_ABOUT = ("metadata", "meta", "source", "document_metadata")
"""Where an object keeps what is known about its text, if it is an object too."""

_BOOKKEEPING = frozenset(
    """
    ids index score scores similarity distance distances relevance relevance_score rank position type object
    role status page chunk_index query question search_query queries prompt response_time took total count
    has_more next_page cursor is_error iserror success ok mime_type mimetype favicon thumbnail image images
    lang language token_count tokens embedding embeddings cached follow_up_questions annotations
    """.split()
) | {*_TEXTS, *_DESCRIPTIONS, *_TITLES, *_URLS, *_NUMBERS, *_ABOUT}
"""What is no fact of its own."""

_NESTED = 3
"""How deep JSON may be a string inside of JSON."""


def passages(text: str) -> list[Found]:
    """The objects with a text in a JSON text, in order; none where it is no JSON or has no such object."""
    tree = _parsed(text)
    return [] if tree is None else passages_of(tree, len(text))


def passages_of(tree: Any, extent: int = 0) -> list[Found]:
    """The same of JSON that is parsed already."""
    objects = list(_objects(tree))
    if not any(_text(each) or _description(each) for each in objects):
        return []
    return [passage for each in objects if (passage := _found(each, extent)).text]


def _parsed(text: str) -> Any:
    """The object or the list that a text is, or None."""
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        tree = json.loads(text)
        if "\\ud" in text.lower():
            # JSON can spell half a character, which nothing can encode.
            json.dumps(tree, ensure_ascii=False).encode("utf-8")
    except (ValueError, RecursionError):
        return None
    return tree


def _objects(tree: Any) -> Iterator[Mapping[str, Any]]:
    """All objects that are no part of another one, outer ones first; a string in a list is one."""
    waiting: list[tuple[Any, int]] = [(tree, _NESTED)]
    while waiting:
        value, nested = waiting.pop()
        if isinstance(value, str) and nested and (inner := _parsed(value)) is not None:
            waiting.append((inner, nested - 1))
        elif isinstance(value, str):
            yield {"text": value}
        elif isinstance(value, list):
            waiting += [(child, nested) for child in reversed(value)]
        elif isinstance(value, Mapping):
            yield value
            waiting += [(child, nested) for child in reversed(list(_children(value)))]


def _children(record: Mapping[str, Any]) -> Iterator[Any]:
    """The values that may hold objects: where there is a text, those that are sure to."""
    has_text = bool(_text(record))
    for key, value in record.items():
        if key in _TEXTS:
            if not _joined(value):
                yield value
        elif key in _ABOUT and has_text:
            continue
        elif isinstance(value, Mapping) or (isinstance(value, str) and _parsed(value) is not None):
            yield value
        elif isinstance(value, list) and key not in _BOOKKEEPING:
            yield [child for child in value if not has_text or isinstance(child, Mapping)]


def _found(record: Mapping[str, Any], extent: int) -> Found:
    text = _text(record) or "\n".join(filter(None, [_description(record), *_facts(record)]))
    about = [record, *(record[key] for key in _ABOUT if isinstance(record.get(key), Mapping))]
    number = next(filter(None, (number_of(record.get(key)) for key in _NUMBERS)), None)
    passage = Found(text, number, extent=extent)
    for key in (*_URLS, *_TITLES):
        for each in about:
            value = each.get(key)
            if isinstance(value, str) and value.strip() and (key not in _URLS or is_url(value)):
                passage = named(passage, value)
    return passage


def _text(record: Mapping[str, Any]) -> str:
    texts = dict.fromkeys(filter(None, (_joined(record.get(key)) for key in _TEXTS)))
    return "\n\n".join(text for text in texts if not any(text in other for other in texts if other != text))


def _description(record: Mapping[str, Any]) -> str:
    return next(filter(None, (_joined(record.get(key)) for key in _DESCRIPTIONS)), "")


def _joined(value: Any) -> str:
    """A text, or a list of texts or text parts; "" for what is neither, and for JSON in a string."""
    pieces = value if isinstance(value, list) else [value]
    texts = [_piece(piece) for piece in pieces]
    return "\n\n".join(texts) if all(texts) else ""


def _piece(value: Any) -> str:
    if isinstance(value, Mapping) and value.get("type") == "text":
        value = value.get("text")
    return value.strip() if isinstance(value, str) and _parsed(value) is None else ""


def _facts(record: Mapping[str, Any]) -> Sequence[str]:
    """`key: value` of everything else that is a plain value."""
    return [
        f"{key}: {value if isinstance(value, str) else json.dumps(value)}"
        for key, value in record.items()
        if key.lower() not in _BOOKKEEPING
        and not key.lower().endswith(("_id", "_hash"))
        and isinstance(value, str | int | float)
        and value != ""
        and not (isinstance(value, str) and _parsed(value) is not None)
    ]
