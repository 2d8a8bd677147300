"""The method on one screen: draft, check, revise, best.

Citation-Enhanced Generation (ACL 2024, section 3): the model answers first; each claim of the draft is held
against passages of the corpus; the nonfactual ones go back to the model with their evidence, at most T times.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from proxy.aio import together
from proxy.citations.draft_reader import read_draft, reader
from proxy.correction.reprompt import revision
from proxy.correction.rewrite import read_rewrites, rewrite
from proxy.correction.splice import spliced, without
from proxy.engine import judging
from proxy.engine.verifier import Verifier
from proxy.errors import UpstreamError
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
    """How one reply is revised. `deadline` is in seconds and covers everything after the first draft.

    `sign` stands behind claims that failed in replies that come back, and is no part of them.
    """

    max_rounds: int = 1
    mode: RegenerationMode = "whole"
    on_unsupported: OnUnsupported = "keep"
    deadline: float = 60.0
    format: ReplyFormat = "markdown"
    sign: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """The upstream's reply, and per choice what became of it."""

    reply: Reply
    outcomes: tuple[Outcome, ...]

    @property
    def writing(self) -> Usage:
        """What the call cost that wrote the text; with several choices, the call that drafted them all."""
        if len(self.outcomes) > 1:
            return self.reply.usage
        outcome = self.outcomes[0]
        return outcome.attempts[outcome.best].usage

    @property
    def verification(self) -> Usage:
        """What everything else cost."""
        return sum((outcome.usage for outcome in self.outcomes), self.reply.usage) - self.writing


@dataclass(frozen=True, slots=True)
class Pipeline:
    """The parts that one reply goes through."""

    llm: LLM
    verifier: Verifier
    options: Options = Options()

    async def answer(self, chat: Chat) -> Answer:
        """Draft, then check and revise every choice. Raises `UpstreamError` when there is no draft at all."""
        reply = await self.llm.complete(chat)
        until = asyncio.get_running_loop().time() + self.options.deadline
        checks = (self.check(draft, reply.usage, chat.question, until) for draft in reply.drafts)
        return await self.refined(chat, reply, await together(checks), until)

    async def refined(self, chat: Chat, reply: Reply, first: Sequence[Attempt], until: float) -> Answer:
        """The answer out of the first attempt at each choice."""
        return Answer(reply, tuple(await together(self.refine(chat, one, until) for one in first)))

    async def refine(self, chat: Chat, first: Attempt, until: float) -> Outcome:
        """While claims don't hold and rounds are left, re-prompt and check again. The best attempt wins."""
        attempts = [first]
        spent = Usage()
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

    async def check(self, draft: Draft, usage: Usage, question: str, until: float) -> Attempt:
        """Findings of a draft. What is not checked by `until` is UNVERIFIED; nothing is raised."""
        read = reader(self.verifier.citations, self.options.sign)
        draft, claims = await asyncio.to_thread(read_draft, draft, self.options.format, read)
        verified = await self.verifier.verify(claims, question, until)
        return Attempt(draft, usage, verified.findings, verified.error, verified.malformed)

    async def _trimmed(self, attempt: Attempt, question: str, until: float) -> Attempt | None:
        """The attempt without the claims that failed, where they are to be dropped; checked again, since what
        is left may have leaned on them."""
        if self.options.on_unsupported != "drop" or not attempt.nonfactual:
            return None
        left = await asyncio.to_thread(without, attempt.draft, attempt.nonfactual)
        return None if left is None else await self.check(left, attempt.usage, question, until)


Ask = Callable[[Chat, Attempt], Chat]
Read = Callable[[Attempt, Reply, Options], Draft | None]


def _answered(_: Attempt, reply: Reply, __: Options) -> Draft:
    """The draft that the model wrote instead."""
    return reply.drafts[0]


def _rewritten(attempt: Attempt, reply: Reply, options: Options) -> Draft | None:
    """The draft with the sentences that failed as the model wrote them anew."""
    rewrites = read_rewrites(reply.drafts[0].text, len(attempt.nonfactual))
    dropping = options.on_unsupported == "drop"
    return spliced(attempt.draft, attempt.nonfactual, rewrites, dropping=dropping)


_MODES: Mapping[RegenerationMode, tuple[Ask, Read]] = {
    "whole": (revision, _answered),
    "claims": (rewrite, _rewritten),
}
"""How the model is asked once more, and what becomes of its answer."""
