"""A `chat.completion` object as a `Reply`."""

from __future__ import annotations

from typing import Any

from proxy.errors import UpstreamProtocolError
from proxy.types import Draft, Json, Reply, Usage


def to_reply(raw: Any) -> Reply:
    """One draft per choice, in the order they came. `raw` is kept as it is.

    A message without content (a tool call, a refusal, nothing) is an empty draft; content in parts is the
    text of its text parts, and can't be edited, no more than text beside tool calls or with
    log-probabilities. Raises `UpstreamProtocolError` where there is no choice.
    """
    choices = raw.get("choices") if isinstance(raw, dict) else None
    if not isinstance(choices, list) or not choices:
        raise UpstreamProtocolError("The upstream answered without `choices`.")
    return Reply(tuple(_draft(choice) for choice in choices), to_usage(raw.get("usage")), raw)


def to_usage(usage: Any) -> Usage:
    """The provider's token counts; 0 where it gave none."""
    if not isinstance(usage, dict):
        return Usage()
    return Usage(_count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens")))


def _draft(choice: Any) -> Draft:
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(message, dict):
        raise UpstreamProtocolError("The upstream answered with a choice without `message`.")
    touching = (message.get("tool_calls"), message.get("function_call"), choice.get("logprobs"))
    content = message.get("content")
    return Draft(_text(content), choice, editable=isinstance(content, str) and not any(touching))


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = (p.get("text") for p in parts if isinstance(p, dict) and p.get("type", "text") == "text")
    return "".join(text for text in texts if isinstance(text, str))


def _count(value: Any) -> int:
    return value if isinstance(value, int) and value > 0 else 0


def as_chunk(completion: Json) -> Json:
    """A whole `chat.completion` as one chunk: what a server that can't stream is worth as a stream."""
    choices = []
    for draft in to_reply(completion).drafts:
        rest = {key: value for key, value in draft.choice.items() if key != "message"}
        choices.append({**rest, "delta": _with_call_indexes(draft.choice["message"])})
    return {**completion, "object": "chat.completion.chunk", "choices": choices}


def _with_call_indexes(message: Json) -> Json:
    calls = message.get("tool_calls")
    if not isinstance(calls, list):
        return message
    return {**message, "tool_calls": [{"index": n, **call} for n, call in enumerate(calls)]}
