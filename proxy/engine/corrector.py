"""Corrects a draft whose claims failed: re-prompt, check again, keep the best (CEG, section 3.4).

What differs from CEG: where nothing that was asked for helped, the sentences that failed are asked for once
more, one at a time. Each request and what came of it is kept as a `CorrectionStep`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable
from dataclasses import replace
from typing import Protocol

from proxy.citations.history import nothing_left
from proxy.correction.single import MAX_SENTENCES, quoted
from proxy.correction.splice import spliced, without
from proxy.engine import judging
from proxy.engine.reprompter import GOES_ON, Answered, Options, Reprompter, report
from proxy.protocols import LLM
from proxy.types import (
    Attempt,
    Chat,
    CorrectionKind,
    CorrectionResult,
    CorrectionStep,
    Draft,
    Outcome,
    Usage,
    Verdict,
)

_UNREACHABLE = frozenset({"timeout", "upstream_error"})


class Check(Protocol):
    """Checks a whole draft. Raises nothing."""

    async def __call__(self, draft: Draft, usage: Usage, question: str, until: float) -> Attempt:
        """The attempt; claims not checked by `until` are UNVERIFIED."""
        ...


class Corrector:
    """The loop over one draft of a chat. `until` is the deadline, in the event loop's time."""

    def __init__(self, llm: LLM, check: Check, options: Options, chat: Chat, until: float) -> None:
        self._asking = Reprompter(llm, options, chat, until)
        self._check = check
        self._options = options
        self._chat = chat
        self._until = until
        self._attempts: list[Attempt] = []
        self._best = 0
        self._steps: list[CorrectionStep] = []
        self._spent = Usage()

    async def outcome(self, first: Attempt) -> Outcome:
        """The outcome: re-prompts and checks again while claims fail and rounds are left."""
        self._attempts = [first]
        for number in range(1, self._options.max_rounds + 1):
            latest = self._attempts[-1]
            if not latest.draft.editable or not latest.nonfactual:
                break
            mode = self._options.mode
            result = await self._tried(number, mode, latest, self._asking.reprompted(latest, mode))
            if result not in GOES_ON:
                break
        if self._options.fallback and self._steps and not self._best and not self._unreachable:
            await self._tried(
                self._steps[-1].round, "sentences", first, self._asking.by_sentence(first), MAX_SENTENCES
            )
        await self._quote()
        trimmed = await self._trimmed(self._attempts[self._best])
        checked = [*self._attempts, trimmed] if trimmed else self._attempts
        checking = (finding.usage for attempt in checked for finding in attempt.findings)
        spent = sum(checking, self._spent)
        return Outcome(tuple(self._attempts), self._best, spent, trimmed, tuple(self._steps))

    @property
    def _unreachable(self) -> bool:
        return self._steps[-1].result in _UNREACHABLE

    async def _tried(
        self,
        number: int,
        kind: CorrectionKind,
        attempt: Attempt,
        answering: Awaitable[Answered],
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
            # In a thread: it reads what the drafts show, which takes seconds for a megabyte of images.
            self._best = await asyncio.to_thread(judging.best, tuple(self._attempts), self._chat.question)
            result = "helped" if self._best == len(self._attempts) - 1 else "not_better"
        failed, spent = len(attempt.nonfactual[:most]), time.perf_counter() - begun
        step = CorrectionStep(number, kind, failed, result, answered.detail, spent)
        self._steps.append(step)
        report(step)
        return result

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
            await self._tried(number, "quote", attempt, _ready(Answered(draft)), len(rewrites))

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


async def _ready(answered: Answered) -> Answered:
    return answered
