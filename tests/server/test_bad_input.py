"""What is wrong with a request is said, with the right status, and the server goes on."""

from __future__ import annotations

import json
from typing import Any

import openai
import pytest
from openai import OpenAI

from proxy.cli.compose import Library
from tests.scripted_upstream import Drop, Hang, Raw, Reply, Status, Upstream
from tests.server.asking import QUESTION, ask, check_offsets, curl, extra, verdicts
from tests.server.facts import TRUE
from tests.serving import serving, settings_for

HELLO = [{"role": "user", "content": "Hello"}]


@pytest.mark.parametrize(
    ("body", "status", "param", "message"),
    [
        (b"", 400, None, "not valid JSON"),
        (b"{", 400, None, "not valid JSON"),
        (b"[1]", 400, None, "must be a JSON object, not a list"),
        (b'{"messages": "\xff"}', 400, None, "not valid UTF-8"),
        (b"[" * 200_000, 400, None, "not valid JSON"),
        ({"model": "test"}, 400, "messages", "at least one message"),
        ({"model": "test", "messages": []}, 400, "messages", "at least one message"),
        ({"model": "test", "messages": "hi"}, 400, "messages", "at least one message"),
        ({"model": "test", "messages": ["hi"]}, 400, "messages.0", "an object with a `role`"),
        (
            {"model": "test", "messages": [{"role": "user", "content": 7}]},
            400,
            "messages.0.content",
            "integer",
        ),
        (
            {"model": "test", "messages": [{"role": "user", "content": [{"type": ["text"], "text": "Hi"}]}]},
            400,
            "messages.0.content.0.type",
            "must be a string, not a list",
        ),
        ({"model": 7, "messages": HELLO}, 400, "model", "must be a string"),
        ({"model": "test", "messages": HELLO, "stream": "yes"}, 400, "stream", "must be a boolean"),
        ({"model": "test", "messages": HELLO, "n": "two"}, 400, "n", "must be an integer"),
        ({"model": "test", "messages": HELLO, "n": 10**9}, 400, "n", "from 1 to 128"),
        (
            {"model": "test", "messages": HELLO, "vouch": {"documents": [{"text": "x" * 200_001}]}},
            400,
            "vouch.documents",
            "over 200,000 characters",
        ),
        ({"model": "nobody", "messages": HELLO}, 404, "model", "'nobody' does not exist. There are test,"),
        (
            {"model": "test@markdwn", "messages": HELLO},
            404,
            "model",
            "The model 'test' has no profile 'markdwn'. There are openai,",
        ),
        ({"model": "test", "messages": [{"role": "user", "content": "\ud800"}]}, 400, None, "surrogate"),
        ({"model": "test", "messages": HELLO, "vouch": 1}, 400, "vouch", "must be an object"),
        (
            {"model": "test", "messages": HELLO, "vouch": {"max_round": 1}},
            400,
            "vouch.max_round",
            "Did you mean 'max_rounds'?",
        ),
        (
            {"model": "test", "messages": HELLO, "vouch": {"top_k": 0}},
            400,
            "vouch.top_k",
            "must be at least 1, not 0",
        ),
        ({"model": "test", "messages": HELLO, "vouch": {"checker": "x"}}, 400, "vouch.checker", "nli"),
        (
            {"model": "test", "messages": HELLO, "vouch": {"documents": "one"}},
            400,
            "vouch.documents",
            "vouch.documents must be a list, not 'one'",
        ),
        (
            {"model": "test", "messages": HELLO, "vouch": {"documents": [{"txt": "x"}]}},
            400,
            "vouch.documents.0.text",
            "is missing",
        ),
    ],
)
def test_a_bad_request_is_refused_by_name(
    base_url: str, upstream: Upstream, body: Any, status: int, param: str | None, message: str
) -> None:
    got, headers, answer = curl(f"{base_url}/chat/completions", body)
    assert got == status
    assert headers["x-request-id"]
    assert set(answer["error"]) == {"message", "type", "param", "code"}
    assert answer["error"]["param"] == param
    assert message in answer["error"]["message"]
    assert upstream.requests == []


@pytest.mark.parametrize(
    ("behaviour", "status", "code"),
    [
        (Status(429, "slow down", retry_after="7"), 429, "told"),
        (Status(500, "oh no"), 500, "told"),
        (
            Status(400, "context too long", error={"code": "context_length_exceeded"}),
            400,
            "context_length_exceeded",
        ),
        (Drop(), 502, "upstream_unreachable"),
        (Raw(b"{not json"), 502, "upstream_malformed"),
        (Raw(b""), 502, "upstream_malformed"),
        (Reply(), 502, "upstream_malformed"),
        (Raw(b'"a string"'), 502, "upstream_malformed"),
    ],
)
def test_what_the_upstream_gets_wrong_is_told_apart(
    base_url: str, upstream: Upstream, behaviour: Any, status: int, code: str
) -> None:
    upstream.enqueue(behaviour, behaviour)  # a connection that was in use before is given a second chance
    got, headers, answer = curl(f"{base_url}/chat/completions", {"model": "test", "messages": HELLO})
    assert (got, answer["error"]["code"]) == (status, code)
    assert headers.get("retry-after") == getattr(behaviour, "retry_after", None)
    assert "sk-upstream" not in json.dumps(answer)


