"""The OpenAPI 3.1 description of the API, at `/openapi.json`.

A test holds it against the server's routes and against real answers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from proxy import __version__
from proxy.errors import NotFoundError
from proxy.openai_api.answer_schemas import ANYTHING, SCHEMAS, TEXT, array, fields, nullable, ref
from proxy.openai_api.chat.request import MAX_CHOICES
from proxy.openai_api.citation_check import CheckRequest
from proxy.openai_api.corpus_search import SearchRequest
from proxy.openai_api.options import RequestOptions
from proxy.openai_api.profiles import HEADER
from proxy.openai_api.text_check import TextCheckRequest
from proxy.types import Json

_BODIES: tuple[type[BaseModel], ...] = (RequestOptions, TextCheckRequest, CheckRequest, SearchRequest)
_OPTIONS = nullable(ref("RequestOptions"))
_MODEL: Json = {
    "type": ["string", "null"],
    "description": "A model of /v1/models; the first one if left out.",
}
_MESSAGE = fields(
    {"role": TEXT, "content": {"type": ["string", "array", "null"], "items": ANYTHING}}, "content", more=True
)
_STREAM: Json = {"type": ["boolean", "null"]}

_REQUESTS: Mapping[str, Json] = {
    "ChatRequest": fields(
        {
            "model": _MODEL,
            "messages": {**array(_MESSAGE), "minItems": 1},
            "stream": _STREAM,
            "stream_options": {"type": ["object", "null"]},
            "n": {"type": ["integer", "null"], "minimum": 1, "maximum": MAX_CHOICES},
            "vouch": _OPTIONS,
        },
        *("model", "stream", "stream_options", "n", "vouch"),
        more=True,
        text="A chat as OpenAI's route takes it. What is not named here goes to the upstream.",
    ),
    "ResponseRequest": fields(
        {
            "model": _MODEL,
            "input": {"anyOf": [TEXT, {**array({"type": "object"}), "minItems": 1}]},
            "instructions": {"type": ["string", "null"]},
            "stream": _STREAM,
            "vouch": _OPTIONS,
        },
        *("model", "instructions", "stream", "vouch"),
        more=True,
        text="A request of OpenAI's Responses API.",
    ),
    "PassedOn": fields({"model": _MODEL}, "model", more=True, text="What the upstream takes on this route."),
}


@dataclass(frozen=True, slots=True)
class Operation:
    """What a route does: its body, and what it answers by content type. `open`: it needs no key."""

    summary: str
    answers: Mapping[str, Json]
    body: str | None = None
    parameters: tuple[Json, ...] = ()
    open: bool = False


def _json(name: str) -> Mapping[str, Json]:
    return {"application/json": ref(name)}


def _streamed(name: str) -> Mapping[str, Json]:
    return {**_json(name), "text/event-stream": EVENTS}


EVENTS: Json = {
    "title": "Server-sent events",
    "description": "The data of each event is JSON; that of a chat's last one is `[DONE]`.",
}
"""Without a type: OpenAPI 3.1 does not say whether it would be that of the whole stream or of each event."""


def _in_path(name: str, text: str) -> Json:
    return {"name": name, "in": "path", "required": True, "schema": TEXT, "description": text}


_PROFILE: Json = {
    "name": HEADER,
    "in": "header",
    "schema": TEXT,
    "description": "The profile that the reply is dressed for.",
}
_QUOTE: Json = {
    "name": "quote",
    "in": "query",
    "schema": TEXT,
    "description": "A span of the text, START-END, that the page marks.",
}
_EXACT = {"text/plain": TEXT, "application/openmetrics-text": TEXT}
_ANY: Mapping[str, Json] = {"*/*": ANYTHING}

_PASSED_ON = Operation("The upstream's own answer, unchanged", _ANY, "PassedOn")
_PAGE = Operation("A page for browsers, and its files", _ANY, open=True)

OPERATIONS: Mapping[str, Operation] = {
    "POST /v1/chat/completions": Operation(
        "A checked and cited reply; in a stream, events with ChatCompletionChunk as data, then [DONE]",
        _streamed("ChatCompletion"),
        "ChatRequest",
        (_PROFILE,),
    ),
    "POST /v1/responses": Operation(
        "A checked and cited reply in the shape of the Responses API",
        _streamed("Response"),
        "ResponseRequest",
    ),
    "POST /v1/check": Operation(
        "What becomes of the claims of a text, and what it can cite", _json("TextCheck"), "TextCheckRequest"
    ),
    "POST /v1/citations/check": Operation(
        "Whether the documents that an answer cites support it", _json("CitationCheck"), "CheckRequest"
    ),
    "POST /v1/search": Operation("The passages that a query finds", _json("Search"), "SearchRequest"),
    "POST /v1/embeddings": _PASSED_ON,
    "POST /v1/completions": _PASSED_ON,
    "POST /v1/moderations": _PASSED_ON,
    "POST /v1/images/generations": _PASSED_ON,
    "GET /v1/models": Operation("All models", _json("Models")),
    "GET /v1/models/{name}": Operation("One model", _json("Model"), None, (_in_path("name", "Its id."),)),
    "GET /v1/references/{id}": Operation(
        "A passage of the index: JSON, or a page for browsers",
        {**_json("Passage"), "text/html": TEXT},
        None,
        (_in_path("id", "The passage's id."), _QUOTE),
    ),
    "GET /healthz": Operation("Whether the process answers", _json("Health"), open=True),
    "GET /readyz": Operation(
        "Whether requests can be answered; 503 where not", _json("Readiness"), open=True
    ),
    "GET /metrics": Operation("Metrics for Prometheus", _EXACT),
    "GET /openapi.json": Operation("This description", {"application/json": {"type": "object"}}, open=True),
    "POST /admin/reload": Operation("Serves the rebuilt index", _json("Reload")),
}
"""What each route does; the page's files share one entry."""


