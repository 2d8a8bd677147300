"""Corrects a draft whose claims failed: re-prompt, check again, keep the best (CEG, section 3.4).

What differs from CEG: an answer that is none (see `proxy.correction.leaks`) is not checked. Where nothing
that was asked for helped, the sentences that failed are asked for once more, one at a time. Each request and
what came of it is kept as a `CorrectionStep`.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from proxy.aio import ASKER, together
from proxy.citations.history import nothing_left
from proxy.correction import continuation, reprompt, rewrite, single
from proxy.correction.leaks import Asked, Fault, asked_with, fault, without_preamble, without_thoughts
from proxy.correction.single import MAX_SENTENCES, complete_sentence, quoted, read_sentence
from proxy.correction.splice import spliced, without
from proxy.engine import judging
from proxy.errors import UpstreamError, UpstreamTimeoutError
from proxy.protocols import LLM
from proxy.types import (
    Attempt,
    Chat,
    CorrectionKind,
    CorrectionResult,
    CorrectionStep,
    Draft,
    OnUnsupported,
    Outcome,
    RegenerationMode,
    Reply,
    ReplyFormat,
    Task,
    Usage,
    Verdict,
)
from proxy.upstream.completion import in_place_of

log = logging.getLogger(__name__)

_GOES_ON = frozenset({"helped", "not_better"})
_NONE = Usage()
_UNREACHABLE = frozenset({"timeout", "upstream_error"})


@dataclass(frozen=True, slots=True)
class Options:
    """How one reply is corrected.

    `deadline` is in seconds and covers everything after the first draft. `warning` is the warning marker
    behind claims that failed; where a draft repeats it, it is removed. `fallback` asks for the failed
    sentences one at a time where nothing else helped. `quote` puts the evidence, as a quotation, in place of
    a sentence that it contradicts and that the model did not correct. `task` is what the request asks for, if
    that stays unchecked (a title for the chat, say).
    """

    max_rounds: int = 1
    mode: RegenerationMode = "whole"
    on_unsupported: OnUnsupported = "keep"
    deadline: float = 60.0
    format: ReplyFormat = "markdown"
    warning: str = ""
    fallback: bool = True
    quote: bool = False
    task: Task | None = None


class Check(Protocol):
    """Checks a whole draft. Raises nothing."""

    async def __call__(self, draft: Draft, usage: Usage, question: str, until: float) -> Attempt:
        """The attempt; claims not checked by `until` are UNVERIFIED."""
        ...


@dataclass(frozen=True, slots=True)
class _Answered:
    """What came of one request: a draft to check, or the result that there is none."""

    draft: Draft | None = None
    result: CorrectionResult = "unreadable"
    detail: str = ""
    usage: Usage = _NONE
    """Of all calls."""
    written: Usage | None = None
    """Of the call that wrote the whole draft, if one did."""


class Corrector:
    """The loop over one draft of a chat. `until` is the deadline, in the event loop's time."""

    def __init__(self, llm: LLM, check: Check, options: Options, chat: Chat, until: float) -> None:
        self._llm = llm
        self._check = check
        self._options = options
        self._chat = chat
        self._until = until
        self._attempts: list[Attempt] = []
        self._steps: list[CorrectionStep] = []
        self._spent = Usage()

    async def outcome(self, first: Attempt) -> Outcome:
        """The outcome: re-prompts and checks again while claims fail and rounds are left."""
        self._attempts = [first]
        for number in range(1, self._options.max_rounds + 1):
            latest = self._attempts[-1]
            if not latest.draft.editable or not latest.nonfactual:
                break
            result = await self._tried(number, self._options.mode, latest, self._reprompted(latest))
            if result not in _GOES_ON:
                break
        if self._options.fallback and self._steps and not self._best and not self._unreachable:
            await self._tried(
                self._steps[-1].round, "sentences", first, self._by_sentence(first), MAX_SENTENCES
            )
        await self._quote()
        best = self._best
        trimmed = await self._trimmed(self._attempts[best])
        checked = [*self._attempts, trimmed] if trimmed else self._attempts
        checking = (finding.usage for attempt in checked for finding in attempt.findings)
        spent = sum(checking, self._spent)
        return Outcome(tuple(self._attempts), best, spent, trimmed, tuple(self._steps))

    @property
    def _best(self) -> int:
        return judging.best(self._attempts, self._chat.question)

    @property
    def _unreachable(self) -> bool:
        return self._steps[-1].result in _UNREACHABLE

    async def _tried(
        self,
        number: int,
        kind: CorrectionKind,
        attempt: Attempt,
        answering: Awaitable[_Answered],
        most: int | None = None,
    ) -> CorrectionResult:
        """Awaits the answer, checks its draft, if any, and records the step."""
        begun = time.perf_counter()
        answered = await answering
        self._spent += answered.usage
        result = answered.result
        if answered.draft is not None:
            usage = answered.written or attempt.usage
            self._attempts.append(await self._check(answered.draft, usage, self._chat.question, self._until))
            result = "helped" if self._best == len(self._attempts) - 1 else "not_better"
        failed, spent = len(attempt.nonfactual[:most]), time.perf_counter() - begun
        step = CorrectionStep(number, kind, failed, result, answered.detail, spent)
        self._steps.append(step)
        report(step)
        return result

    async def _reprompted(self, attempt: Attempt) -> _Answered:
        """The answer to the re-prompt of the configured mode."""
        ask, read = _MODES[self._options.mode]
        reply = await self._complete(ask(self._chat, attempt))
        if isinstance(reply, _Answered):
            return reply
        answered = await asyncio.to_thread(read, self._chat, attempt, reply, self._options)
        return replace(answered, usage=reply.usage)

    async def _complete(self, chat: Chat) -> Reply | _Answered:
        """The reply, without what the model thinks of our prompt, or why there is none."""
        try:
            async with asyncio.timeout_at(self._until):
                reply = await self._llm.complete(chat)
                drafts = (replace(draft, text=without_thoughts(draft.text)) for draft in reply.drafts)
                return replace(reply, drafts=tuple(drafts))
        except (TimeoutError, UpstreamTimeoutError):
            return _Answered(result="timeout", detail="the model did not answer in time")
        except UpstreamError as error:
            log.warning("the upstream failed during a correction: %s", error.message)
            return _Answered(result="upstream_error", detail=f"the upstream answered {error.status}")

    async def _by_sentence(self, attempt: Attempt) -> _Answered:
        """The draft with its failed sentences as the model completes each of them alone."""
        failed = attempt.nonfactual[:MAX_SENTENCES]
        asked = [(finding, complete_sentence(self._chat, finding)) for finding in failed]
        replies = await together(self._complete(chat) for _, chat in asked if chat is not None)
        rewrites: dict[int, str | None] = {}
        shown = _asked(self._chat, attempt)
        answers = iter(replies)
        usage = Usage()
        for number, (_, chat) in enumerate(asked, 1):
            reply = next(answers) if chat is not None else None
            if isinstance(reply, Reply):
                usage += reply.usage
                said = await asyncio.to_thread(read_sentence, _text(reply), shown)
                rewrites |= {number: said} if said else {}
        draft = await asyncio.to_thread(spliced, attempt.draft, failed, rewrites)
        failures = [reply for reply in replies if isinstance(reply, _Answered)]
        if draft is None and failures:
            return replace(failures[0], usage=usage)
        return _Answered(draft, usage=usage)

    async def _quote(self) -> None:
        """Where that is configured: the best attempt with quotations for what it gets wrong."""
        attempt = self._attempts[self._best]
        if not self._options.quote or not attempt.draft.editable:
            return
        contradicted = [finding for finding in attempt.nonfactual if finding.verdict is Verdict.CONTRADICTED]
        quotes = {number: quoted(finding) for number, finding in enumerate(contradicted, 1)}
        rewrites = {number: quote for number, quote in quotes.items() if quote}
        draft = await asyncio.to_thread(spliced, attempt.draft, contradicted, rewrites)
        if draft is not None:
            number = self._steps[-1].round if self._steps else 0
            await self._tried(number, "quote", attempt, _ready(_Answered(draft)), len(rewrites))

    async def _trimmed(self, attempt: Attempt) -> Attempt | None:
        """The attempt without its failed claims, where these are to be dropped. It is checked again, since
        the remaining claims may have needed the dropped ones as context. Where nothing is left that holds, a
        sentence that says so takes the reply's place."""
        if self._options.on_unsupported != "drop" or not attempt.nonfactual or not attempt.draft.editable:
            return None
        if not _all_failed(attempt):
            left = await asyncio.to_thread(without, attempt.draft, attempt.nonfactual)
            checked = None
            if left is not None:
                checked = await self._check(left, attempt.usage, self._chat.question, self._until)
            if not _all_failed(checked or attempt):
                return checked
        said = replace(attempt.draft, text=nothing_left(attempt.draft.text))
        return Attempt(said, attempt.usage)


