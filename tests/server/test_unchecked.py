"""The raw alias: the client gets the upstream's very bytes, whatever they are."""

from __future__ import annotations

import asyncio
import json
import socket
from typing import Any

import httpx
import openai
import pytest
from openai import OpenAI

from tests.scripted_upstream import Drop, Hang, Raw, Reply, Status, Upstream
from tests.server.asking import ask

MESSAGES: Any = [{"role": "user", "content": "Hi"}]
BODY: Any = {"model": "test-raw", "messages": MESSAGES}

ODD_STREAM = (
    b": keep-alive\r\n\r\n"
    b'data:{"id":"1",  "choices":[{"index":0,"delta":{"content":"\xe4\xb8\x96"}}],"x_odd":[1e400]}\n\n'
    b'event: odd\nid: 7\ndata: {"choices": [], "obfuscation": "k2"}\n\n\n'
    b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}], "usage":{"total_tokens": 3.0}}\n\n'
    b"data: [DONE]\n\n"
    b": bye"
)


def post(base_url: str, body: Any = BODY, **options: Any) -> httpx.Response:
    return httpx.post(f"{base_url}/chat/completions", json=body, timeout=30, **options)


def test_the_bytes_of_a_reply_are_the_upstreams_own(base_url: str, upstream: Upstream) -> None:
    data = b'{ "choices":[ {"message":{"content":"\\u4e16 [1]"},"big":12345678901234567890123} ],\n"x":1e5}\n'
    upstream.enqueue(Raw(data))
    answer = post(base_url)
    assert (answer.status_code, answer.content) == (200, data)
    assert answer.headers["content-type"].startswith("application/json")
    assert answer.headers["x-request-id"]


@pytest.mark.parametrize("options", [{}, {"stream_options": {"include_usage": True}}])
def test_the_bytes_of_a_stream_are_the_upstreams_own(
    base_url: str, upstream: Upstream, options: dict[str, Any]
) -> None:
    upstream.enqueue(Raw(ODD_STREAM, "text/event-stream"))
    answer = post(base_url, {**BODY, "stream": True, **options})
    assert answer.content == ODD_STREAM
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.headers["x-accel-buffering"] == "no"
    assert {key: upstream.requests[0].body.get(key) for key in ("stream", "stream_options")} == {
        "stream": True,
        "stream_options": options.get("stream_options"),
    }


@pytest.mark.parametrize("size", [1, 7, 64])
def test_however_a_stream_is_cut_its_bytes_are_the_same(base_url: str, upstream: Upstream, size: int) -> None:
    said = Reply("Grüße, 世界! 🎉", size=2, write_size=size)
    upstream.enqueue(said, said)
    body = {**BODY, "stream": True}
    direct = httpx.post(f"{upstream.url}/chat/completions", json={**body, "model": "test-model"})
    assert post(base_url, body).content == direct.content


def test_the_request_goes_out_as_it_came_but_for_what_is_ours(base_url: str, upstream: Upstream) -> None:
    history = [
        {"role": "user", "content": "Keep this [1]."},
        {"role": "assistant", "content": "So it is.[1][2]", "annotations": [], "references": [{"n": 1}]},
        {"role": "user", "content": "Why?"},
    ]
    body = {
        "model": "test-raw",
        "messages": history,
        "vouch": {"top_k": 2},
        "seed": 2**70,
        "odd": {"a": None},
        "stream": False,
    }
    post(base_url, body)
    assert upstream.requests[0].body == {
        "model": "test-model",
        "messages": [history[0], {"role": "assistant", "content": "So it is."}, history[2]],
        "seed": 2**70,
        "odd": {"a": None},
        "stream": False,
    }
    assert upstream.requests[0].headers["authorization"] == "Bearer sk-upstream"


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("behaviour", "status", "code"),
    [
        (Status(429, "slow down", retry_after="7"), 429, "told"),
        (Status(400, "too long", error={"code": "context_length_exceeded"}), 400, "context_length_exceeded"),
        (Drop(), 502, "upstream_unreachable"),
        (Raw(b""), 502, "upstream_malformed"),
        (Raw(b"<html>Wrong door</html>", "text/html"), 502, "upstream_malformed"),
        (Raw(b'{"error": {"message": "no", "code": 503}}'), 503, "503"),
        (Raw(b'data: {"error": {"message": "no", "code": 503}}\n\n', "text/event-stream"), 503, "503"),
    ],
)
def test_what_the_upstream_gets_wrong_is_told_as_in_checked_chats(
    base_url: str, upstream: Upstream, behaviour: Any, status: int, code: str, stream: bool
) -> None:
    if isinstance(behaviour, Raw) and behaviour.data.startswith(b"data") and not stream:
        status, code = 502, "upstream_malformed"
    upstream.enqueue(behaviour, behaviour)  # a connection that was in use before is given a second chance
    answer = post(base_url, {**BODY, "stream": stream})
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
    assert answer.headers.get("retry-after") == getattr(behaviour, "retry_after", None)
    assert "sk-upstream" not in answer.text


def test_a_reply_that_quotes_an_error_is_none(base_url: str, upstream: Upstream) -> None:
    data = b'{"error": null, "choices": [{"message": {"content": "an \\"error\\""}}]}'
    upstream.enqueue(Raw(data))
    assert post(base_url).content == data


