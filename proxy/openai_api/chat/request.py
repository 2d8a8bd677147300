"""Parses the body of a `/v1/chat/completions` request, removes what Vouch added to earlier replies, and
recognises the task prompts of chat UIs."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from proxy.citations.history import bare
from proxy.errors import BodyTooLargeError, RequestError
from proxy.openai_api.documents.question import user_question
from proxy.openai_api.options import RequestOptions, parse_options
from proxy.openai_api.profiles import choose_profile, split_alias
from proxy.types import (
    Chat,
    Json,
    ProfileName,
    ReplyFormat,
    Task,
)
from proxy.upstream.completion import uncited
from proxy.upstream.safe_json import STRING

T = TypeVar("T")

_MATERIAL = ("\n", "<", "[")
_NOT_FORWARDED = ("vouch", "stream", "stream_options")

MAX_CHOICES = 128
"""OpenAI's own limit of `n`."""

MOST_VALUES = 500_000
"""Values of one body: what it takes to make more of them holds up every other request."""
MOST_KEYS = 10_000
"""Keys of a body, and of each object directly in it."""

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


def parse_body(body: bytes) -> Json:
    """The JSON object in a request body. Raises `RequestError`, and `BodyTooLargeError` where it has more
    than `MOST_VALUES` values or `MOST_KEYS` keys."""
    if _separators(body) > MOST_VALUES and _separators(STRING.sub(b"", body)) > MOST_VALUES:
        raise BodyTooLargeError(f"The body has over {MOST_VALUES:,} values. Ask in several requests.")
    try:
        tree = json.loads(body.decode("utf-8"), parse_constant=_refuse_constant, parse_float=_finite)
    except UnicodeDecodeError as error:
        raise RequestError(f"The body is not valid UTF-8 (byte {error.start}).") from None
    except (ValueError, RecursionError) as error:
        raise RequestError(f"The body is not valid JSON: {error}.") from None
    if not isinstance(tree, dict):
        raise RequestError(f"The body must be a JSON object, not {kind_of(tree)}.")
    for name, value in (("The body", tree), *((f"`{key}`", value) for key, value in tree.items())):
        if isinstance(value, dict) and len(value) > MOST_KEYS:
            raise BodyTooLargeError(f"{name[:100]} has over {MOST_KEYS:,} keys.")
    if b"\\ud" in body.lower():
        _refuse_lone_surrogates(tree)
    return tree


def _separators(body: bytes) -> int:
    """At least one less than the values of a JSON text; those in strings count too."""
    return body.count(b",") + body.count(b"[") + body.count(b"{")


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number of JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError(f"the number {digits[:30]} is too large")
    return number


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


