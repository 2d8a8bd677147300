"""A Responses body as the chat request that it amounts to."""

from __future__ import annotations

from typing import Any

import pytest

from proxy.errors import RequestError
from proxy.openai_api.responses.request import chat_body, parse_response_request

PIXEL = "data:image/png;base64,AAAA"
CALL = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}", "id": "fc_1"}
CALLED = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
OUTPUT = {"type": "function_call_output", "call_id": "c1", "output": "42"}


def messages(*items: Any, **body: Any) -> Any:
    return chat_body({"input": list(items), **body})["messages"]


def said(text: str, **more: Any) -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": [{"type": "url_citation"}], "logprobs": []}
    content = [part]
    return {
        "type": "message",
        "id": "m",
        "status": "completed",
        "role": "assistant",
        "content": content,
        **more,
    }


def test_a_plain_text_is_the_users() -> None:
    assert chat_body({"model": "m", "input": "Hi"}) == {
        "model": "m",
        "messages": [{"role": "user", "content": "Hi"}],
    }


def test_instructions_come_first() -> None:
    assert messages({"role": "developer", "content": "b"}, instructions="a") == [
        {"role": "system", "content": "a"},
        {"role": "developer", "content": "b"},
    ]


def test_parts_are_converted_and_a_lone_text_is_a_string() -> None:
    picture = {"type": "input_image", "image_url": PIXEL, "detail": "low"}
    document = {"type": "input_file", "file_data": "data:application/pdf;base64,AA", "filename": "a.pdf"}
    sound = {"type": "input_audio", "input_audio": {"data": "AA", "format": "wav"}}
    text = {"type": "input_text", "text": "Look."}
    lone, many = messages(
        {"role": "user", "content": [text]},
        {"role": "user", "content": [text, picture, document, sound]},
    )
    assert lone["content"] == "Look."
    assert many["content"] == [
        {"type": "text", "text": "Look."},
        {"type": "image_url", "image_url": {"url": PIXEL, "detail": "low"}},
        {"type": "file", "file": {"file_data": "data:application/pdf;base64,AA", "filename": "a.pdf"}},
        sound,
    ]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_turns_text_and_its_calls_are_one_message(order: tuple[int, int]) -> None:
    turn = [said("Wait."), CALL]
    first, second = (turn[at] for at in order)
    asked = {"role": "user", "content": "?"}
    assert messages(asked, {"type": "reasoning", "id": "r", "summary": []}, first, second, OUTPUT) == [
        asked,
        {"role": "assistant", "content": "Wait.", "tool_calls": [CALLED]},
        {"role": "tool", "tool_call_id": "c1", "content": "42"},
    ]


def test_parallel_calls_are_one_message_and_later_turns_others() -> None:
    other = {**CALL, "call_id": "c2"}
    found = messages(CALL, other, OUTPUT, {**OUTPUT, "call_id": "c2"}, said("a"), said("b"))
    assert [message["role"] for message in found] == ["assistant", "tool", "tool", "assistant", "assistant"]
    assert [call["id"] for call in found[0]["tool_calls"]] == ["c1", "c2"]
    assert [message["content"] for message in found[3:]] == ["a", "b"]


def test_marks_in_a_reply_that_comes_back_are_removed_and_the_users_are_not() -> None:
    body = {"input": [said("Paris is in France.[1][2]"), {"role": "user", "content": "What is a[1]?"}]}
    request = parse_response_request(body)
    assert [message["content"] for message in request.chat.body["messages"]] == [
        "Paris is in France.",
        "What is a[1]?",
    ]
    assert request.chat.question == "What is a[1]?"


def test_a_json_schema_is_nested() -> None:
    form = {"type": "json_schema", "name": "n", "schema": {"type": "object"}, "strict": True}
    body = {"input": "x", "text": {"format": form}}
    assert chat_body(body)["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "n", "schema": {"type": "object"}, "strict": True},
    }
    assert parse_response_request(body).format == "json"
    assert "response_format" not in chat_body({"input": "x", "text": {"format": {"type": "text"}}})


def test_allowed_tools_are_nested() -> None:
    tool = {"type": "function", "name": "f", "parameters": {}}
    choice = {"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "f"}]}
    assert chat_body({"input": "x", "tools": [tool], "tool_choice": choice})["tool_choice"] == {
        "type": "allowed_tools",
        "allowed_tools": {"mode": "required", "tools": [{"type": "function", "function": {"name": "f"}}]},
    }


def test_what_goes_with_tools_is_left_out_without_them() -> None:
    body = chat_body({"input": "x", "tools": [], "tool_choice": "auto", "parallel_tool_calls": True})
    assert body.keys() == {"messages"}


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("gpt-5-mini", "max_completion_tokens"),
        ("openai/o3", "max_completion_tokens"),
        ("gpt-oss-20b", "max_tokens"),
        ("llama3.2", "max_tokens"),
        (None, "max_tokens"),
    ],
)
def test_the_bound_has_the_name_that_the_model_knows(model: str | None, name: str) -> None:
    assert chat_body({"model": model, "input": "x", "max_output_tokens": 7})[name] == 7


