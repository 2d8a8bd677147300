"""The method on one screen: draft, check, re-prompt, best.

Citation-Enhanced Generation (ACL 2024, section 3): the model answers first; each claim of the draft is
checked against passages of the corpus; nonfactual claims go back to the model with their evidence, at most T
times.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from proxy.aio import closing, together
from proxy.claims.continuations import Read
from proxy.correction.reprompt import revision
from proxy.correction.rewrite import read_rewrites, rewrite
from proxy.correction.splice import spliced, without
from proxy.engine import judging
from proxy.engine.delivery import Answer, DeliveryPolicy, StreamEvent
from proxy.engine.reply_stream import ReplyStream, read_draft, reader
from proxy.engine.verifier import Verifier
from proxy.errors import UpstreamError, VerificationError
from proxy.protocols import LLM
from proxy.types import (
    Attempt,
    Chat,
    Draft,
    OnUnsupported,
    Outcome,
    RegenerationMode,
    Reply,
    ReplyFormat,
    Usage,
)

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Options:
    """How one reply is corrected.

    `deadline` is in seconds and covers everything after the first draft. `warning` is the warning marker
    behind claims that failed; where a draft repeats it, it is removed.
    """

    max_rounds: int = 1
    mode: RegenerationMode = "whole"
    on_unsupported: OnUnsupported = "keep"
    deadline: float = 60.0
    format: ReplyFormat = "markdown"
    warning: str = ""


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Runs every checked chat, streamed or not: draft, check, re-prompt, best."""

    llm: LLM
    verifier: Verifier
    options: Options = Options()
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
        drafting = ReplyStream(
            self.llm, self.verifier, self.policy, self.options.deadline, self._reader(), self.options.format
        )
        async with closing(drafting.events(chat)) as events:
            async for event in events:
                yield event
        until = self._until()
        reply, written = drafting.reply, zip(drafting.reply.drafts, drafting.attempts, strict=True)
        first = await together(self._checked(chat, *item, reply.usage, until) for item in written)
        if self.policy.mode == "buffer":
            outcomes = await together(self._best_of(chat, attempt, until) for attempt in first)
        else:
            outcomes = [drafting.outcome(index, attempt) for index, attempt in enumerate(first)]
        if self.policy.fail_closed:
            _require_checked(outcomes)
        yield Answer(reply, tuple(outcomes), self.policy.rendering)

    async def check(self, draft: Draft, usage: Usage, question: str, until: float | None = None) -> Attempt:
        """Checks a whole draft. Claims not checked by `until` (in the event loop's time) are UNVERIFIED.
        Without `until` the deadline counts from now. Raises nothing."""
        draft, claims = await asyncio.to_thread(read_draft, draft, self.options.format, self._reader())
        verified = await self.verifier.verify(claims, question, until or self._until())
        return Attempt(draft, usage, verified.findings, verified.error, verified.malformed)

    async def _checked(
        self, chat: Chat, draft: Draft, attempt: Attempt | None, usage: Usage, until: float
    ) -> Attempt:
        """The attempt. A draft that could not be checked while it was written is checked now."""
        return attempt or await self.check(draft, usage, chat.question, until)

    async def _best_of(self, chat: Chat, first: Attempt, until: float) -> Outcome:
        """Re-prompts and checks again while claims fail and rounds are left. The best attempt wins."""
        attempts, spent = [first], Usage()
        while (
            attempts[-1].draft.editable
            and attempts[-1].nonfactual
            and len(attempts) <= self.options.max_rounds
        ):
            ask, read = _MODES[self.options.mode]
            try:
                async with asyncio.timeout_at(until):
                    reply = await self.llm.complete(ask(chat, attempts[-1]))
            except (UpstreamError, TimeoutError) as error:
                log.warning("the re-prompt failed, the best draft so far stands: %s", error or "out of time")
                break
            spent += reply.usage
            following = await asyncio.to_thread(read, attempts[-1], reply, self.options)
            if following is None or not following.text.strip():
                break
            written = reply.usage if following is reply.drafts[0] else attempts[-1].usage
            attempts.append(await self.check(following, written, chat.question, until))
        best = judging.best(attempts)
        trimmed = await self._trimmed(attempts[best], chat.question, until)
        checked = [*attempts, trimmed] if trimmed else attempts
        checking = (finding.usage for attempt in checked for finding in attempt.findings)
        return Outcome(tuple(attempts), best, sum(checking, spent), trimmed)

    async def _trimmed(self, attempt: Attempt, question: str, until: float) -> Attempt | None:
        """The attempt without its failed claims, where these are to be dropped. It is checked again, since
        the remaining claims may have needed the dropped ones as context."""
        if self.options.on_unsupported != "drop" or not attempt.nonfactual:
            return None
        left = await asyncio.to_thread(without, attempt.draft, attempt.nonfactual)
        return None if left is None else await self.check(left, attempt.usage, question, until)

    def _reader(self) -> Read:
        return reader(self.verifier.citations, self.options.warning)

    def _until(self) -> float:
        return asyncio.get_running_loop().time() + self.options.deadline


def _require_checked(outcomes: Sequence[Outcome]) -> None:
    """Raises `VerificationError` where a claim of any choice could not be checked."""
    if all(outcome.answer.status == "ok" for outcome in outcomes):
        return
    reasons = {outcome.answer.error for outcome in outcomes} - {""}
    why = "; ".join(sorted(reasons)) or "some claims could not be checked"
    raise VerificationError(f"The reply could not be verified: {why}.")


Ask = Callable[[Chat, Attempt], Chat]
Understand = Callable[[Attempt, Reply, Options], Draft | None]


def _replaced(_: Attempt, reply: Reply, __: Options) -> Draft:
    """The draft that the model wrote instead."""
    return reply.drafts[0]


def _rewritten(attempt: Attempt, reply: Reply, options: Options) -> Draft | None:
    """The draft with the failed sentences as the model rewrote them."""
    rewrites = read_rewrites(reply.drafts[0].text, len(attempt.nonfactual))
    dropping = options.on_unsupported == "drop"
    return spliced(attempt.draft, attempt.nonfactual, rewrites, dropping=dropping)


_MODES: Mapping[RegenerationMode, tuple[Ask, Understand]] = {
    "whole": (revision, _replaced),
    "claims": (rewrite, _rewritten),
}
"""How the model is re-prompted, and how its answer becomes the next draft."""