def _refuse_lone_surrogates(tree: Json) -> None:
    """JSON can contain half of a surrogate pair ("\\ud800"), which can't be encoded for an upstream."""
    try:
        json.dumps(tree, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        raise RequestError("The body holds half a surrogate pair (\\ud800 to \\udfff alone).") from None


_KINDS: dict[type[Any], str] = {
    str: "a string",
    bool: "a boolean",
    int: "an integer",
    float: "a number",
    dict: "an object",
    list: "a list",
    type(None): "null",
}


def kind_of(value: Any) -> str:
    """The name of a value's type in error messages."""
    return _KINDS.get(type(value), type(value).__name__)


def expect(value: Any, kind: type[T], param: str) -> T:
    """The value. Raises `RequestError` where it has another type."""
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise RequestError(f"`{param}` must be {_KINDS[kind]}, not {kind_of(value)}.", param=param)
    return value


def optional(body: Json, key: str, kind: type[T], prefix: str = "") -> T | None:
    """The field, or None where it is missing or null. Raises `RequestError`."""
    value = body.get(key)
    return None if value is None else expect(value, kind, f"{prefix}{key}")


def required(item: Json, key: str, kind: type[T], param: str) -> T:
    """A field of the object at `param`. Raises `RequestError`."""
    if key not in item:
        raise RequestError(f"`{param}.{key}` is missing.", param=f"{param}.{key}")
    return expect(item[key], kind, f"{param}.{key}")


def chosen(value: Any, known: dict[str, T], param: str) -> T:
    """The entry of `known` under `value`. Raises `RequestError` that lists the known values."""
    if isinstance(value, str) and value in known:
        return known[value]
    message = f"`{param}` is {value!r}; Vouch takes {', '.join(known)} here."
    raise RequestError(message, param=param)


_TASKS: Mapping[str, str] = {
    "title": "a title for the chat",
    "tags": "tags for the chat",
    "follow_ups": "follow-up questions",
    "queries": "search queries",
    "prompt": "a prompt for an image",
    "text": "an autocompletion",
    "tool_calls": "a choice of tools",
}
"""What a task asks for, by the key of the JSON object that it wants."""
_STEPS = "a label for an agent's steps"
_IN_SYSTEM = (_TASKS["title"], _TASKS["tool_calls"], _STEPS)
_TASK_KEY = re.compile(rf"\{{\s*\"({'|'.join(_TASKS)})\"\s*:")
_ASKS_JSON = re.compile(r"\bJSON\b", re.I)
_FRAME = re.compile(r"<chat_history>|<type>|^### ?Task\b|\bAvailable Tools:", re.M)
"""What surrounds the chat in a task prompt; translations keep the tags."""

_TITLE = re.compile(
    r"\b(?:generate|provide|write|create|give|suggest|submit)\b[^.\n]{0,60}?\btitle\b[^.\n]{0,80}?"
    r"\b(?:conversation|chat|dialogue|discussion|user['’]s messages?)\b"
    r"|\bconcise title in the (?:detected|given) language\b"
    r"|(?:对话|聊天|会话)[^。\n]{0,20}标题",
    re.I,
)
_SHORT = re.compile(
    r"\bwords?[ -]or[ -](?:less|fewer)\b|\b(?:\d+|three|four|five|six|seven|eight|ten)[ -]words?\b"
    r"|\btitle case\b|\b(?:only (?:return|output|reply with|respond with)"
    r"|(?:return|output|reply with|respond with) only) the title\b"
    r"|字以内|不超过|(?:只|仅|直接)(?:返回|输出|回复)",
    re.I,
)
_LABEL = re.compile(r"\b(?:block|phase) of (?:an )?agent(?:['’]s)? (?:activity|run)\b", re.I)
_EMOJI = re.compile(r"\bfacial expression\b[^.\n]{0,80}\bemoji", re.I)

_MAX_PROMPT = 200_000
"""Longer prompts are not looked at."""


def task_of(messages: Sequence[Mapping[str, Any]]) -> Task | None:
    """What the request asks for where it is the task prompt of a chat UI, else None.

    Task prompts are recognised by what they ask for, since operators translate and change them: JSON with a
    known key, or a short title. Sources: Open WebUI, `backend/open_webui/config.py`
    (`DEFAULT_*_PROMPT_TEMPLATE`); LibreChat, `api/app/clients/prompts/titlePrompts.js`, and its library
    for agents, `src/utils/title.ts` and `src/prompts`.

    The last message counts, if it is the user's, and the first, if it is a system message: in an agent's
    system prompt alone nothing is recognised but a choice of tools, a title and a label.
    """
    if not messages or messages[-1].get("role") != "user":
        return None
    last, first = _text_of(messages[-1]), messages[0]
    system = _text_of(first) if first.get("role") in ("system", "developer") and len(messages) == 2 else ""
    asked = _asked(system)
    in_system = asked if asked and asked.name in _IN_SYSTEM else None
    return _asked(last) or in_system


def _asked(prompt: str) -> Task | None:
    if len(prompt) > _MAX_PROMPT:
        return None
    key = _TASK_KEY.search(prompt)
    if key and _FRAME.search(prompt) and _ASKS_JSON.search(prompt):
        return Task(_TASKS[key.group(1)], as_json=True)
    if _TITLE.search(prompt) and _SHORT.search(prompt):
        return Task(_TASKS["title"], as_json=False)
    if _LABEL.search(prompt) and _SHORT.search(prompt):
        return Task(_STEPS, as_json=False)
    return Task("an emoji", as_json=False) if _EMOJI.search(prompt) else None


def _text_of(message: Mapping[str, Any]) -> str:
    """The text of a message, or of its text parts."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content if _is_text(part)) if isinstance(content, list) else ""
