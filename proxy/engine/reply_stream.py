"""The first draft of a chat: checks it while it is written, corrects it, and sends what the policy allows.

`reader` and `read_draft` clean a draft's text and segment it into claims.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Iterator
from dataclasses import replace

from proxy.aio import ahead, closing
from proxy.citations.cited_numbers import (
    assign,
    in_parentheses,
    read_citations,
    with_bullets,
    with_raised_labels,
)
from proxy.citations.markers import doubtful_marks, marks
from proxy.citations.place import strip_warning
from proxy.claims.continuations import Read
from proxy.claims.json_values import segment_json
from proxy.claims.segment import segment
from proxy.engine.delivery import (
    Answer,
    CheckedText,
    DeliveryPolicy,
    FieldsEvent,
    ProgressEvent,
    StreamEvent,
    TextEvent,
)
from proxy.engine.incremental_verifier import IncrementalVerifier, is_json
from proxy.engine.reprompter import Options
from proxy.engine.stream_corrections import StreamCorrections
from proxy.engine.verifier import Verifier
from proxy.errors import VerificationError
from proxy.protocols import LLM
from proxy.types import (
    Attempt,
    Chat,
    ChoiceDelta,
    Claim,
    Draft,
    Outcome,
    Reply,
    ReplyFormat,
    UpstreamCitations,
    Usage,
    Verdict,
)
from proxy.upstream.completion import Completion

_AHEAD = 64
"""Events that are read ahead of what is sent, while a sentence is corrected."""


class ReplyStream:
    """The first draft of one chat. Iterate `events` once; then use `reply`, `attempts` and `outcome`.

    Args:
        llm: writes the draft; a reply that is read as a whole (JSON, a task's) is not streamed.
        verifier: checks the claims.
        policy: what may be sent, and when.
        options: what the reply is to be, how long checks may take, and how sentences are corrected.
        read: cleans the text of an editable draft and segments it into claims.
    """

    reply: Reply
    attempts: tuple[Attempt | None, ...]
    """Per choice the first attempt; None where the draft must be checked as a whole."""

    def __init__(
        self, llm: LLM, verifier: Verifier, policy: DeliveryPolicy, options: Options, read: Read
    ) -> None:
        self._llm = llm
        self._verifier = verifier
        self._policy = policy
        self._options = options
        self._read = untouched(verifier.documents) if policy.mode == "passthrough" else read
        self._sent: dict[int, int] = {}
        self._corrections: dict[int, StreamCorrections] = {}

    async def events(self, chat: Chat) -> AsyncIterator[StreamEvent]:
        """What may be sent to the client while the draft is written.

        Raises `UpstreamError` where there is no reply or it breaks off, and `VerificationError` where the
        policy fails closed and a claim could not be checked.
        """
        if self._options.format == "json" or self._options.task is not None:
            self.reply = await self._llm.complete(chat)
            self.attempts = (None,) * len(self.reply.drafts)
            return
        drafting = IncrementalVerifier(
            self._llm.stream(chat),
            self._verifier,
            self._read,
            chat.question,
            deadline=self._options.deadline,
            sent_at_once=self._policy.mode == "sentence",
            max_bytes=self._policy.max_reply_bytes,
        )
        corrected = self._policy.mode == "sentence" and bool(self._policy.corrections or self._options.quote)
        events = ahead(drafting.events(), _AHEAD) if corrected else drafting.events()
        async with closing(events):
            async for event in events:
                if corrected and isinstance(event, CheckedText):
                    event = await self._corrections_of(event.index, chat).put_into(event)
                for visible in self._visible(event):
                    yield visible
        self.reply, self.attempts = drafting.result

    def outcome(self, index: int, attempt: Attempt) -> Outcome:
        """The outcome of a choice whose text was sent while it was written, and so is final."""
        corrections = self._corrections.get(index)
        if corrections is not None:
            return corrections.outcome(attempt)
        return Outcome((attempt,), 0, sum((finding.usage for finding in attempt.findings), Usage()))

    def _corrections_of(self, index: int, chat: Chat) -> StreamCorrections:
        if index not in self._corrections:
            self._corrections[index] = StreamCorrections(
                self._llm, self._verifier, self._options, chat, self._policy.corrections
            )
        return self._corrections[index]

    def _visible(self, event: CheckedText | ChoiceDelta) -> Iterator[StreamEvent]:
        """The stream events that the policy allows for one event of the verifier."""
        if isinstance(event, ChoiceDelta):
            if event.content and self._policy.mode == "passthrough":
                yield TextEvent(event.index, event.content)
            if event.fields and self._policy.mode != "buffer":
                yield FieldsEvent(event.index, event.fields)
        elif self._policy.mode == "sentence":
            yield from self._checked_text(event)
        elif self._policy.mode == "buffer" and self._policy.progress:
            yield ProgressEvent(event.index, len(event.findings))

    def _checked_text(self, checked: CheckedText) -> Iterator[TextEvent]:
        """The rendered text that was not sent yet. Raises `VerificationError`."""
        unchecked = any(finding.verdict is Verdict.UNVERIFIED for finding in checked.findings)
        if unchecked and self._policy.fail_closed:
            raise VerificationError("The reply could not be verified: a claim could not be checked.")
        annotated = self._policy.rendering.annotated(checked.text, checked.findings)
        content, sent = annotated.content, self._sent.get(checked.index, 0)
        if len(content) > sent:
            self._sent[checked.index] = len(content)
            new = tuple(located for located in annotated.claims if located.end > sent)
            cited = tuple(each for each in annotated.references if each.spans[0][0] >= sent)
            yield TextEvent(checked.index, content[sent:], new if self._policy.progress else (), cited)


async def unchecked_events(
    llm: LLM, chat: Chat, *, stream: bool, max_bytes: int
) -> AsyncIterator[StreamEvent]:
    """The events of an unchecked chat: the upstream's chunks as they arrive, then the complete answer.

    Raises `UpstreamError`.
    """
    if not stream:
        yield Answer(await llm.complete(chat))
        return
    completion = Completion(max_bytes)
    async with closing(llm.stream(chat)) as chunks:
        async for chunk in chunks:
            completion.add(chunk)
            yield chunk
    yield Answer(completion.reply())


def reader(citations: UpstreamCitations, warning: str, known: Collection[int] = ()) -> Read:
    """A function that reads the text of an editable draft. `known` are the numbers of the documents that the
    upstream was shown.

    It removes the upstream's own citation markers, and the `warning` marker behind a claim. Those that are
    part of a sentence are put in parentheses; where the upstream's citations are kept, those of other
    documents, and each claim has the numbers cited for it. A claim is read without a number that may be a
    citation or a word. Where they are not kept, the numbers of a list of sources
    go. Numbers that are labels of links are raised, in any case.
    """
    kept = () if citations == "replace" else known

    def read(raw: str) -> tuple[str, tuple[Claim, ...]]:
        cited = read_citations(with_raised_labels(raw), known)
        text = strip_warning(cited.text, warning)
        shown = in_parentheses(text, kept)
        if citations == "replace":
            shown = with_bullets(shown)
        claims = segment(shown, doubtful_marks(text, known))
        if citations == "replace" or text != cited.text:
            return shown, claims
        return shown, assign(claims, cited)

    return read


def untouched(known: Collection[int] = ()) -> Read:
    """A function that segments a text without changing it. `known`: see `reader`."""

    def read(raw: str) -> tuple[str, tuple[Claim, ...]]:
        removed = (marker for run in marks(raw, known) for marker in run.each)
        return raw, segment(raw, sorted((*removed, *doubtful_marks(raw, known))))

    return read


def read_draft(draft: Draft, form: ReplyFormat, read: Read) -> tuple[Draft, tuple[Claim, ...]]:
    """Reads a whole draft: its cleaned text and its claims. JSON is never edited, asked for or not."""
    if form == "json" or is_json(draft.text):
        return replace(draft, editable=False), segment_json(draft.text)
    text, claims = read(draft.text)
    return replace(draft, text=text), claims
