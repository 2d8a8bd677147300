"""Profiles over HTTP: named in the body, in a header, behind the model's name, or in the settings."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from proxy.cli.compose import Library
from tests.scripted_upstream import Reply, Upstream
from tests.server.facts import TRUE, TRUE_TOO, UNKNOWN
from tests.serving import serving, settings_for

DRAFT = f"{TRUE} {UNKNOWN} {TRUE_TOO}"
MESSAGES = [{"role": "user", "content": "What about the Eiffel Tower?"}]


def post(base_url: str, model: str = "test", header: str = "", stream: bool = False, **vouch: Any) -> Any:
    body = {"model": model, "messages": MESSAGES, "stream": stream, "vouch": {"max_rounds": 0, **vouch}}
    headers = {"x-vouch-profile": header} if header else {}
    response = httpx.post(f"{base_url}/chat/completions", json=body, headers=headers, timeout=60)
    if not stream or response.status_code != 200:
        return response.json()
    lines = [line.removeprefix("data: ") for line in response.text.splitlines() if line.startswith("data: {")]
    return [json.loads(line) for line in lines]


def said(chunks: list[dict[str, Any]]) -> str:
    return "".join(chunk["choices"][0]["delta"].get("content") or "" for chunk in chunks)


@pytest.mark.parametrize(
    "how", [{"profile": "perplexity"}, {"header": "perplexity"}, {"model": "test@perplexity"}]
)
def test_a_profile_is_named_in_the_body_a_header_or_behind_the_model(
    base_url: str, upstream: Upstream, how: dict[str, Any]
) -> None:
    upstream.enqueue(DRAFT)
    reply = post(base_url, **how)
    assert reply["citations"] == [one["url"] for one in reply["references"]]
    assert [one["title"] for one in reply["search_results"]]
    assert "annotations" not in reply["choices"][0]["message"]
    assert upstream.requests[-1].body["model"] == "test-model"


def test_the_body_goes_before_the_header_and_that_before_the_name(base_url: str, upstream: Upstream) -> None:
    upstream.enqueue(DRAFT, DRAFT)
    assert "citations" not in post(base_url, "test@perplexity", "perplexity", profile="openai")
    assert "citations" in post(base_url, "test@none", "perplexity")


@pytest.mark.parametrize("mode", ["sentence", "buffer"])
@pytest.mark.parametrize("profile", ["openai", "perplexity", "open_webui", "markdown", "none"])
def test_a_stream_says_what_the_whole_reply_says(
    base_url: str, upstream: Upstream, profile: str, mode: str
) -> None:
    upstream.enqueue(Reply(DRAFT), Reply(DRAFT))
    whole = post(base_url, profile=profile)
    chunks = post(base_url, stream=True, profile=profile, stream_mode=mode)
    assert said(chunks) == whole["choices"][0]["message"]["content"]
    last = chunks[-1]
    for key in ("references", "verification", "citations", "search_results", "sources"):
        if key != "sources":
            assert last.get(key) == whole.get(key)


def test_the_next_turn_is_as_the_upstream_wrote_it(base_url: str, upstream: Upstream) -> None:
    for profile in ("openai", "perplexity", "open_webui", "markdown", "none"):
        upstream.enqueue(Reply(DRAFT), Reply("Fine."))
        message = post(base_url, profile=profile)["choices"][0]["message"]
        turns = [*MESSAGES, message, {"role": "user", "content": "And?"}]
        body = {"model": "test", "messages": turns, "vouch": {"max_rounds": 0, "profile": profile}}
        httpx.post(f"{base_url}/chat/completions", json=body, timeout=60).raise_for_status()
        assert upstream.requests[-1].body["messages"][1] == {"role": "assistant", "content": DRAFT}


def test_a_profile_that_does_not_exist_is_named(base_url: str, upstream: Upstream) -> None:
    answer = post(base_url, header="open-web-ui")
    assert answer["error"]["param"] == "x-vouch-profile"
    assert "open_webui" in answer["error"]["message"]
    assert post(base_url, profile="openwebui")["error"]["param"] == "vouch.profile"
    assert not upstream.requests


def test_the_settings_name_one_for_all(corpus: Library, upstream: Upstream) -> None:
    settings = settings_for(upstream.url, citation={"profile": "none"}, regeneration={"max_rounds": 0})
    upstream.enqueue(DRAFT)
    with serving(settings, corpus) as base_url:
        reply = post(base_url)
    assert reply["choices"][0]["message"]["content"] == f"{TRUE} {UNKNOWN} ⚠️ {TRUE_TOO}"
    assert "references" not in reply
    assert reply["verification"]["status"] == "ok"


SEARCHED = {
    "citations": ["https://up.example/b"],
    "search_results": [{"title": "B", "url": "https://up.example/b"}],
}
TOLD = ("citations", "search_results", "sources")


def citing(text: str) -> Reply:
    return Reply({"content": text, "citations": ["https://up.example/b"]}, extra=SEARCHED)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("profile", ["openai", "perplexity", "open_webui", "none"])
def test_a_marker_is_never_looked_up_in_what_the_upstream_cites(
    base_url: str, upstream: Upstream, profile: str, stream: bool
) -> None:
    upstream.enqueue(citing(f"{TRUE}[1]"))
    reply = post(base_url, profile=profile, stream=stream)
    for chunk in reply if stream else [reply]:
        (choice,) = chunk["choices"]
        told = {**choice.get("message", {}), **choice.get("delta", {}), **chunk}
        assert "up.example" not in json.dumps([told.get(key) for key in TOLD])
    last = reply[-1] if stream else reply
    assert ("citations" in last) == (profile == "perplexity")
    assert last["verification"]["upstream_citations"] == SEARCHED


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("text", "options"),
    [(f"{TRUE}[1]", {"stream_mode": "passthrough", "mark_nonfactual": ""}), (json.dumps([f"{TRUE}[1]"]), {})],
)
@pytest.mark.parametrize("profile", ["openai", "perplexity"])
def test_where_the_text_is_untouched_what_the_upstream_cites_stays(
    base_url: str, upstream: Upstream, profile: str, text: str, options: dict[str, Any], stream: bool
) -> None:
    upstream.enqueue(citing(text))
    reply = post(base_url, stream=stream, profile=profile, **options)
    last = reply[-1] if stream else reply
    assert {key: last[key] for key in SEARCHED} == SEARCHED
    assert "upstream_citations" not in last["verification"]
    (choice,) = last["choices"]
    assert choice["delta" if stream else "message"]["citations"] == ["https://up.example/b"]