def _all_failed(attempt: Attempt) -> bool:
    """Whether claims failed and no other holds or could not be checked."""
    left = {finding.verdict for finding in attempt.findings} & {Verdict.SUPPORTED, Verdict.UNVERIFIED}
    return bool(attempt.nonfactual) and not left


def report(step: CorrectionStep) -> None:
    """Logs a step that has just ended; one without an answer to check is a warning. Puts it into the time
    line."""
    ASKER.get().note("correction", time.perf_counter() - step.seconds, step.claims)
    level = logging.INFO if step.result in _GOES_ON else logging.WARNING
    why = f" ({step.detail})" if step.detail else ""
    log.log(
        level,
        "correction, round %d, %s, %d claims: %s%s",
        step.round,
        step.asked_for,
        step.claims,
        step.result,
        why,
    )


async def _ready(answered: _Answered) -> _Answered:
    return answered


def _text(reply: Reply) -> str:
    return reply.drafts[0].text if reply.drafts else ""


Ask = Callable[[Chat, Attempt], Chat]
Understand = Callable[[Chat, Attempt, Reply, Options], _Answered]


def _replaced(chat: Chat, attempt: Attempt, reply: Reply, _: Options) -> _Answered:
    """The draft that the model wrote instead."""
    text = without_preamble(_text(reply))
    if not text.strip():
        return _Answered(detail="the answer is empty")
    return _faulty(fault(text, _asked(chat, attempt))) or _Answered(
        in_place_of(attempt.draft, reply.drafts[0], text), written=reply.usage
    )


