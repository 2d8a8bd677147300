"""Whatever an upstream answers: no error of ours, nothing of one client for another, no key, an end."""

from __future__ import annotations

import asyncio
import json
import logging
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
from aiohttp import web

from proxy.cli.logs import CHATTY
from tests.scripted_upstream import Raw, Reply, Status, Upstream
from tests.server.facts import TRUE, UNKNOWN

MESSAGES: Any = [{"role": "user", "content": "What do you know about the Eiffel Tower?"}]
OPTIONS: Any = {"vouch": {"max_rounds": 0}}


def post(url: str, model: str, stream: bool = False, **more: Any) -> httpx.Response:
    body = {"model": model, "messages": MESSAGES, "stream": stream, **OPTIONS, **more}
    return httpx.post(f"{url}/chat/completions", json=body, timeout=60)


def whole(usage: str = "null", content: str = '"Hi."', more: str = "") -> bytes:
    message = f'{{"role": "assistant", "content": {content}{more}}}'
    choice = f'{{"index": 0, "message": {message}, "finish_reason": "stop"}}'
    head = '"id": "1", "object": "chat.completion", "created": 1, "model": "m"'
    return f'{{{head}, "choices": [{choice}], "usage": {usage}}}'.encode()


def streamed(usage: str = "null", content: str = '"Hi."', more: str = "") -> bytes:
    head = '"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m"'
    first = f'{{"index": 0, "delta": {{"role": "assistant", "content": {content}{more}}}}}'
    last = '{"index": 0, "delta": {}, "finish_reason": "stop"}'
    chunks = (
        f'{{{head}, "choices": [{choice}], "usage": {used}}}'
        for choice, used in ((first, "null"), (last, usage))
    )
    return "".join(f"data: {chunk}\n\n" for chunk in chunks).encode() + b"data: [DONE]\n\n"


DEEP = "[" * 5_000 + "]" * 5_000
ODD: dict[str, tuple[dict[str, str], str]] = {
    "usage a list": ({"usage": "[1, 2]"}, "`usage` that is no object"),
    "usage a string": ({"usage": '"many"'}, "`usage` that is no object"),
    "usage a number": ({"usage": "7"}, "`usage` that is no object"),
    "tokens a string": ({"usage": '{"prompt_tokens": "5"}'}, "`usage.prompt_tokens` that is no number"),
    "tokens of 400 digits": ({"usage": '{"prompt_tokens": ' + "9" * 400 + "}"}, "out of range"),
    "usage NaN": ({"usage": "NaN"}, "the number NaN"),
    "tokens NaN": ({"usage": '{"prompt_tokens": NaN}'}, "the number NaN"),
    "infinite": ({"more": ', "x": 1e999'}, "the number 1e999"),
    "deep": ({"more": f', "x": {DEEP}'}, "nested more than 100 deep"),
    "not so deep": ({"more": f', "x": {"[" * 300 + "]" * 300}'}, "nested more than 100 deep"),
}


@pytest.mark.parametrize("case", ODD)
@pytest.mark.parametrize("stream", [False, True])
def test_what_can_not_be_sent_on_is_a_502_that_says_what_is_wrong(
    base_url: str, upstream: Upstream, case: str, stream: bool
) -> None:
    parts, said = ODD[case]
    upstream.enqueue(Raw(streamed(**parts), "text/event-stream") if stream else Raw(whole(**parts)))
    answer = post(base_url, "test", stream)
    assert said in answer.text
    if answer.status_code == 200:  # the stream had begun
        assert stream
        assert answer.text.endswith("data: [DONE]\n\n")
    else:
        assert answer.status_code == 502
        assert answer.json()["error"]["code"] == "upstream_malformed"


@pytest.mark.parametrize("case", ODD)
@pytest.mark.parametrize("stream", [False, True])
def test_through_litellm_no_answer_is_an_error_of_ours(
    base_url: str, upstream: Upstream, case: str, stream: bool
) -> None:
    parts, _ = ODD[case]
    upstream.enqueue(Raw(streamed(**parts), "text/event-stream") if stream else Raw(whole(**parts)))
    answer = post(base_url, "test-litellm", stream)
    assert answer.status_code == 200 or answer.json()["error"]["type"] == "upstream_error"
    assert "internal_error" not in answer.text


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("model", ["test", "test-litellm"])
def test_log_probabilities_that_are_no_object_are_left_out(
    base_url: str, upstream: Upstream, model: str, stream: bool
) -> None:
    choice = '"index": 0, "logprobs": "none", "finish_reason": "stop"'
    head = '"id": "1", "created": 1, "model": "m"'
    message = '{"role": "assistant", "content": "Hi."}'
    chunk = f'{{{head}, "object": "chat.completion.chunk", "choices": [{{{choice}, "delta": {message}}}]}}'
    answer = f'{{{head}, "object": "chat.completion", "choices": [{{{choice}, "message": {message}}}]}}'
    upstream.enqueue(
        Raw(f"data: {chunk}\n\ndata: [DONE]\n\n".encode(), "text/event-stream")
        if stream
        else Raw(answer.encode())
    )
    answered = post(base_url, model, stream)
    assert "internal_error" not in answered.text
    assert answered.status_code in (200, 502)


