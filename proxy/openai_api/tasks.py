"""Recognises the task prompts of chat UIs: requests for a title, tags or queries that the UI itself uses.

They are recognised by what they ask for, since operators translate and change them: JSON with a known key, or
a short title. Sources: Open WebUI, `backend/open_webui/config.py` (`DEFAULT_*_PROMPT_TEMPLATE`); LibreChat,
`api/app/clients/prompts/titlePrompts.js`, and its agents library, `src/utils/title.ts`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from proxy.types import Task

_KEYS: Mapping[str, str] = {
    "title": "a title for the chat",
    "tags": "tags for the chat",
    "follow_ups": "follow-up questions",
    "queries": "search queries",
    "prompt": "a prompt for an image",
    "text": "an autocompletion",
    "tool_calls": "a choice of tools",
}
"""What a task asks for, by the key of the JSON object that it wants."""
_KEY = re.compile(rf"\{{\s*\"({'|'.join(_KEYS)})\"\s*:")
_JSON = re.compile(r"\bJSON\b", re.I)
_FRAME = re.compile(r"<chat_history>|<type>|^### ?Task\b|\bAvailable Tools:", re.M)
"""What surrounds the chat in a task prompt; translations keep the tags."""

_TITLE = re.compile(
    r"\b(?:generate|provide|write|create|give|suggest)\b[^.\n]{0,60}?\btitle\b[^.\n]{0,60}?"
    r"\b(?:conversation|chat|dialogue|discussion)\b"
    r"|\bconcise title in the (?:detected|given) language\b"
    r"|(?:对话|聊天|会话)[^。\n]{0,20}标题",
    re.I,
)
_SHORT = re.compile(
    r"\bwords?[ -]or[ -](?:less|fewer)\b|\b(?:\d+|three|four|five|six|seven|eight|ten)[ -]words?\b"
    r"|\btitle case\b|\bonly (?:return|output|reply with|respond with) the title\b"
    r"|字以内|不超过|(?:只|仅|直接)(?:返回|输出|回复)",
    re.I,
)
_EMOJI = re.compile(r"\bfacial expression\b[^.\n]{0,80}\bemoji", re.I)

_MAX_PROMPT = 200_000
"""Longer prompts are not looked at."""


def task_of(messages: Sequence[Mapping[str, Any]]) -> Task | None:
    """What the request asks for where it is a task prompt, else None.

    The last message counts, if it is the user's, and the first, if it is a system message: in an agent's
    system prompt alone nothing is recognised but a choice of tools and a title.
    """
    if not messages or messages[-1].get("role") != "user":
        return None
    last, first = _text(messages[-1]), messages[0]
    system = _text(first) if first.get("role") in ("system", "developer") and len(messages) == 2 else ""
    asked = _asked(system)
    in_system = asked if asked and asked.name in (_KEYS["title"], _KEYS["tool_calls"]) else None
    return _asked(last) or in_system


def _asked(prompt: str) -> Task | None:
    if len(prompt) > _MAX_PROMPT:
        return None
    key = _KEY.search(prompt)
    if key and _FRAME.search(prompt) and _JSON.search(prompt):
        return Task(_KEYS[key.group(1)], as_json=True)
    if _TITLE.search(prompt) and _SHORT.search(prompt):
        return Task(_KEYS["title"], as_json=False)
    return Task("an emoji", as_json=False) if _EMOJI.search(prompt) else None


def _text(message: Mapping[str, Any]) -> str:
    """The text of a message, of its text parts where it has parts."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(str(part["text"]) for part in parts if isinstance(part, dict) and "text" in part)
