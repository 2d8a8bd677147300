"""The method on one screen: draft, check, revise, best.

Citation-Enhanced Generation (ACL 2024, section 3): the model answers first; each claim of the draft is held
against passages of the corpus; the nonfactual ones go back to the model with their evidence, at most T times.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from proxy.errors import UpstreamError
from proxy.steps import judge
from proxy.steps.cited import assign, read_citations
from proxy.steps.claims import segment, segment_json
from proxy.steps.revise import revision
from proxy.steps.rewrite import read_rewrites, rewrite
from proxy.steps.signs import strip_sign
from proxy.steps.splice import spliced, without
from proxy.types import (
    LLM,
    Attempt,
    Chat,
    Claim,
    Draft,
    OnUnsupported,
    Outcome,
    RegenerationMode,
    Reply,
    Usage,
)
from proxy.verify import Verifier, together

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
    format: Literal["markdown", "json"] = "markdown"
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
        outcomes = await together(self.refine(chat, draft, reply.usage, until) for draft in reply.drafts)
        return Answer(reply, tuple(outcomes))

    async def refine(self, chat: Chat, draft: Draft, usage: Usage, until: float) -> Outcome:
        """Check the draft; while claims don't hold and rounds are left, re-prompt. The best attempt wins."""
        attempts = [await self.check(draft, usage, chat.question, until)]
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
            following = read(attempts[-1], reply, self.options)
            if following is None or not following.text.strip():
                break
            written = reply.usage if following is reply.drafts[0] else attempts[-1].usage
            attempts.append(await self.check(following, written, chat.question, until))
        checking = (finding.usage for attempt in attempts for finding in attempt.findings)
        best = judge.best(attempts)
        return Outcome(tuple(attempts), best, sum(checking, spent), self._trimmed(attempts[best]))

    async def check(self, draft: Draft, usage: Usage, question: str, until: float) -> Attempt:
        """Findings of a draft. What is not checked by `until` is UNVERIFIED; nothing is raised."""
        draft, claims = await asyncio.to_thread(self._claims, draft)
        verified = await self.verifier.verify(claims, question, until)
        return Attempt(draft, usage, verified.findings, verified.error, verified.malformed)

    def _claims(self, draft: Draft) -> tuple[Draft, tuple[Claim, ...]]:
        """The draft without citations of the upstream's own, and its claims with them."""
        if self.options.format == "json":
            return replace(draft, editable=False), segment_json(draft.text)
        if not draft.editable:
            return draft, segment(draft.text)
        cited = read_citations(draft.text)
        text = strip_sign(cited.text, self.options.sign)
        claims = segment(text)
        if self.verifier.citations != "replace" and text == cited.text:
            claims = assign(claims, cited)
        return replace(draft, text=text), claims

    def _trimmed(self, attempt: Attempt) -> Attempt | None:
        """The attempt without the claims that failed, where they are to be dropped."""
        if self.options.on_unsupported != "drop" or not attempt.draft.editable or not attempt.nonfactual:
            return None
        left = without(attempt, attempt.nonfactual)
        return left if left is not attempt else None


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
