"""What happens while a reply is made, from the engine to the wire, and the answer that it ends with.

The engine yields these events; `openai_api` writes each API's own stream from them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from proxy.engine.delivery import Rendering
from proxy.types import Finding, Json, Outcome, Reply, ReplyChunk, Usage


@dataclass(frozen=True, slots=True)
class TextEvent:
    """A piece of a choice's content for the client, with its markers."""

    index: int
    text: str


@dataclass(frozen=True, slots=True)
class FieldsEvent:
    """Other fields of a choice's delta, as the upstream sent them."""

    index: int
    fields: Json


@dataclass(frozen=True, slots=True)
class ProgressEvent:
    """How many claims of a choice are checked so far."""

    index: int
    checked: int


@dataclass(frozen=True, slots=True)
class CheckedText:
    """All of a choice's text that is written and checked so far, with its findings.

    It stays inside the engine: the delivery policy decides what of it becomes a `TextEvent`.
    """

    index: int
    text: str
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """The upstream's reply and, per choice, what became of it. A chat that nobody checks has no outcomes."""

    reply: Reply
    outcomes: tuple[Outcome, ...] = ()
    rendering: Rendering = field(default_factory=Rendering)
    """How the outcomes show."""

    @property
    def writing(self) -> Usage:
        """What the call cost that wrote the text; with several choices, the call that drafted them all."""
        if len(self.outcomes) != 1:
            return self.reply.usage
        outcome = self.outcomes[0]
        return outcome.attempts[outcome.best].usage

    @property
    def verification(self) -> Usage:
        """What everything else cost."""
        return sum((outcome.usage for outcome in self.outcomes), self.reply.usage) - self.writing


StreamEvent = TextEvent | FieldsEvent | ProgressEvent | ReplyChunk | Answer
"""One event of a reply. A `ReplyChunk` only comes in chats that nobody checks; the `Answer` comes last."""
