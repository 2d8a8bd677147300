"""Retries: what is asked again, how often, and when."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.errors import (
    UpstreamConnectionError,
    UpstreamError,
    UpstreamProtocolError,
    UpstreamTimeoutError,
)
from proxy.types import Chat
from proxy.upstream.completion import Streamed, collect
from proxy.upstream.endpoint import Endpoint
from proxy.upstream.failures import BrokenOffError
from proxy.upstream.http import HTTPUpstream
from proxy.upstream.retry import LONGEST, Retrying, pause, retry_after
from tests.scripted_upstream import Answer, Drop, Hang, Raw, Reply, Status, Upstream

CHAT = Chat({"messages": [{"role": "user", "content": "Hi"}]}, "Hi")

PASSING = [Status(500), Status(502), Status(503), Status(504), Drop()]
LASTING = [Status(429), Status(400), Status(401), Status(501), Raw(b"{"), Reply(), Raw(b"", status=404)]


def retrying(llm: HTTPUpstream, max_retries: int = 2) -> Retrying:
    return Retrying(llm, max_retries, uniform=lambda: 0.0)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("failure", PASSING)
async def test_a_failure_that_may_pass_is_asked_again(
    failure: Answer, stream: bool, http: HTTPUpstream, upstream: Upstream
) -> None:
    upstream.enqueue(failure, failure, "Hello")
    llm = retrying(http)
    reply = await (collect(llm.stream(CHAT)) if stream else llm.complete(CHAT))
    assert reply.drafts[0].text == "Hello"
    assert len(upstream.requests) == 3


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("failure", LASTING)
async def test_a_failure_that_will_not_pass_is_not(
    failure: Answer, stream: bool, http: HTTPUpstream, upstream: Upstream
) -> None:
    upstream.enqueue(failure, "Hello")
    llm = retrying(http)
    with pytest.raises(UpstreamError):
        await (collect(llm.stream(CHAT)) if stream else llm.complete(CHAT))
    assert len(upstream.requests) == 1


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("retries", [0, 1, 3])
async def test_retries_are_bounded(
    stream: bool, retries: int, http: HTTPUpstream, upstream: Upstream
) -> None:
    upstream.enqueue(*[Status(503)] * 10)
    llm = retrying(http, retries)
    with pytest.raises(UpstreamError, match="503"):
        await (collect(llm.stream(CHAT)) if stream else llm.complete(CHAT))
    assert len(upstream.requests) == retries + 1


async def test_a_time_out_is_not_asked_again(upstream: Upstream) -> None:
    upstream.enqueue(Hang(), "Hello")
    http = HTTPUpstream(Endpoint("openai/m", upstream.url, timeout=0.1))
    with pytest.raises(UpstreamTimeoutError):
        await retrying(http).complete(CHAT)
    await http.close()
    assert len(upstream.requests) == 1


async def test_a_stream_that_has_begun_is_not_asked_again(http: HTTPUpstream, upstream: Upstream) -> None:
    upstream.enqueue(Reply("Hello world", drop_after=2), "Hello")
    with pytest.raises(BrokenOffError):
        await collect(retrying(http).stream(CHAT))
    assert len(upstream.requests) == 1


async def test_an_upstream_is_asked_again_when_it_says(http: HTTPUpstream, upstream: Upstream) -> None:
    upstream.enqueue(Status(503, retry_after="0.3"), "Hello")
    started = time.monotonic()
    await retrying(http).complete(CHAT)
    assert time.monotonic() - started >= 0.3


async def test_an_upstream_that_wants_a_long_pause_is_left_to_the_client(
    http: HTTPUpstream, upstream: Upstream
) -> None:
    upstream.enqueue(Status(503, retry_after="60"))
    with pytest.raises(UpstreamError) as caught:
        await retrying(http).complete(CHAT)
    assert caught.value.headers["retry-after"] == "60"
    assert len(upstream.requests) == 1


async def test_cancelling_ends_the_pause(http: HTTPUpstream, upstream: Upstream) -> None:
    upstream.enqueue(Status(503, retry_after="4"), "Hello")
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(retrying(http).complete(CHAT), 0.2)
    assert len(upstream.requests) == 1


async def test_leaving_a_stream_hangs_up_through_all_wrappers(http: HTTPUpstream, upstream: Upstream) -> None:
    upstream.enqueue(Reply("Hello " * 100, pace=0.05))
    first = asyncio.Event()
    task = asyncio.create_task(Streamed(retrying(http), first.set).complete(CHAT))
    await first.wait()
    task.cancel()
    await asyncio.to_thread(upstream.wait_for_disconnect, 30)
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_the_first_chunk_is_told_while_the_reply_is_being_written(
    http: HTTPUpstream, upstream: Upstream
) -> None:
    upstream.enqueue(Reply("Hello there", pace=0.1))
    first = asyncio.Event()
    task = asyncio.create_task(Streamed(http, first.set).complete(CHAT))
    await asyncio.wait_for(first.wait(), 2)
    assert not task.done()
    reply = await task
    assert reply.drafts[0].text == "Hello there"
    assert reply.usage.completion_tokens == 2


async def test_a_failure_before_the_first_chunk_is_not_told(http: HTTPUpstream, upstream: Upstream) -> None:
    upstream.enqueue(Status(429))
    told: list[int] = []
    with pytest.raises(UpstreamError):
        await Streamed(http, lambda: told.append(1)).complete(CHAT)
    assert not told


async def test_a_streamed_reply_is_bounded(http: HTTPUpstream, upstream: Upstream) -> None:
    upstream.enqueue("x" * 1000)
    with pytest.raises(UpstreamProtocolError, match="max_reply_bytes"):
        await Streamed(http, lambda: None, max_bytes=500).complete(CHAT)


@given(st.integers(0, 10), st.floats(0, 1, exclude_max=True))
def test_pauses_grow_and_stay_bounded(attempt: int, jitter: float) -> None:
    seconds = pause(attempt, UpstreamError("x", status=503), jitter)
    assert seconds is not None
    assert 0 <= seconds <= min(LONGEST, 0.25 * 2**attempt)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, 0),
        ({"retry-after": "2"}, 2),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, float("inf")),
        ({"retry-after": "-1"}, float("inf")),
        ({"retry-after": "nan"}, float("inf")),
    ],
)
def test_retry_after(headers: dict[str, str], seconds: float) -> None:
    assert retry_after(UpstreamError("x", headers=headers)) == seconds


def test_an_upstream_that_says_not_to_retry_is_obeyed() -> None:
    error = UpstreamError("x", status=503, headers={"x-should-retry": "false"})
    assert pause(0, error, 0.0) is None
    assert pause(0, UpstreamConnectionError("x"), 0.0) == 0.0
    assert pause(0, BrokenOffError("x"), 0.0) is None


def test_endpoint_without_secrets_in_its_repr() -> None:
    endpoint = Endpoint(
        "openai/m", "http://u:hidden@h/v1?k=hidden", "hidden", headers={"x": "hidden"}, params={"p": "hidden"}
    )
    assert "hidden" not in repr(endpoint)
    assert "hidden" not in endpoint.address
    assert "hidden" not in repr(replace(endpoint, client_key=True))
