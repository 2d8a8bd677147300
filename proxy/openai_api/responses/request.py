"""Converts the body of a `/v1/responses` request into the equivalent chat request.

Converts the content parts of messages, `instructions` and `input` into messages, and `tools` and
`tool_choice`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from proxy.errors import RequestError
from proxy.openai_api.chat.request import (
    ChatRequest,
    WarningsOf,
    chosen,
    expect,
    optional,
    parse_chat,
    required,
)
from proxy.types import Json


def content_of(given: Any, param: str) -> str | list[Json]:
    """A text or a list of parts. A single text part becomes a plain string, which every upstream understands.

    Annotations and log-probabilities of earlier replies are left out. Raises `RequestError`.
    """
    if isinstance(given, str):
        return given
    if not isinstance(given, list):
        raise RequestError(f"`{param}` must be a string or a list of parts.", param=param)
    parts = [_part(part, f"{param}.{index}") for index, part in enumerate(given)]
    if not parts:
        return ""
    alone = len(parts) == 1 and parts[0]["type"] == "text"
    return parts[0]["text"] if alone else parts


def _part(given: Any, param: str) -> Json:
    part = expect(given, dict, param)
    return chosen(part.get("type"), _PARTS, f"{param}.type")(part, param)


def _content_text(part: Json, param: str) -> Json:
    return {"type": "text", "text": required(part, "text", str, param)}


def _refusal(part: Json, param: str) -> Json:
    return {"type": "refusal", "refusal": required(part, "refusal", str, param)}


def _image(part: Json, param: str) -> Json:
    url = optional(part, "image_url", str, f"{param}.")
    if url is None:
        message = "An image must be a URL or a data URL in `image_url`: Vouch stores no files."
        raise RequestError(message, param=f"{param}.image_url")
    detail = optional(part, "detail", str, f"{param}.")
    return {"type": "image_url", "image_url": {"url": url, **({"detail": detail} if detail else {})}}


def _file(part: Json, param: str) -> Json:
    """A file by its data, or by the upstream's own id."""
    if part.get("file_url") is not None:
        message = "Chat models take files by `file_data` (a data URL), not by `file_url`."
        raise RequestError(message, param=f"{param}.file_url")
    keys = ("file_data", "file_id", "filename")
    file = {key: value for key in keys if (value := optional(part, key, str, f"{param}.")) is not None}
    if not file.keys() & {"file_data", "file_id"}:
        raise RequestError("A file needs `file_data` (a data URL).", param=f"{param}.file_data")
    return {"type": "file", "file": file}


def _audio(part: Json, param: str) -> Json:
    return {"type": "input_audio", "input_audio": required(part, "input_audio", dict, param)}


_PARTS: dict[str, Callable[[Json, str], Json]] = {
    "input_text": _content_text,
    "output_text": _content_text,
    "text": _content_text,
    "refusal": _refusal,
    "input_image": _image,
    "input_file": _file,
    "input_audio": _audio,
}


_ROLES = {role: role for role in ("user", "assistant", "system", "developer")}

