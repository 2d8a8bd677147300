"""Completions as replies."""

from __future__ import annotations

import json
from typing import Any

import pytest

from proxy.errors import UpstreamProtocolError
from proxy.types import Json, Usage
from proxy.upstream.completion import as_chunk, to_reply
from proxy.upstream.safe_json import loads


def completion(content: Any, **more: Any) -> Json:
    return {"choices": [{"index": 0, "message": {"role": "assistant", "content": content}}], **more}


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("Paris.", "Paris."),
        ("", ""),
        (None, ""),
        (7, ""),
        (
            [
                {"type": "text", "text": "a"},
                {"type": "thinking", "text": "b"},
                {"text": "c"},
                {"type": "text"},
                5,
            ],
            "ac",
        ),
    ],
)
def test_the_text_of_a_message(content: Any, text: str) -> None:
    assert to_reply(completion(content)).drafts[0].text == text


@pytest.mark.parametrize(
    ("choice", "editable"),
    [
        ({"message": {"content": "a"}}, True),
        ({"message": {"content": "a", "tool_calls": [], "function_call": None}, "logprobs": None}, True),
        ({"message": {"content": "a", "tool_calls": [{"id": "1"}]}}, False),
        ({"message": {"content": "a", "function_call": {"name": "f"}}}, False),
        ({"message": {"content": "a"}, "logprobs": {"content": [{"token": "a"}]}}, False),
        ({"message": {"content": [{"type": "text", "text": "a"}]}}, True),
        ({"message": {"content": [{"type": "text", "text": "a"}, {"type": "image_url"}]}}, False),
        ({"message": {"content": None}}, False),
    ],
)
def test_text_is_editable_where_nothing_else_depends_on_it(choice: Json, editable: bool) -> None:
    assert to_reply({"choices": [choice]}).drafts[0].editable is editable


def test_the_wire_object_is_kept_as_it_came() -> None:
    raw = completion("a", x={"y": 1})
    reply = to_reply(raw)
    assert reply.raw is raw
    assert reply.drafts[0].choice is raw["choices"][0]


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"prompt_tokens": 2, "completion_tokens": 3}, Usage(2, 3)),
        ({"prompt_tokens": None, "completion_tokens": 3.0}, Usage(0, 3)),
        ({"prompt_tokens": -1}, Usage()),
        (None, Usage()),
    ],
)
def test_usage_is_whatever_can_be_read(usage: Any, expected: Usage) -> None:
    assert to_reply(completion("a", usage=usage)).usage == expected


@pytest.mark.parametrize(
    "raw",
    [
        None,
        [],
        "x",
        {},
        {"choices": None},
        {"choices": []},
        {"choices": [1]},
        {"choices": [{"message": None}]},
    ],
)
def test_no_choices_is_a_protocol_error(raw: Any) -> None:
    with pytest.raises(UpstreamProtocolError):
        to_reply(raw)


def test_a_completion_as_a_chunk() -> None:
    raw = {
        "id": "1",
        "choices": [{"index": 0, "message": {"tool_calls": [{"id": "a"}]}, "finish_reason": "stop"}],
    }
    chunk = as_chunk(raw)
    assert chunk["object"] == "chat.completion.chunk"
    assert chunk["choices"] == [
        {"index": 0, "delta": {"tool_calls": [{"index": 0, "id": "a"}]}, "finish_reason": "stop"}
    ]


@pytest.mark.parametrize("data", [b"", b"{", b"nul", b"[" * 200_000, b"1" * 5000, b"\xff{}"])
def test_what_is_not_json_is_a_protocol_error(data: bytes) -> None:
    with pytest.raises(UpstreamProtocolError):
        loads(data)


def test_json_that_could_not_be_sent_on_is_mended() -> None:
    assert loads(b'["\\ud83c\\udf89", "\\ud83c", "a\\udf89b", "\xff"]') == [
        "🎉",
        "\ufffd",
        "a\ufffdb",
        "\ufffd",
    ]
    assert loads(json.dumps("🎉世")) == "🎉世"
    json.dumps(loads(b'{"\\ud800": 1}'), ensure_ascii=False).encode()