def test_nothing_asks_the_upstream_to_store() -> None:
    body = chat_body(
        {"input": "x", "store": True, "metadata": {"a": "b"}, "include": [], "truncation": "auto"}
    )
    assert body.keys() == {"messages"}


def test_null_is_the_same_as_nothing() -> None:
    keys = "instructions tools tool_choice text reasoning max_output_tokens top_logprobs include".split()
    keys += ["metadata", "previous_response_id", "conversation", "background", "prompt", "n", "vouch"]
    request = parse_response_request({"input": "x", **dict.fromkeys(keys)})
    assert request.chat.body.keys() <= {"messages", "vouch"}


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({}, "input"),
        ({"input": []}, "input"),
        ({"input": 3}, "input"),
        ({"messages": [{"role": "user", "content": "x"}]}, "input"),
        ({"input": ["x"]}, "input.0"),
        ({"input": [{}]}, "input.0.type"),
        ({"input": [{"type": ["message"]}]}, "input.0.type"),
        ({"input": [{"type": "web_search_call"}]}, "input.0.type"),
        ({"input": [{"role": "tool", "content": "x"}]}, "input.0.role"),
        ({"input": [{"role": "user"}]}, "input.0.content"),
        ({"input": [{"role": "user", "content": ["x"]}]}, "input.0.content.0"),
        ({"input": [{"role": "user", "content": [{"type": "input_video"}]}]}, "input.0.content.0.type"),
        ({"input": [{"role": "user", "content": [{"type": "input_text"}]}]}, "input.0.content.0.text"),
        (
            {"input": [{"role": "user", "content": [{"type": "input_image", "file_id": "f"}]}]},
            "input.0.content.0.image_url",
        ),
        (
            {"input": [{"role": "user", "content": [{"type": "input_file", "file_url": "u"}]}]},
            "input.0.content.0.file_url",
        ),
        (
            {"input": [{"role": "user", "content": [{"type": "input_file"}]}]},
            "input.0.content.0.file_data",
        ),
        ({"input": [{**CALL, "arguments": {}}]}, "input.0.arguments"),
        ({"input": [{"type": "function_call_output", "output": "x"}]}, "input.0.call_id"),
        ({"input": [{**OUTPUT, "output": {"a": 1}}]}, "input.0.output"),
        ({"input": "x", "instructions": ["y"]}, "instructions"),
        ({"input": "x", "n": 2}, "n"),
        ({"input": "x", "max_output_tokens": "9"}, "max_output_tokens"),
        ({"input": "x", "max_output_tokens": 0}, "max_output_tokens"),
        ({"input": "x", "metadata": "y"}, "metadata"),
        ({"input": "x", "tools": {}}, "tools"),
        ({"input": "x", "tools": ["f"]}, "tools.0"),
        ({"input": "x", "tools": [{"type": "function"}]}, "tools.0.name"),
        ({"input": "x", "tools": [{"type": "custom", "name": "f"}]}, "tools.0.type"),
        ({"input": "x", "tools": [{"type": "function", "name": "f"}], "tool_choice": "any"}, "tool_choice"),
        (
            {"input": "x", "tools": [{"type": "function", "name": "f"}], "tool_choice": {"type": "mcp"}},
            "tool_choice.type",
        ),
        ({"input": "x", "text": {"format": {"type": "grammar"}}}, "text.format.type"),
        ({"input": "x", "text": {"format": {"type": "json_schema", "name": "n"}}}, "text.format.schema"),
        ({"input": "x", "reasoning": "high"}, "reasoning"),
        ({"input": "x", "reasoning": {"effort": 3}}, "reasoning.effort"),
        ({"input": "x", "top_logprobs": True}, "top_logprobs"),
        ({"input": "x", "stream": "yes"}, "stream"),
        ({"input": "x", "vouch": []}, "vouch"),
    ],
)
def test_what_is_wrong_is_named_as_the_client_knows_it(body: Any, param: str) -> None:
    with pytest.raises(RequestError) as caught:
        parse_response_request(body)
    assert caught.value.param == param
    assert caught.value.message
