"""Output items on their way: each is opened, written and closed, in events that lack only their number.

Every item has its `output_index`. Its `beat` is an event that says nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from proxy.openai_api.responses.items import (
    Status,
    call_item,
    message_item,
    new_id,
    reasoning_item,
    refusal_part,
    summary_part,
    text_part,
)
from proxy.types import Json


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
