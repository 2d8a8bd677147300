"""The `response` object and its output items, built from the parts of a chat completion."""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from proxy.types import Json

Status = Literal["in_progress", "completed", "incomplete"]

_CITATION = ("start_index", "end_index", "url", "title")


def new_id(prefix: str) -> str:
    """An id: `resp_...`, `msg_...`, `rs_...`, `fc_...`."""
    return f"{prefix}_{uuid.uuid4().hex}"


def message_item(item_id: str, status: Status, content: Sequence[Json] = ()) -> Json:
    """An output item for the assistant's message."""
    return {"type": "message", "id": item_id, "status": status, "role": "assistant", "content": [*content]}


def text_part(text: str = "", annotations: Sequence[Json] = (), logprobs: Sequence[Json] = ()) -> Json:
    """The text of a message."""
    return {
        "type": "output_text",
        "text": text,
        "annotations": [*annotations],
        "logprobs": [*logprobs],
    }


def refusal_part(refusal: str = "") -> Json:
    """A refusal of a message."""
    return {"type": "refusal", "refusal": refusal}


def reasoning_item(item_id: str, summary: Sequence[Json] = ()) -> Json:
    """An output item for reasoning. The text is in its summary, which clients show."""
    return {"type": "reasoning", "id": item_id, "summary": [*summary]}


def summary_part(text: str = "") -> Json:
    """One part of a reasoning summary."""
    return {"type": "summary_text", "text": text}


def call_item(item_id: str, status: Status, call_id: str, name: str, arguments: str = "") -> Json:
    """An output item for a function call."""
    return {
        "type": "function_call",
        "id": item_id,
        "call_id": call_id,
        "name": name,
        "arguments": arguments,
        "status": status,
    }


def flat(annotation: Json) -> Json:
    """A chat message's annotation in the flat form of the Responses API; citations keep its fields only."""
    kind = annotation.get("type")
    nested = annotation.get(str(kind))
    fields = nested if isinstance(nested, dict) else annotation
    if kind != "url_citation":
        return {**fields, "type": kind}
    return {"type": kind, **{key: fields.get(key, _EMPTY[key]) for key in _CITATION}}


_EMPTY: Mapping[str, Any] = {"start_index": 0, "end_index": 0, "url": "", "title": ""}
"""Defaults, since clients refuse a citation that lacks a field."""


def reasoning_of(message: Json) -> str:
    """The reasoning of a message or a delta, under either of its two common names."""
    given = message.get("reasoning_content") or message.get("reasoning")
    return given if isinstance(given, str) else ""


def text_of(content: Any) -> str:
    """The text of a content: the string itself, or its text parts joined."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = (part.get("text") for part in parts if isinstance(part, dict) and part.get("type") == "text")
    return "".join(text for text in texts if isinstance(text, str))


def calls_of(message: Json) -> list[Json]:
    """The tool calls of a message or a delta."""
    calls = message.get("tool_calls")
    return [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []


_INCOMPLETE = {"length": "max_output_tokens", "content_filter": "content_filter"}

_ECHOED: Json = {
    "instructions": None,
    "max_output_tokens": None,
    "max_tool_calls": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "reasoning": {"effort": None, "summary": None},
    "service_tier": "default",
    "temperature": None,
    "text": {"format": {"type": "text"}},
    "tool_choice": "auto",
    "tools": [],
    "top_logprobs": 0,
    "top_p": None,
}
"""Fields of the request that a response repeats, with their values where the request leaves them out. The
upstream's own defaults (a temperature, say) are not known here."""

_NAMED = ("prompt_cache_key", "safety_identifier", "user")
"""Fields that a response repeats only if the request has them: the schema does not allow null."""

_FIXED: Json = {
    "background": False,
    "conversation": None,
    "previous_response_id": None,
    "prompt": None,
    "store": False,
    "truncation": "disabled",
}
"""Fields that have the same value in every response."""

_TAKEN = frozenset({"id", "object", "created", "created_at", "completed_at", "status", "error", "model"})
_KNOWN = _TAKEN | {"choices", "usage", "incomplete_details", "output", *_ECHOED, *_NAMED, *_FIXED} - {
    "service_tier"
}


def echo(body: Json) -> Json:
    """The fields of the request's body that its response repeats."""
    named = {key: body[key] for key in _NAMED if body.get(key) is not None}
    return {key: default if body.get(key) is None else body[key] for key, default in _ECHOED.items()} | named


@dataclass(frozen=True, slots=True)
class Envelope:
    """What stays the same throughout one response: its id, creation time, and the repeated request fields."""

    model: str
    echoed: Json
    id: str = field(default_factory=lambda: new_id("resp"))
    created: int = field(default_factory=lambda: int(time.time()))

    def response(self, output: Sequence[Json] = (), fields: Json | None = None) -> Json:
        """The response so far: in progress, unless `fields` say otherwise."""
        return {
            "id": self.id,
            "object": "response",
            "created_at": self.created,
            "status": "in_progress",
            "error": None,
            "incomplete_details": None,
            "model": self.model,
            "output": [*output],
            **self.echoed,
            **_FIXED,
            **(fields or {}),
        }


def ending(finish_reason: Any) -> Json:
    """The status fields of a response whose chat completion has that finish reason."""
    reason = _INCOMPLETE.get(str(finish_reason))
    if reason is None:
        return {"status": "completed", "completed_at": int(time.time())}
    return {"status": "incomplete", "incomplete_details": {"reason": reason}}


def unknown(reply: Json) -> Json:
    """Unknown fields of the upstream's completion, and its service tier."""
    return {key: value for key, value in reply.items() if key not in _KNOWN and value is not None}


def usage_object(usage: Json) -> Json:
    """A chat completion's usage under its names in the Responses API."""
    prompt, completion = (
        _details(usage, key) for key in ("prompt_tokens_details", "completion_tokens_details")
    )
    verification = usage.get("verification")
    return {
        **_counts(usage),
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0, **prompt},
        "output_tokens_details": {"reasoning_tokens": 0, **completion},
        **({"verification": _counts(verification)} if verification else {}),
    }


def _counts(usage: Json) -> Json:
    prompt, completion = _count(usage, "prompt_tokens"), _count(usage, "completion_tokens")
    return {
        "input_tokens": prompt,
        "output_tokens": completion,
        "total_tokens": _count(usage, "total_tokens") or prompt + completion,
    }


def _details(usage: Json, key: str) -> Json:
    details = usage.get(key)
    return {k: v for k, v in details.items() if isinstance(v, int)} if isinstance(details, dict) else {}


def _count(usage: Json, key: str) -> int:
    count = usage.get(key)
    return count if isinstance(count, int) else 0
