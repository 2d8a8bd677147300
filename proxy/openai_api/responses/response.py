"""The `response` object."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from proxy.openai_api.responses.items import new_id
from proxy.types import Json

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


def asked(body: Json) -> Json:
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
