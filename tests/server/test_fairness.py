"""Nobody takes the server from the others: keys, places, rates, turns, and whether it is ready."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import httpx
import pytest
from aiohttp import web

from proxy.checkers.batching import Batching
from proxy.cli.compose import Library
from proxy.config.load import validate
from proxy.engine.app_context import AppContext
from proxy.types import Judgement, Pair, Verdict
from tests.scripted_upstream import Reply, Upstream
from tests.server.facts import TRUE
from tests.serving import serving, until

KEYS = ["first-key-of-vouch", "second-key-of-vouch"]
MESSAGES: Any = [{"role": "user", "content": "What do you know about the Eiffel Tower?"}]
CHAT: Any = {"model": "test", "messages": MESSAGES}


def settings(upstream: Upstream, server: dict[str, Any], **sections: Any) -> Any:
    model = {"model": "openai/m", "api_base": upstream.url, "max_retries": 0}
    upstreams = [
        {**model, "name": "test", "api_key": "sk-upstream"},
        {**model, "name": "theirs", "client_key": True},
    ]
    return validate({"upstreams": upstreams, "server": {"api_keys": KEYS, **server}, **sections})


def post(url: str, body: Any, key: str = KEYS[0], route: str = "chat/completions", **more: str) -> Any:
    headers = {"authorization": f"Bearer {key}", **more}
    return httpx.post(f"{url}/{route}", json=body, headers=headers, timeout=60)


class Held:
    """An answer that begins when it is let go."""

    def __init__(self) -> None:
        self.go = threading.Event()

    async def respond(self, request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        await asyncio.to_thread(self.go.wait, 60)
        return await Reply(TRUE).respond(request, body)


@contextmanager
def asking(url: str, upstream: Upstream, count: int, route: str, body: Any) -> Iterator[None]:
    """So many requests of the first key whose answers don't come before the end of the context."""
    held, begun = Held(), len(upstream.requests)
    upstream.enqueue(*[held] * count)
    ask = [threading.Thread(target=post, args=(url, body, KEYS[0], route)) for _ in range(count)]
    for thread in ask:
        thread.start()
    until(lambda: len(upstream.requests) == begun + count)
    try:
        yield
    finally:
        held.go.set()
        for thread in ask:
            thread.join()


@pytest.mark.parametrize(
    ("route", "body"),
    [
        ("embeddings", {"model": "test", "input": "a"}),
        ("chat/completions", CHAT),
        ("chat/completions", {**CHAT, "model": "test-raw"}),
    ],
)
def test_one_key_takes_its_places_and_no_more_on_every_route(
    corpus: Library, upstream: Upstream, route: str, body: Any
) -> None:
    bounds = settings(upstream, {"max_concurrency": 4, "max_queue": 0}, limits={"key": {"concurrency": 2}})
    with serving(bounds, corpus) as url, asking(url, upstream, 2, route, body):
        for other, wanted in (("embeddings", {"model": "test", "input": "a"}), ("chat/completions", CHAT)):
            refused = post(url, wanted, route=other)
            assert (refused.status_code, refused.json()["error"]["code"]) == (429, "rate_limit_exceeded")
            assert "limits.key.concurrency" in refused.json()["error"]["message"]
            assert refused.headers["retry-after"] == "1"
            assert post(url, wanted, KEYS[1], other).status_code == 200


def test_a_key_that_fills_the_queue_makes_room_for_another_key(corpus: Library, upstream: Upstream) -> None:
    """One place, two in the queue: the second of the first key's requests has to leave."""
    bounds = settings(upstream, {"max_concurrency": 1, "max_queue": 2})
    body = {"model": "test", "input": "a"}
    answers: dict[str, int] = {}

    def ask(name: str, key: str) -> None:
        answers[name] = post(url, body, key, "embeddings").status_code

    with serving(bounds, corpus) as url:
        with asking(url, upstream, 1, "embeddings", body):
            waiting = [threading.Thread(target=ask, args=(f"a{n}", KEYS[0])) for n in range(3)]
            for thread in waiting:
                thread.start()
            until(lambda: len(answers) == 1)  # three for two places in the queue: one is refused
            (refused,) = answers.values()
            assert refused == 503
            polite = threading.Thread(target=ask, args=("b", KEYS[1]))
            polite.start()
            until(lambda: len(answers) == 2)  # and one more, for the other key
        for thread in (*waiting, polite):
            thread.join()
    assert answers.pop("b") == 200
    assert sorted(answers.values()) == [200, 503, 503]


def test_requests_a_minute_are_bounded_by_key_and_told_in_openais_headers(
    corpus: Library, upstream: Upstream
) -> None:
    bounds = settings(upstream, {}, limits={"key": {"requests_per_minute": 1}})
    body = {"model": "test", "input": "a"}
    with serving(bounds, corpus) as url:
        served, refused = (post(url, body, route="embeddings") for _ in range(2))
        other = post(url, body, KEYS[1], route="embeddings")
    assert (served.status_code, refused.status_code, other.status_code) == (200, 429, 200)
    told = {name: value for name, value in served.headers.items() if name.startswith("x-ratelimit-")}
    assert told.keys() == {f"x-ratelimit-{what}-requests" for what in ("limit", "remaining", "reset")}
    assert told["x-ratelimit-limit-requests"] == "1"
    assert told["x-ratelimit-remaining-requests"] == "0"
    assert 1 <= int(refused.headers["retry-after"]) <= 60
    assert "limits.key.requests_per_minute" in refused.json()["error"]["message"]
    assert len(upstream.requests) == 2


