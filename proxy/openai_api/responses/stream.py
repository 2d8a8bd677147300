"""A response as the wire has it: whole, or as the events of a Responses stream.

Output items are opened, written and closed; each has its `output_index`, and its `beat` is an event that says
nothing new.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Protocol

from proxy.engine.delivery import Answer, FieldsEvent, ProgressEvent, StreamEvent, TextEvent
from proxy.errors import UpstreamError
from proxy.openai_api.chat.response import Choice, choices, message_fields, usage
from proxy.openai_api.error_object import error_object
from proxy.openai_api.responses.response import (
    Envelope,
    Status,
    call_item,
    calls_of,
    ending,
    flat,
    message_item,
    new_id,
    reasoning_item,
    reasoning_of,
    refusal_part,
    summary_part,
    text_of,
    text_part,
    unknown,
    usage_object,
)
from proxy.types import ChoiceDelta, Json, ReplyChunk


class Writer(Protocol):
    """An output item that is being written. `done` is the whole of it, None while it is open."""

    done: Json | None


@dataclass(slots=True)
class ReasoningWriter:
    """What the model thinks."""

    index: int
    id: str = field(default_factory=lambda: new_id("rs"))
    pieces: list[str] = field(default_factory=list)
    done: Json | None = None

    def open(self) -> Iterator[Json]:
        """The item with an empty part."""
        yield _item("added", self.index, reasoning_item(self.id))
        yield self._event("reasoning_summary_part.added", part=summary_part())

    def write(self, piece: str) -> Json:
        """More of it."""
        self.pieces.append(piece)
        return self._event("reasoning_summary_text.delta", delta=piece)

    def beat(self) -> Json:
        """An empty piece."""
        return self._event("reasoning_summary_text.delta", delta="")

    def close(self) -> Iterator[Json]:
        """The whole text, part and item."""
        part = summary_part("".join(self.pieces))
        yield self._event("reasoning_summary_text.done", text=part["text"])
        yield self._event("reasoning_summary_part.done", part=part)
        self.done = reasoning_item(self.id, [part])
        yield _item("done", self.index, self.done)

    def _event(self, name: str, **fields: object) -> Json:
        place = {"item_id": self.id, "output_index": self.index, "summary_index": 0}
        return {"type": f"response.{name}", **place, **fields}


@dataclass(slots=True)
class MessageWriter:
    """What the model says: a text, a refusal, or one after the other."""

    index: int
    id: str = field(default_factory=lambda: new_id("msg"))
    pieces: list[str] = field(default_factory=list)
    parts: list[Json] = field(default_factory=list)
    writing: bool = False
    done: Json | None = None

    def open(self) -> Iterator[Json]:
        """The item without content."""
        yield _item("added", self.index, message_item(self.id, "in_progress"))

    def write(self, piece: str, logprobs: Sequence[Json] = ()) -> Iterator[Json]:
        """More of the text, behind its part where it is the first."""
        if not self.writing:
            self.writing = True
            yield self._event("content_part.added", part=text_part())
        if piece:
            self.pieces.append(piece)
            yield self._event("output_text.delta", delta=piece, logprobs=[*logprobs])

    def beat(self) -> Json:
        """An empty piece."""
        return self._event("output_text.delta", delta="", logprobs=[])

    def end_text(self, annotations: Sequence[Json], logprobs: Sequence[Json]) -> Iterator[Json]:
        """The annotations, the whole text and its part."""
        for at, annotation in enumerate(annotations):
            yield self._event("output_text.annotation.added", annotation_index=at, annotation=annotation)
        part = text_part("".join(self.pieces), annotations, logprobs)
        yield self._event("output_text.done", text=part["text"], logprobs=[*logprobs])
        yield self._event("content_part.done", part=part)
        self.parts.append(part)

    def refuse(self, refusal: str) -> Iterator[Json]:
        """A refusal, as a part of its own."""
        part = refusal_part(refusal)
        yield self._event("content_part.added", part=refusal_part())
        yield self._event("refusal.delta", delta=refusal)
        yield self._event("refusal.done", refusal=refusal)
        yield self._event("content_part.done", part=part)
        self.parts.append(part)

    def close(self, status: Status) -> Iterator[Json]:
        """The item."""
        self.done = message_item(self.id, status, self.parts)
        yield _item("done", self.index, self.done)

    def _event(self, name: str, **fields: object) -> Json:
        place = {"item_id": self.id, "output_index": self.index, "content_index": len(self.parts)}
        return {"type": f"response.{name}", **place, **fields}


@dataclass(slots=True)
class CallWriter:
    """A function that the model calls: all at once."""

    index: int
    call_id: str
    name: str
    id: str = field(default_factory=lambda: new_id("fc"))
    done: Json | None = None

    def write(self, arguments: str, status: Status) -> Iterator[Json]:
        """The item without arguments, the arguments, and the whole item."""
        yield _item("added", self.index, call_item(self.id, "in_progress", self.call_id, self.name))
        if arguments:
            yield self._event("delta", delta=arguments)
        yield self._event("done", name=self.name, arguments=arguments)
        self.done = call_item(self.id, status, self.call_id, self.name, arguments)
        yield _item("done", self.index, self.done)

    def _event(self, what: str, **fields: object) -> Json:
        place = {"item_id": self.id, "output_index": self.index}
        return {"type": f"response.function_call_arguments.{what}", **place, **fields}


def _item(what: str, index: int, item: Json) -> Json:
    return {"type": f"response.output_item.{what}", "output_index": index, "item": item}


def event(data: Json) -> bytes:
    """One event, under its own name. There is no `[DONE]` in these streams."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return f"event: {data['type']}\ndata: {text}\n\n".encode()


