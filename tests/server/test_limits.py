"""What one request may take: options, choices, tokens, upstream calls."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from proxy.cli.compose import Library
from proxy.config.load import validate
from tests.scripted_upstream import Reply, Upstream
from tests.server.facts import TRUE
from tests.serving import serving

MESSAGES: Any = [{"role": "user", "content": "What do you know about the Eiffel Tower?"}]
MODEL = {"name": "test", "model": "openai/m", "api_key": "sk-upstream", "max_retries": 0}


def settings(upstream: Upstream, params: dict[str, Any] | None = None, **sections: Any) -> Any:
    model = {**MODEL, "api_base": upstream.url, "params": params or {}}
    return validate({"upstreams": [model, {**model, "name": "other"}], **sections})


def post(url: str, body: dict[str, Any], route: str = "chat/completions") -> httpx.Response:
    return httpx.post(f"{url}/{route}", json={"model": "test", "messages": MESSAGES, **body}, timeout=60)


@pytest.fixture(scope="module")
def limited(session_upstream: Upstream, corpus: Library) -> Iterator[str]:
    """A server of an operator who allows little."""
    limits = {
        "upstream_calls": 7,
        "choices": 2,
        "options": {"top_k": 8, "max_rounds": "fixed", "checker": ["nli", "llm"], "documents": 1},
    }
    with serving(settings(session_upstream, {"max_tokens": 50}, limits=limits), corpus) as url:
        yield url


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"top_k": 9}, "`vouch.top_k` may be at most 8 here (limits.options.top_k), not 9."),
        ({"max_rounds": 0}, "`vouch.max_rounds` can't be chosen here (limits.options.max_rounds): leave"),
        ({"checker": "repc"}, "`vouch.checker` may be nli or llm here (limits.options.checker)"),
        ({"documents": [{"text": "a"}, {"text": "b"}]}, "`vouch.documents` may be at most 1 here"),
        ({"deadline": 1e9}, "`vouch.deadline` may be at most 600 here (limits.options.deadline), not 1e+09."),
    ],
)
def test_options_over_the_operators_limits_are_refused(
    limited: str, upstream: Upstream, options: dict[str, Any], said: str
) -> None:
    for route, body in (
        ("chat/completions", {"vouch": options}),
        ("responses", {"vouch": options, "input": "Hi", "messages": None}),
    ):
        answer = post(limited, body, route)
        assert answer.status_code == 400
        assert said in answer.json()["error"]["message"]
        assert answer.json()["error"]["param"] == f"vouch.{next(iter(options))}"
    assert upstream.requests == []


def test_options_within_the_limits_are_served(limited: str, upstream: Upstream) -> None:
    upstream.enqueue(TRUE)
    assert post(limited, {"vouch": {"top_k": 8, "checker": "nli"}}).status_code == 200


def test_what_the_operator_configured_is_always_allowed(corpus: Library, upstream: Upstream) -> None:
    upstream.enqueue(TRUE)
    with serving(settings(upstream, retrieval={"top_k": 30}), corpus) as url:
        assert post(url, {"vouch": {"top_k": 30}}).status_code == 200
        assert post(url, {"vouch": {"top_k": 31}}).status_code == 400


@pytest.mark.parametrize(
    ("asked", "sent"),
    [
        ({}, {"max_tokens": 50}),
        ({"max_tokens": 20}, {"max_tokens": 20}),
        ({"max_tokens": 9_000}, {"max_tokens": 50}),
        ({"max_tokens": None}, {"max_tokens": 50}),
        ({"max_tokens": "9000"}, {"max_tokens": 50}),
        ({"max_completion_tokens": 9_000}, {"max_tokens": 50}),
        ({"max_completion_tokens": 30, "max_tokens": 40}, {"max_tokens": 30}),
    ],
)
@pytest.mark.parametrize("model", ["test", "test-raw"])
def test_a_client_may_ask_for_fewer_tokens_than_the_operator_allows_but_not_for_more(
    limited: str, upstream: Upstream, asked: dict[str, Any], sent: dict[str, Any], model: str
) -> None:
    upstream.enqueue(TRUE)
    assert post(limited, {**asked, "model": model}).status_code == 200
    body = upstream.requests[0].body
    found = {key: body[key] for key in ("max_tokens", "max_completion_tokens") if key in body}
    assert found == (sent if asked or model == "test" else {"max_tokens": 50})


def test_text_completions_are_bounded_too(limited: str, upstream: Upstream) -> None:
    assert post(limited, {"prompt": "a", "max_tokens": 9_000}, "completions").status_code == 200
    assert upstream.requests[0].body["max_tokens"] == 50
    answer = post(limited, {"prompt": "a", "best_of": 3}, "completions")
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, "best_of")


@pytest.mark.parametrize("model", ["test", "test-raw"])
def test_more_choices_than_allowed_are_refused(limited: str, upstream: Upstream, model: str) -> None:
    answer = post(limited, {"n": 3, "model": model})
    assert answer.status_code == 400
    assert "`n` may be at most 2 here (limits.choices), not 3." in answer.json()["error"]["message"]
    assert upstream.requests == []


def saying(body: dict[str, Any]) -> Reply:
    """A reply of sixty sentences; to whoever asks about them, something that can't be read."""
    asked = str(body["messages"])
    long = " ".join(f"The tower number {n} is {n + 300} metres tall and made of iron." for n in range(60))
    return Reply(long if len(asked) < 200 else "Hm.")


@pytest.mark.parametrize("stream", [False, True])
def test_one_request_makes_a_hundred_upstream_calls_at_most(
    corpus: Library, upstream: Upstream, stream: bool
) -> None:
    upstream.answer = saying
    options = {"checker": "llm", "top_k": 20, "granularity": "triplet", "max_rounds": 3, "deadline": 600}
    with serving(settings(upstream), corpus) as url:
        answer = post(url, {"vouch": options, "stream": stream})
    assert answer.status_code == 200
    assert '"verdict": "unverified"' in answer.text.replace('":"', '": "')
    assert len(upstream.requests) == 100


def test_checks_of_several_claims_in_one_call_are_charged_to_their_own_request(
    corpus: Library, upstream: Upstream
) -> None:
    upstream.answer = saying
    checker = {"name": "llm", "llm": {"claims_per_call": 5}}
    with serving(settings(upstream, checker=checker, limits={"upstream_calls": 9}), corpus) as url:
        for requests in (9, 18):
            assert post(url, {}).status_code == 200
            assert len(upstream.requests) == requests


def test_a_request_makes_no_call_after_its_tokens_are_spent(corpus: Library, upstream: Upstream) -> None:
    upstream.answer = saying
    limits = {"upstream_tokens": 3_000}  # the reply alone takes about a thousand
    with serving(settings(upstream, limits=limits, checker={"name": "llm"}), corpus) as url:
        answer = post(url, {})
    assert answer.status_code == 200
    assert 1 < len(upstream.requests) < 30
