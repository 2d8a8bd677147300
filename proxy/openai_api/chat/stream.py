"""Writes a chat completion to the wire: as one object, or as a stream of `chat.completion.chunk` events."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from proxy.engine.delivery import Answer, FieldsEvent, ProgressEvent, StreamEvent, TextEvent
from proxy.openai_api.chat.response import (
    Choice,
    choices,
    claim_object,
    completion,
    logprobs,
    message_fields,
    new_id,
    reference_object,
    reply_fields,
    usage,
)
from proxy.openai_api.error_object import error_object
from proxy.openai_api.profiles import Profile
from proxy.types import Json, ReplyChunk
from proxy.upstream.completion import CITING
from proxy.upstream.content_parts import others_of, text_of
from proxy.upstream.safe_json import dumps

DONE = b"data: [DONE]\n\n"

_CHOICE = frozenset({"index", "message", "finish_reason", "logprobs"})
_REPLY = frozenset({"id", "object", "created", "model", "choices", "usage"})


def event(data: Json) -> bytes:
    """One server-sent event. JSON has no raw line breaks, so it is always one line."""
    return b"data: " + dumps(data) + b"\n\n"


@dataclass(slots=True)
class ChatSerializer:
    """Serialises a checked reply for `/v1/chat/completions`, shaped by a profile.

    `choices` is the number of choices requested. `status` is what a client with status events shows while
    the reply is made; empty for none.
    """

    chunks: Chunks
    profile: Profile
    choices: int = 1
    status: str = ""
    _sent: dict[int, int] = field(default_factory=dict)
    _names: dict[int, str] = field(default_factory=dict)
    """The sources that the client was told of, by number."""

    def whole(self, answer: Answer) -> Json:
        """The `chat.completion` object."""
        return self.profile.whole(completion(answer, choices(answer)))

    def start(self) -> Iterator[bytes]:
        """A role chunk per choice, and the status."""
        return map(event, [*self.chunks.role(self.choices), *self._status(self.status)])

    def event(self, stream_event: StreamEvent) -> Iterator[bytes]:
        """A chunk per event; for the answer, everything that was not sent yet."""
        return map(event, self._chunks(stream_event))

    def heartbeat(self) -> Iterator[bytes]:
        """A chunk with an empty delta."""
        yield event(self.chunks.heartbeat())

    def failed(self, error: Exception) -> Iterator[bytes]:
        """An error object. The status is over."""
        yield from map(event, self._status("", done=True))
        yield event(error_object(error))

    def end(self) -> Iterator[bytes]:
        """`[DONE]`."""
        yield DONE

    def _chunks(self, stream_event: StreamEvent) -> Iterator[Json]:
        match stream_event:
            case TextEvent(index, text, claims, references):
                self._sent[index] = self._sent.get(index, 0) + len(text)
                cited = [reference_object(each) for each in references]
                yield from self._sources(index, cited)
                yield self.chunks.piece(index, text, [claim_object(located) for located in claims], cited)
            case FieldsEvent(index, fields):
                self._sent.setdefault(index, 0)
                yield self.chunks.fields(index, fields)
            case ProgressEvent(index, checked):
                yield self.chunks.progress(index, checked)
            case Answer():
                yield from self._last(stream_event)

    def _last(self, answer: Answer) -> Iterator[Json]:
        rendered = choices(answer)
        reply = reply_fields(answer, rendered)
        for place, (draft, choice) in enumerate(zip(answer.reply.drafts, rendered, strict=True)):
            index = draft.index
            rest = self.chunks.rest(index, choice, reply, self._sent.get(index))
            content = choice.content if isinstance(choice.content, str) else ""
            yield from self._sources(index, choice.references)
            *pieces, finish = self.profile.streamed(rest, content)
            yield from pieces
            if place == 0:
                yield from self._status(choice.notice, done=True)
            yield finish
        if self.chunks.usage:
            yield self.chunks.usage_chunk(usage(answer))

    def _sources(self, index: int, references: Sequence[Json]) -> Iterator[Json]:
        """The events for the sources of the first choice that the client was not told of.

        A title may get a number or a section once there is another of its name. What was told stays, and
        names stay unique.
        """
        for reference in references if index == 0 else ():
            n, title = reference["n"], reference["title"]
            if n not in self._names:
                taken = title in self._names.values()
                self._names[n] = f"{title} ({n})" if taken else title
                for source in self.profile.events([{**reference, "title": self._names[n]}]):
                    yield self.chunks.event(source)

    def _status(self, text: str, *, done: bool = False) -> Iterator[Json]:
        """The event for a status. One without a text takes back what was shown."""
        if self.profile.status is not None and self.status:
            yield self.chunks.event(self.profile.status(text, done))


@dataclass(frozen=True, slots=True)
class UncheckedChatSerializer:
    """Serialises an unchecked reply as the upstream sent it."""

    include_usage: bool

    def whole(self, answer: Answer) -> Json:
        """The upstream's own object."""
        return answer.reply.raw

    def start(self) -> Iterator[bytes]:
        """Nothing."""
        return iter(())

    def event(self, stream_event: StreamEvent) -> Iterator[bytes]:
        """The upstream's own chunk. A chunk with usage alone is sent only if the client asked for it."""
        if isinstance(stream_event, ReplyChunk) and (stream_event.raw.get("choices") or self.include_usage):
            yield event(stream_event.raw)

    def heartbeat(self) -> Iterator[bytes]:
        """Nothing."""
        return iter(())

    def failed(self, error: Exception) -> Iterator[bytes]:
        """An error object."""
        yield event(error_object(error))

    def end(self) -> Iterator[bytes]:
        """`[DONE]`."""
        yield DONE


