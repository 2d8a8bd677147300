"""Writes a reply to the wire of `/v1/responses`: as one object, or as the events of a Responses stream.

A writer per output item opens, writes and closes it. Its `beat` is a heartbeat: an event without new content.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Protocol

from proxy.engine.delivery import Answer, FieldsEvent, ProgressEvent, StreamEvent, TextEvent
from proxy.errors import UpstreamError
from proxy.openai_api.chat.response import Choice, choices, message_fields, reply_fields, usage
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
    """Writes one output item. `done` is the complete item, None while it is open."""

    done: Json | None


@dataclass(slots=True)
class ReasoningWriter:
    """Writes the model's reasoning."""

    index: int
    id: str = field(default_factory=lambda: new_id("rs"))
    pieces: list[str] = field(default_factory=list)
    done: Json | None = None

    def open(self) -> Iterator[Json]:
        """Opens the item with an empty part."""
        yield _item("added", self.index, reasoning_item(self.id))
        yield self._event("reasoning_summary_part.added", part=summary_part())

    def write(self, piece: str) -> Json:
        """A piece of the reasoning."""
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
    """Writes the model's message: a text, a refusal, or both."""

    index: int
    id: str = field(default_factory=lambda: new_id("msg"))
    pieces: list[str] = field(default_factory=list)
    parts: list[Json] = field(default_factory=list)
    writing: bool = False
    done: Json | None = None

    def open(self) -> Iterator[Json]:
        """Opens the item without content."""
        yield _item("added", self.index, message_item(self.id, "in_progress"))

    def write(self, piece: str, logprobs: Sequence[Json] = ()) -> Iterator[Json]:
        """A piece of the text; the first piece opens the text's part."""
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
        """The annotations, the complete text and its part."""
        for position, annotation in enumerate(annotations):
            yield self._event(
                "output_text.annotation.added", annotation_index=position, annotation=annotation
            )
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
        """Closes the item."""
        self.done = message_item(self.id, status, self.parts)
        yield _item("done", self.index, self.done)

    def _event(self, name: str, **fields: object) -> Json:
        place = {"item_id": self.id, "output_index": self.index, "content_index": len(self.parts)}
        return {"type": f"response.{name}", **place, **fields}