@dataclass(frozen=True, slots=True)
class ResponseSerializer:
    """Writes a reply as `/v1/responses` has it: whole, or as events. There is never more than one choice."""

    envelope: Envelope
    chunks: ResponseChunks

    def whole(self, answer: Answer) -> Json:
        """The `response` object: what its stream would end with."""
        ended: Json = self.chunks.finish(choices(answer)[0], answer)[-1]["response"]
        return ended

    def start(self) -> Iterator[bytes]:
        """That there is a response."""
        return map(event, self.chunks.start())

    def event(self, stream_event: StreamEvent) -> Iterator[bytes]:
        """What stream_event; for the answer, all that was not sent yet."""
        return map(event, self._events(stream_event))

    def heartbeat(self) -> Iterator[bytes]:
        """An event that says nothing new."""
        return map(event, self.chunks.heartbeat())

    def failed(self, error: Exception) -> Iterator[bytes]:
        """An error, as clients raise it."""
        return map(event, self.chunks.failed(error))

    def end(self) -> Iterator[bytes]:
        """Nothing: the last event says that it is the last."""
        return iter(())

    def _events(self, stream_event: StreamEvent) -> list[Json]:
        match stream_event:
            case Answer():
                return self.chunks.finish(choices(stream_event)[0], stream_event)
            case ReplyChunk(deltas):
                return [sent for delta in deltas if delta.index == 0 for sent in self._delta(delta)]
            case TextEvent(0, text):
                return self.chunks.text(text)
            case FieldsEvent(0, fields):
                return self.chunks.fields(fields)
            case ProgressEvent(0):
                return self.chunks.heartbeat()
        return []

    def _delta(self, delta: ChoiceDelta) -> list[Json]:
        text = self.chunks.text(delta.content) if delta.content else []
        return [*text, *(self.chunks.fields(delta.fields) if delta.fields else [])]


