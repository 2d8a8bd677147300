"""A JSON reply to its claims: the sentences of its strings, and its numbers and booleans with their keys."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from proxy.claims.checkable import is_checkable
from proxy.claims.segment import CUTS, MAX_CLAIM, MAX_UNDIVIDED
from proxy.text.markdown import Span
from proxy.text.sentences import sentence_spans
from proxy.types import Claim

_JSON_VALUE = re.compile(
    r'"(?P<string>(?:[^"\\]++|\\.)*+)"(?P<key>\s*+:)?|(?P<scalar>-?[\d.][\d.eE+-]*+|-?[a-zA-Z]++)', re.S
)
_NO_VALUES = frozenset("null NaN Infinity -Infinity".split())
_NAMES = frozenset("name title label subject entity 名称 名字 标题 姓名".split())
_MAX_NAME = 100
_BOOKKEEPING = frozenset(
    """
    id index idx score confidence probability relevance rank page offset limit version success ok status code
    timestamp token_count tokens is_error
    """.split()
)
"""Keys whose values say something about the reply, and nothing about the world."""
_JSON_CHARACTER = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|[^\\]", re.S
)


@dataclass(frozen=True, slots=True)
class _Object:
    """A JSON object. Unlike a dict it keeps keys that are there twice."""

    pairs: list[tuple[str, Any]]


def segment_json(draft: str) -> tuple[Claim, ...]:
    """What the values of a JSON text say; none where the text is no JSON object or array.

    The sentences of its strings, and its numbers and booleans, which are read with their key and, where there
    is one, the name of their object: `Everest, height_m: 8849`. Offsets are into the raw text, `text` is raw
    (with escapes), `plain` is decoded.
    """
    try:
        value = json.loads(draft, object_pairs_hook=_Object)
    except (ValueError, RecursionError):
        return ()
    if not isinstance(value, _Object | list):
        return ()
    claims: list[Claim] = []
    scalars = _scalars(value)
    for match in _JSON_VALUE.finditer(draft):
        if match.group("scalar"):
            claims.append(_json_scalar(match, *next(scalars)))
        elif match.group("key") is None:
            claims += _json_sentences(draft, match.start("string"), match.group("string"))
    return tuple(claims)


def _scalars(value: Any) -> Iterator[tuple[str, str]]:
    """The key of each number, boolean and null of a JSON value, in order, with the name of its object.

    An object's name is what its `name` or `title` says, else the key that it stands under. Numbers of a list
    have the list's key.
    """
    waiting: list[tuple[Any, str, str]] = [(value, "", "")]
    while waiting:
        value, key, name = waiting.pop()
        if isinstance(value, _Object):
            names = (said for each, said in value.pairs if each.lower() in _NAMES and isinstance(said, str))
            own = next(filter(str.strip, names), key)[:_MAX_NAME]
            waiting += [(child, each, own) for each, child in reversed(value.pairs)]
        elif isinstance(value, list):
            waiting += [(child, key, name) for child in reversed(value)]
        elif not isinstance(value, str):
            yield key, name


def _json_scalar(match: re.Match[str], key: str, name: str) -> Claim:
    text = match.group("scalar")
    subject = ", ".join(filter(None, (" ".join(name.split()), " ".join(key.split())[:_MAX_NAME])))
    plain = f"{subject}: {text}" if subject else text
    bookkeeping = key.lower() in _BOOKKEEPING or key.lower().endswith(("_id", "_index"))
    states = bool(key) and text not in _NO_VALUES and not bookkeeping
    return Claim(match.start(), match.end(), text, plain, states and is_checkable(plain))


def _divided(text: str, start: int, end: int) -> Iterator[Span]:
    """A sentence of a JSON string in parts of at most `MAX_CLAIM` code points."""
    while end - start > MAX_CLAIM:
        limit = start + MAX_CLAIM
        matches = (list(pattern.finditer(text, start + MAX_CLAIM // 2, limit)) for pattern in CUTS)
        behind = CUTS[1].search(text, limit, end)
        cut = next((found[-1].end() for found in matches if found), behind.end() if behind else end)
        yield start, start + len(text[start:cut].rstrip())
        start = cut
    yield start, end


def _json_sentences(draft: str, start: int, raw: str) -> Iterator[Claim]:
    """The sentences of one JSON string whose raw text stands at `start`."""
    pieces = [match.group() for match in _JSON_CHARACTER.finditer(raw)]
    offsets = [start]
    for piece in pieces:
        offsets.append(offsets[-1] + len(piece))
    text = json.loads(f'"{raw}"') if "\\" in raw else raw
    parts = (part for sentence in sentence_spans(text) for part in _divided(text, *sentence))
    for first, last in parts:
        left, right = offsets[first], offsets[last]
        plain = " ".join(text[first:last].split())
        if any(char.isalnum() for char in plain) and not plain.startswith(("http://", "https://", "data:")):
            checkable = len(plain) <= MAX_UNDIVIDED and is_checkable(plain)
            yield Claim(left, right, draft[left:right], plain, checkable)
