"""Recognises what a chat UI asks the model for to use itself: a title for the chat, tags, search queries."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from proxy.types import Task
from proxy.upstream.content_parts import text_of

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
    last, first = text_of(messages[-1].get("content")), messages[0]
    system = (
        text_of(first.get("content"))
        if first.get("role") in ("system", "developer") and len(messages) == 2
        else ""
    )
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
