"""JSON as upstreams send it, made safe to send on, and JSON for them: by orjson where it gives the same."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import numpy as np
import orjson

from proxy.errors import UpstreamProtocolError

MAX_DEPTH = 100
"""Values inside one another, in what an upstream sends. Replies have about ten."""

STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.S)
"""A string of JSON. One that does not end goes on to the end of the text, which keeps the search linear."""
_SQUARE = bytes.maketrans(b"{}", b"[]")
_OTHERS = bytes(set(range(256)) - set(b"[]{}"))
_BETWEEN = np.int8(92)
"""The code between those of an opening and a closing bracket: one is a step down, one a step up."""
_DIGITS = bytes.maketrans(b"123456789", b"000000000")
_LONG = b"0" * 19
"""Digits of a number that may have more than 64 bits, of which orjson makes a float."""


def loads(data: bytes | str) -> Any:
    """Any JSON value. Bytes that are no UTF-8 and halves of surrogate pairs become U+FFFD, since they could
    not be encoded again. Raises `UpstreamProtocolError`, also for what can't be sent on: numbers that JSON
    has no word for (NaN, 1e400), and more than `MAX_DEPTH` values inside one another."""
    raw = data if isinstance(data, bytes) else data.encode("utf-8", "replace")
    if _too_deep(raw):
        raise UpstreamProtocolError(
            f"The upstream answered with JSON that is nested more than {MAX_DEPTH} deep."
        )
    try:
        if _LONG not in raw.translate(_DIGITS):
            return orjson.loads(raw)
    except ValueError:
        pass  # what orjson refuses may still be mended
    return _mended(data)


def dumps(value: Any) -> bytes:
    """JSON in UTF-8, without spaces. Numbers that JSON has no word for (NaN) are null; halves of surrogate
    pairs stay escaped. Raises `TypeError`, `ValueError`, `RecursionError` for what is no JSON."""
    try:
        return orjson.dumps(value)
    except TypeError:
        # Whole numbers of more than 64 bits, halves of surrogate pairs, deep nesting.
        return json.dumps(value, separators=(",", ":")).encode()


def _too_deep(raw: bytes) -> bool:
    """Whether more than `MAX_DEPTH` values stand inside one another."""
    if raw.count(b"[") + raw.count(b"{") <= MAX_DEPTH:
        return False
    brackets = np.frombuffer(STRING.sub(b"", raw).translate(_SQUARE, _OTHERS), np.int8)
    return bool(np.cumsum(_BETWEEN - brackets, dtype=np.int32).max(initial=0) > MAX_DEPTH)


def _finite(number: str) -> float:
    value = float(number)
    if not math.isfinite(value):
        raise UpstreamProtocolError(
            f"The upstream answered with the number {number[:20]}, which can't be written in JSON."
        )
    return value


def _mended(data: bytes | str) -> Any:
    text = data.decode("utf-8", "replace") if isinstance(data, bytes) else data
    try:
        value = json.loads(text, parse_constant=_finite, parse_float=_finite)
        if "\\ud" in text or "\\uD" in text:
            value = _without_lone_surrogates(value)
    except (ValueError, RecursionError) as error:
        raise UpstreamProtocolError("The upstream answered with something that is not JSON.") from error
    return value


def _without_lone_surrogates(value: Any) -> Any:
    text = json.dumps(value, ensure_ascii=False)
    if text.isascii():
        return value
    return json.loads(text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace"))
