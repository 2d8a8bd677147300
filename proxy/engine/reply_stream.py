"""The first draft of a chat: checks it while it is written, corrects it, and sends what the policy allows.

`reader` and `read_draft` clean a draft's text and segment it into claims.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Collection, Iterable, Iterator
from dataclasses import dataclass, replace

from proxy.aio import closing
from proxy.citations.markers import assign, in_parentheses, marks, read_citations, without_definitions
from proxy.citations.place import strip_warning
from proxy.claims.continuations import Read
from proxy.claims.json_values import segment_json
from proxy.claims.segment import segment
from proxy.correction.continuation import Joint, continuation, marks_before
from proxy.correction.leaks import Asked, asked_with, fault
from proxy.engine.corrector import INSTRUCTIONS, report
from proxy.engine.delivery import (
    Answer,
    CheckedText,
    DeliveryPolicy,
    FieldsEvent,
    ProgressEvent,
    StreamEvent,
    TextEvent,
)
from proxy.engine.incremental_verifier import IncrementalVerifier, Prefix, is_json
from proxy.engine.stream_quotes import Quotes
from proxy.engine.verifier import Verifier
from proxy.errors import UpstreamError, UpstreamTimeoutError, VerificationError
from proxy.protocols import LLM
from proxy.types import (
    Attempt,
    Chat,
    ChoiceDelta,
    Claim,
    CorrectionResult,
    CorrectionStep,
    Draft,
    Finding,
    Outcome,
    Reply,
    ReplyChunk,
    ReplyFormat,
    UpstreamCitations,
    Usage,
    Verdict,
)
from proxy.upstream.completion import Completion, answer_alone, content_chunk, with_content

log = logging.getLogger(__name__)

_READ_AGAIN = 1_000
"""Characters before a new piece in which a leak may have begun."""
_UNKNOWN = "what the answer says first could not be checked"
_CUT = "the continuation ends where it repeats the prompt or talks about the correction"


class ReplyStream:
    """The first draft of one chat. Iterate `events` once; then use `reply`, `attempts` and `outcome`.

    Args:
        llm: writes the draft; a JSON reply is read as a whole, any other is streamed.
        verifier: checks the claims.
        policy: what may be sent, and when.
        deadline: seconds for checking the claims of one piece of text.
        read: cleans the text of an editable draft and segments it into claims.
        whole: whether the reply is read once it is complete (JSON, say) instead of while it is written.
        quote: whether a sentence that the evidence contradicts and that was not corrected is replaced by a
            quotation of the evidence, in the mode `sentence`.
    """

    reply: Reply
    attempts: tuple[Attempt | None, ...]
    """Per choice the first attempt; None where the draft must be checked as a whole."""

    def __init__(
        self,
        llm: LLM,
        verifier: Verifier,
        policy: DeliveryPolicy,
        deadline: float,
        read: Read,
        *,
        whole: bool = False,
        quote: bool = False,
    ) -> None:
        self._llm = llm
        self._verifier = verifier
        self._policy = policy
        self._deadline = deadline
        self._read = untouched(verifier.documents) if policy.mode == "passthrough" else read
        self._whole = whole
        self._sent: dict[int, int] = {}
        self._failed: list[Attempt] = []
        self._steps: list[CorrectionStep] = []
        self._guard: _LeakGuard | None = None
        self._quotes = Quotes(verifier, deadline) if quote and policy.mode == "sentence" else None

    async def events(self, chat: Chat) -> AsyncIterator[StreamEvent]:
        """What may be sent to the client while the draft is written. With prefix correction, the model is
        asked to continue from the text before a failed claim. Once the first sentence of the continuation
        holds, it takes the reply's place; otherwise the reply goes on.

        Raises `UpstreamError` where there is no reply or it breaks off, and `VerificationError` where the
        policy fails closed and a claim could not be checked.
        """
        if self._whole:
            self.reply = await self._llm.complete(chat)
            self.attempts = (None,) * len(self.reply.drafts)
            return
        drafting = self._incremental(self._llm.stream(chat), chat.question, Prefix())
        events, known = drafting.events(), 0
        while True:
            continued: _Continued | None = None
            async with closing(events):
                async for event in events:
                    if self._guard is not None and not await self._guard.passes(event):
                        continue
                    while isinstance(event, CheckedText) and (failed := self._to_correct(event, known)):
                        before, marks = _up_to(event, failed)
                        before = await self._quoted(before, chat.question)
                        for visible in self._visible(before):
                            yield visible
                        continued = await self._continued(chat, before, marks, failed)
                        if continued is not None:
                            break
                        known = len(before.findings) + 1
                    if continued is not None:
                        break
                    if isinstance(event, CheckedText):
                        event = await self._quoted(event, chat.question)
                    for visible in self._visible(event):
                        yield visible
            if continued is None:
                self.reply, attempts = drafting.result
                if self._guard is not None and self._guard.leaked:
                    self._steps[-1] = replace(self._steps[-1], detail=_CUT)
                    attempts = (self._guard.cut(attempts[0]), *attempts[1:])
                self.attempts = tuple(map(self._with_quotes, range(len(attempts)), attempts))
                return
            if self._quotes is not None:
                self._quotes.begin_anew()
            drafting, known, self._guard = continued.drafting, continued.known, continued.guard
            events = _after(continued.first, continued.events)

    async def _continued(
        self, chat: Chat, before: CheckedText, marks: str, failed: Finding
    ) -> _Continued | None:
        """A continuation of the text before a claim that failed and its marks, once its first new sentence is
        checked and holds; None where there is none. The reply under way waits meanwhile, and then goes on."""
        prefix = Prefix(before.text, before.findings)
        while len(self._steps) < self._policy.corrections:
            begun = time.perf_counter()
            asked = asked_with(
                chat,
                INSTRUCTIONS,
                (item.passage.text for item in failed.evidence),
                f"{prefix.text}{marks}{failed.claim.text}",
            )
            request = continuation(chat, prefix.text, failed, prefill=self._policy.prefill)
            chunks = _new(self._llm.stream(request), Joint(prefix.text, marks))
            drafting = self._incremental(chunks, chat.question, prefix)
            events = drafting.events()
            first, result, detail = await self._first_new(events, prefix, asked)
            if result != "helped":
                await _close(events)
            self._record(result, detail, time.perf_counter() - begun)
            if result in ("helped", "not_better"):
                until_it = Draft(f"{prefix.text}{marks}{failed.claim.text}", {})
                self._failed.append(Attempt(until_it, Usage(), (*prefix.findings, failed)))
            if result == "helped":
                guard = _LeakGuard(asked, CheckedText(0, prefix.text, prefix.findings))
                return _Continued(drafting, events, tuple(first), len(prefix.findings), guard)
            if result != "not_better":
                break
        return None

    async def _first_new(
        self, events: AsyncIterator[CheckedText | ChoiceDelta], prefix: Prefix, asked: Asked
    ) -> tuple[list[CheckedText | ChoiceDelta], CorrectionResult, str]:
        """The events up to the first new claim that can be checked, and what is to be thought of it."""
        first: list[CheckedText | ChoiceDelta] = []
        try:
            async with asyncio.timeout(self._deadline):
                async for event in events:
                    first.append(event)
                    if not isinstance(event, CheckedText):
                        continue
                    if await asyncio.to_thread(fault, event.text[len(prefix.text) :], asked):
                        return [], "leaked", "the answer repeats the prompt, talks about it, or refuses"
                    new = event.findings[len(prefix.findings) :]
                    judged = [finding for finding in new if finding.verdict is not Verdict.NOT_CHECKABLE]
                    if judged and judged[0].verdict is Verdict.SUPPORTED:
                        return first, "helped", ""
                    if judged:
                        return [], "not_better", _UNKNOWN if judged[0].verdict is Verdict.UNVERIFIED else ""
        except (TimeoutError, UpstreamTimeoutError):
            return [], "timeout", "the model did not answer in time"
        except UpstreamError as error:
            log.warning("the upstream failed during a correction: %s", error.message)
            return [], "upstream_error", f"the upstream answered {error.status}"
        return [], "unreadable", "the answer says nothing that can be checked"

    async def _quoted(self, checked: CheckedText, question: str) -> CheckedText:
        """The text with quotations for what the evidence contradicts, where that is configured."""
        if self._quotes is None or checked.index != 0:
            return checked
        return await self._quotes.put_into(checked, question)

    def _with_quotes(self, index: int, attempt: Attempt | None) -> Attempt | None:
        """The attempt of a choice with the quotations that were sent."""
        if self._quotes is None or index != 0 or attempt is None:
            return attempt
        text, findings = self._quotes.replaced(attempt.draft.text, attempt.findings)
        return replace(attempt, draft=replace(attempt.draft, text=text), findings=findings)

    def _record(self, result: CorrectionResult, detail: str, seconds: float) -> None:
        step = CorrectionStep(len(self._steps) + 1, "continuation", 1, result, detail, seconds)
        self._steps.append(step)
        report(step)

    def outcome(self, index: int, attempt: Attempt) -> Outcome:
        """The outcome of a choice whose text was sent while it was written, and so is final."""
        failed = self._failed if index == 0 else []
        # The findings before a failed claim are part of the last attempt too: count them once.
        checked = (*(earlier.findings[-1] for earlier in failed), *attempt.findings)
        spent = sum((finding.usage for finding in checked), Usage())
        quoted = self._quotes.steps(len(self._steps)) if self._quotes is not None else ()
        steps = (*self._steps, *quoted) if index == 0 else ()
        return Outcome((*failed, attempt), len(failed), spent, correction=steps)

    def _incremental(
        self, chunks: AsyncIterator[ReplyChunk], question: str, prefix: Prefix
    ) -> IncrementalVerifier:
        return IncrementalVerifier(
            chunks,
            self._verifier,
            self._read,
            question,
            deadline=self._deadline,
            sent_at_once=self._policy.mode == "sentence",
            max_bytes=self._policy.max_reply_bytes,
            prefix=prefix,
        )

    def _to_correct(self, event: CheckedText, known: int) -> Finding | None:
        """The first nonfactual finding after the `known` ones, while corrections are left."""
        spent = len(self._steps) >= self._policy.corrections
        if spent or event.index != 0 or self._policy.mode != "sentence":
            return None
        return next((finding for finding in event.findings[known:] if finding.verdict.nonfactual), None)

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


def _up_to(checked: CheckedText, failed: Finding) -> tuple[CheckedText, str]:
    """The text before the claim that failed: what the model continues from, and what may leave. It ends
    before the marks of an item that the claim begins (`- `), which are the second value."""
    index, text = checked.findings.index(failed), checked.text
    marks = marks_before(text, failed.claim)
    end = failed.claim.start - len(marks)
    if index and checked.findings[index - 1].claim.end > end:  # another cell of the row
        marks, end = "", failed.claim.start
    return CheckedText(checked.index, text[:end], checked.findings[:index]), marks


@dataclass(frozen=True, slots=True)
class _Continued:
    """A continuation that is under way: its first events, the others, and how many claims were there
    before."""

    drafting: IncrementalVerifier
    events: AsyncIterator[CheckedText | ChoiceDelta]
    first: tuple[CheckedText | ChoiceDelta, ...]
    known: int
    guard: _LeakGuard


class _LeakGuard:
    """Keeps back what a continuation says from where it leaks on. What stands before it is shown."""

    def __init__(self, asked: Asked, before: CheckedText) -> None:
        self.leaked = False
        self._asked = asked
        self._start = len(before.text)
        self._kept = before

    async def passes(self, event: CheckedText | ChoiceDelta) -> bool:
        """Whether the event may leave."""
        if not isinstance(event, CheckedText) or event.index != 0:
            return True
        if self.leaked:
            return False
        new = event.text[max(self._start, len(self._kept.text) - _READ_AGAIN) :]
        self.leaked = await asyncio.to_thread(fault, new, self._asked) == "leaked"
        if self.leaked:
            log.warning(_CUT)
        else:
            self._kept = event
        return not self.leaked

    def cut(self, attempt: Attempt | None) -> Attempt | None:
        """The attempt without what was kept back."""
        if attempt is None:
            return None
        draft = replace(attempt.draft, text=self._kept.text)
        return replace(attempt, draft=draft, findings=self._kept.findings)


async def _after(
    first: Iterable[CheckedText | ChoiceDelta], others: AsyncIterator[CheckedText | ChoiceDelta]
) -> AsyncIterator[CheckedText | ChoiceDelta]:
    async with closing(others):
        for event in first:
            yield event
        async for event in others:
            yield event


async def _close(events: AsyncIterator[CheckedText | ChoiceDelta]) -> None:
    async with closing(events):
        pass


async def _new(chunks: AsyncIterator[ReplyChunk], joint: Joint) -> AsyncIterator[ReplyChunk]:
    """The chunks of a continuation: what is new of it, without what the model thinks of our prompt."""
    async with closing(chunks) as continued:
        async for chunk in continued:
            yield with_content(answer_alone(chunk), joint.feed)
    if rest := joint.end():
        yield content_chunk(rest)


def reader(citations: UpstreamCitations, warning: str, known: Collection[int] = ()) -> Read:
    """A function that reads the text of an editable draft. `known` are the numbers of the documents that the
    upstream was shown.

    It removes the upstream's own citation markers, and the `warning` marker behind a claim. Where the
    upstream's citations are kept, each claim has the numbers cited for it; else those that are part of a
    sentence are put in parentheses. So are, in any case, numbers that a link definition gives a target.
    """

    def read(raw: str) -> tuple[str, tuple[Claim, ...]]:
        cited = read_citations(without_definitions(raw), known)
        text = strip_warning(cited.text, warning)
        if citations == "replace":
            text = in_parentheses(text)
            return text, segment(text)
        claims = segment(text)
        return text, assign(claims, cited) if text == cited.text else claims

    return read


def untouched(known: Collection[int] = ()) -> Read:
    """A function that segments a text without changing it. `known`: see `reader`."""

    def read(raw: str) -> tuple[str, tuple[Claim, ...]]:
        return raw, segment(raw, (marker for run in marks(raw, known) for marker in run.each))

    return read


def read_draft(draft: Draft, form: ReplyFormat, read: Read) -> tuple[Draft, tuple[Claim, ...]]:
    """Reads a whole draft: its cleaned text and its claims. JSON is never edited, asked for or not."""
    if form == "json" or is_json(draft.text):
        return replace(draft, editable=False), segment_json(draft.text)
    text, claims = read(draft.text)
    return replace(draft, text=text), claims
