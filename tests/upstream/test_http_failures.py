"""The direct client against a server that fails, in each way that servers do."""

from __future__ import annotations

import asyncio
import json
import traceback
from dataclasses import replace
from typing import Any

import pytest

from proxy.errors import (
    ConfigError,
    UpstreamConnectionError,
    UpstreamError,
    UpstreamProtocolError,
    UpstreamTimeoutError,
)
from proxy.upstream.completion import collect
from proxy.upstream.endpoint import Endpoint
from proxy.upstream.failures import BrokenOffError
from proxy.upstream.http import HTTPUpstream
from tests.scripted_upstream import Drop, Hang, Raw, Reply, Status, Upstream
from tests.upstream.asking import KEY, chat

CLOSED_PORT = "http://127.0.0.1:1/v1"


async def failure(http: HTTPUpstream, *, stream: bool = False) -> UpstreamError:
    with pytest.raises(UpstreamError) as caught:
        await (collect(http.stream(chat())) if stream else http.complete(chat()))
    assert KEY not in "".join(traceback.format_exception(caught.value))
    return caught.value


@pytest.mark.parametrize("stream", [False, True])
async def test_status_message_and_rate_limits_of_the_upstream_come_through(
    stream: bool, http: HTTPUpstream, upstream: Upstream
) -> None:
    headers = {
        "X-RateLimit-Remaining": "0",
        "x-should-retry": "true",
        "set-cookie": "a=b",
        "retry-after-ms": "7000",
    }
    upstream.enqueue(Status(429, "Slow down", retry_after="7", headers=headers, error={"param": "n"}))
    error = await failure(http, stream=stream)
    assert (error.status, error.type, error.code, error.param) == (429, "test_error", "told", "n")
    assert error.message == "openai/ours answered 429: Slow down"
    assert error.headers == {
        "retry-after": "7",
        "retry-after-ms": "7000",
        "x-ratelimit-remaining": "0",
        "x-should-retry": "true",
    }


async def test_a_404_asks_whether_the_address_lacks_its_version(
    endpoint: Endpoint, upstream: Upstream
) -> None:
    bare = HTTPUpstream(replace(endpoint, api_base=upstream.url.removesuffix("/v1")))
    try:
        error = await failure(bare)
    finally:
        await bare.close()
    assert error.status == 404
    assert error.message.startswith("openai/ours answered 404: ")
    assert error.message.endswith("(is `/v1` missing in api_base?)")


async def test_a_404_behind_a_version_asks_nothing(http: HTTPUpstream, upstream: Upstream) -> None:
    upstream.enqueue(Status(404, "No such model"))
    assert (await failure(http)).message == "openai/ours answered 404: No such model"


@pytest.mark.parametrize("status", [400, 402, 404, 409, 413, 422, 451, 500, 502, 503, 504, 529])
async def test_the_status_of_the_upstream_is_ours(
    status: int, http: HTTPUpstream, upstream: Upstream
) -> None:
    upstream.enqueue(Status(status))
    error = await failure(http)
    assert type(error) is UpstreamError
    assert error.status == status


@pytest.mark.parametrize("status", [201, 302, 307, 600])
async def test_a_status_that_is_neither_success_nor_error(
    status: int, http: HTTPUpstream, upstream: Upstream
) -> None:
    upstream.enqueue(Status(status, headers={"location": "http://127.0.0.1:1/"}))
    error = await failure(http)
    assert error.status == 502
    assert len(upstream.requests) == 1


@pytest.mark.parametrize("status", [401, 403])
async def test_a_refused_key_is_named_as_ours_and_never_shown(
    status: int, http: HTTPUpstream, upstream: Upstream
) -> None:
    upstream.enqueue(Status(status, f"Incorrect API key: {KEY}."))
    error = await failure(http)
    assert error.status == status
    assert "the API key that Vouch is configured with" in error.message
    assert "Incorrect API key: ***." in error.message


