"""Whether a text is one JSON object or array, which a program reads, also while it is still being written."""

from __future__ import annotations

import json

_NUMBERS_AND_NAMES = (*("-", ".", "e+", "e-", "E+", "E-"), *("true", "false", "null", "NaN", "-Infinity"))
"""What a text may break off in, to the parser's surprise: numbers and names."""
_UNFINISHED = ("Unterminated string", "Invalid \\escape", "Invalid \\uXXXX escape")
_LONGEST_ESCAPE = 12


def is_json(text: str) -> bool:
    """Whether the text is one JSON object or array. A bare number or string may be prose."""
    return text.lstrip()[:1] in ("{", "[") and _parses(text)


def may_become_json(text: str) -> bool:
    """Whether the text is the beginning of a JSON object or array, or all of one."""
    stripped = text.strip()
    if stripped[:1] not in ("{", "["):
        return not stripped
    try:
        json.loads(stripped)
    except json.JSONDecodeError as error:
        return _breaks_off(stripped, error)
    except (ValueError, RecursionError):
        return False
    return True


def holds_json(text: str, most_around: int) -> bool:
    """Whether the text is one JSON object with at most so many characters around it, as models write it (in a
    code block, behind an announcement) and programs find it."""
    start, end = text.find("{"), text.rfind("}") + 1
    return 0 <= start < end and len(text) - (end - start) <= most_around and _parses(text[start:end])


def _parses(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _breaks_off(text: str, error: json.JSONDecodeError) -> bool:
    """Whether the parser only failed because the text ends there."""
    if error.msg.startswith("Unterminated string"):
        return True
    if error.msg.startswith(_UNFINISHED):
        return error.pos >= len(text) - _LONGEST_ESCAPE
    rest = text[error.pos :]
    return any(literal.startswith(rest) for literal in _NUMBERS_AND_NAMES)
