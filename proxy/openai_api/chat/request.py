"""Parses the body of a `/v1/chat/completions` request, removes what Vouch added to earlier replies, and
recognises the task prompts of chat UIs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from proxy.citations.history import bare
from proxy.errors import RequestError
from proxy.openai_api.bodies import expect, kind_of, optional
from proxy.openai_api.documents.question import user_question
from proxy.openai_api.options import RequestOptions, parse_options
from proxy.openai_api.profiles import choose_profile, split_alias
from proxy.types import (
    Chat,
    Json,
    ProfileName,
    ReplyFormat,
)
from proxy.upstream.completion import uncited

T = TypeVar("T")

_MATERIAL = ("\n", "<", "[")
_NOT_FORWARDED = ("vouch", "stream", "stream_options")

MAX_CHOICES = 128
"""OpenAI's own limit of `n`."""

UNCHECKED = "-raw"
"""Suffix of the model alias whose replies are unchecked."""


WarningsOf = Callable[[RequestOptions], Sequence[str]]


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A parsed chat request. `model` is the model's name without suffixes."""

    chat: Chat
    model: str | None
    unchecked: bool
    stream: bool
    include_usage: bool
    format: ReplyFormat
    options: RequestOptions
    profile: ProfileName | None = None
    """The profile named in the options, in a header, or behind the model's name."""

    @property
    def choices(self) -> int:
        """The number of choices requested."""
        n: int = self.chat.body.get("n") or 1
        return n

    @property
    def calls_tools(self) -> bool:
        """Whether the reply may call tools. Text beside tool calls must stay as it is."""
        body = self.chat.body
        return bool(body.get("tools") or body.get("functions")) and body.get("tool_choice") != "none"

    @property
    def editable(self) -> bool:
        """Whether the reply's text may be edited: not if it is JSON, which a program reads, nor if it comes
        with log-probabilities of its tokens."""
        return self.format != "json" and not self.chat.body.get("logprobs")


def parse_chat(
    body: Json, api_key: str | None = None, warnings: WarningsOf | None = None, profile: str | None = None
) -> ChatRequest:
    """Parses a chat request. Raises `RequestError` that names the parameter.

    `warnings` returns, for the request's options, the warning markers that may stand behind claims in earlier
    assistant messages. `profile` is the value of the header that may name a profile.
    """
    options = parse_options(body.get("vouch"))
    known = warnings(options) if warnings else ()
    messages = _messages(body)
    model = optional(body, "model", str)
    stream = optional(body, "stream", bool) or False
    stream_options = optional(body, "stream_options", dict) or {}
    n = optional(body, "n", int)
    if n is not None and not 1 <= n <= MAX_CHOICES:
        raise RequestError(f"`n` must be from 1 to {MAX_CHOICES}.", param="n")
    name, unchecked, alias = _named(model)
    removed = ("vouch",) if unchecked else _NOT_FORWARDED
    forwarded = {key: value for key, value in body.items() if key not in removed}
    forwarded["messages"] = [clean(message, known) for message in messages]
    return ChatRequest(
        chat=Chat(forwarded, question=_question(messages), api_key=api_key),
        model=name,
        unchecked=unchecked,
        stream=stream,
        include_usage=bool(stream_options.get("include_usage")),
        format="json" if _wants_json(body) else "markdown",
        options=options,
        profile=choose_profile(options.profile, profile, alias),
    )


def _named(model: str | None) -> tuple[str | None, bool, ProfileName | None]:
    """The model's name without suffixes, whether it is the unchecked alias, and the profile it names."""
    if not model:
        return None, False, None
    named, profile = split_alias(model)
    name = named.removesuffix(UNCHECKED)
    return name, name != named, profile


def clean(message: Json, warnings: Sequence[str] = ()) -> Json:
    """The message for the upstream: an assistant message without what Vouch added to it."""
    if message.get("role") != "assistant":
        return message
    kept = uncited(message)
    if kept.get("refusal", "") is None:  # replies have the field because the schema requires it
        del kept["refusal"]
    content = kept.get("content")
    if isinstance(content, str):
        (kept["content"],) = bare([content], warnings)
    elif isinstance(content, list):
        kept["content"] = _bare_parts(content, warnings)
    return kept


def _bare_parts(parts: list[Any], warnings: Sequence[str]) -> list[Any]:
    """The content parts, cleaned as one text, since a client may store each piece of a stream as a part.

    A part that held nothing but what Vouch added is left out: some upstreams refuse empty parts.
    """
    texts = iter(bare([part["text"] for part in parts if _is_text(part)], warnings))
    shown = [({**uncited(part), "text": next(texts)} if _is_text(part) else part) for part in parts]
    return [
        cleaned
        for cleaned, part in zip(shown, parts, strict=True)
        if cleaned == part or cleaned.get("text") != ""
    ]


def _question(messages: Sequence[Json]) -> str:
    """What the user asks last. Only a message of several lines or with a mark-up may hold documents too."""
    last = messages[-1]
    text = last.get("content")
    plain = isinstance(text, str) and bool(text.strip()) and not any(mark in text for mark in _MATERIAL)
    if plain and last["role"] == "user":
        return str(text)
    return user_question(messages)


def _messages(body: Json) -> list[Json]:
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise RequestError("`messages` must be a list of at least one message.", param="messages")
    for index, message in enumerate(messages):
        if not isinstance(message, dict) or not isinstance(message.get("role"), str):
            raise RequestError("Each message must be an object with a `role`.", param=f"messages.{index}")
        if not isinstance(message.get("content"), str | list | None):
            raise RequestError(
                f"`content` must be a string or a list of parts, not {kind_of(message['content'])}.",
                param=f"messages.{index}.content",
            )
        _require_types(message, f"messages.{index}.content")
    return messages


def _require_types(message: Json, param: str) -> None:
    """Raises `RequestError` where a part of the content has a type that is no string."""
    content = message.get("content")
    for index, part in enumerate(content if isinstance(content, list) else ()):
        if isinstance(part, dict) and part.get("type") is not None:
            expect(part["type"], str, f"{param}.{index}.type")


def _is_text(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") == "text" and isinstance(part.get("text"), str)


def _wants_json(body: Json) -> bool:
    wanted = body.get("response_format")
    return isinstance(wanted, Mapping) and wanted.get("type") in ("json_object", "json_schema")
