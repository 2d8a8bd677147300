"""The method on one screen: draft, check, revise, best.

Citation-Enhanced Generation (ACL 2024, section 3): the model answers first; each claim of the draft is held
against passages of the corpus; the nonfactual ones go back to the model with their evidence, at most T times.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

from proxy.errors import CheckError, RetrievalError, UpstreamError
from proxy.steps import judge
from proxy.steps.claims import segment, segment_json
from proxy.steps.marks import strip_marks
from proxy.steps.queries import contexts, queries
from proxy.steps.revise import revision
from proxy.types import (
    LLM,
    Attempt,
    Chat,
    Checker,
    Claim,
    Draft,
    Evidence,
    Finding,
    Judgement,
    Outcome,
    Reply,
    Retriever,
    Usage,
    Verdict,
)

log = logging.getLogger(__name__)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Options:
    """How one reply is verified. `deadline` is in seconds and covers everything after the first draft."""

    max_rounds: int = 1
    top_k: int = 5
    max_claims: int = 500
    deadline: float = 60.0
    format: Literal["markdown", "json"] = "markdown"


@dataclass(frozen=True, slots=True)
class Answer:
    """The upstream's reply, and per choice what became of it."""

    reply: Reply
    outcomes: tuple[Outcome, ...]

    @property
    def writing(self) -> Usage:
        """What the call cost that wrote the text; with several choices, the call that drafted them all."""
        return self.outcomes[0].answer.usage if len(self.outcomes) == 1 else self.reply.usage

    @property
    def verification(self) -> Usage:
        """What everything else cost."""
        return sum((outcome.usage for outcome in self.outcomes), self.reply.usage) - self.writing


@dataclass(frozen=True, slots=True)
class Pipeline:
    """The parts that one reply goes through."""

    llm: LLM
    retriever: Retriever
    checker: Checker
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
        while (
            attempts[-1].draft.editable
            and attempts[-1].nonfactual
            and len(attempts) <= self.options.max_rounds
        ):
            try:
                async with asyncio.timeout_at(until):
                    reply = await self.llm.complete(revision(chat, attempts[-1]))
            except (UpstreamError, TimeoutError) as error:
                log.warning("the re-prompt failed, the best draft so far stands: %s", error or "out of time")
                break
            if not reply.drafts[0].text.strip():
                break
            attempts.append(await self.check(reply.drafts[0], reply.usage, chat.question, until))
        checking = (finding.usage for attempt in attempts for finding in attempt.findings)
        spent = sum(checking, sum((attempt.usage for attempt in attempts[1:]), Usage()))
        return Outcome(tuple(attempts), judge.best(attempts), spent)

    async def check(self, draft: Draft, usage: Usage, question: str, until: float) -> Attempt:
        """Findings of a draft. What is not checked by `until` is UNVERIFIED; nothing is raised."""
        draft, claims = await asyncio.to_thread(self._claims, draft)
        found: dict[Claim, Finding] = {}
        errors: list[str] = []
        try:
            async with asyncio.timeout_at(until):
                await self._find_all(claims, question, found, errors)
        except TimeoutError:
            errors.append("the deadline passed")
        except RetrievalError as error:
            errors.append(error.message)
        if errors:
            log.warning("checking was not possible, wholly or in part: %s", errors[0])
        findings = tuple(found.get(claim) or judge.unchecked(claim) for claim in claims)
        return Attempt(draft, usage, findings, errors[0] if errors else "")

    def _claims(self, draft: Draft) -> tuple[Draft, tuple[Claim, ...]]:
        """The draft without citations of the upstream's own, and its claims."""
        if self.options.format == "json":
            return replace(draft, editable=False), segment_json(draft.text)
        if draft.editable:
            draft = replace(draft, text=strip_marks(draft.text))
        return draft, segment(draft.text)

    async def _find_all(
        self, claims: Sequence[Claim], question: str, found: dict[Claim, Finding], errors: list[str]
    ) -> None:
        """Search for all claims in one batch, then check each; `found` and `errors` fill as they are done."""
        needs = zip(claims, contexts(claims, question), queries(claims, question), strict=True)
        wanted = [need for need in needs if need[0].checkable][: self.options.max_claims]
        if not wanted:
            return
        passages = await self.retriever.search([query for _, _, query in wanted], self.options.top_k)

        async def find(claim: Claim, context: str, evidence: tuple[Evidence, ...]) -> None:
            try:
                found[claim] = await self._find(claim, context, question, evidence)
            except CheckError as error:
                errors.append(error.message)

        await together(
            find(claim, context, evidence)
            for (claim, context, _), evidence in zip(wanted, passages, strict=True)
        )

    async def _find(
        self, claim: Claim, context: str, question: str, evidence: tuple[Evidence, ...]
    ) -> Finding:
        """Hold a claim against each passage; where none decides it, against all joined, then each two."""

        async def ask(groups: Sequence[tuple[Evidence, ...]]) -> Sequence[Judgement]:
            return await self.checker.check([judge.pair(claim, group, context, question) for group in groups])

        if not evidence:
            return judge.decide(claim, ())
        finding = judge.decide(claim, judge.judged(evidence, await ask([(one,) for one in evidence])))
        if finding.verdict is not Verdict.UNSUPPORTED or len(evidence) == 1:
            return finding
        finding = judge.carried_together(finding, [evidence], await ask([evidence]))
        if len(finding.cited) <= 2:
            return finding
        twos = judge.pairs_of(evidence)
        return judge.carried_together(finding, twos, await ask(twos))


async def together(work: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """The results in order. When one fails or this is cancelled, the rest is cancelled first."""
    tasks = [asyncio.ensure_future(one) for one in work]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
