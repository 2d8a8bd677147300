"""`/openapi.json` is true: of the routes, and of what they answer."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import httpx
import pytest
from jsonschema import Draft202012Validator

from proxy.cli.compose import Library, make_context
from proxy.openai_api.openapi import OPERATIONS
from proxy.server.app import create_app
from tests.corpora import ANIMALS, build_index, library_of
from tests.scripted_upstream import Reply, Status, Upstream
from tests.server.facts import FALSE, TRUE, TRUE_TOO, UNKNOWN
from tests.serving import serving, settings_for

Json = dict[str, Any]

KEY = "key-of-everybody"
KEYS = [{"name": "all", "key": KEY, "scopes": ["models", "metrics", "admin"]}]
MESSAGES = [{"role": "user", "content": "What do you know about the Eiffel Tower?"}]
CHAT: Json = {"model": "test", "messages": MESSAGES, "vouch": {"max_rounds": 0}}
TEXT = f"{TRUE} {FALSE} {UNKNOWN} Is that so?"
DOCUMENT: Json = {"text": TRUE, "title": "Tower", "number": 1}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """A small index."""
    out = tmp_path_factory.mktemp("described") / "index"
    build_index(out, [*ANIMALS, f"The Eiffel Tower is in Paris. {TRUE} {TRUE_TOO}"])
    library = library_of(out)
    yield library
    library.close()


@pytest.fixture(scope="module")
def url(session_upstream: Upstream, corpus: Library) -> Iterator[str]:
    """The address of a server, without /v1."""
    session_upstream.clear()
    with serving(settings_for(session_upstream.url), corpus) as base:
        yield base.removesuffix("/v1")


@pytest.fixture(scope="module")
def description(url: str) -> Json:
    answer = httpx.get(f"{url}/openapi.json", timeout=60)
    assert answer.headers["content-type"] == "application/json"
    found: Json = answer.json()
    return found


def faults(description: Json, operation: str, answer: httpx.Response) -> list[str]:
    """What of an answer is not as described."""
    method, path = operation.split(" ")
    responses = description["paths"][path][method.lower()]["responses"]
    status = str(answer.status_code)
    described = responses.get(status) or responses.get(f"{status[0]}XX")
    if described is None:
        return [f"the status {status} is not described"]
    kind = answer.headers["content-type"].partition(";")[0]
    content = described["content"].get(kind) or described["content"].get("*/*")
    if content is None:
        return [f"the type {kind} is not described"]
    value = answer.json() if kind == "application/json" else answer.text
    return schema_faults(description, content["schema"], value)


def schema_faults(description: Json, schema: Json, value: Any) -> list[str]:
    validator = Draft202012Validator({**schema, "components": description["components"]})
    return [f"{error.json_path}: {error.message}" for error in validator.iter_errors(value)]


def test_every_route_is_described_and_nothing_else(corpus: Library, upstream: Upstream) -> None:
    settings = settings_for(upstream.url)
    routes = create_app(make_context(settings, corpus), settings).routes
    served = {
        f"{method} {getattr(route, 'path', '').replace(':path}', '}')}"
        for route in routes
        for method in getattr(route, "methods", ())
    }
    own = {each for each in served if not each.startswith("HEAD") and each != "GET /" and "/web/" not in each}
    assert own == set(OPERATIONS)


def test_the_description_is_one_of_openapi(description: Json) -> None:
    assert description["openapi"] == "3.1.0"
    operations = [each for path in description["paths"].values() for each in path.values()]
    assert len({each["operationId"] for each in operations}) == len(operations)
    assert {"/", "/healthz", "/v1/models/{name}", "/openapi.json"} <= set(description["paths"])
    for schema in description["components"]["schemas"].values():
        Draft202012Validator.check_schema(schema)
    names = description["components"]["schemas"]
    for target in references_in(description):
        assert target.removeprefix("#/components/schemas/") in names
    for path, methods in description["paths"].items():
        for operation in methods.values():
            named = {each["name"] for each in operation.get("parameters", ()) if each["in"] == "path"}
            assert named == {part[1:-1] for part in path.split("/") if part.startswith("{")}


def references_in(tree: Any) -> Iterator[str]:
    if isinstance(tree, dict):
        if isinstance(tree.get("$ref"), str):
            yield tree["$ref"]
        for value in tree.values():
            yield from references_in(value)
    elif isinstance(tree, list):
        for value in tree:
            yield from references_in(value)


ANSWERS: Mapping[str, tuple[str, Json | None, int]] = {
    "cited": ("POST /v1/chat/completions", CHAT, 200),
    "corrected": ("POST /v1/chat/completions", {**CHAT, "vouch": {"max_rounds": 1}}, 200),
    "two choices": ("POST /v1/chat/completions", {**CHAT, "n": 2}, 200),
    "parts": ("POST /v1/chat/completions", {**CHAT, "vouch": {"granularity": "sub_sentence"}}, 200),
    "perplexity": ("POST /v1/chat/completions", {**CHAT, "vouch": {"profile": "perplexity"}}, 200),
    "no references": ("POST /v1/chat/completions", {**CHAT, "vouch": {"profile": "none"}}, 200),
    "no time": ("POST /v1/chat/completions", {**CHAT, "vouch": {"deadline": 1e-6, "max_rounds": 0}}, 200),
    "raw": ("POST /v1/chat/completions", {**CHAT, "model": "test-raw"}, 200),
    "demo": ("POST /v1/chat/completions", {**CHAT, "model": "vouch/demo", "vouch": {}}, 200),
    "stream": ("POST /v1/chat/completions", {**CHAT, "stream": True}, 200),
    "wrong option": ("POST /v1/chat/completions", {**CHAT, "vouch": {"max_round": 1}}, 400),
    "response": ("POST /v1/responses", {"model": "test", "input": "The tower?"}, 200),
    "check": ("POST /v1/check", {"text": TEXT, "documents": [DOCUMENT]}, 200),
    "empty check": ("POST /v1/check", {"text": " "}, 400),
    "citations": (
        "POST /v1/citations/check",
        {"answer": f"{TRUE}[1][7] {FALSE}", "documents": [DOCUMENT]},
        200,
    ),
    "search": ("POST /v1/search", {"query": "Eiffel Tower"}, 200),
    "dense search": ("POST /v1/search", {"query": "Eiffel Tower", "retrieval": "dense", "top_k": 100}, 200),
    "embeddings": ("POST /v1/embeddings", {"model": "test", "input": "a"}, 200),
    "completions": ("POST /v1/completions", {"model": "test", "prompt": "a"}, 200),
    "moderations": ("POST /v1/moderations", {"model": "test", "input": "a"}, 200),
    "no images": ("POST /v1/images/generations", {"model": "vouch/demo", "prompt": "a"}, 404),
    "models": ("GET /v1/models", None, 200),
    "model": ("GET /v1/models/vouch/extractive-raw", None, 200),
    "no model": ("GET /v1/models/nothing", None, 404),
    "no reference": ("GET /v1/references/nothing", None, 404),
    "health": ("GET /healthz", None, 200),
    "metrics": ("GET /metrics", None, 200),
    "itself": ("GET /openapi.json", None, 200),
    "reload": ("POST /admin/reload", None, 200),
    "page": ("GET /", None, 200),
}


def ask(url: str, operation: str, body: Json | None, **headers: str) -> httpx.Response:
    method, path = operation.split(" ")
    return httpx.request(method, f"{url}{path}", json=body, headers=headers, timeout=60)


@pytest.mark.parametrize("case", ANSWERS)
def test_an_answer_is_as_described(url: str, description: Json, upstream: Upstream, case: str) -> None:
    operation, body, status = ANSWERS[case]
    upstream.answer = lambda asked: Reply(*[TEXT] * (asked.get("n") or 1))
    if operation.startswith("POST /v1/") and "chat" not in operation and "responses" not in operation:
        upstream.clear()
    answer = ask(url, operation, body)
    assert answer.status_code == status, answer.text
    named = operation if "/v1/models/" not in operation else "GET /v1/models/{name}"
    named = named if "/v1/references/" not in named else "GET /v1/references/{id}"
    assert faults(description, named, answer) == []


def test_every_operation_has_an_answer_here() -> None:
    asked = {operation for operation, _, _ in ANSWERS.values()}
    parametric = {"GET /v1/models/{name}", "GET /v1/references/{id}", "GET /readyz"}
    assert set(OPERATIONS) - asked == parametric


def test_a_passage_and_readiness_are_as_described(url: str, description: Json) -> None:
    found = ask(url, "POST /v1/search", {"query": "Eiffel Tower"}).json()["data"][0]["id"]
    for accept in ("application/json", "text/html"):
        answer = ask(url, f"GET /v1/references/{found}", None, accept=accept)
        assert answer.headers["content-type"].startswith(accept)
        assert faults(description, "GET /v1/references/{id}", answer) == []
    assert faults(description, "GET /readyz", ask(url, "GET /readyz", None)) == []


@pytest.mark.parametrize("vouch", [{}, {"stream_mode": "buffer", "progress": True}, {"max_rounds": 0}])
def test_every_chunk_is_as_described(url: str, description: Json, upstream: Upstream, vouch: Json) -> None:
    upstream.answer = lambda _body: TEXT
    body = {**CHAT, "stream": True, "stream_options": {"include_usage": True}, "vouch": vouch}
    answer = ask(url, "POST /v1/chat/completions", body)
    chunks = [json.loads(line[6:]) for line in answer.text.splitlines() if line.startswith("data: {")]
    assert len(chunks) > 2
    schema = {"$ref": "#/components/schemas/ChatCompletionChunk"}
    for chunk in chunks:
        assert schema_faults(description, schema, chunk) == []


def test_errors_of_upstreams_are_as_described(url: str, description: Json, upstream: Upstream) -> None:
    for status in (400, 401, 404, 429, 500, 503):
        upstream.enqueue(Status(status), Status(status))
        for operation, body in (("POST /v1/chat/completions", CHAT), ("POST /v1/embeddings", {"input": "a"})):
            answer = ask(url, operation, body)
            assert answer.status_code == status
            assert faults(description, operation, answer) == []


def test_where_there_are_keys_the_description_says_where_one_is_needed(
    corpus: Library, upstream: Upstream
) -> None:
    with serving(settings_for(upstream.url, server={"api_keys": KEYS}), corpus) as base:
        url = base.removesuffix("/v1")
        description = ask(url, "GET /openapi.json", None).json()
        for path, methods in description["paths"].items():
            for method, operation in methods.items():
                answer = ask(url, f"{method.upper()} {path}", None)
                secured = answer.status_code == 401
                assert bool(operation.get("security")) == secured, f"{method} {path}"
                assert faults(description, f"{method.upper()} {path}", answer) == []
    assert set(description["components"]["securitySchemes"]) == {"bearer", "header"}