@pytest.mark.parametrize("raw", [False, True])
@pytest.mark.parametrize("value", ["a\tb", "x" * 300])
def test_a_header_that_can_not_be_sent_on_is_left_out(
    base_url: str, upstream: Upstream, value: str, raw: bool
) -> None:
    told = {"retry-after": value, "x-ratelimit-limit-requests": "7"}
    upstream.enqueue(Status(429, headers=told))
    answer = post(base_url, "test-raw" if raw else "test")
    assert answer.status_code == 429
    assert answer.headers["x-ratelimit-limit-requests"] == "7"
    assert value not in answer.headers.values()


@pytest.mark.parametrize("model", ["test", "test-litellm"])
@pytest.mark.parametrize("stream", [False, True])
def test_halves_of_surrogate_pairs_are_replaced(
    base_url: str, upstream: Upstream, model: str, stream: bool
) -> None:
    odd = {"content": '"Hi \\ud800 there."', "more": ', "x": "\\udc00"'}
    upstream.enqueue(Raw(streamed(**odd), "text/event-stream") if stream else Raw(whole(**odd)))
    answer = post(base_url, model, stream)
    assert "internal_error" not in answer.text
    if model == "test":
        assert "Hi \ufffd there." in answer.text.replace("\\ufffd", "\ufffd")


@pytest.mark.parametrize("model", ["test", "test-litellm"])
def test_twenty_thousand_choices_for_one_are_refused(base_url: str, upstream: Upstream, model: str) -> None:
    upstream.enqueue(Reply(*["Hi."] * 20_000))
    answer = post(base_url, model)
    assert answer.status_code == 502
    assert "choices; at most 16 are taken" in answer.json()["error"]["message"]


@pytest.mark.parametrize("model", ["test", "test-litellm"])
def test_a_stream_of_too_many_choices_is_cut_off(base_url: str, upstream: Upstream, model: str) -> None:
    upstream.enqueue(Reply(*["Hi."] * 200))
    answer = post(base_url, model, stream=True)
    assert "17 choices" in answer.text
    assert "internal_error" not in answer.text


@pytest.mark.parametrize(("model", "stream"), [("test", False), ("test", True), ("test-raw", True)])
def test_too_many_choices_of_a_server_that_can_not_stream_are_refused(
    base_url: str, upstream: Upstream, model: str, stream: bool
) -> None:
    answer = json.loads(whole())
    upstream.enqueue(Raw(json.dumps({**answer, "choices": answer["choices"] * 20_000}).encode()))
    refused = post(base_url, model, stream)
    assert refused.status_code == 502
    assert "20000 choices; at most 16 are taken" in refused.json()["error"]["message"]


@pytest.mark.parametrize("n", [None, 3])
def test_the_choices_that_were_asked_for_are_served(base_url: str, upstream: Upstream, n: int | None) -> None:
    upstream.enqueue(Reply(*["Hi."] * (n or 1)))
    answer = post(base_url, "test", n=n)
    assert len(answer.json()["choices"]) == (n or 1)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("model", ["test", "test-raw"])
def test_no_answer_repeats_a_key(base_url: str, upstream: Upstream, model: str, stream: bool) -> None:
    error = {"message": "Incorrect API key provided: sk-upstream.", "code": "sk-upstream"}
    upstream.enqueue(Reply("One sentence. And one more.", error=error, finish_reason="stop"))
    if not stream:
        upstream.clear()
        upstream.enqueue(Raw(whole(content='"Hi. Your key is sk-upstream. Bye."')))
    answer = post(base_url, model, stream)
    if model == "test-raw" or stream:
        assert "***" in answer.text
        assert "sk-upstream" not in answer.text


