"""`/v1/chat/completions`, streaming."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from typing import Any

import httpx
import openai
import pytest
from openai import OpenAI
from openai.types.chat import ChatCompletionChunk

from proxy.cli.compose import Library
from tests.scripted_upstream import Hang, Reply, Status, Upstream, tool_calls
from tests.server.asking import QUESTION
from tests.server.facts import FALSE, GREETING, TRUE, TRUE_ELSEWHERE, TRUE_TOO, TRUE_ZH, UNKNOWN
from tests.serving import serving, settings_for

MESSAGES: Any = [{"role": "user", "content": QUESTION}]


def stream(client: OpenAI, model: str = "test", **options: Any) -> list[ChatCompletionChunk]:
    return list(client.chat.completions.create(model=model, messages=MESSAGES, stream=True, **options))


def content_of(chunks: list[ChatCompletionChunk], index: int = 0) -> str:
    choices = [choice for chunk in chunks for choice in chunk.choices if choice.index == index]
    return "".join(choice.delta.content or "" for choice in choices)


def finish_of(chunks: list[ChatCompletionChunk]) -> ChatCompletionChunk:
    (finish,) = [chunk for chunk in chunks if chunk.choices and chunk.choices[0].finish_reason]
    return finish


def events(base_url: str, body: dict[str, Any], timeout: float = 30) -> Iterator[str]:
    """The raw events of a stream."""
    with httpx.stream(
        "POST", f"{base_url}/chat/completions", json={**body, "stream": True}, timeout=timeout
    ) as response:
        assert response.status_code == 200, response.read()
        assert response.headers["content-type"].startswith("text/event-stream")
        yield from (line for line in response.iter_lines() if line)


@pytest.mark.parametrize("model", ["test", "test-litellm"])
def test_the_stream_says_what_the_whole_reply_would(client: OpenAI, upstream: Upstream, model: str) -> None:
    draft = f"{GREETING}\n\n- {TRUE}\n- {TRUE_ELSEWHERE}\n\n{TRUE_ZH}"
    upstream.enqueue(draft, draft)
    once: Any = {"extra_body": {"vouch": {"max_rounds": 0}}}
    chunks = stream(client, model, **once)
    whole = client.chat.completions.create(model=model, messages=MESSAGES, **once)
    assert content_of(chunks) == whole.choices[0].message.content
    finish = finish_of(chunks).model_dump()
    assert finish["references"] == whole.model_dump()["references"]
    assert finish["verification"] == whole.model_dump()["verification"]
    assert finish["choices"][0]["delta"]["annotations"] == [
        annotation.model_dump() for annotation in whole.choices[0].message.annotations or []
    ]


def test_the_shape_of_the_stream(base_url: str, upstream: Upstream) -> None:
    upstream.enqueue(f"{TRUE} {TRUE_ELSEWHERE}")
    lines = list(events(base_url, {"model": "test", "messages": MESSAGES}))
    assert lines[-1] == "data: [DONE]"
    assert all(line.startswith("data: {") for line in lines[:-1])
    chunks = [json.loads(line.removeprefix("data: ")) for line in lines[:-1]]
    assert chunks[0]["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    for chunk in chunks:
        assert chunk["object"] == "chat.completion.chunk"
        assert len(chunk["choices"]) == 1
        assert "usage" not in chunk
    assert len({(chunk["id"], chunk["created"], chunk["model"]) for chunk in chunks}) == 1
    assert [chunk["choices"][0]["finish_reason"] for chunk in chunks].count("stop") == 1
    contents = [chunk["choices"][0]["delta"].get("content") for chunk in chunks]
    assert "".join(filter(None, contents)) == f"{TRUE}[1] {TRUE_ELSEWHERE}[2]"
    assert all(
        content.endswith("]") for content in contents if content
    )  # what is checked at once, in one piece


def test_usage_comes_when_it_is_asked_for(client: OpenAI, upstream: Upstream) -> None:
    counted = {"prompt_tokens": 10, "completion_tokens": 20, "total_tokens": 30}
    upstream.enqueue(Reply(TRUE, usage=counted))
    chunks = stream(client, stream_options={"include_usage": True})
    assert chunks[-1].choices == []
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.total_tokens == 30
    assert all(chunk.usage is None for chunk in chunks[:-1])


def test_the_upstream_is_streamed_and_a_mistake_re_prompted(client: OpenAI, upstream: Upstream) -> None:
    upstream.enqueue(f"{TRUE} {FALSE}", TRUE_TOO)
    chunks = stream(client)
    assert content_of(chunks) == f"{TRUE}[1] {TRUE_TOO}[2]"
    assert finish_of(chunks).model_dump()["verification"]["rounds"] == 1
    assert upstream.requests[0].body["stream"] is True


def test_heartbeats_keep_a_waiting_stream_open(corpus: Library, upstream: Upstream) -> None:
    settings = settings_for(upstream.url, server={"heartbeat": 0.1})
    with serving(settings, corpus) as base_url:
        upstream.enqueue(Reply(TRUE, pace=0.05))
        lines = list(events(base_url, {"model": "test", "messages": MESSAGES}))
    deltas = [json.loads(line.removeprefix("data: "))["choices"][0]["delta"] for line in lines[:-1]]
    assert deltas.count({}) >= 3
    assert "".join(delta.get("content", "") for delta in deltas) == f"{TRUE}[1]"


def test_the_role_chunk_goes_out_at_the_upstreams_first_byte(base_url: str, upstream: Upstream) -> None:
    upstream.enqueue(Reply(TRUE, pace=0.05))
    arrivals: dict[str, float] = {}
    for line in events(base_url, {"model": "test", "messages": MESSAGES}):
        arrivals.setdefault(line, time.monotonic())
    times = list(arrivals.values())
    assert times[-1] - times[0] > 0.5


@pytest.mark.parametrize(
    ("behaviour", "error"),
    [
        (Status(429, retry_after="7"), openai.RateLimitError),
        (Status(400, "bad tool"), openai.BadRequestError),
        (Status(500), openai.InternalServerError),
    ],
)
def test_an_error_before_the_first_byte_is_a_status(
    client: OpenAI, upstream: Upstream, behaviour: Status, error: type[openai.APIStatusError]
) -> None:
    upstream.enqueue(behaviour)
    with pytest.raises(error) as caught:
        stream(client)
    assert caught.value.response.headers.get("retry-after") == behaviour.retry_after


@pytest.mark.parametrize(
    "behaviour",
    [
        Reply(TRUE, drop_after=5, pace=0.03),
        Reply(TRUE, pace=0.01, error={"message": "overheated", "type": "server_error"}),
    ],
)
def test_an_error_after_it_is_an_event(base_url: str, upstream: Upstream, behaviour: Any) -> None:
    upstream.enqueue(behaviour)
    lines = list(events(base_url, {"model": "test", "messages": MESSAGES}))
    assert lines[-1] == "data: [DONE]"
    error = json.loads(lines[-2].removeprefix("data: "))["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert error["message"]
    assert TRUE[:20] not in "".join(lines)


def test_the_sdk_raises_on_a_broken_stream(client: OpenAI, upstream: Upstream) -> None:
    upstream.enqueue(Reply(TRUE, drop_after=5, pace=0.03))
    with pytest.raises(openai.APIError):
        stream(client)


def test_an_upstream_that_hangs_times_out(client: OpenAI, upstream: Upstream) -> None:
    upstream.enqueue(Hang())
    with pytest.raises(openai.APIStatusError) as caught:
        stream(client, "test-hasty")
    assert caught.value.status_code == 504


def test_tool_calls_stream_through(client: OpenAI, upstream: Upstream) -> None:
    calls = tool_calls(("look_up", '{"x": 1}'), ("look_down", '{"y": "二"}'))
    upstream.enqueue(Reply(calls, finish_reason="tool_calls"))
    chunks = stream(client)
    deltas = [call for chunk in chunks for choice in chunk.choices for call in choice.delta.tool_calls or []]
    functions = [(call.index, call.function) for call in deltas if call.function]
    assert [(index, function.name) for index, function in functions if function.name] == [
        (0, "look_up"),
        (1, "look_down"),
    ]
    arguments = ["".join(f.arguments or "" for index, f in functions if index == call) for call in (0, 1)]
    assert arguments == ['{"x": 1}', '{"y": "二"}']
    assert finish_of(chunks).choices[0].finish_reason == "tool_calls"


def test_several_choices_stream_with_their_index(client: OpenAI, upstream: Upstream) -> None:
    upstream.enqueue(Reply(TRUE, UNKNOWN))
    chunks = stream(client, n=2, extra_body={"vouch": {"max_rounds": 0}})
    assert content_of(chunks, 0) == f"{TRUE}[1]"
    assert content_of(chunks, 1) == f"{UNKNOWN} ⚠️\n\n⚠️ This statement was not found in the sources."
    finishes = [chunk.model_dump() for chunk in chunks if chunk.choices and chunk.choices[0].finish_reason]
    assert [finish["choices"][0]["index"] for finish in finishes] == [0, 1]
    assert finishes[1]["verification"]["claims"][0]["verdict"] == "unsupported"


def test_reasoning_comes_before_the_content(client: OpenAI, upstream: Upstream) -> None:
    upstream.enqueue(Reply({"reasoning_content": "Let me think.", "content": TRUE}))
    deltas = [chunk.choices[0].delta for chunk in stream(client)]
    reasoning = [(delta.model_extra or {}).get("reasoning_content") for delta in deltas]
    said = [index for index, delta in enumerate(deltas) if delta.content]
    thought = [index for index, piece in enumerate(reasoning) if piece]
    assert "".join(piece for piece in reasoning if piece) == "Let me think."
    assert thought[-1] < said[0]


def test_unknown_fields_come_with_the_finish_chunk(client: OpenAI, upstream: Upstream) -> None:
    upstream.enqueue(Reply(TRUE, extra={"system_fingerprint": "fp", "novel": [1]}))
    finish = finish_of(stream(client))
    assert finish.system_fingerprint == "fp"
    assert finish.model_dump()["novel"] == [1]


def test_an_upstream_that_says_nothing_ends_well(client: OpenAI, upstream: Upstream) -> None:
    upstream.enqueue(Reply(""))
    chunks = stream(client)
    assert content_of(chunks) == ""
    assert finish_of(chunks).model_dump()["verification"]["claims"] == []


def test_fail_closed_ends_the_stream_with_an_error(base_url: str, upstream: Upstream) -> None:
    upstream.enqueue(TRUE)
    vouch = {"fail_closed": True, "deadline": 0.000001}
    lines = list(events(base_url, {"model": "test", "messages": MESSAGES, "vouch": vouch}))
    assert json.loads(lines[-2].removeprefix("data: "))["error"]["code"] == "verification_unavailable"
    assert TRUE not in "".join(lines)


def test_the_stream_helper_of_the_sdk_works(client: OpenAI, upstream: Upstream) -> None:
    upstream.enqueue(TRUE)
    with client.chat.completions.stream(model="test", messages=MESSAGES) as helper:
        final = helper.get_final_completion()
    assert final.choices[0].message.content == f"{TRUE}[1]"


@pytest.mark.parametrize("streaming", [True, False])
async def test_a_client_that_leaves_cancels_the_upstream(
    base_url: str, upstream: Upstream, streaming: bool
) -> None:
    upstream.enqueue(Reply(TRUE, pace=0.3))
    body = {"model": "test", "messages": MESSAGES, "stream": streaming}
    async with httpx.AsyncClient() as leaver:
        asking = asyncio.ensure_future(leaver.post(f"{base_url}/chat/completions", json=body))
        await asyncio.to_thread(wait_for_request, upstream)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
    await asyncio.to_thread(upstream.wait_for_disconnect)


def wait_for_request(upstream: Upstream) -> None:
    until = time.monotonic() + 10
    while not upstream.requests and time.monotonic() < until:
        time.sleep(0.02)
