"""Every body, chunk and event is what OpenAI's published schema says; fields beyond it are allowed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import httpx
import pytest

from tests.openai_schema.schema import event_faults, faults
from tests.scripted_upstream import Answer, Reply, Status, Upstream, tool_calls
from tests.server.asking import QUESTION
from tests.server.facts import FALSE, TRUE, TRUE_ELSEWHERE, UNKNOWN

Json = dict[str, Any]

LOOK_UP: Json = {"type": "function", "function": {"name": "look_up", "parameters": {"type": "object"}}}
CHAT: Json = {"model": "test", "messages": [{"role": "user", "content": QUESTION}]}
ONCE: Json = {"vouch": {"max_rounds": 0}}
TWO_CALLS = tool_calls(("look_up", '{"x": 1}'), ("look_up", '{"x": 2}'))

CHATS: Mapping[str, tuple[Sequence[Answer], Json]] = {
    "cited": ([f"{TRUE} {TRUE_ELSEWHERE}"], ONCE),
    "nothing decides it": ([UNKNOWN], ONCE),
    "re-prompted": ([FALSE, TRUE], {"vouch": {"max_rounds": 1}}),
    "empty": ([""], ONCE),
    "two choices": ([Reply(TRUE, UNKNOWN)], {**ONCE, "n": 2}),
    "tool calls": ([Reply(TWO_CALLS, finish_reason="tool_calls")], {"tools": [LOOK_UP]}),
    "logprobs": ([Reply(TRUE, logprobs=True)], {"logprobs": True}),
    "JSON": ([json.dumps({"height": TRUE})], {"response_format": {"type": "json_object"}}),
    "refusal": ([Reply({"content": None, "refusal": "I can't."})], {}),
    "reasoning": ([Reply({"reasoning_content": "Well.", "content": TRUE})], ONCE),
    "cut short": ([Reply(TRUE[:40], finish_reason="length")], ONCE),
    "filtered": ([Reply(TRUE[:40], finish_reason="content_filter")], ONCE),
    "markdown profile": ([TRUE], {**ONCE, "model": "test@markdown"}),
    "skipped": ([TRUE], {"vouch": {"max_rounds": 0, "deadline": 0.000001}}),
}
MODES = ("sentence", "buffer", "passthrough")


@pytest.mark.parametrize("case", CHATS)
def test_a_chat_is_a_chat_completion(base_url: str, upstream: Upstream, case: str) -> None:
    answers, options = CHATS[case]
    upstream.enqueue(*answers)
    response = httpx.post(f"{base_url}/chat/completions", json={**CHAT, **options}, timeout=30)
    assert response.status_code == 200, response.text
    assert faults("CreateChatCompletionResponse", response.json()) == []


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("with_usage", [True, False])
@pytest.mark.parametrize("case", CHATS)
def test_every_chunk_is_a_chat_completion_chunk(
    base_url: str, upstream: Upstream, case: str, with_usage: bool, mode: str
) -> None:
    answers, options = CHATS[case]
    upstream.enqueue(*answers)
    body = {**CHAT, **options, "stream_options": {"include_usage": with_usage}}
    if mode != "sentence" or "max_rounds" in options.get("vouch", {}):
        corrected: Json = {
            "buffer": {"max_rounds": 1},
            "sentence": {"max_rounds": 1, "correction": "sentences"},
        }
        asked = options.get("vouch", {})
        rounds = corrected.get(mode, {}) if asked.get("max_rounds") else asked
        body["vouch"] = {"stream_mode": mode, **rounds}
    chunks = events(f"{base_url}/chat/completions", body)
    assert len(chunks) >= 2
    for chunk in chunks:
        assert faults("CreateChatCompletionStreamResponse", chunk) == [], chunk
    assert [chunk["choices"] for chunk in chunks].count([]) == int(with_usage)


@pytest.mark.parametrize(
    ("answers", "options", "status"),
    [
        ([], {"vouch": {"unknown": 1}}, 400),
        ([], {"model": "missing"}, 404),
        ([Status(400, "bad tool")], {}, 400),
        ([Status(429, "slow down", retry_after="1")], {}, 429),
        ([Status(500)], {}, 500),
        ([Status(403, body={"detail": "not here"})], {}, 403),
        ([TRUE], {"vouch": {"fail_closed": True, "deadline": 0.000001}}, 422),
    ],
)
@pytest.mark.parametrize("route", ["chat/completions", "responses"])
def test_an_error_is_an_error_response(
    base_url: str, upstream: Upstream, route: str, answers: Sequence[Answer], options: Json, status: int
) -> None:
    upstream.enqueue(*answers)
    response = httpx.post(f"{base_url}/{route}", json={**CHAT, "input": QUESTION, **options}, timeout=30)
    assert response.status_code == status, response.text
    assert faults("ErrorResponse", response.json()) == []


def test_an_error_in_a_stream_is_an_error_response(base_url: str, upstream: Upstream) -> None:
    upstream.enqueue(Reply(f"{TRUE} {TRUE_ELSEWHERE}", drop_after=40, pace=0.01))
    *chunks, error = events(f"{base_url}/chat/completions", CHAT)
    for chunk in chunks:
        assert faults("CreateChatCompletionStreamResponse", chunk) == []
    assert faults("ErrorResponse", error) == []


def test_a_missing_route_is_an_error_response(base_url: str) -> None:
    response = httpx.get(f"{base_url}/nowhere")
    assert response.status_code == 404
    assert faults("ErrorResponse", response.json()) == []


def test_the_models_are_a_list_of_models(base_url: str) -> None:
    assert faults("ListModelsResponse", httpx.get(f"{base_url}/models").json()) == []
    assert faults("Model", httpx.get(f"{base_url}/models/test-raw").json()) == []


def test_what_is_passed_through_stays_what_it_is(base_url: str, upstream: Upstream) -> None:
    embedded = httpx.post(f"{base_url}/embeddings", json={"model": "test", "input": ["a", "b"]}, timeout=30)
    assert faults("CreateEmbeddingResponse", embedded.json()) == []
    completed = httpx.post(f"{base_url}/completions", json={"model": "test", "prompt": "a"}, timeout=30)
    assert faults("CreateCompletionResponse", completed.json()) == []


RESPONSES: Mapping[str, tuple[Sequence[Answer], Json]] = {
    "cited": ([f"{TRUE} {TRUE_ELSEWHERE}"], ONCE),
    "re-prompted": ([FALSE, TRUE], {"vouch": {"max_rounds": 1}}),
    "empty": ([""], ONCE),
    "tool calls": ([Reply(TWO_CALLS, finish_reason="tool_calls")], {}),
    "refusal": ([Reply({"content": None, "refusal": "I can't."})], {}),
    "cut short": ([Reply(TRUE[:40], finish_reason="length")], ONCE),
}


@pytest.mark.parametrize("case", RESPONSES)
def test_a_response_is_a_response(base_url: str, upstream: Upstream, case: str) -> None:
    answers, options = RESPONSES[case]
    upstream.enqueue(*answers)
    body = {"model": "test", "input": QUESTION, **options}
    response = httpx.post(f"{base_url}/responses", json=body, timeout=30)
    assert response.status_code == 200, response.text
    assert faults("Response", response.json()) == []


@pytest.mark.parametrize("case", RESPONSES)
def test_every_event_is_a_response_event(base_url: str, upstream: Upstream, case: str) -> None:
    answers, options = RESPONSES[case]
    upstream.enqueue(*answers)
    found = events(f"{base_url}/responses", {"model": "test", "input": QUESTION, **options})
    assert len(found) >= 4
    for event in found:
        assert event_faults(event) == [], event


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("CreateChatCompletionResponse", {"id": "1", "object": "chat.completion", "choices": []}),
        ("CreateChatCompletionStreamResponse", {"id": "1", "choices": [{"index": "first"}]}),
        ("ErrorResponse", {"error": "no object"}),
        ("ResponseTextDeltaEvent", {"type": "response.output_text.delta"}),
    ],
)
def test_the_schema_tells_what_is_wrong(name: str, value: Json) -> None:
    assert faults(name, value)


def events(url: str, body: Json) -> list[Json]:
    """The data of a stream's events, but `[DONE]`."""
    with httpx.stream("POST", url, json={**body, "stream": True}, timeout=30) as response:
        assert response.status_code == 200, response.read()
        lines = [line for line in response.iter_lines() if line.startswith("data: {")]
    return [json.loads(line.removeprefix("data: ")) for line in lines]