def _rewritten(chat: Chat, attempt: Attempt, reply: Reply, options: Options) -> _Answered:
    """The draft with the failed sentences as the model rewrote them."""
    rewrites = rewrite.read_rewrites(_text(reply), len(attempt.nonfactual))
    asked = _asked(chat, attempt)
    faults = {number: fault(said, asked) for number, said in rewrites.items() if said}
    kept = {number: said for number, said in rewrites.items() if not faults.get(number)}
    dropping = options.on_unsupported == "drop"
    if draft := spliced(attempt.draft, attempt.nonfactual, kept, dropping=dropping):
        return _Answered(draft)
    why = next((each for each in faults.values() if each), None) or fault(_text(reply), asked)
    return _faulty(why) or _Answered(detail="no rewrite could be read, or none fits its place")


def _faulty(why: Fault | None) -> _Answered | None:
    if why == "leaked":
        return _Answered(
            result="leaked", detail="the answer repeats the prompt or talks about the correction"
        )
    return _Answered(detail="the model refused") if why else None


_MODES: Mapping[RegenerationMode, tuple[Ask, Understand]] = {
    "whole": (reprompt.revision, _replaced),
    "claims": (rewrite.rewrite, _rewritten),
}
"""How the model is re-prompted, and how its answer becomes the next draft."""

INSTRUCTIONS = (
    *reprompt.INSTRUCTIONS,
    *rewrite.INSTRUCTIONS,
    *single.INSTRUCTIONS,
    *continuation.INSTRUCTIONS,
)
"""What no answer may repeat, whichever prompt it answers: a model may remember another one."""


def _asked(chat: Chat, attempt: Attempt) -> Asked:
    """What a re-prompt for the attempt shows."""
    documents = (item.passage.text for finding in attempt.nonfactual for item in finding.evidence)
    return asked_with(chat, INSTRUCTIONS, documents, attempt.draft.text)