async def test_a_token_in_the_address_is_never_shown(endpoint: Endpoint, upstream: Upstream) -> None:
    upstream.enqueue(Status(403, "The token tok-77/4 of theirs is unknown."))
    client = HTTPUpstream(replace(endpoint, api_base=f"{upstream.url}?v=2&token=tok-77%2F4"))
    with pytest.raises(UpstreamError, match=r"The token \*\*\* of theirs is unknown"):
        await client.complete(chat(api_key="theirs"))
    await client.close()


async def test_the_key_of_the_client_is_used_where_configured(endpoint: Endpoint, upstream: Upstream) -> None:
    llm = HTTPUpstream(replace(endpoint, client_key=True))
    await llm.complete(chat(api_key="sk-of-the-client"))
    assert upstream.requests[0].headers["authorization"] == "Bearer sk-of-the-client"
    upstream.enqueue(Status(401, "Bad key sk-of-the-client"))
    with pytest.raises(UpstreamError, match=r"refused your API key \(401\): Bad key \*\*\*"):
        await llm.complete(chat(api_key="sk-of-the-client"))
    with pytest.raises(UpstreamError, match="Send it as") as caught:
        await llm.complete(chat())
    assert caught.value.status == 401
    assert len(upstream.requests) == 2
    await llm.close()


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"error": "too bad"}, "too bad"),
        ({"detail": "too bad"}, "too bad"),
        ({"detail": [{"loc": ["x"]}]}, '[{"loc": ["x"]}]'),
        ({"object": "error", "message": "too bad", "code": 400}, "too bad"),
        ([{"error": {"message": "too bad", "code": 400}}], "too bad"),
        ({"error": {}}, "Bad Request"),
        ("too bad", "too bad"),
        (7, "Bad Request"),
    ],
)
async def test_errors_in_other_shapes(
    body: Any, message: str, http: HTTPUpstream, upstream: Upstream
) -> None:
    upstream.enqueue(Status(400, body=body))
    assert (await failure(http)).message == f"openai/ours answered 400: {message}"


@pytest.mark.parametrize(
    ("data", "message"), [(b"", "Bad Gateway"), (b"<html>nginx</html>", "Bad Gateway"), (b"oops {", "oops {")]
)
async def test_errors_that_are_no_json(
    data: bytes, message: str, http: HTTPUpstream, upstream: Upstream
) -> None:
    upstream.enqueue(Raw(data, "text/html", 502))
    assert (await failure(http)).message == f"openai/ours answered 502: {message}"


async def test_a_huge_error_is_cut(http: HTTPUpstream, upstream: Upstream) -> None:
    upstream.enqueue(Raw(b"x" * 5_000_000, "text/plain", 500))
    error = await failure(http)
    assert error.status == 500
    assert len(error.message) == 2000


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    "answer",
    [
        Raw(b"{not json"),
        Raw(b""),
        Raw(b"[]"),
        Raw(b"null"),
        Raw(b'{"choices": []}'),
        Raw(b"[" * 100_000),
        Raw(b"data: {not json\n\n", "text/event-stream"),
        Raw(b"gar\x00bage \xff\n\n\r", "text/event-stream"),
        Raw(b"", "text/event-stream"),
        Raw(b"data: [DONE]\n\n", "text/event-stream"),
        Reply(),
    ],
)
async def test_an_answer_that_is_no_reply_is_a_protocol_error(
    answer: Raw | Reply, stream: bool, http: HTTPUpstream, upstream: Upstream
) -> None:
    upstream.enqueue(answer)
    error = await failure(http, stream=stream)
    assert type(error) is UpstreamProtocolError
    assert error.status == 502


@pytest.mark.parametrize("stream", [False, True])
async def test_an_error_behind_a_200(stream: bool, http: HTTPUpstream, upstream: Upstream) -> None:
    upstream.enqueue(Raw(json.dumps({"error": {"message": f"No {KEY}", "code": 402}}).encode()))
    error = await failure(http, stream=stream)
    assert (error.status, error.message) == (402, "openai/ours answered 402: No ***")


