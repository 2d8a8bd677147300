"""Stream events, the delivery policy (what may be sent when), and the rendering (how a reply is shown).

The engine yields stream events; `openai_api` serialises them for each API.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from proxy.aio import Step
from proxy.citations.place import Annotated, Located, Reference, annotate
from proxy.types import (
    Aggregation,
    CitationStyle,
    Correction,
    Evidence,
    Finding,
    Json,
    NoticePlace,
    OnUnsupported,
    Outcome,
    Reply,
    ReplyChunk,
    StreamMode,
    Usage,
)


def _own_url(evidence: Evidence) -> str:
    return evidence.passage.url


@dataclass(frozen=True, slots=True)
class Rendering:
    """How a checked reply is shown to a client.

    Attributes:
        url_of: the URL of evidence whose passage has none of its own.
        style: how citation markers are written.
        numbers: the numbers that the client gave its documents, by document id.
        warning: the warning marker behind a claim that failed; empty for none.
        notice: where a line stands that says that most of the reply failed, or was not checked: at the end of
            the `text`, in an `event` of the client's own, or nowhere.
        aggregation: how the verdicts of a reply's claims are combined into one.
    """

    url_of: Callable[[Evidence], str] = _own_url
    style: CitationStyle = "brackets"
    numbers: Mapping[str, int] = field(default_factory=dict)
    warning: str = ""
    notice: NoticePlace = "none"
    aggregation: Aggregation = "strict"

    def annotated(self, text: str, findings: Sequence[Finding], *, editable: bool = True) -> Annotated:
        """The text with its markers, or without any where it is not `editable`."""
        style, warning = (self.style, self.warning) if editable else ("none", "")
        return annotate(text, findings, style, self.url_of, self.numbers, warning)


@dataclass(frozen=True, slots=True)
class TextEvent:
    """A piece of a choice's content for the client, with its markers. `claims` are those that end in it, at
    their places in the whole content; empty where the policy reports no progress. `references` are those
    whose first marker is in it, in number order."""

    index: int
    text: str
    claims: tuple[Located, ...] = ()
    references: tuple[Reference, ...] = ()


@dataclass(frozen=True, slots=True)
class FieldsEvent:
    """Other fields of a choice's delta, as the upstream sent them."""

    index: int
    fields: Json


@dataclass(frozen=True, slots=True)
class ProgressEvent:
    """The number of claims of a choice that are checked so far."""

    index: int
    checked: int


@dataclass(frozen=True, slots=True)
class CheckedText:
    """All of a choice's text that is written and checked so far, with its findings.

    It stays inside the engine; the delivery policy decides which text becomes a `TextEvent`.
    """

    index: int
    text: str
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """The upstream's reply and one outcome per choice. An unchecked chat has no outcomes."""

    reply: Reply
    outcomes: tuple[Outcome, ...] = ()
    rendering: Rendering = field(default_factory=Rendering)
    """How the outcomes are shown."""
    timeline: tuple[Step, ...] = ()
    """What was done when, where the request asks for it."""

    @property
    def writing(self) -> Usage:
        """Cost of the call that wrote the text; with several choices, of the call that drafted them all."""
        if len(self.outcomes) != 1:
            return self.reply.usage
        outcome = self.outcomes[0]
        return outcome.attempts[outcome.best].usage

    @property
    def verification(self) -> Usage:
        """Cost of checking and re-prompting: everything but `writing`."""
        return sum((outcome.usage for outcome in self.outcomes), self.reply.usage) - self.writing


StreamEvent = TextEvent | FieldsEvent | ProgressEvent | ReplyChunk | Answer
"""One event of a reply. A `ReplyChunk` only occurs in unchecked chats; the `Answer` comes last."""


@dataclass(frozen=True, slots=True)
class DeliveryPolicy:
    """Which parts of a reply may be sent, and when.

    Attributes:
        mode: `sentence` sends each sentence once it is checked; `buffer` sends the whole reply at its end;
            `passthrough` sends text as it arrives, and the verdicts at the end. Never `auto`.
        rendering: how the text is shown.
        corrections: how often a sentence that fails is asked for again before it is sent, at most.
        fail_closed: whether a reply that could not be checked is an error instead.
        progress: whether a buffered stream reports how many claims are checked, and one that is sent sentence
            by sentence the verdicts of each piece; the answer then has its time line.
        max_reply_bytes: a larger reply is an error.
    """

    mode: StreamMode = "buffer"
    rendering: Rendering = field(default_factory=Rendering)
    corrections: int = 0
    fail_closed: bool = False
    progress: bool = False
    max_reply_bytes: int = 20_000_000


def contradiction(
    mode: StreamMode,
    correction: Correction,
    on_unsupported: OnUnsupported,
    *,
    fail_closed: bool = False,
    rounds: int | None = None,
    marked: bool = False,
) -> str:
    """Why these settings for delivering and correcting a streamed reply contradict each other, or "".

    `rounds` is the number of corrections, if one was asked for. `marked` says whether a warning marker or a
    notice was asked for.
    """
    corrected, dropping = correction == "sentences", on_unsupported == "drop"
    reasons = {
        "stream mode 'passthrough' sends text before it is checked, but `fail_closed` holds back what could "
        "not be checked": mode == "passthrough" and fail_closed,
        f"stream mode {mode!r} never takes text back, but on_unsupported 'drop' drops claims that failed; "
        "use 'buffer'": mode in ("sentence", "passthrough") and dropping,
        "correction 'sentences' sends text as it is verified, but on_unsupported 'drop' leaves out claims "
        "that failed; use correction 'none'": corrected and dropping,
        f"correction 'sentences' works sentence by sentence, not in stream mode {mode!r}": corrected
        and mode in ("buffer", "passthrough"),
        "correction 'sentences' needs at least one round, but `max_rounds` is 0": corrected and rounds == 0,
        "stream mode 'passthrough' leaves the text untouched, so it has no place for warning markers and "
        "notices": mode == "passthrough" and (marked or on_unsupported == "mark"),
        f"stream mode {mode!r} does not wait for the whole reply, so it has no use for `max_rounds`; use "
        "correction 'sentences', stream mode 'buffer', or 0 rounds": bool(rounds)
        and (mode == "passthrough" or (mode == "sentence" and not corrected)),
    }
    return next((reason for reason, applies in reasons.items() if applies), "")
