"""Models, references, health, the raw alias, and what is passed through."""

from __future__ import annotations

from html import escape
from typing import Any

import httpx
import openai
import pytest
from openai import OpenAI

from proxy.cli.compose import Library
from proxy.config.load import validate
from tests.scripted_upstream import Reply, Status, Upstream
from tests.server.asking import QUESTION, ask, curl, extra
from tests.server.facts import TRUE
from tests.serving import serving, settings_for


def test_models_lists_each_upstream_and_its_raw_alias(client: OpenAI) -> None:
    names = [model.id for model in client.models.list()]
    assert {"test", "test-raw", "vouch/demo", "vouch/demo-raw", "vouch/extractive"} <= set(names)
    described = client.models.retrieve("vouch/demo").model_extra or {}
    assert "error" in described["description"]
    assert client.models.retrieve("test-raw").id == "test-raw"
    with pytest.raises(openai.NotFoundError):
        client.models.retrieve("nobody")


def test_models_may_be_listed_with_profiles_and_without_the_raw_aliases(
    upstream: Upstream, corpus: Library
) -> None:
    server = {"list_unchecked": False, "list_profiles": ["open_webui", "markdown"]}
    upstream.answer = lambda _body: TRUE
    with serving(settings_for(upstream.url, server=server), corpus) as url:
        names = [model["id"] for model in httpx.get(f"{url}/models").json()["data"]]
        assert names[:3] == ["test", "test@open_webui", "test@markdown"]
        assert not [name for name in names if name.endswith("-raw")]
        for name in ("test@markdown", "test-raw"):
            assert httpx.get(f"{url}/models/{name}").json()["id"] == name
            body = {"model": name, "messages": [{"role": "user", "content": QUESTION}]}
            assert httpx.post(f"{url}/chat/completions", json=body, timeout=60).status_code == 200, name
        assert httpx.get(f"{url}/models/test@nobody").status_code == 404


def test_a_model_answers_to_its_name_with_and_without_the_provider(
    upstream: Upstream, corpus: Library
) -> None:
    """What was given to `vouch serve --model` is what a newcomer puts into the client."""
    upstream.answer = lambda _body: TRUE
    settings = validate(
        {"upstreams": [{"model": "openai/gpt-4o-mini", "api_base": upstream.url, "api_key": "k"}]}
    )
    messages = [{"role": "user", "content": QUESTION}]
    with serving(settings, corpus) as url:
        for name in ("gpt-4o-mini", "openai/gpt-4o-mini", "openai/gpt-4o-mini-raw"):
            body = {"model": name, "messages": messages}
            assert httpx.post(f"{url}/chat/completions", json=body, timeout=30).status_code == 200, name
        body = {"model": "azure/gpt-4o-mini", "messages": messages}
        refused = httpx.post(f"{url}/chat/completions", json=body, timeout=30)
        assert (refused.status_code, refused.json()["error"]["code"]) == (404, "model_not_found")


def test_the_raw_alias_bypasses_checking(client: OpenAI, upstream: Upstream) -> None:
    upstream.enqueue(f"{TRUE}[3]")
    completion = ask(client, model="test-raw")
    assert completion.choices[0].message.content == f"{TRUE}[3]"
    assert "verification" not in extra(completion)


def test_the_raw_alias_streams_live(client: OpenAI, upstream: Upstream) -> None:
    upstream.enqueue(TRUE)
    messages: Any = [{"role": "user", "content": QUESTION}]
    chunks = list(client.chat.completions.create(model="test-raw", messages=messages, stream=True))
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == TRUE
    assert len(chunks) > 5


def test_embeddings_and_completions_pass_through(client: OpenAI, upstream: Upstream) -> None:
    for model in ("test", "test-litellm"):
        embedded = client.embeddings.create(model=model, input=["a", "b"], encoding_format="float")
        assert [len(row.embedding) for row in embedded.data] == [8, 8]
    completed = client.completions.create(model="test", prompt="Hello")
    assert completed.choices[0].text == "Echo: Hello"
    streamed = client.completions.create(model="test", prompt="Hello", stream=True)
    assert "".join(chunk.choices[0].text for chunk in streamed if chunk.choices) == "Echo: Hello"
    assert upstream.requests[0].headers["authorization"] == "Bearer sk-upstream"