def test_a_hanging_upstream_is_a_504(base_url: str, upstream: Upstream) -> None:
    upstream.enqueue(Hang())
    got, _, answer = curl(f"{base_url}/chat/completions", {"model": "test-hasty", "messages": HELLO})
    assert (got, answer["error"]["code"]) == (504, "upstream_timeout")


def test_an_upstream_that_is_not_there_is_a_502(corpus: Library) -> None:
    with serving(settings_for("http://127.0.0.1:9/v1"), corpus) as base_url:
        got, _, answer = curl(f"{base_url}/chat/completions", {"model": "test", "messages": HELLO})
    assert (got, answer["error"]["code"]) == (502, "upstream_unreachable")


def test_a_server_error_is_tried_again_a_429_is_not(client: OpenAI, upstream: Upstream) -> None:
    upstream.enqueue(Status(503), Status(500), TRUE)
    assert ask(client, model="test-stubborn").choices[0].message.content == f"{TRUE}[1]"
    upstream.clear()
    upstream.enqueue(Status(429), TRUE)
    with pytest.raises(openai.RateLimitError):
        ask(client, model="test-stubborn")
    assert len(upstream.requests) == 1


def test_content_in_parts_with_an_image_goes_through(client: OpenAI, upstream: Upstream) -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    parts: Any = [{"role": "user", "content": [{"type": "text", "text": QUESTION}, image]}]
    upstream.enqueue(TRUE)
    completion = client.chat.completions.create(model="test", messages=parts)
    assert completion.choices[0].message.content == f"{TRUE}[1]"
    assert upstream.requests[0].body["messages"] == parts


def test_a_message_of_5_mb_goes_through(client: OpenAI, upstream: Upstream) -> None:
    upstream.enqueue(TRUE)
    long = "Tell me about iron. " * 250_000
    assert ask(client, long).choices[0].message.content == f"{TRUE}[1]"
    assert upstream.requests[0].body["messages"][0]["content"] == long


def test_a_body_over_the_limit_is_a_413(corpus: Library, upstream: Upstream) -> None:
    with serving(settings_for(upstream.url, server={"max_body_bytes": 1000}), corpus) as base_url:
        body = {"model": "test", "messages": [{"role": "user", "content": "x" * 2000}]}
        got, _, answer = curl(f"{base_url}/chat/completions", body)
        assert (got, answer["error"]["code"]) == (413, "request_too_large")
        got, _, answer = curl(f"{base_url}/chat/completions", body, "-H", "transfer-encoding: chunked")
        assert (got, answer["error"]["code"]) == (413, "request_too_large")


def test_a_claim_of_10_000_words_is_answered(client: OpenAI, upstream: Upstream) -> None:
    draft = " ".join(["iron"] * 10_000)
    upstream.enqueue(draft)
    completion = ask(client, max_rounds=0)
    assert completion.choices[0].message.content is not None
    assert verdicts(completion) != []


def test_an_upstream_that_answers_with_nothing_is_passed_on(client: OpenAI, upstream: Upstream) -> None:
    upstream.enqueue(Reply(""))
    completion = ask(client)
    assert completion.choices[0].message.content == ""
    assert extra(completion)["references"] == []
    assert extra(completion)["verification"]["claims"] == []


@pytest.mark.parametrize(
    "draft", ["\x00\x01 odd \u202e text.", "🙂 " * 500, "[1][2][3]", "```\ncode", "|" * 1000]
)
def test_odd_drafts_come_back_whole(client: OpenAI, upstream: Upstream, draft: str) -> None:
    upstream.enqueue(draft)
    completion = ask(client, max_rounds=0)
    if "[1]" not in draft:
        check_offsets(completion, draft)


def test_keys_are_asked_for_where_they_are_configured(corpus: Library, upstream: Upstream) -> None:
    upstream.enqueue(TRUE)
    with (
        serving(settings_for(upstream.url, server={"api_keys": ["sesame"]}), corpus) as base_url,
        OpenAI(base_url=base_url, api_key="wrong", max_retries=0) as stranger,
        OpenAI(base_url=base_url, api_key="sesame", max_retries=0) as friend,
    ):
        with pytest.raises(openai.AuthenticationError):
            ask(stranger)
        assert verdicts(ask(friend)) == ["supported"]
        assert curl(base_url.removesuffix("/v1") + "/healthz", b"", "-X", "GET")[0] == 200


def test_a_full_queue_is_a_503_with_retry_after(corpus: Library, upstream: Upstream) -> None:
    upstream.enqueue(Reply(TRUE, pace=0.2))
    limits = {"max_concurrency": 1, "max_queue": 0}
    messages: Any = HELLO
    with (
        serving(settings_for(upstream.url, server=limits), corpus) as base_url,
        OpenAI(base_url=base_url, api_key="none", max_retries=0) as client,
        client.chat.completions.create(model="test", messages=messages, stream=True),
    ):
        body = {"model": "test", "messages": messages}
        got, headers, answer = curl(f"{base_url}/chat/completions", body)
    assert (got, headers["retry-after"], answer["error"]["code"]) == (503, "1", "overloaded")
