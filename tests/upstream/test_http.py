"""The direct client against a real server: what goes out, what comes back, and hanging up."""

from __future__ import annotations

import asyncio
import json
import time
from contextlib import aclosing, suppress
from dataclasses import replace

import pytest
from aiohttp import ClientSession, web

from proxy.aio import ASKER, Asker
from proxy.errors import (
    ConfigError,
    UpstreamError,
    UpstreamTimeoutError,
)
from proxy.types import Json, Usage
from proxy.upstream.completion import collect
from proxy.upstream.endpoint import Endpoint
from proxy.upstream.http import _PIECE, _STREAM_BYTES, _STREAM_BYTES_A_SECOND, LARGE_ANSWER, HTTPUpstream
from tests.scripted_upstream import Hang, Raw, Reply, Status, Upstream, tool_calls
from tests.upstream.asking import KEY, chat


async def test_a_reply_comes_whole_and_with_fields_we_do_not_know(
    http: HTTPUpstream, upstream: Upstream
) -> None:
    upstream.enqueue(Reply({"content": "Köln 世界", "odd": [1]}, extra={"x_groq": {"id": "r"}}))
    reply = await http.complete(chat("Where is it?"))
    assert reply.drafts[0].text == "Köln 世界"
    assert reply.raw["x_groq"] == {"id": "r"}
    assert reply.raw["choices"][0]["message"]["odd"] == [1]
    assert reply.usage == Usage(3, 2)


async def test_the_request_goes_out_as_it_came_but_for_model_and_stream(
    http: HTTPUpstream, upstream: Upstream
) -> None:
    await http.complete(chat("Hi", unheard_of={"a": 1}, stream=True, stream_options={"include_usage": True}))
    request = upstream.requests[0]
    assert request.body == {
        "model": "ours",
        "messages": [{"role": "user", "content": "Hi"}],
        "unheard_of": {"a": 1},
    }
    assert request.path == "/v1/chat/completions"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.headers["content-type"] == "application/json"
    assert request.headers["user-agent"].startswith("vouch/")


async def test_parameters_and_headers_of_the_configuration(endpoint: Endpoint, upstream: Upstream) -> None:
    llm = HTTPUpstream(replace(endpoint, params={"temperature": 0, "seed": 1}, headers={"x-team": "a"}))
    await llm.complete(chat(temperature=0.5))
    await llm.close()
    assert {"temperature": 0.5, "seed": 1}.items() <= upstream.requests[0].body.items()
    assert upstream.requests[0].headers["x-team"] == "a"


@pytest.mark.parametrize("size", [1, 3, 7, None])
async def test_a_stream_adds_up_however_its_bytes_are_cut(
    size: int | None, http: HTTPUpstream, upstream: Upstream
) -> None:
    said = Reply("Grüße, 世界! 🎉", "two", write_size=size, logprobs=True, size=2)
    upstream.enqueue(said, said)
    streamed = await collect(http.stream(chat()))
    whole = await http.complete(chat())
    assert [d.text for d in streamed.drafts] == [d.text for d in whole.drafts] == ["Grüße, 世界! 🎉", "two"]
    assert streamed.raw == whole.raw
    assert upstream.requests[0].body["stream"] is True
    assert upstream.requests[0].body["stream_options"] == {"include_usage": True}


async def test_stream_options_of_the_client_are_kept(http: HTTPUpstream, upstream: Upstream) -> None:
    options = {"include_usage": False, "include_obfuscation": False}
    await collect(http.stream(chat(stream_options=options)))
    assert upstream.requests[0].body["stream_options"] == {
        "include_usage": True,
        "include_obfuscation": False,
    }


async def test_a_server_that_refuses_stream_options_is_asked_once_more_without(
    http: HTTPUpstream, upstream: Upstream
) -> None:
    upstream.enqueue(Status(400, "Unknown field: stream_options"), "Hello")
    assert (await collect(http.stream(chat()))).drafts[0].text == "Hello"
    assert "stream_options" not in upstream.requests[1].body
    upstream.enqueue(Status(400, "Unknown field: stream_options"), Status(400, "stream_options again"))
    with pytest.raises(UpstreamError, match="again"):
        await collect(http.stream(chat()))
    assert len(upstream.requests) == 4


async def test_a_server_that_can_not_stream_gives_one_chunk(http: HTTPUpstream, upstream: Upstream) -> None:
    upstream.enqueue(Raw(json.dumps(Reply(tool_calls(("f", "{}"))).completion({"model": "m"})).encode()))
    reply = await collect(http.stream(chat()))
    assert reply.raw["choices"][0]["message"]["tool_calls"][0]["function"] == {"name": "f", "arguments": "{}"}


