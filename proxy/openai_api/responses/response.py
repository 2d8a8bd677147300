"""The `response` object, its output items, and what a chat message holds of them."""

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
    """The assistant's turn."""
    return {"type": "message", "id": item_id, "status": status, "role": "assistant", "content": [*content]}


def text_part(text: str = "", annotations: Sequence[Json] = (), logprobs: Sequence[Json] = ()) -> Json:
    """What it says."""
    return {
        "type": "output_text",
        "text": text,
        "annotations": [*annotations],
        "logprobs": [*logprobs],
    }


def refusal_part(refusal: str = "") -> Json:
    """Why it says nothing."""
    return {"type": "refusal", "refusal": refusal}


def reasoning_item(item_id: str, summary: Sequence[Json] = ()) -> Json:
    """What it thought: as the summary, which is what clients show."""
    return {"type": "reasoning", "id": item_id, "summary": [*summary]}


def summary_part(text: str = "") -> Json:
    """One part of the summary."""
    return {"type": "summary_text", "text": text}


def call_item(item_id: str, status: Status, call_id: str, name: str, arguments: str = "") -> Json:
    """A function that it calls."""
    return {
        "type": "function_call",
        "id": item_id,
        "call_id": call_id,
        "name": name,
        "arguments": arguments,
        "status": status,
    }


def flat(annotation: Json) -> Json:
    """A chat message's annotation as the Responses API has it: of a citation the fields that it knows."""
    kind = annotation.get("type")
    nested = annotation.get(str(kind))
    fields = nested if isinstance(nested, dict) else annotation
    if kind != "url_citation":
        return {**fields, "type": kind}
    return {"type": kind, **{key: fields.get(key, _EMPTY[key]) for key in _CITATION}}


_EMPTY: Mapping[str, Any] = {"start_index": 0, "end_index": 0, "url": "", "title": ""}
"""Clients refuse a citation that lacks a field."""


def reasoning_of(message: Json) -> str:
    """What a message or a delta thinks, under either of the names that there are for it."""
    given = message.get("reasoning_content") or message.get("reasoning")
    return given if isinstance(given, str) else ""


def text_of(content: Any) -> str:
    """A content's text; of parts, that of the text parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = (part.get("text") for part in parts if isinstance(part, dict) and part.get("type") == "text")
    return "".join(text for text in texts if isinstance(text, str))


def calls_of(message: Json) -> list[Json]:
    """The functions that a message or a delta calls."""
    calls = message.get("tool_calls")
    return [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []


_INCOMPLETE = {"length": "max_output_tokens", "content_filter": "content_filter"}

_ASKED: Json = {
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
"""What a response says of its request, where the request says nothing. What the upstream takes by default
(a temperature, say) is not known here."""

_NAMED = ("prompt_cache_key", "safety_identifier", "user")
"""What it says of its request only where the request says it: the schema has no null for them."""

_OURS: Json = {
    "background": False,
    "conversation": None,
    "previous_response_id": None,
    "prompt": None,
    "store": False,
    "truncation": "disabled",
}
"""What it says whatever was asked for."""

_TAKEN = frozenset({"id", "object", "created", "created_at", "completed_at", "status", "error", "model"})
_KNOWN = _TAKEN | {"choices", "usage", "incomplete_details", "output", *_ASKED, *_NAMED, *_OURS} - {
    "service_tier"
}


def echo(body: Json) -> Json:
    """What a response says of the request with that body."""
    named = {key: body[key] for key in _NAMED if body.get(key) is not None}
    return {key: default if body.get(key) is None else body[key] for key, default in _ASKED.items()} | named


@dataclass(frozen=True, slots=True)
class Envelope:
    """What stays the same throughout one response: its id, when it was made, and what was asked for."""

    model: str
    asked: Json
    id: str = field(default_factory=lambda: new_id("resp"))
    created: int = field(default_factory=lambda: int(time.time()))

    def response(self, output: Sequence[Json] = (), fields: Json | None = None) -> Json:
        """The response so far: in progress, unless `fields` say more."""
        return {
            "id": self.id,
            "object": "response",
            "created_at": self.created,
            "status": "in_progress",
            "error": None,
            "incomplete_details": None,
            "model": self.model,
            "output": [*output],
            **self.asked,
            **_OURS,
            **(fields or {}),
        }


def ending(finish_reason: Any) -> Json:
    """How a response ended whose chat completion ended like that."""
    reason = _INCOMPLETE.get(str(finish_reason))
    if reason is None:
        return {"status": "completed", "completed_at": int(time.time())}
    return {"status": "incomplete", "incomplete_details": {"reason": reason}}


def unknown(reply: Json) -> Json:
    """What the upstream's completion held that we don't know, and its service tier."""
    return {key: value for key, value in reply.items() if key not in _KNOWN and value is not None}


def usage_object(usage: Json) -> Json:
    """A chat completion's usage under its names in the Responses API."""
    asked_for, said = (_details(usage, key) for key in ("prompt_tokens_details", "completion_tokens_details"))
    verification = usage.get("verification")
    return {
        **_counts(usage),
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0, **asked_for},
        "output_tokens_details": {"reasoning_tokens": 0, **said},
        **({"verification": _counts(verification)} if verification else {}),
    }


def _counts(usage: Json) -> Json:
    spent, said = _count(usage, "prompt_tokens"), _count(usage, "completion_tokens")
    return {
        "input_tokens": spent,
        "output_tokens": said,
        "total_tokens": _count(usage, "total_tokens") or spent + said,
    }


def _details(usage: Json, key: str) -> Json:
    details = usage.get(key)
    return {k: v for k, v in details.items() if isinstance(v, int)} if isinstance(details, dict) else {}


def _count(usage: Json, key: str) -> int:
    count = usage.get(key)
    return count if isinstance(count, int) else 0