class ResponseChunks:
    """Makes the events of one stream, numbered from 0.

    `start` comes first; then `text`, `fields` and `heartbeat` as things happen; `finish` or `failed` last.
    What the choice holds in the end and was not told before is told by `finish`, so that a reply that nothing
    was told of is whole too.
    """

    def __init__(self, envelope: Envelope) -> None:
        self._envelope = envelope
        self._number = 0
        self._writers: list[Writer] = []
        self._thinking: ReasoningWriter | None = None
        self._message: MessageWriter | None = None
        self._thoughts: list[str] = []

    def start(self) -> list[Json]:
        """That there is a response."""
        so_far = self._envelope.response()
        kinds = ("response.created", "response.in_progress")
        return self._numbered({"type": kind, "response": so_far} for kind in kinds)

    def text(self, piece: str) -> list[Json]:
        """A piece of the content, marks and all."""
        return self._numbered(self._say(piece))

    def fields(self, delta: Json) -> list[Json]:
        """Other fields of a delta, as the upstream sent them: what it thinks. The rest waits for the end: a
        call that was told of before text that is still being checked would stand before it."""
        return self._numbered(self._think(reasoning_of(delta)))

    def heartbeat(self) -> list[Json]:
        """An event that says nothing new: no client drops it, and none takes it for something else.

        Before the first item the response again; then an empty piece, since some clients take a response for
        all that was said so far.
        """
        still_open = self._thinking or self._message
        again = {"type": "response.in_progress", "response": self._envelope.response()}
        return self._numbered([still_open.beat() if still_open else again])

    def finish(self, choice: Choice, answer: Answer) -> list[Json]:
        """Everything that was not told yet; the response as a whole at last."""
        ended = ending(choice.raw.get("finish_reason"))
        status: Status = ended["status"]
        events = self._numbered(self._rest(choice, status))
        kind = f"response.{status}"
        whole = self._envelope.response(self._output, {**_whole(choice, answer), **ended})
        return [*events, *self._numbered([{"type": kind, "response": whole}])]

    def failed(self, error: Exception) -> list[Json]:
        """That it broke off, as an error that clients raise, and as the response's end."""
        told = error_object(error)["error"]
        limited = isinstance(error, UpstreamError) and error.status == 429
        cause = {"code": "rate_limit_exceeded" if limited else "server_error", "message": told["message"]}
        whole = self._envelope.response(self._output, {"status": "failed", "error": cause})
        flat_error = {key: told[key] for key in ("code", "message", "param")}
        return self._numbered(
            [
                {"type": "error", **flat_error, "error": told},
                {"type": "response.failed", "response": whole},
            ]
        )

    @property
    def _output(self) -> list[Json]:
        return [writer.done for writer in self._writers if writer.done is not None]

    def _numbered(self, events: Iterable[Json]) -> list[Json]:
        numbered = [
            {"type": one["type"], "sequence_number": number, **one}
            for number, one in enumerate(events, self._number)
        ]
        self._number += len(numbered)
        return numbered

    def _think(self, piece: str) -> Iterator[Json]:
        if not piece:
            return
        if self._thinking is None:
            self._thinking = ReasoningWriter(len(self._writers))
            self._writers.append(self._thinking)
            yield from self._thinking.open()
        self._thoughts.append(piece)
        yield self._thinking.write(piece)

    def _end_thinking(self) -> Iterator[Json]:
        if self._thinking is not None:
            yield from self._thinking.close()
            self._thinking = None

    def _say(self, piece: str, logprobs: Iterable[Json] = ()) -> Iterator[Json]:
        yield from self._end_thinking()
        yield from self._open_message()
        if self._message is not None:
            yield from self._message.write(piece, [*logprobs])

    def _open_message(self) -> Iterator[Json]:
        if self._message is None:
            self._message = MessageWriter(len(self._writers))
            self._writers.append(self._message)
            yield from self._message.open()

    def _call(self, call: Json, status: Status) -> Iterator[Json]:
        function = call.get("function")
        told: Json = function if isinstance(function, dict) else {}
        call_id = call.get("id") or new_id("call")
        writer = CallWriter(len(self._writers), str(call_id), text_of(told.get("name")))
        self._writers.append(writer)
        yield from writer.write(text_of(told.get("arguments")), status)

    def _rest(self, choice: Choice, status: Status) -> Iterator[Json]:
        """What was not told, and the end of every item."""
        message = choice.raw.get("message") or {}
        calls, refusal = calls_of(message), text_of(message.get("refusal"))
        yield from self._think(_rest_of(reasoning_of(message), "".join(self._thoughts)))
        yield from self._end_thinking()
        logprobs = _logprobs(choice)
        for piece in self._unsaid(text_of(choice.content), choice.cuts, empty=not refusal and not calls):
            yield from self._say(piece, logprobs)
        yield from self._end_message(choice, refusal, status)
        for call in calls:
            yield from self._call(call, status)

    def _end_message(self, choice: Choice, refusal: str, status: Status) -> Iterator[Json]:
        if refusal:
            yield from self._open_message()
        if self._message is None:
            return
        if self._message.writing:
            yield from self._message.end_text(_annotations(choice), _logprobs(choice))
        if refusal:
            yield from self._message.refuse(refusal)
        yield from self._message.close(status)

    def _unsaid(self, content: str, cuts: tuple[int, ...], *, empty: bool) -> list[str]:
        """The rest of the content in pieces that end at claims. What was said stays, whatever the end is."""
        said = "".join(self._message.pieces) if self._message else ""
        start = len(content) - len(_rest_of(content, said))
        ends = (start, *(cut for cut in cuts if cut > start), len(content))
        pieces = [content[start:end] for start, end in pairwise(ends) if end > start]
        return pieces or ([""] if empty and not said else [])


def _rest_of(whole: str, said: str) -> str:
    """What was not said of the whole. Nothing, where something else was said: that stays."""
    return whole.removeprefix(said) if whole.startswith(said) else ""


def _whole(choice: Choice, answer: Answer) -> Json:
    """What the response says beside its output; of one that was not checked, nothing of ours."""
    if not choice.verification:
        return {**unknown(answer.reply.raw), "usage": usage_object(answer.reply.raw.get("usage") or {})}
    return {
        **unknown(answer.reply.raw),
        "usage": usage_object(usage(answer)),
        "references": choice.references,
        "verification": choice.verification,
    }


def _annotations(choice: Choice) -> list[Json]:
    theirs = message_fields(choice).get("annotations") or []
    return [flat(one) for one in (*theirs, *choice.annotations) if isinstance(one, dict)]


def _logprobs(choice: Choice) -> list[Json]:
    given: Any = (choice.raw.get("logprobs") or {}).get("content")
    return given if isinstance(given, list) else []
