"""JSON, recognised whole and while it is written."""

from __future__ import annotations

import pytest

from proxy.engine.incremental_verifier import holds_json, is_json, may_become_json

VALUES = [
    '{"title": "A \\"b\\" \\u00e9 \\ud83d\\ude00 c. D e.", "n": [1, -2.5e-3, true, null, {"a": []}]}',
    '["One. Two.", "三。"]',
    '{\n  "queries": ["q1",\n "q2"]\n}\n',
    "  []",
    "{}",
]
PROSE = [
    "[1] According to it.",
    "[Paris](http://x) is big.",
    "{ not json",
    "[ ] to do",
    '{"a": 1} and more',
    "Hello",
    "42",
]


@pytest.mark.parametrize("value", VALUES)
def test_every_beginning_of_json_may_become_json(value: str) -> None:
    assert is_json(value)
    assert all(may_become_json(value[:end]) for end in range(len(value) + 1))


@pytest.mark.parametrize("text", PROSE)
def test_prose_is_not_json(text: str) -> None:
    assert not is_json(text)
    assert not may_become_json(text)


def test_json_is_found_with_little_around_it() -> None:
    assert holds_json('Here: ```json\n{"a": 1}\n```', 20)
    assert not holds_json('Here: ```json\n{"a": 1}\n```' + "x" * 30, 20)
    assert not holds_json("} {", 20)
    assert not holds_json("no braces", 20)