@dataclass(frozen=True, slots=True)
class Chunks:
    """Makes the chunks of one stream: one id, creation time and model throughout."""

    model: str
    id: str = field(default_factory=new_id)
    created: int = field(default_factory=lambda: int(time.time()))
    usage: bool = False
    """Whether the client asked for usage: then `usage` is `null` in each chunk but the last."""

    def role(self, n: int = 1) -> list[Json]:
        """The first chunk of each choice."""
        return [self._chunk(index, {"role": "assistant", "content": ""}) for index in range(n)]

    def heartbeat(self) -> Json:
        """A chunk with an empty delta. An SSE comment would break some clients."""
        return self._chunk(0, {})

    def progress(self, index: int, claims: int) -> Json:
        """A chunk with an empty delta and the number of claims checked so far."""
        return {**self._chunk(index, {}), "progress": {"checked": claims}}

    def piece(
        self, index: int, content: str, claims: Sequence[Json] = (), cited: Sequence[Json] = ()
    ) -> Json:
        """A piece of the content. Where progress is told, with the verdicts on the claims that end in it and
        the references that it is the first to cite."""
        told = {"progress": {"claims": list(claims), "references": list(cited)}} if claims else {}
        return {**self._chunk(index, {"content": content}), **told}

    def fields(self, index: int, fields: Json) -> Json:
        """Other fields of a delta, as the upstream sent them."""
        return self._chunk(index, fields)

    def event(self, event: Json) -> Json:
        """A chunk with an empty delta and an event for a client that knows it."""
        return {**self._chunk(0, {}), "event": event}

    def rest(self, index: int, choice: Choice, reply: Json, sent: int | None = None) -> Iterator[Json]:
        """The chunks of a finished choice that were not sent yet; the finish chunk, with its references and
        verification, comes last.

        The content is sent in pieces that end at claims. `sent` is the number of characters sent already,
        with all other fields; None where nothing was sent. What the upstream's message cites comes last.
        Clients add up the content as a string, so its parts that are no text are a field of their own.
        """
        fields = message_fields(choice)
        citing = {key: fields.pop(key) for key in CITING if key in fields}
        annotations = [*(citing.pop("annotations", None) or []), *choice.annotations]
        calls = fields.pop("tool_calls", None)
        counted: Json = {"logprobs": logprobs(choice)} if choice.raw.get("logprobs") else {}
        fields = {key: value for key, value in fields.items() if value is not None}
        if fields and sent is None:
            yield self._chunk(index, fields)
        if parts := others_of((choice.raw.get("message") or {}).get("content")):
            yield self._chunk(index, {"content_parts": parts})
        for piece in _pieces(text_of(choice.content), choice.cuts, sent or 0):
            yield self._chunk(index, {"content": piece}, **counted)
        if calls and sent is None:
            yield self._chunk(
                index, {"tool_calls": [{"index": position, **call} for position, call in enumerate(calls)]}
            )
        finish = self._chunk(
            index,
            {**citing, "annotations": annotations},
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