def test_errors_of_what_is_passed_through_come_back(client: OpenAI, upstream: Upstream) -> None:
    upstream.enqueue(Status(429, retry_after="3"))
    with pytest.raises(openai.RateLimitError) as caught:
        client.embeddings.create(model="test", input="a")
    assert caught.value.response.headers["retry-after"] == "3"
    with pytest.raises(openai.NotFoundError):
        client.embeddings.create(model="vouch/demo", input="a")


def test_a_reference_is_json_for_programs_and_a_page_for_people(
    client: OpenAI, base_url: str, upstream: Upstream
) -> None:
    upstream.enqueue(TRUE)
    reference = extra(ask(client, top_k=1))["references"][0]
    url = f"{base_url}/references/{reference['id']}"
    passage = httpx.get(url).json()
    assert (passage["text"], passage["document_id"]) == (reference["text"], "eiffel-tower.md")
    page = httpx.get(url, headers={"accept": "text/html"})
    assert page.headers["content-type"].startswith("text/html")
    assert "330 metres" in page.text
    assert "default-src 'none'" in page.headers["content-security-policy"]
    start = passage["text"].index("330 metres")
    marked = httpx.get(f"{url}?quote={start}-{start + 10}", headers={"accept": "text/html"})
    assert "<mark>330 metres</mark>" in marked.text
    status, _, answer = curl(f"{base_url}/references/nothing", b"", "-X", "GET")
    assert (status, answer["error"]["code"]) == (404, "not_found")
    gone = httpx.get(f"{base_url}/references/<nothing>", headers={"accept": "text/html"})
    assert (gone.status_code, gone.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert "default-src 'none'" in gone.headers["content-security-policy"]
    said = answer["error"]["message"].replace("nothing", "<nothing>")
    assert escape(said) in gone.text


def test_health_and_readiness(base_url: str) -> None:
    root = base_url.removesuffix("/v1")
    assert httpx.get(f"{root}/healthz").json() == {"status": "ok"}
    ready = httpx.get(f"{root}/readyz").json()
    assert ready["status"] == "ready"
    assert ready["passages"] > 60


def test_unknown_routes_and_methods_are_json_errors(base_url: str) -> None:
    status, headers, answer = curl(f"{base_url}/nonsense", {})
    assert (status, answer["error"]["type"]) == (404, "invalid_request_error")
    assert headers["x-request-id"]
    status, _, answer = curl(f"{base_url}/chat/completions", b"", "-X", "GET")
    assert status == 405


@pytest.mark.parametrize(
    "question",
    [
        "How tall is the Eiffel Tower?",
        "都江堰是什么时候建的？",
    ],
)
@pytest.mark.parametrize("stream", [True, False])
def test_the_demo_model_plants_an_error_that_is_mended(client: OpenAI, question: str, stream: bool) -> None:
    messages: Any = [{"role": "user", "content": question}]
    if stream:
        last: Any = list(client.chat.completions.create(model="vouch/demo", messages=messages, stream=True))[
            -1
        ]
    else:
        last = client.chat.completions.create(model="vouch/demo", messages=messages)
    verification = last.model_extra["verification"]
    assert len(verification["attempts"][0]["nonfactual"]) == 1
    assert verification["attempts"][verification["best"]]["nonfactual"] == []
    assert verification["best"] == 1
    assert last.model_extra["references"]


def test_the_extractive_model_says_nothing_but_what_stands_in_the_corpus(client: OpenAI) -> None:
    completion = ask(client, "When was the Suez Canal opened?", model="vouch/extractive")
    verdicts = {claim["verdict"] for claim in extra(completion)["verification"]["claims"]}
    assert "supported" in verdicts
    assert verdicts <= {"supported", "not_checkable"}


def test_the_first_model_answers_a_request_that_names_none(base_url: str, upstream: Upstream) -> None:
    upstream.enqueue(Reply(TRUE))
    status, _, answer = curl(f"{base_url}/chat/completions", {"messages": [{"role": "user", "content": "?"}]})
    assert (status, answer["choices"][0]["message"]["content"]) == (200, f"{TRUE}[1]")
