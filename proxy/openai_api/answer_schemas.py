"""JSON Schemas of what the API answers, for `/openapi.json`. Bodies of requests have pydantic models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_args

from proxy.types import (
    CorrectionKind,
    CorrectionResult,
    Json,
    RetrievalMode,
    Status,
    Verdict,
)


def one_of(*values: str) -> Json:
    """One of these words."""
    return {"type": "string", "enum": list(values)}


def array(items: Json) -> Json:
    """A list of these."""
    return {"type": "array", "items": items}


def ref(name: str) -> Json:
    """The schema of that name."""
    return {"$ref": f"#/components/schemas/{name}"}


def nullable(schema: Json) -> Json:
    """That, or null."""
    return {"anyOf": [schema, {"type": "null"}]}


def fields(properties: Mapping[str, Json], *optional: str, more: bool = False, text: str = "") -> Json:
    """An object. All `properties` are required but the `optional` ones; others are allowed if `more`."""
    return {
        "type": "object",
        **({"description": text} if text else {}),
        "properties": dict(properties),
        "required": [name for name in properties if name not in optional],
        "additionalProperties": more,
    }


TEXT: Json = {"type": "string"}
COUNT: Json = {"type": "integer", "minimum": 0}
NUMBER: Json = {"type": "integer", "minimum": 1}
SHARE: Json = {"type": "number", "minimum": 0, "maximum": 1}
FIGURE: Json = {"type": "number"}
FLAG: Json = {"type": "boolean"}
ANYTHING: Json = {}
SPAN: Json = {"type": "array", "items": COUNT, "minItems": 2, "maxItems": 2}
VERDICT = one_of(*map(str, Verdict))
STATUS = one_of(*get_args(Status))
MODE = one_of(*get_args(RetrievalMode))

_PASSAGE: Json = {
    "id": TEXT,
    "document_id": TEXT,
    "title": TEXT,
    "section": TEXT,
    "text": TEXT,
    "url": TEXT,
    "start": COUNT,
    "end": COUNT,
}
_TOKENS: Json = {"prompt_tokens": COUNT, "completion_tokens": COUNT, "total_tokens": COUNT}
_CHECKED: Json = {"references": array(ref("Reference")), "verification": ref("Verification")}


def _by_half(schema: Json) -> Json:
    return fields({"dense": nullable(schema), "lexical": nullable(schema)})


SCHEMAS: Mapping[str, Json] = {
    "Error": fields(
        {
            "error": fields(
                {"message": TEXT, "type": TEXT, "param": nullable(TEXT), "code": nullable(TEXT)}, more=True
            )
        },
        more=True,
        text="What went wrong, what to do about it, and the parameter that it is about.",
    ),
    "Usage": fields(
        {**_TOKENS, "verification": fields(_TOKENS)},
        "verification",
        more=True,
        text="Tokens. `verification` is what checking and correcting cost.",
    ),
    "Reference": fields(
        {
            "n": COUNT,
            "id": TEXT,
            "title": TEXT,
            "section": TEXT,
            "url": TEXT,
            "text": TEXT,
            "quote": TEXT,
            "highlights": array(SPAN),
            "score": FIGURE,
            "spans": array(SPAN),
        },
        text="A passage that at least one claim cites. Spans are code points, the end exclusive.",
    ),
    "Part": fields(
        {
            "start": COUNT,
            "end": COUNT,
            "text": TEXT,
            "triplet": array(TEXT),
            "verdict": VERDICT,
            "score": FIGURE,
        },
        "triplet",
        text="A part of a claim that was checked on its own.",
    ),
    "Claim": fields(
        {
            "start": COUNT,
            "end": COUNT,
            "text": TEXT,
            "verdict": VERDICT,
            "score": FIGURE,
            "references": array(COUNT),
            "evidence": array(fields({"n": COUNT, "quote": TEXT, "highlights": array(SPAN)})),
            "reason": TEXT,
            "citations": fields({"kept": array(COUNT), "dropped": array(COUNT), "added": array(COUNT)}),
            "parts": array(ref("Part")),
        },
        "evidence",
        "reason",
        "citations",
        "parts",
        text="A claim of the content, what became of it, and the references that it cites.",
    ),
    "FailedClaim": fields(
        {
            "text": TEXT,
            "verdict": VERDICT,
            "reason": TEXT,
            "missing": array(TEXT),
            "evidence": nullable(fields({"id": TEXT, "title": TEXT, "url": TEXT, "quote": TEXT})),
            "replaced_by": SPAN,
        },
        "replaced_by",
        text="A claim that the evidence contradicts or does not support.",
    ),
    "Correction": fields(
        {
            "round": COUNT,
            "asked_for": one_of(*get_args(CorrectionKind)),
            "claims": COUNT,
            "result": one_of(*get_args(CorrectionResult)),
            "detail": TEXT,
        },
        "detail",
        text="A request for a correction, and what came of it.",
    ),
    "Verification": fields(
        {
            "status": STATUS,
            "verdict": VERDICT,
            "shares": {"type": "object", "additionalProperties": SHARE},
            "rounds": COUNT,
            "correction": array(ref("Correction")),
            "claims": array(ref("Claim")),
            "attempts": array(fields({"nonfactual": array(ref("FailedClaim"))})),
            "best": COUNT,
            "dropped": array(TEXT),
            "malformed": NUMBER,
            "task": TEXT,
            "error": TEXT,
            "upstream_citations": {"type": "object"},
            "timeline": array({"type": "object"}),
        },
        *("dropped", "malformed", "task", "error", "upstream_citations", "timeline"),
        text="What became of each claim.",
    ),
    "ChatCompletion": fields(
        {
            "id": TEXT,
            "object": {"const": "chat.completion"},
            "created": COUNT,
            "model": TEXT,
            "choices": array(
                fields({"index": COUNT, "message": {"type": "object"}, **_CHECKED}, *_CHECKED, more=True)
            ),
            "usage": ref("Usage"),
            **_CHECKED,
        },
        *("model", "usage", *_CHECKED),
        more=True,
        text="OpenAI's object, with the references and the verification. A model NAME-raw has neither, and "
        "profiles have fields of their own.",
    ),
    "ChatCompletionChunk": fields(
        {
            "id": TEXT,
            "object": {"const": "chat.completion.chunk"},
            "created": COUNT,
            "model": TEXT,
            "choices": array(fields({"index": COUNT, "delta": {"type": "object"}}, more=True)),
            "usage": nullable({"type": "object"}),
            "progress": {"type": "object"},
            **_CHECKED,
        },
        *("usage", "progress", *_CHECKED),
        more=True,
        text="The data of a stream's event. The last of a choice has references and verification.",
    ),
    "Response": fields(
        {
            "id": TEXT,
            "object": {"const": "response"},
            "created_at": COUNT,
            "status": one_of("completed", "incomplete", "in_progress", "failed"),
            "model": TEXT,
            "output": array(fields({"type": TEXT}, more=True)),
            **_CHECKED,
        },
        *_CHECKED,
        more=True,
        text="OpenAI's object of the Responses API, with the references and the verification.",
    ),
    "TextCheck": fields(
        {"object": {"const": "text.check"}, "content": TEXT, **_CHECKED, "usage": ref("Usage")},
        text="A text with its markers, and what became of its claims.",
    ),
    "Statement": fields(
        {
            "start": COUNT,
            "end": COUNT,
            "text": TEXT,
            "verdict": VERDICT,
            "score": FIGURE,
            "cited": array(COUNT),
            "citations": array(
                fields(
                    {"n": COUNT, "supports": nullable(FLAG), "superfluous": nullable(FLAG), "error": TEXT},
                    "error",
                )
            ),
            "missing_citations": array(COUNT),
            "uncovered": array(TEXT),
            "reason": TEXT,
        },
        text="A statement of the answer, and whether what it cites supports it.",
    ),
    "CitationCheck": fields(
        {
            "object": {"const": "citation.check"},
            "status": STATUS,
            "citation_recall": nullable(SHARE),
            "citation_precision": nullable(SHARE),
            "citation_f1": nullable(SHARE),
            "statements": array(ref("Statement")),
            "counts": {"type": "object", "additionalProperties": COUNT},
            "usage": ref("Usage"),
            "error": TEXT,
        },
        "error",
        text="Whether the documents that an answer cites support it.",
    ),
    "Search": fields(
        {
            "object": {"const": "search"},
            "query": TEXT,
            "retrieval": MODE,
            "data": array(
                fields(
                    {
                        "object": {"const": "search.passage"},
                        **_PASSAGE,
                        "rank": NUMBER,
                        "found_by": array(one_of("dense", "lexical")),
                        "ranks": _by_half(NUMBER),
                        "scores": _by_half(FIGURE),
                    }
                )
            ),
        },
        text="The passages that a query finds, best first.",
    ),
    "Passage": fields(
        {"object": {"const": "reference"}, **_PASSAGE},
        text="A passage. `start` and `end` are offsets in its document.",
    ),
    "Model": fields(
        {"id": TEXT, "object": {"const": "model"}, "created": COUNT, "owned_by": TEXT, "description": TEXT},
        text="A model that requests can name.",
    ),
    "Models": fields({"object": {"const": "list"}, "data": array(ref("Model"))}, text="All models."),
    "Health": fields({"status": {"const": "ok"}}, text="The process answers."),
    "Readiness": fields(
        {
            "status": one_of("ready", "stopping", "empty index", "checking is stuck"),
            "passages": COUNT,
            "models": array(TEXT),
            "index": fields({"generation": TEXT, "stale": FLAG}),
        },
        text="Whether requests can be answered. `stale`: the index was rebuilt, and can't be used.",
    ),
    "Reload": fields(
        {
            "object": {"const": "index.reload"},
            "status": one_of("reloaded", "unchanged"),
            "generation": TEXT,
            "before": TEXT,
            "passages": COUNT,
            "seconds": {"type": "number", "minimum": 0},
        },
        text="What the index is now.",
    ),
}