@dataclass
class Endless:
    """A stream that begins well and then only keeps the connection open."""

    begins: bytes = b'data: {"choices":[{"index":0,"delta":{"content":"Hi"}}]}\n\n'
    goes_on: bytes = b": still here\n\n"
    pause: float = 0.05

    async def respond(self, request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        await response.write(self.begins)
        while True:
            await response.write(self.goes_on)
            await asyncio.sleep(self.pause)


@pytest.mark.parametrize("model", ["test-hasty", "test-hasty-raw"])
def test_a_stream_of_endless_comments_ends(base_url: str, upstream: Upstream, model: str) -> None:
    upstream.enqueue(Endless())
    answer = post(base_url, model, stream=True)
    assert "upstream_timeout" in answer.text
    assert answer.text.endswith("data: [DONE]\n\n")


@dataclass
class Marked:
    """An answer with a cookie, or that sends the caller elsewhere."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)

    async def respond(self, request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        if self.status != 200:
            return web.Response(status=self.status, headers=self.headers)
        if body.get("stream"):
            return web.Response(body=streamed(), content_type="text/event-stream", headers=self.headers)
        return web.json_response(json.loads(whole()), headers=self.headers)


@pytest.mark.parametrize("model", ["test", "test-litellm"])
def test_no_cookie_goes_from_one_answer_to_the_next_call(
    base_url: str, upstream: Upstream, model: str
) -> None:
    upstream.enqueue(Marked(headers={"set-cookie": "session=of-somebody; Path=/"}))
    for _ in range(2):
        answer = post(base_url, model)
        assert answer.status_code == 200, answer.text
    assert "cookie" not in upstream.requests[1].headers


@pytest.mark.parametrize("model", ["test", "test-litellm"])
@pytest.mark.parametrize("status", [302, 307, 308])
def test_redirects_are_not_followed(base_url: str, upstream: Upstream, model: str, status: int) -> None:
    upstream.enqueue(Marked(status, {"location": f"{upstream.url}/elsewhere"}))
    answer = post(base_url, model)
    assert answer.status_code == 502
    assert [request.path for request in upstream.requests] == ["/v1/chat/completions"]


@dataclass
class Torn:
    """A body that is cut off in the middle, of an answer that says how long it is."""

    stream: bool = False

    async def respond(self, request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        data = streamed() if self.stream else whole()
        kind = "text/event-stream" if self.stream else "application/json"
        headers = {"content-type": kind, "content-length": str(len(data) + 100)}
        response = web.StreamResponse(headers=headers)
        await response.prepare(request)
        await response.write(data[: len(data) // 3])
        if request.transport is not None:
            request.transport.close()
        return response


@pytest.mark.parametrize("model", ["test", "test-litellm", "test-raw"])
@pytest.mark.parametrize("stream", [False, True])
def test_a_connection_that_breaks_is_the_upstreams_error(
    base_url: str, upstream: Upstream, model: str, stream: bool
) -> None:
    upstream.enqueue(Torn(stream))
    try:
        answer = post(base_url, model, stream)
    except httpx.RemoteProtocolError:  # bytes that were passed on are cut off as they came
        assert model == "test-raw"
        return
    assert answer.status_code in (200, 502)
    assert "upstream_" in answer.text
    assert "internal_error" not in answer.text


def test_no_log_has_the_text_of_a_chat(
    base_url: str, upstream: Upstream, caplog: pytest.LogCaptureFixture
) -> None:
    """At the level `debug`, with the loggers as `vouch serve` sets them."""
    levels = {name: logging.getLogger(name).level for name in CHATTY}
    try:
        for name in CHATTY:
            logging.getLogger(name).setLevel(logging.WARNING)
        with caplog.at_level(logging.DEBUG):
            for model in ("test", "test-litellm", "test-raw"):
                for stream in (False, True):
                    upstream.enqueue("The secret of the reply.")
                    secret = [{"role": "user", "content": "My secret question."}]
                    assert post(base_url, model, stream, messages=secret).status_code == 200
        assert "secret" not in caplog.text
    finally:
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)


@pytest.mark.parametrize(
    "url", ["javascript:alert(1)", "http://[bad]/x", "http://user@[x", "http://\u2100/x"]
)
def test_urls_that_a_browser_would_run_or_nobody_can_read_are_left_out(
    base_url: str, upstream: Upstream, url: str
) -> None:
    upstream.enqueue(f"{UNKNOWN} {TRUE}")
    about = "A page about submarines and mayors of Atlantis."
    documents = [{"text": text, "url": url} for text in (about, TRUE)]
    body = {"model": "test", "messages": MESSAGES, "vouch": {"max_rounds": 0, "documents": documents}}
    answer = httpx.post(f"{base_url}/chat/completions", json=body, timeout=60)
    assert answer.status_code == 200
    failed = answer.json()["verification"]["attempts"][0]["nonfactual"]
    assert failed[0]["evidence"]["title"] is not None
    assert answer.json()["references"][0]["text"] == TRUE
    assert json.dumps(url)[1:-1] not in answer.text