@pytest.mark.parametrize(
    ("route", "body"),
    [
        ("chat/completions", CHAT),
        ("chat/completions", {**CHAT, "stream": True}),
        ("chat/completions", {**CHAT, "model": "test-raw"}),
        ("chat/completions", {**CHAT, "model": "test-raw", "stream": True}),
        ("embeddings", {"model": "test", "input": "a"}),
    ],
)
def test_tokens_a_minute_are_bounded_by_key_on_every_route(
    corpus: Library, upstream: Upstream, route: str, body: Any
) -> None:
    bounds = settings(upstream, {}, limits={"key": {"tokens_per_minute": 1}})
    with serving(bounds, corpus) as url:
        served, refused = post(url, body, route=route), post(url, body, route=route)
        other = post(url, body, KEYS[1], route=route)
    assert (served.status_code, refused.status_code, other.status_code) == (200, 429, 200)
    assert refused.headers["x-ratelimit-remaining-tokens"] == "0"
    assert "limits.key.tokens_per_minute" in refused.json()["error"]["message"]


def test_a_key_of_vouch_never_reaches_an_upstream(corpus: Library, upstream: Upstream) -> None:
    theirs = {**CHAT, "model": "theirs"}
    with serving(settings(upstream, {}), corpus) as url:
        for model, route in (("theirs", "chat/completions"), ("theirs-raw", "chat/completions")):
            alone = post(url, {**theirs, "model": model}, route=route)
            assert alone.status_code == 401
            assert "called with your own API key" in alone.json()["error"]["message"]
            assert upstream.requests == []
        both = post(url, theirs, "sk-theirs", **{"x-vouch-key": KEYS[1]})
        assert both.status_code == 200
        assert upstream.requests[0].headers["authorization"] == "Bearer sk-theirs"
        assert not any(KEYS[1] in value for value in upstream.requests[0].headers.values())
        assert post(url, theirs, "sk-theirs").status_code == 401
        assert post(url, theirs, "sk-theirs", **{"x-vouch-key": "wrong"}).status_code == 401
    assert len(upstream.requests) == 1


class Slow:
    """A checker that computes a batch each time it is let, and notes whose claims were in it."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.turns = threading.Semaphore(0)

    async def check(self, pairs: Sequence[Pair]) -> Sequence[Judgement]:
        self.batches.append([pair.claim for pair in pairs])
        await asyncio.to_thread(self.turns.acquire, timeout=60)
        return [Judgement(Verdict.SUPPORTED, 1.0) for _ in pairs]


def with_checker(checker: Any) -> Any:
    def changed(context: AppContext) -> AppContext:
        models = {name: replace(model, checkers={"nli": checker}) for name, model in context.models.items()}
        return replace(context, models=models)

    return changed


def test_a_long_reply_does_not_hold_up_the_checking_of_a_short_one(
    corpus: Library, upstream: Upstream
) -> None:
    slow = Slow()
    long = " ".join(f"The tower number {n} is {n + 300} metres tall and made of iron." for n in range(200))
    upstream.answer = lambda body: long if "long" in str(body) else "The river is 44 metres wide."
    options = {"vouch": {"max_rounds": 0}}
    asked = {
        name: {**CHAT, **options, "messages": [{"role": "user", "content": name}]} for name in ("long", "s")
    }
    batching = Batching(slow, wait=0, max_pairs=16)
    with serving(settings(upstream, {}), corpus, with_checker(batching)) as url:
        hostile = threading.Thread(target=post, args=(url, asked["long"]))
        hostile.start()
        until(lambda: bool(slow.batches))  # the first is being computed, thousands of pairs wait
        answers: list[Any] = []
        polite = threading.Thread(target=lambda: answers.append(post(url, asked["s"], KEYS[1])))
        polite.start()
        while not answers:
            slow.turns.release()
            polite.join(0.05)
        computed = len(slow.batches)
        for _ in range(10_000):
            slow.turns.release()
        hostile.join()
    assert answers[0].status_code == 200
    shared = next(number for number, batch in enumerate(slow.batches) if any("river" in c for c in batch))
    assert shared <= computed
    assert any("tower" in claim for claim in slow.batches[-1])


def test_ready_means_that_a_claim_was_checked_lately(corpus: Library, upstream: Upstream) -> None:
    slow = Slow()
    bounds = settings(upstream, {"ready_within": 0.5})
    with serving(bounds, corpus, with_checker(slow)) as url:
        ready = url.removesuffix("/v1") + "/readyz"
        stuck = httpx.get(ready, timeout=60)
        assert (stuck.status_code, stuck.json()["status"]) == (503, "checking is stuck")
        for _ in range(10_000):
            slow.turns.release()
        until(lambda: httpx.get(ready, timeout=60).json()["status"] == "ready")


def test_a_checker_that_works_is_ready(base_url: str) -> None:
    answer = httpx.get(base_url.removesuffix("/v1") + "/readyz", timeout=60)
    assert answer.json()["status"] == "ready"
