"""The output items of a response, and what a chat message holds of them."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
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
