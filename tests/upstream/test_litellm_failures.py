"""litellm's client against a server that fails, and litellm's exceptions as ours."""

from __future__ import annotations

import asyncio
import traceback
from dataclasses import replace

import httpx
import litellm
import openai
import pytest

from proxy.errors import (
    UpstreamConnectionError,
    UpstreamError,
    UpstreamProtocolError,
    UpstreamTimeoutError,
)
from proxy.upstream.completion import collect
from proxy.upstream.endpoint import Endpoint
from proxy.upstream.failures import BrokenOffError
from proxy.upstream.litellm_client import LiteLLMUpstream
from proxy.upstream.litellm_failures import _KINDS, from_exception
from tests.scripted_upstream import Answer, Drop, Hang, Raw, Reply, Status, Upstream
from tests.upstream.asking import KEY, chat


async def failure(llm: LiteLLMUpstream, *, stream: bool = False) -> UpstreamError:
    with pytest.raises(UpstreamError) as caught:
        await (collect(llm.stream(chat())) if stream else llm.complete(chat()))
    assert KEY not in "".join(traceback.format_exception(caught.value))
    return caught.value


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("status", [400, 401, 403, 404, 408, 422, 429, 500, 502, 503])
async def test_the_status_of_the_upstream_is_ours(
    status: int, stream: bool, llm: LiteLLMUpstream, upstream: Upstream
) -> None:
    upstream.enqueue(
        Status(status, f"told so {KEY}", retry_after="7", headers={"x-ratelimit-remaining": "0"})
    )
    error = await failure(llm, stream=stream)
    assert error.status == (504 if status == 408 else status)
    if status != 408:
        assert "told so ***" in error.message
        assert error.headers == {"retry-after": "7", "x-ratelimit-remaining": "0"}
    assert len(upstream.requests) == 1


async def test_a_refused_key_is_named_as_ours(llm: LiteLLMUpstream, upstream: Upstream) -> None:
    upstream.enqueue(Status(401, "Incorrect API key"))
    assert "the API key that Vouch is configured with" in (await failure(llm)).message


@pytest.mark.parametrize(
    ("answer", "stream"),
    [
        (Raw(b"{not json"), False),
        (Raw(b"{not json"), True),
        (Raw(b""), False),
        (Raw(b""), True),
        (Reply(), False),
        (Reply(), True),
        (Raw(b"data: {bad\n\n", "text/event-stream"), True),
    ],
)
async def test_an_answer_that_is_no_reply_is_a_protocol_error(
    answer: Answer, stream: bool, llm: LiteLLMUpstream, upstream: Upstream
) -> None:
    upstream.enqueue(answer)
    error = await failure(llm, stream=stream)
    assert type(error) is UpstreamProtocolError
    assert error.status == 502


@pytest.mark.parametrize("stream", [False, True])
async def test_a_connection_that_drops_before_the_answer(
    stream: bool, llm: LiteLLMUpstream, upstream: Upstream
) -> None:
    upstream.enqueue(Drop())
    assert type(await failure(llm, stream=stream)) is UpstreamConnectionError


async def test_a_stream_that_breaks_off(llm: LiteLLMUpstream, upstream: Upstream) -> None:
    upstream.enqueue(Reply("Hello world, hello", drop_after=3))
    assert isinstance(await failure(llm, stream=True), BrokenOffError)


async def test_an_error_in_the_middle_of_a_stream(llm: LiteLLMUpstream, upstream: Upstream) -> None:
    upstream.enqueue(Reply("Hello", error={"message": "out of memory", "code": 429}))
    error = await failure(llm, stream=True)
    assert "out of memory" in error.message
    assert error.status == 429


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("model", ["openai/m", "anthropic/m", "ollama/m"])
async def test_nobody_there(stream: bool, model: str) -> None:
    llm = LiteLLMUpstream(Endpoint(model, "http://127.0.0.1:1", KEY))
    error = await failure(llm, stream=stream)
    await llm.close()
    assert type(error) is UpstreamConnectionError
    assert f"Can't reach {model}: " in error.message
    assert "127.0.0.1" not in error.message


async def test_a_model_that_litellm_does_not_know() -> None:
    error = await failure(LiteLLMUpstream(Endpoint("nosuch/model")))
    assert error.status == 400
    assert "nosuch/model" in error.message


@pytest.mark.parametrize("stream", [False, True])
async def test_no_answer_in_time(stream: bool, litellm_endpoint: Endpoint, upstream: Upstream) -> None:
    upstream.enqueue(Hang())
    llm = LiteLLMUpstream(replace(litellm_endpoint, timeout=0.3))
    error = await failure(llm, stream=stream)
    await llm.close()
    assert isinstance(error, UpstreamTimeoutError)
    assert "0.3 s" in error.message
    await asyncio.to_thread(upstream.wait_for_disconnect)


async def test_no_next_chunk_in_time(litellm_endpoint: Endpoint, upstream: Upstream) -> None:
    upstream.enqueue(Reply("abc", pace=1.0))
    llm = LiteLLMUpstream(replace(litellm_endpoint, timeout=0.3))
    assert isinstance(await failure(llm, stream=True), UpstreamTimeoutError)
    await llm.close()


LITELLM_ERRORS = sorted(
    (
        error
        for error in vars(litellm.exceptions).values()
        if isinstance(error, type) and issubclass(error, Exception)
    ),
    key=lambda error: error.__name__,
)


def test_there_are_errors_to_map() -> None:
    assert len(LITELLM_ERRORS) > 20


@pytest.mark.parametrize("error", LITELLM_ERRORS)
def test_each_of_litellms_errors_is_mapped(error: type[Exception]) -> None:
    assert any(ancestor.__name__ in _KINDS for ancestor in error.__mro__)


HTTPX_ERRORS = sorted(
    (
        error
        for error in vars(httpx).values()
        if isinstance(error, type) and issubclass(error, httpx.RequestError)
    ),
    key=lambda error: error.__name__,
)


@pytest.mark.parametrize("error", HTTPX_ERRORS)
def test_each_of_httpxs_errors_is_mapped(error: type[httpx.RequestError]) -> None:
    made = from_exception(error("broken"), Endpoint("m"))
    if issubclass(error, httpx.TimeoutException):
        assert isinstance(made, UpstreamTimeoutError)
    elif issubclass(error, httpx.TransportError):
        assert isinstance(made, UpstreamConnectionError)
    else:
        assert isinstance(made, UpstreamProtocolError)


def test_an_answer_that_httpx_calls_an_error_keeps_its_status() -> None:
    request = httpx.Request("POST", "http://127.0.0.1/")
    answer = httpx.Response(429, headers={"retry-after": "7"})
    made = from_exception(httpx.HTTPStatusError("slow down", request=request, response=answer), Endpoint("m"))
    assert (made.status, made.headers) == (429, {"retry-after": "7"})


def test_the_openai_sdks_time_out_and_lost_connection_are_told_apart() -> None:
    request = httpx.Request("POST", "http://127.0.0.1/")
    assert isinstance(from_exception(openai.APITimeoutError(request), Endpoint("m")), UpstreamTimeoutError)
    lost = openai.APIConnectionError(request=request)
    assert isinstance(from_exception(lost, Endpoint("m")), UpstreamConnectionError)


def test_anything_else_that_litellm_lets_through_is_an_error_of_ours() -> None:
    error = from_exception(ZeroDivisionError(f"at {KEY}"), Endpoint("m", api_key=KEY))
    assert type(error) is UpstreamError
    assert "***" in error.message
    assert KEY not in error.message