_REFERENCED = (
    "Vouch stores no items, so they can't be referenced: send the item itself. "
    "A client that references items assumes that responses are stored; configure it not to (in Vercel's AI "
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
    for index, given in enumerate(items):
        param = f"input.{index}"
        item = expect(given, dict, param)
        kind = item.get("type") or ("message" if "role" in item else None)
        message = chosen(kind, _ITEMS, f"{param}.type")(item, param)
        if message is not None:
            yield message


def _joined(messages: Iterator[Json]) -> Iterator[Json]:
    """Joins the text and the tool calls of one assistant turn into one message, whichever comes first."""
    last: Json | None = None
    for message in messages:
        joined = _turn(last, message) if last else message
        if joined is None and last:
            yield last
        last = joined or message
    if last:
        yield last


def _turn(first: Json, second: Json) -> Json | None:
    """Both as one assistant message, where at least one has nothing but tool calls; else None."""
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
    """An assistant message. A refusal is a field beside the content, as in a chat completion."""
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


def _input_reasoning(_item: Json, _param: str) -> None:
    """Earlier reasoning is not sent to chat models."""


def _reference(_item: Json, param: str) -> Json:
    raise RequestError(_REFERENCED, param=f"{param}.type")


_ITEMS: dict[str, Callable[[Json, str], Json | None]] = {
    "message": _message,
    "function_call": _call,
    "function_call_output": _call_output,
    "reasoning": _input_reasoning,
    "item_reference": _reference,
}


_FUNCTION = ("name", "description", "parameters", "strict")
_MODES = {mode: mode for mode in ("none", "auto", "required")}


def tools_of(given: list[Any]) -> list[Json]:
    """Function tools in the nested form of chat completions. Raises `RequestError` for tools that OpenAI
    would run itself."""
    return [_tool(expect(tool, dict, f"tools.{index}"), f"tools.{index}") for index, tool in enumerate(given)]


def tool_choice_of(given: Any) -> str | Json:
    """Which tools the model may or must call. Raises `RequestError`."""
    if isinstance(given, str):
        return chosen(given, _MODES, "tool_choice")
    choice = expect(given, dict, "tool_choice")
    if choice.get("type") == "allowed_tools":
        tools = required(choice, "tools", list, "tool_choice")
        named = [_named(tool, f"tool_choice.tools.{index}") for index, tool in enumerate(tools)]
        mode = choice.get("mode") or "auto"
        return {"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": named}}
    return _named(choice, "tool_choice")


def _tool(tool: Json, param: str) -> Json:
    _only_functions(tool, param)
    required(tool, "name", str, param)
    function = {key: tool[key] for key in _FUNCTION if tool.get(key) is not None}
    return {"type": "function", "function": function}


def _named(given: Any, param: str) -> Json:
    tool = expect(given, dict, param)
    _only_functions(tool, param)
    return {"type": "function", "function": {"name": required(tool, "name", str, param)}}


def _only_functions(tool: Json, param: str) -> None:
    kind = tool.get("type")
    if kind != "function":
        raise RequestError(
            f"Vouch passes on tools of type 'function' only, not {kind!r}: "
            "leave it out, or offer it as a function of your own.",
            param=f"{param}.type",
        )


_STATELESS = "Vouch keeps nothing between requests"

_REFUSED: Mapping[str, str] = {
    "previous_response_id": f"{_STATELESS}: send all earlier items of the conversation in `input` instead.",
    "conversation": f"{_STATELESS}: send all earlier items of the conversation in `input` instead.",
    "background": f"{_STATELESS}: leave `background` out, and stream if the response takes long.",
    "prompt": f"{_STATELESS} and has no prompt templates: send `instructions` and `input` instead.",
}
"""Keys that can't be served, and what to do instead."""

_CONVERTED = frozenset(
    {"input", "instructions", "tools", "tool_choice", "parallel_tool_calls", "text", "reasoning"}
    | {"max_output_tokens", "top_logprobs", "include"}
)
_KEPT_HERE = frozenset({"metadata", "store", "truncation", "max_tool_calls", "stream_options", "n"})
"""Keys that a chat completion does not have, or that mean something else there (`store`)."""

_LOGPROBS = "message.output_text.logprobs"
_OPENAI_MODEL = re.compile(r"(?:.*/)?(?:o\d|gpt-\d|chatgpt)")
"""OpenAI's own models. Some of them refuse `max_tokens`, which other servers expect."""


def parse_response_request(
    body: Json, api_key: str | None = None, warnings: WarningsOf | None = None
) -> ChatRequest:
    """The chat request for a Responses body; `vouch` and unknown keys are kept.

    Raises `RequestError` that names the parameter of the Responses API.
    """
    return parse_chat(chat_body(body), api_key, warnings)


def chat_body(body: Json) -> Json:
    """The body of the same chat for `/v1/chat/completions`. Raises `RequestError`."""
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
    """`tools`, `tool_choice` and `parallel_tool_calls`. Without tools the others are an error in a chat
    completion, so they are left out."""
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
    fields: Json = {"verbosity": verbosity} if verbosity else {}
    if form:
        fields |= chosen(form.get("type"), _FORMATS, "text.format.type")(form)
    return fields


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
