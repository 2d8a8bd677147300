"""What became of a chat, as server-sent events."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from proxy.openai_api.chat.response import Choice, logprobs, message_fields, new_id
from proxy.safe_json import dumps
from proxy.types import Json

DONE = b"data: [DONE]\n\n"

_CHOICE = frozenset({"index", "message", "finish_reason", "logprobs"})
_REPLY = frozenset({"id", "object", "created", "model", "choices", "usage"})


def event(data: Json) -> bytes:
    """One event. JSON has no raw line breaks, so that it is one line always."""
    return b"data: " + dumps(data) + b"\n\n"


@dataclass(frozen=True, slots=True)
class Chunks:
    """Makes the chunks of one stream: one id, creation time and model throughout."""

    model: str
    id: str = field(default_factory=new_id)
    created: int = field(default_factory=lambda: int(time.time()))
    usage: bool = False
    """Whether the client asked for usage: each chunk but the last then says `null`."""

    def role(self, n: int = 1) -> list[Json]:
        """The first chunk of each choice."""
        return [self._chunk(index, {"role": "assistant", "content": ""}) for index in range(n)]

    def heartbeat(self) -> Json:
        """A chunk that says nothing. Not an SSE comment: those break clients."""
        return self._chunk(0, {})

    def progress(self, index: int, claims: int) -> Json:
        """A chunk that says nothing but how many claims are checked by now."""
        return {**self._chunk(index, {}), "progress": {"checked": claims}}

    def piece(self, index: int, content: str) -> Json:
        """A piece of the content."""
        return self._chunk(index, {"content": content})

    def fields(self, index: int, fields: Json) -> Json:
        """Other fields of a delta, as the upstream sent them."""
        return self._chunk(index, fields)

    def rest(self, index: int, choice: Choice, reply: Json, sent: int | None = None) -> Iterator[Json]:
        """What of a choice is still to be said once it is known; last the finish chunk, with all about it.

        The content comes in pieces that end at claims. `sent` are the characters of it that have gone out
        already, with all other fields; None where nothing has.
        """
        fields = message_fields(choice)
        annotations = [*(fields.pop("annotations", None) or []), *choice.annotations]
        calls = fields.pop("tool_calls", None)
        counted: Json = {"logprobs": logprobs(choice)} if choice.raw.get("logprobs") else {}
        fields = {key: value for key, value in fields.items() if value is not None}
        if fields and sent is None:
            yield self._chunk(index, fields)
        whole = choice.content if isinstance(choice.content, str) else ""
        if choice.content and not whole:
            yield self._chunk(index, {"content": choice.content})
        for piece in _pieces(whole, choice.cuts, sent or 0):
            yield self._chunk(index, {"content": piece}, **counted)
        if calls and sent is None:
            yield self._chunk(index, {"tool_calls": [{"index": at, **call} for at, call in enumerate(calls)]})
        finish = self._chunk(
            index,
            {"annotations": annotations},
            finish_reason=choice.raw.get("finish_reason") or "stop",
            **{key: value for key, value in choice.raw.items() if key not in _CHOICE},
        )
        unknown = {key: value for key, value in reply.items() if key not in _REPLY}
        yield {**unknown, **finish, "references": choice.references, "verification": choice.verification}

    def usage_chunk(self, usage: Json) -> Json:
        """The last chunk, for a client that asked for usage."""
        return {**self._envelope(), "choices": [], "usage": usage}

    def _envelope(self) -> Json:
        return {
            "id": self.id,
            "object": "chat.completion.chunk",
            "created": self.created,
            "model": self.model,
        }

    def _chunk(self, index: int, delta: Json, finish_reason: str | None = None, **extra: object) -> Json:
        choice = {"index": index, "delta": delta, **extra, "finish_reason": finish_reason}
        return {**self._envelope(), "choices": [choice], **({"usage": None} if self.usage else {})}


def _pieces(content: str, cuts: tuple[int, ...], start: int = 0) -> Iterator[str]:
    for end in (*cuts, len(content)):
        if end > start:
            yield content[start:end]
            start = end
