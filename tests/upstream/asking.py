"""What the tests of both clients ask with."""

from __future__ import annotations

from typing import Any

from proxy.types import Chat

KEY = "sk-our-secret-key"


def chat(text: str = "Hi", api_key: str | None = None, **more: Any) -> Chat:
    """A chat as the app makes it; `more` are further fields of its body."""
    return Chat({"model": "theirs", "messages": [{"role": "user", "content": text}], **more}, text, api_key)