def openapi(routes: Iterable[tuple[str, str]], *, keys: bool) -> Json:
    """The description of these routes, each a method and a path. `keys`: the server has some, and so asks."""
    bodies = models_json_schema(
        [(body, "validation") for body in _BODIES], ref_template="#/components/schemas/{model}"
    )[1]["$defs"]
    paths: dict[str, Json] = {}
    for method, path in routes:
        plain = re.sub(r":\w+\}", "}", path)
        paths.setdefault(plain, {})[method.lower()] = _operation(method, plain, keys=keys)
    schemes = {
        "bearer": {"type": "http", "scheme": "bearer"},
        "header": {"type": "apiKey", "in": "header", "name": "x-vouch-key"},
    }
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Vouch",
            "version": __version__,
            "description": "An OpenAI-compatible proxy that checks and cites every sentence an LLM says.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {
            "schemas": {**SCHEMAS, **_REQUESTS, **bodies},
            **({"securitySchemes": schemes} if keys else {}),
        },
    }


def _operation(method: str, path: str, *, keys: bool) -> Json:
    described = OPERATIONS.get(f"{method} {path}")
    if described is None and method == "GET" and (path == "/" or path.startswith("/web/")):
        described = _PAGE
    if described is None:
        raise NotFoundError(f"{method} {path} is not described.")
    answer = {"description": described.summary, "content": _content(described.answers)}
    failed = {"description": "What went wrong", "content": _content(_json("Error"))}
    stopped = {"503": answer} if path == "/readyz" else {}
    secured = keys and not described.open
    return {
        "operationId": re.sub(r"\W+", "_", f"{method.lower()}{path}").strip("_"),
        "summary": described.summary,
        **({"parameters": list(described.parameters)} if described.parameters else {}),
        **(
            {"requestBody": {"required": True, "content": _content(_json(described.body))}}
            if described.body
            else {}
        ),
        "responses": {"200": answer, **stopped, "4XX": failed, "5XX": failed},
        **({"security": [{"bearer": []}, {"header": []}]} if secured else {}),
    }


def _content(answers: Mapping[str, Json]) -> Json:
    return {kind: {"schema": schema} for kind, schema in answers.items()}
