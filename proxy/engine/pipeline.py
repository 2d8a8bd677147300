"""The method on one screen: draft, check, re-prompt, best.

Citation-Enhanced Generation (ACL 2024, section 3): the model answers first; each claim of the draft is
checked against passages of the corpus; nonfactual claims go back to the model with their evidence, at most T
times.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace

from proxy.aio import closing, together
from proxy.claims.continuations import Read
from proxy.engine.corrector import Corrector
from proxy.engine.delivery import Answer, DeliveryPolicy, StreamEvent
from proxy.engine.incremental_verifier import holds_json, is_json
from proxy.engine.reply_stream import ReplyStream, read_draft, reader, untouched
from proxy.engine.reprompter import Options
from proxy.engine.verifier import Verifier
from proxy.errors import VerificationError
from proxy.protocols import LLM
from proxy.types import Attempt, Chat, Draft, Outcome, Task, Usage

_MAX_TITLE = 100
"""Code points that a title may have."""
_MAX_AROUND = 100
"""Code points that may stand around the JSON that a task asks for."""


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Runs every checked chat, streamed or not: draft, check, re-prompt, best."""

    llm: LLM
    verifier: Verifier
    options: Options = field(default_factory=Options)
    policy: DeliveryPolicy = field(default_factory=DeliveryPolicy)

    async def answer(self, chat: Chat) -> Answer:
        """The answer alone. Raises what `events` raises."""
        async with closing(self.events(chat)) as events:
            return [event async for event in events if isinstance(event, Answer)][-1]

    async def events(self, chat: Chat) -> AsyncIterator[StreamEvent]:
        """Draft, check, re-prompt, best. Yields events as soon as the policy allows, the `Answer` last.

        Raises `UpstreamError` where there is no reply or it breaks off, and `VerificationError` where the
        policy fails closed and a claim could not be checked.
        """
        drafting = ReplyStream(self.llm, self.verifier, self.policy, self.options, self._reader())
        async with closing(drafting.events(chat)) as events:
            async for event in events:
                yield event
        until = self._until()
        reply, written = drafting.reply, zip(drafting.reply.drafts, drafting.attempts, strict=True)
        first = await together(self._checked(chat, *item, reply.usage, until) for item in written)
        if self.policy.mode == "buffer":
            correctors = [Corrector(self.llm, self.check, self.options, chat, until) for _ in first]
            outcomes = await together(
                corrector.outcome(attempt) for corrector, attempt in zip(correctors, first, strict=True)
            )
        else:
            outcomes = [drafting.outcome(index, attempt) for index, attempt in enumerate(first)]
        if self.policy.fail_closed:
            _require_checked(outcomes)
        yield Answer(reply, tuple(outcomes), self.policy.rendering)

    async def check(self, draft: Draft, usage: Usage, question: str, until: float | None = None) -> Attempt:
        """Checks a whole draft. Claims not checked by `until` (in the event loop's time) are UNVERIFIED.
        Without `until` the deadline counts from now. Raises nothing."""
        read = self._reader() if draft.editable else untouched(self.verifier.documents)
        draft, claims = await asyncio.to_thread(read_draft, draft, self.options.format, read)
        verified = await self.verifier.verify(claims, question, until or self._until())
        return Attempt(draft, usage, verified.findings, verified.error, verified.malformed)

    async def _checked(
        self, chat: Chat, draft: Draft, attempt: Attempt | None, usage: Usage, until: float
    ) -> Attempt:
        """The attempt. A draft that could not be checked while it was written is checked now, unless it is
        what a task asks for."""
        task = self.options.task
        if task is not None and attempt is None and _fulfils(task, draft.text):
            why = f"not checked: the request asks for {task.name}"
            return Attempt(replace(draft, editable=False), usage, error=why, task=task.name)
        return attempt or await self.check(draft, usage, chat.question, until)

    def _reader(self) -> Read:
        return reader(self.verifier.citations, self.options.warning, self.verifier.documents)

    def _until(self) -> float:
        return asyncio.get_running_loop().time() + self.options.deadline


def _fulfils(task: Task, text: str) -> bool:
    """Whether a text is what the task asks for: JSON, or a few words."""
    *_, said = text.rpartition("</think>")
    if is_json(said) or holds_json(said, _MAX_AROUND):
        return True
    return not task.as_json and len(said) <= _MAX_TITLE and len(said.strip().splitlines()) <= 1


def _require_checked(outcomes: Sequence[Outcome]) -> None:
    """Raises `VerificationError` where a claim of any choice could not be checked."""
    if all(outcome.answer.status == "ok" or outcome.answer.task for outcome in outcomes):
        return
    reasons = {outcome.answer.error for outcome in outcomes} - {""}
    why = "; ".join(sorted(reasons)) or "some claims could not be checked"
    raise VerificationError(f"The reply could not be verified: {why}.")