async def test_the_key_of_the_client_is_not_used_otherwise(http: HTTPUpstream, upstream: Upstream) -> None:
    await http.complete(chat(api_key="sk-of-the-client"))
    assert upstream.requests[0].headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("message", [{"content": None}, {"content": ""}, {}])
async def test_a_reply_that_says_nothing_is_an_empty_draft(
    message: Json, stream: bool, http: HTTPUpstream, upstream: Upstream
) -> None:
    upstream.enqueue(Reply(message))
    reply = await (collect(http.stream(chat())) if stream else http.complete(chat()))
    assert [draft.text for draft in reply.drafts] == [""]


async def test_a_stream_without_done_is_whole_when_finished(http: HTTPUpstream, upstream: Upstream) -> None:
    upstream.enqueue(Reply("Hello", done=False))
    assert (await collect(http.stream(chat()))).drafts[0].text == "Hello"


async def test_the_time_that_the_reader_takes_does_not_count(endpoint: Endpoint, upstream: Upstream) -> None:
    llm = HTTPUpstream(replace(endpoint, timeout=0.3))
    upstream.enqueue(Reply("aa", "bb", size=1))
    count = 0
    async for _ in llm.stream(chat()):
        count += 1
        await asyncio.sleep(0.1)
    await llm.close()
    assert count >= 4


async def test_text_that_comes_faster_than_it_can_be_seen_comes_in_few_chunks(
    http: HTTPUpstream, upstream: Upstream
) -> None:
    upstream.enqueue(Reply("word " * 4000, size=5))
    chunks = [chunk async for chunk in http.stream(chat())]
    assert "".join(delta.content for chunk in chunks for delta in chunk.deltas) == "word " * 4000
    assert len(chunks) < 800


class Comments:
    """A stream of comments without an end, as fast as they are read."""

    async def respond(self, request: web.Request, _body: Json) -> web.StreamResponse:
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        with suppress(ConnectionError):
            while True:
                await response.write(b": hello\n\n" * 1000)
                await asyncio.sleep(0)
        return response


async def test_comments_that_never_end_are_no_reply(endpoint: Endpoint, upstream: Upstream) -> None:
    llm = HTTPUpstream(replace(endpoint, timeout=0.3))
    upstream.enqueue(Comments())
    begun = time.monotonic()
    with pytest.raises(UpstreamTimeoutError):
        await collect(llm.stream(chat()))
    await llm.close()
    assert time.monotonic() - begun < 10


async def test_text_that_comes_slowly_comes_as_it_was_written(http: HTTPUpstream, upstream: Upstream) -> None:
    upstream.enqueue(Reply("abcd", size=1, pace=0.05))
    contents = [delta.content async for chunk in http.stream(chat()) for delta in chunk.deltas]
    assert [content for content in contents if content] == [*"abcd"]


async def test_cancelling_a_call_hangs_up_at_once(http: HTTPUpstream, upstream: Upstream) -> None:
    upstream.enqueue(Hang())
    task = asyncio.create_task(http.complete(chat()))
    await asyncio.to_thread(upstream.wait_for_request)
    task.cancel()
    await asyncio.to_thread(upstream.wait_for_disconnect, 2)
    with pytest.raises(asyncio.CancelledError):
        await task
    assert upstream.requests[0].disconnected


async def test_closing_a_stream_hangs_up_at_once(http: HTTPUpstream, upstream: Upstream) -> None:
    upstream.enqueue(Reply("Hello " * 100, pace=0.05))
    async with aclosing(http.stream(chat())) as chunks:  # type: ignore[type-var]
        await anext(chunks)
    await asyncio.to_thread(upstream.wait_for_disconnect, 2)


async def test_cancelling_the_reader_of_a_stream_hangs_up_at_once(
    http: HTTPUpstream, upstream: Upstream
) -> None:
    upstream.enqueue(Reply("Hello " * 100, pace=0.05))
    task = asyncio.create_task(collect(http.stream(chat())))
    await asyncio.to_thread(upstream.wait_for_request)
    task.cancel()
    await asyncio.to_thread(upstream.wait_for_disconnect, 2)
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_connections_are_reused_and_cookies_are_not(http: HTTPUpstream, upstream: Upstream) -> None:
    upstream.enqueue(Status(500, headers={"set-cookie": "who=me"}))
    with pytest.raises(UpstreamError):
        await http.complete(chat())
    for _ in range(3):
        await http.complete(chat())
        await collect(http.stream(chat()))
    assert all("cookie" not in request.headers for request in upstream.requests)
    assert len({request.port for request in upstream.requests}) == 1


