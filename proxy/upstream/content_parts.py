"""Content that comes as a list of parts: text, thoughts (Mistral's reasoning models), pictures and others."""

from __future__ import annotations

from typing import Any

from proxy.types import Json

_THOUGHTS = ("thinking", "reasoning")
"""Types of parts that hold what the model thought, each in a field of the same name."""


def split(message: Json) -> Json:
    """The message or delta with its text as one string, and its thoughts as `reasoning_content`.

    So LiteLLM gives them to clients too. Beside parts of any other kind, the text stays in parts. Takes as
    long as the content is.
    """
    content = message.get("content")
    if not isinstance(content, list):
        return message
    thoughts = "".join(map(_thought, content))
    rest = [part for part in content if not _is_thought(part)]
    plain = text_of(rest) if all(map(is_text, rest)) else rest
    given = {"reasoning_content": message.get("reasoning_content") or thoughts} if thoughts else {}
    return {**message, **given, "content": plain}


def text_of(content: Any) -> str:
    """The text of a content: the string itself, or its text parts joined."""
    if isinstance(content, str):
        return content
    return "".join(part["text"] for part in content if is_text(part)) if isinstance(content, list) else ""


def others_of(content: Any) -> list[Any]:
    """The parts of a content that are no text."""
    return [part for part in content if not is_text(part)] if isinstance(content, list) else []


def is_text(part: Any) -> bool:
    """Whether a part is text."""
    return isinstance(part, dict) and part.get("type", "text") == "text" and isinstance(part.get("text"), str)


def _is_thought(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") in _THOUGHTS


def _thought(part: Any) -> str:
    """What a part of thoughts says: its field is a string, or parts of text in turn."""
    return text_of(part.get(part["type"])) if _is_thought(part) else ""