async def test_an_error_in_the_middle_of_a_stream(http: HTTPUpstream, upstream: Upstream) -> None:
    upstream.enqueue(Reply("Hello", error={"message": f"out of memory {KEY}", "code": 503}))
    texts: list[str] = []

    async def read() -> None:
        async for chunk in http.stream(chat()):
            texts.extend(choice["delta"].get("content", "") for choice in chunk.raw["choices"])

    with pytest.raises(UpstreamError, match=r"out of memory \*\*\*") as caught:
        await read()
    assert "".join(texts) == "Hello"
    assert caught.value.status == 503


@pytest.mark.parametrize("stream", [False, True])
async def test_nobody_there(stream: bool) -> None:
    llm = HTTPUpstream(Endpoint("openai/ours", CLOSED_PORT.replace("//", f"//user:{KEY}@") + f"?key={KEY}"))
    error = await failure(llm, stream=stream)
    await llm.close()
    assert type(error) is UpstreamConnectionError
    assert (error.status, error.code) == (502, "upstream_unreachable")
    assert "Can't reach openai/ours: " in error.message
    assert "127.0.0.1" not in error.message
    assert KEY not in repr(llm)


async def test_no_such_host() -> None:
    llm = HTTPUpstream(Endpoint("openai/ours", "http://no-such-host.invalid/v1"))
    error = await failure(llm)
    await llm.close()
    assert type(error) is UpstreamConnectionError


@pytest.mark.parametrize("stream", [False, True])
async def test_a_connection_that_drops_before_the_answer(
    stream: bool, http: HTTPUpstream, upstream: Upstream
) -> None:
    upstream.enqueue(Drop())
    assert type(await failure(http, stream=stream)) is UpstreamConnectionError


async def test_a_stream_that_breaks_off(http: HTTPUpstream, upstream: Upstream) -> None:
    upstream.enqueue(Reply("Hello world, hello", drop_after=3))
    error = await failure(http, stream=True)
    assert isinstance(error, BrokenOffError)
    assert error.code == "upstream_broke_off"


@pytest.mark.parametrize("stream", [False, True])
async def test_no_answer_in_time(stream: bool, endpoint: Endpoint, upstream: Upstream) -> None:
    upstream.enqueue(Hang())
    llm = HTTPUpstream(replace(endpoint, timeout=0.1))
    error = await failure(llm, stream=stream)
    await llm.close()
    assert isinstance(error, UpstreamTimeoutError)
    assert (error.status, error.code) == (504, "upstream_timeout")
    assert "0.1 s" in error.message
    await asyncio.to_thread(upstream.wait_for_disconnect)


async def test_the_time_out_is_for_a_whole_call_but_for_each_chunk_of_a_stream(
    endpoint: Endpoint, upstream: Upstream
) -> None:
    llm = HTTPUpstream(replace(endpoint, timeout=0.4))
    upstream.enqueue(Reply("abcdefgh", pace=0.1, size=1))
    assert (await collect(llm.stream(chat()))).drafts[0].text == "abcdefgh"
    upstream.enqueue(Reply("ab", pace=0.6, size=1))
    assert isinstance(await failure(llm, stream=True), UpstreamTimeoutError)
    await llm.close()


@pytest.mark.parametrize("stream", [False, True])
async def test_a_reply_over_the_size_is_refused(stream: bool, endpoint: Endpoint, upstream: Upstream) -> None:
    upstream.enqueue(Reply("x" * 100_000, size=100_000))
    llm = HTTPUpstream(replace(endpoint, max_reply_bytes=10_000))
    error = await failure(llm, stream=stream)
    await llm.close()
    assert isinstance(error, UpstreamProtocolError)
    assert "max_reply_bytes" in error.message


@pytest.mark.parametrize("key", ["sk\nx-evil: 1", "sk\r\n", "sk\0"])
async def test_a_key_that_no_header_can_carry_is_not_sent(
    key: str, endpoint: Endpoint, upstream: Upstream
) -> None:
    llm = HTTPUpstream(replace(endpoint, client_key=True))
    with pytest.raises(UpstreamError, match="Send it as") as caught:
        await llm.complete(chat(api_key=key))
    await llm.close()
    assert caught.value.status == 401
    assert not upstream.requests
    with pytest.raises(ConfigError, match="control character"):
        HTTPUpstream(replace(endpoint, api_key=key))