@dataclass(slots=True)
class CallWriter:
    """Writes a function call, all at once."""

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
    """One server-sent event, named by its type. These streams have no `[DONE]`."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return f"event: {data['type']}\ndata: {text}\n\n".encode()


@dataclass(frozen=True, slots=True)
class ResponseSerializer:
    """Serialises a reply for `/v1/responses`: as one object, or as events. A response has one choice."""

    envelope: Envelope
    chunks: ResponseChunks

    def whole(self, answer: Answer) -> Json:
        """The `response` object, which is also the end of its stream."""
        ended: Json = self.chunks.finish(choices(answer)[0], answer)[-1]["response"]
        return ended

    def start(self) -> Iterator[bytes]:
        """Says that the response exists."""
        return map(event, self.chunks.start())

    def event(self, stream_event: StreamEvent) -> Iterator[bytes]:
        """The events for one stream event; for the answer, everything that was not sent yet."""
        return map(event, self._events(stream_event))

    def heartbeat(self) -> Iterator[bytes]:
        """An event without new content."""
        return map(event, self.chunks.heartbeat())

    def failed(self, error: Exception) -> Iterator[bytes]:
        """An error event, which clients raise."""
        return map(event, self.chunks.failed(error))

    def end(self) -> Iterator[bytes]:
        """Nothing: the last event already ends the stream."""
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

    Call `start` first, then `text`, `fields` and `heartbeat` as needed, and `finish` or `failed` last.
    `finish` sends everything of the choice that was not sent before, so a reply that is not streamed needs
    it alone.
    """

    def __init__(self, envelope: Envelope) -> None:
        self._envelope = envelope
        self._number = 0
        self._writers: list[Writer] = []
        self._thinking: ReasoningWriter | None = None
        self._message: MessageWriter | None = None
        self._thoughts: list[str] = []

    def start(self) -> list[Json]:
        """Says that the response exists."""
        so_far = self._envelope.response()
        kinds = ("response.created", "response.in_progress")
        return self._numbered({"type": kind, "response": so_far} for kind in kinds)

    def text(self, piece: str) -> list[Json]:
        """A piece of the content, with its markers."""
        return self._numbered(self._write_text(piece))

    def fields(self, delta: Json) -> list[Json]:
        """The reasoning in the other fields of a delta. Everything else waits for the end: a tool call sent
        now would come before text that is still being checked."""
        return self._numbered(self._think(reasoning_of(delta)))

    def heartbeat(self) -> list[Json]:
        """An event without new content that all clients accept.

        Before the first item, it repeats the response. Later it is an empty piece, since some clients take a
        repeated response for the complete output so far.
        """
        still_open = self._thinking or self._message
        again = {"type": "response.in_progress", "response": self._envelope.response()}
        return self._numbered([still_open.beat() if still_open else again])

    def finish(self, choice: Choice, answer: Answer) -> list[Json]:
        """Everything that was not sent yet; the complete response comes last."""
        ended = ending(choice.raw.get("finish_reason"))
        status: Status = ended["status"]
        events = self._numbered(self._rest(choice, status))
        kind = f"response.{status}"
        whole = self._envelope.response(self._output, {**_whole(choice, answer), **ended})
        return [*events, *self._numbered([{"type": kind, "response": whole}])]

    def failed(self, error: Exception) -> list[Json]:
        """An error event, which clients raise, and the end of the failed response."""
        fields = error_object(error)["error"]
        limited = isinstance(error, UpstreamError) and error.status == 429
        cause = {"code": "rate_limit_exceeded" if limited else "server_error", "message": fields["message"]}
        whole = self._envelope.response(self._output, {"status": "failed", "error": cause})
        flat_error = {key: fields[key] for key in ("code", "message", "param")}
        return self._numbered(
            [
                {"type": "error", **flat_error, "error": fields},
                {"type": "response.failed", "response": whole},
            ]
        )

    @property
    def _output(self) -> list[Json]:
        return [writer.done for writer in self._writers if writer.done is not None]

    def _numbered(self, events: Iterable[Json]) -> list[Json]:
        numbered = [
            {"type": event["type"], "sequence_number": number, **event}
            for number, event in enumerate(events, self._number)
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

    def _write_text(self, piece: str, logprobs: Iterable[Json] = ()) -> Iterator[Json]:
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
        called: Json = function if isinstance(function, dict) else {}
        call_id = call.get("id") or new_id("call")
        writer = CallWriter(len(self._writers), str(call_id), text_of(called.get("name")))
        self._writers.append(writer)
        yield from writer.write(text_of(called.get("arguments")), status)

    def _rest(self, choice: Choice, status: Status) -> Iterator[Json]:
        """Everything that was not sent yet, and the end of every item."""
        message = choice.raw.get("message") or {}
        calls, refusal = calls_of(message), text_of(message.get("refusal"))
        yield from self._think(_rest_of(reasoning_of(message), "".join(self._thoughts)))
        yield from self._end_thinking()
        logprobs = _logprobs(choice)
        for piece in self._unsent_pieces(
            text_of(choice.content), choice.cuts, empty=not refusal and not calls
        ):
            yield from self._write_text(piece, logprobs)
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

    def _unsent_pieces(self, content: str, cuts: tuple[int, ...], *, empty: bool) -> list[str]:
        """The unsent content in pieces that end at claims. What was sent is never taken back."""
        sent = "".join(self._message.pieces) if self._message else ""
        start = len(content) - len(_rest_of(content, sent))
        ends = (start, *(cut for cut in cuts if cut > start), len(content))
        pieces = [content[start:end] for start, end in pairwise(ends) if end > start]
        return pieces or ([""] if empty and not sent else [])


def _rest_of(whole: str, sent: str) -> str:
    """The part of `whole` after `sent`; empty where `whole` does not begin with `sent`."""
    return whole.removeprefix(sent) if whole.startswith(sent) else ""


def _whole(choice: Choice, answer: Answer) -> Json:
    """The fields of the response beside its output; an unchecked one has no references or verification."""
    if not choice.verification:
        return {**unknown(answer.reply.raw), "usage": usage_object(answer.reply.raw.get("usage") or {})}
    return {
        **unknown(reply_fields(answer, [choice])),
        "usage": usage_object(usage(answer)),
        "references": choice.references,
        "verification": choice.verification,
    }


def _annotations(choice: Choice) -> list[Json]:
    theirs = message_fields(choice).get("annotations") or []
    return [flat(annotation) for annotation in (*theirs, *choice.annotations) if isinstance(annotation, dict)]


def _logprobs(choice: Choice) -> list[Json]:
    whole = choice.raw.get("logprobs")
    given: Any = whole.get("content") if isinstance(whole, dict) else None
    return given if isinstance(given, list) else []
