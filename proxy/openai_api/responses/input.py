"""`instructions` and `input` as chat messages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from proxy.errors import RequestError
from proxy.openai_api.kinds import chosen, expect, required
from proxy.openai_api.responses.content import content_of
from proxy.types import Json

_ROLES = {role: role for role in ("user", "assistant", "system", "developer")}

_REFERENCED = (
    "Vouch keeps no items that could be referred to: send the item itself. "
    "A client that refers to items takes responses to be stored; tell it that they are not (in Vercel's AI "
    "SDK by `providerOptions: {openai: {store: false}}`)."
)


def messages_of(instructions: str | None, given: Any) -> list[Json]:
    """The conversation, in order. Raises `RequestError` that names the item."""
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given
    if not isinstance(items, list) or not items:
        raise RequestError(
            "`input` must be a string or a list of at least one item; `messages` go to /v1/chat/completions.",
            param="input",
        )
    first = [] if instructions is None else [{"role": "system", "content": instructions}]
    return [*first, *_joined(_messages(items))]


def _messages(items: list[Any]) -> Iterator[Json]:
    for at, given in enumerate(items):
        param = f"input.{at}"
        item = expect(given, dict, param)
        kind = item.get("type") or ("message" if "role" in item else None)
        message = chosen(kind, _ITEMS, f"{param}.type")(item, param)
        if message is not None:
            yield message


def _joined(messages: Iterator[Json]) -> Iterator[Json]:
    """A turn's text and its calls are one message, whichever comes first."""
    last: Json | None = None
    for message in messages:
        joined = _turn(last, message) if last else message
        if joined is None and last:
            yield last
        last = joined or message
    if last:
        yield last


def _turn(first: Json, second: Json) -> Json | None:
    """Both as one message, where at least one of them is nothing but calls."""
    if first["role"] != "assistant" or second["role"] != "assistant":
        return None
    if "tool_calls" in second:
        return {**first, "tool_calls": [*first.get("tool_calls", ()), *second["tool_calls"]]}
    return {**first, **second} if "tool_calls" in first and first["content"] is None else None


def _message(item: Json, param: str) -> Json:
    role = chosen(item.get("role"), _ROLES, f"{param}.role")
    content = content_of(item.get("content"), f"{param}.content")
    if role == "assistant" and isinstance(content, list):
        return _assistant(content)
    return {"role": role, "content": content}


def _assistant(parts: list[Json]) -> Json:
    """What was refused stands beside the content, as it came from the upstream."""
    refused = "".join(part["refusal"] for part in parts if part["type"] == "refusal")
    said = [part for part in parts if part["type"] != "refusal"]
    alone = len(said) == 1 and said[0]["type"] == "text"
    content = said[0]["text"] if alone else said or None
    return {"role": "assistant", "content": content, **({"refusal": refused} if refused else {})}


def _call(item: Json, param: str) -> Json:
    called = {key: required(item, key, str, param) for key in ("name", "arguments")}
    call = {"id": required(item, "call_id", str, param), "type": "function", "function": called}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def _call_output(item: Json, param: str) -> Json:
    return {
        "role": "tool",
        "tool_call_id": required(item, "call_id", str, param),
        "content": content_of(item.get("output"), f"{param}.output"),
    }


def _reasoning(_item: Json, _param: str) -> None:
    """Chat models are not shown what they thought before."""


def _reference(_item: Json, param: str) -> Json:
    raise RequestError(_REFERENCED, param=f"{param}.type")


_ITEMS: dict[str, Callable[[Json, str], Json | None]] = {
    "message": _message,
    "function_call": _call,
    "function_call_output": _call_output,
    "reasoning": _reasoning,
    "item_reference": _reference,
}
