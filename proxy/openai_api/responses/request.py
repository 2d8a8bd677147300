"""The body of a Responses request to what the pipeline needs: as the chat request that it amounts to."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from proxy.errors import RequestError
from proxy.openai_api.kinds import chosen, optional, required
from proxy.openai_api.request import ChatRequest, SignsOf, parse_chat
from proxy.openai_api.responses.input import messages_of
from proxy.openai_api.responses.tools import tool_choice_of, tools_of
from proxy.types import Json

_STATELESS = "Vouch keeps nothing between requests"

_REFUSED: Mapping[str, str] = {
    "previous_response_id": f"{_STATELESS}: send all earlier items of the conversation in `input` instead.",
    "conversation": f"{_STATELESS}: send all earlier items of the conversation in `input` instead.",
    "background": f"{_STATELESS}: leave `background` out, and stream if the response takes long.",
    "prompt": f"{_STATELESS} and has no prompt templates: send `instructions` and `input` instead.",
}
"""What can't be answered as it is meant, and what to do about it."""

_CONVERTED = frozenset(
    {"input", "instructions", "tools", "tool_choice", "parallel_tool_calls", "text", "reasoning"}
    | {"max_output_tokens", "top_logprobs", "include"}
)
_KEPT_HERE = frozenset({"metadata", "store", "truncation", "max_tool_calls", "stream_options", "n"})
"""Means nothing to a chat completion, or something else (`store` there would store)."""

_LOGPROBS = "message.output_text.logprobs"
_OPENAI_MODEL = re.compile(r"(?:.*/)?(?:o\d|gpt-\d|chatgpt)")
"""OpenAI's own models: some of them refuse `max_tokens`, which is what other servers know."""


def parse_response_request(
    body: Json, api_key: str | None = None, signs: SignsOf | None = None
) -> ChatRequest:
    """The chat request out of a Responses body; `vouch` and what we don't know are as there.

    Raises `RequestError` that names the parameter of the Responses API.
    """
    return parse_chat(chat_body(body), api_key, signs)


def chat_body(body: Json) -> Json:
    """The body that the same chat has for `/v1/chat/completions`. Raises `RequestError`."""
    for key, advice in _REFUSED.items():
        if body.get(key):
            raise RequestError(f"`{key}` is not served. {advice}", param=key)
    if body.get("n") not in (None, 1):
        raise RequestError("A response has one choice: leave `n` out, or ask several times.", param="n")
    optional(body, "metadata", dict)
    dropped = _CONVERTED | _KEPT_HERE | _REFUSED.keys()
    return {
        **{key: value for key, value in body.items() if key not in dropped},
        "messages": messages_of(optional(body, "instructions", str), body.get("input")),
        **_tools(body),
        **_text(optional(body, "text", dict) or {}),
        **_reasoning(body),
        **_bound(body),
        **_logprobs(body),
    }


def _tools(body: Json) -> Json:
    """Without tools the others mean nothing, and are an error in a chat completion."""
    tools = optional(body, "tools", list)
    if not tools:
        return {}
    choice, parallel = body.get("tool_choice"), optional(body, "parallel_tool_calls", bool)
    return {
        "tools": tools_of(tools),
        **({} if choice is None else {"tool_choice": tool_choice_of(choice)}),
        **({} if parallel is None else {"parallel_tool_calls": parallel}),
    }


def _text(text: Json) -> Json:
    verbosity, form = optional(text, "verbosity", str, "text."), optional(text, "format", dict, "text.")
    found: Json = {"verbosity": verbosity} if verbosity else {}
    if form:
        found |= chosen(form.get("type"), _FORMATS, "text.format.type")(form)
    return found


def _plain(_form: Json) -> Json:
    return {}


def _json_object(_form: Json) -> Json:
    return {"response_format": {"type": "json_object"}}


def _json_schema(form: Json) -> Json:
    required(form, "name", str, "text.format")
    required(form, "schema", dict, "text.format")
    schema = {key: value for key, value in form.items() if key != "type" and value is not None}
    return {"response_format": {"type": "json_schema", "json_schema": schema}}


_FORMATS: dict[str, Any] = {"text": _plain, "json_object": _json_object, "json_schema": _json_schema}


def _reasoning(body: Json) -> Json:
    effort = optional(optional(body, "reasoning", dict) or {}, "effort", str, "reasoning.")
    return {"reasoning_effort": effort} if effort else {}


def _bound(body: Json) -> Json:
    bound = optional(body, "max_output_tokens", int)
    if bound is None:
        return {}
    if bound < 1:
        raise RequestError("`max_output_tokens` must be at least 1.", param="max_output_tokens")
    theirs = _OPENAI_MODEL.match(optional(body, "model", str) or "")
    return {"max_completion_tokens" if theirs else "max_tokens": bound}


def _logprobs(body: Json) -> Json:
    top = optional(body, "top_logprobs", int)
    if not top and _LOGPROBS not in (optional(body, "include", list) or []):
        return {}
    return {"logprobs": True, **({"top_logprobs": top} if top else {})}