@pytest.mark.parametrize("cut", [{"drop_after": 3}, {"drop_after": 3, "write_size": 10}])
def test_a_stream_that_breaks_off_ends_with_an_error(
    base_url: str, upstream: Upstream, cut: dict[str, Any]
) -> None:
    upstream.enqueue(Reply("Hello there", pace=0.02, **cut))
    lines = [line for line in post(base_url, {**BODY, "stream": True}).text.splitlines() if line]
    assert lines[-1] == "data: [DONE]"
    chunks = [json.loads(line.removeprefix("data: ")) for line in lines[:-1]]
    assert chunks[-1]["error"]["code"] == "upstream_broke_off"
    assert "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in chunks[:-1]) == "Hello th"


@pytest.mark.parametrize(
    "data",
    [
        b'data: {"choices":[{"delta":{"content":"Hel"},"finish_reason":null}]}\n\n',
        b'data: {"choices":[{"delta":{"content":"Hel"},"finish_reason":null}]}\n\ndata: {"choi',
    ],
)
def test_a_stream_that_just_stops_ends_with_an_error(base_url: str, upstream: Upstream, data: bytes) -> None:
    upstream.enqueue(Raw(data, "text/event-stream"))
    lines = [line for line in post(base_url, {**BODY, "stream": True}).text.splitlines() if line]
    assert [list(json.loads(line[6:])) for line in lines[:-1]] == [["choices"], ["error"]]
    assert lines[-1] == "data: [DONE]"


def test_a_stream_without_done_is_whole_when_finished(base_url: str, upstream: Upstream) -> None:
    data = b'data: {"choices":[{"delta":{"content":"Hello"},"finish_reason": "stop"}]}\n\n'
    upstream.enqueue(Raw(data, "text/event-stream"))
    assert post(base_url, {**BODY, "stream": True}).content == data


def test_an_upstream_that_falls_silent_ends_a_stream_with_an_error(base_url: str, upstream: Upstream) -> None:
    upstream.enqueue(Reply("Hello there", linger=5.0, done=False))
    text = post(base_url, {**BODY, "model": "test-hasty-raw", "stream": True}).text
    assert "upstream_timeout" in text
    assert text.endswith("data: [DONE]\n\n")


def test_a_server_that_can_not_stream_gives_one_event(base_url: str, upstream: Upstream) -> None:
    upstream.enqueue(Raw(json.dumps(Reply("Hello").completion({"model": "m"})).encode()))
    lines = [line for line in post(base_url, {**BODY, "stream": True}).text.splitlines() if line]
    assert json.loads(lines[0][6:])["choices"][0]["delta"]["content"] == "Hello"
    assert lines[1:] == ["data: [DONE]"]


@pytest.mark.parametrize("behaviour", [Hang(), Reply("Hello " * 100, pace=0.05)])
async def test_a_client_that_leaves_ends_the_upstreams_work(
    base_url: str, upstream: Upstream, behaviour: Any
) -> None:
    upstream.enqueue(behaviour)
    address = httpx.URL(base_url)
    data = json.dumps({**BODY, "stream": True}).encode()
    head = (
        "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
        f"content-length: {len(data)}\r\n\r\n"
    ).encode()
    with socket.create_connection((address.host, address.port or 80)) as connection:
        connection.sendall(head + data)
        await asyncio.to_thread(upstream.wait_for_request)
    await asyncio.to_thread(upstream.wait_for_disconnect, 30)


def test_large_bodies_go_through_whole(base_url: str, upstream: Upstream) -> None:
    text = "Grüße 世界 " * 150_000
    upstream.enqueue(Reply(text))
    answer = post(base_url, {**BODY, "messages": [{"role": "user", "content": text}]})
    assert answer.json()["choices"][0]["message"]["content"] == text
    assert upstream.requests[0].body["messages"][0]["content"] == text


def test_a_failure_that_may_pass_is_asked_again(base_url: str, upstream: Upstream) -> None:
    upstream.enqueue(Status(503), "Hello")
    answer = post(base_url, {**BODY, "model": "test-stubborn-raw"})
    assert answer.json()["choices"][0]["message"]["content"] == "Hello"
    assert len(upstream.requests) == 2


@pytest.mark.parametrize("model", ["test-litellm-raw", "vouch/extractive-raw"])
def test_models_without_bytes_of_their_own_answer_too(client: OpenAI, upstream: Upstream, model: str) -> None:
    upstream.enqueue("Hello", "Hello")
    whole = ask(client, model=model).choices[0].message.content
    chunks = list(client.chat.completions.create(model=model, messages=MESSAGES, stream=True))
    assert whole
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
    assert all(chunk.choices for chunk in chunks)


def test_a_wrong_parameter_is_named(client: OpenAI, upstream: Upstream) -> None:
    with pytest.raises(openai.BadRequestError, match="top_kk"):
        ask(client, model="test-raw", top_kk=1)
    assert not upstream.requests


@pytest.mark.parametrize("stream", [False, True])
def test_a_key_that_stands_for_none_takes_no_word_out_of_a_reply(
    base_url: str, upstream: Upstream, stream: bool
) -> None:
    for key in ("null", "Paris"):
        upstream.enqueue(Reply("Paris is null and void."))
        headers = {"authorization": f"Bearer {key}"}
        assert "***" not in post(base_url, {**BODY, "stream": stream}, headers=headers).text