async def test_a_stream_is_over_soon_after_done(http: HTTPUpstream, upstream: Upstream) -> None:
    upstream.enqueue(Reply("Hello", linger=60.0))
    started = time.monotonic()
    assert (await collect(http.stream(chat()))).drafts[0].text == "Hello"
    assert time.monotonic() - started < 2
    await asyncio.to_thread(upstream.wait_for_disconnect, 2)


async def test_many_calls_at_once(http: HTTPUpstream) -> None:
    replies = await asyncio.gather(*(http.complete(chat(str(n))) for n in range(200)))
    assert [reply.drafts[0].text for reply in replies] == [f"Echo: {n}" for n in range(200)]


async def test_a_given_session_is_used_and_left_open(endpoint: Endpoint) -> None:
    async with ClientSession() as session:
        llm = HTTPUpstream(endpoint, session)
        await llm.complete(chat())
        await llm.close()
        assert not session.closed


async def test_it_may_be_used_after_it_was_closed(http: HTTPUpstream) -> None:
    await http.complete(chat())
    await http.close()
    assert (await http.complete(chat())).drafts[0].text == "Echo: Hi"


@pytest.mark.parametrize(
    "base", [None, "", "127.0.0.1:1", "ftp://x/v1", "http://", "http://[", "file:///etc"]
)
def test_an_address_that_can_not_be_called_is_a_configuration_error(base: str | None) -> None:
    with pytest.raises(ConfigError, match="api_base of openai/ours"):
        HTTPUpstream(Endpoint("openai/ours", base))


def test_a_key_and_a_user_in_the_address_are_a_configuration_error() -> None:
    with pytest.raises(ConfigError, match="only one") as caught:
        HTTPUpstream(Endpoint("openai/ours", f"http://me:{KEY}@127.0.0.1/v1", "other"))
    assert KEY not in str(caught.value)


@pytest.mark.parametrize(
    ("suffix", "path"),
    [("", "/v1/chat/completions"), ("/", "/v1/chat/completions"), ("/?v=2", "/v1/chat/completions")],
)
async def test_the_route_follows_the_address(
    suffix: str, path: str, endpoint: Endpoint, upstream: Upstream
) -> None:
    llm = HTTPUpstream(replace(endpoint, api_base=upstream.url + suffix))
    await llm.complete(chat())
    await llm.close()
    assert upstream.requests[0].path == path
    assert upstream.requests[0].query == ("v=2" if "?" in suffix else "")


async def test_a_proxy_of_the_environment_is_used(
    monkeypatch: pytest.MonkeyPatch, upstream: Upstream
) -> None:
    monkeypatch.setenv("http_proxy", upstream.url.removesuffix("/v1"))
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    llm = HTTPUpstream(Endpoint("openai/ours", "http://somewhere.invalid/v1"))
    assert (await llm.complete(chat())).drafts[0].text == "Echo: Hi"
    await llm.close()
    assert upstream.requests[0].headers["host"] == "somewhere.invalid"


async def test_a_stream_that_is_faster_than_any_llm_has_the_pace_of_its_key(
    http: HTTPUpstream, upstream: Upstream
) -> None:
    """What it takes to parse its chunks holds up all others."""
    text = "word " * 160_000

    async def asked(key: str, text: str = text) -> float:
        ASKER.set(Asker(key))
        upstream.enqueue(Reply(text, size=2_000))
        begun = time.monotonic()
        assert (await collect(http.stream(chat()))).drafts[0].text == text
        return time.monotonic() - begun

    short, paced, free = await asyncio.gather(asked("b", "word"), asked("a"), asked(""))
    assert paced > (len(text) - _STREAM_BYTES - _PIECE) / _STREAM_BYTES_A_SECOND
    assert free < paced
    assert short < paced


async def test_large_answers_of_a_key_are_taken_one_by_one_with_pauses(
    http: HTTPUpstream, upstream: Upstream
) -> None:
    """What it takes to parse them holds up all others."""

    async def asked(key: str) -> float:
        ASKER.set(Asker(key))
        await http.complete(chat())
        return time.monotonic()

    large = Reply({"content": "x" * (LARGE_ANSWER + 100_000)})
    for _ in range(2):
        upstream.enqueue(large)
    times = sorted(await asyncio.gather(asked("a"), asked("a")))
    assert times[1] - times[0] > LARGE_ANSWER / 4_000_000
    for _ in range(2):
        upstream.enqueue(large)
    third, other = await asyncio.gather(asked("a"), asked("b"))
    assert other < third
    upstream.enqueue(large, Reply({"content": "small"}))
    fourth, small = await asyncio.gather(asked("a"), asked("a"))
    assert small < fourth
