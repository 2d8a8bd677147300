"""CEG's loop over one question: choose, check the reasoning, re-prompt, at most T times."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from evaluation.halueval.data import Order, Question
from evaluation.halueval.prompts import Pick, Place, read_pick
from evaluation.retrievers import verify
from proxy.claims.segment import segment
from proxy.correction.reprompt import revision
from proxy.engine import judging
from proxy.errors import UpstreamConnectionError, UpstreamError
from proxy.protocols import LLM, Checker, Retriever
from proxy.types import Attempt, Chat, Reply, Verdict

_STOPS = frozenset({401, 403, 404, 429})
"""Statuses that every other question would get too: the table stops, and goes on when it is run again."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What a question goes through: `evidence` gives each its retriever, `params` go with every call."""

    llm: LLM
    checker: Checker
    evidence: Callable[[Question], Retriever]
    top_k: int
    rounds: int
    order: Order
    params: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Chosen:
    """What became of one question, by round: the choices, None where one could not be read.

    There is no round where the first call failed. `best` is the round that the proxy would keep, `checked`
    counts claims of all rounds, `unverified` those of them that could not be checked.
    """

    right_at: Place
    choices: tuple[Place | None, ...] = ()
    best: int = 0
    checked: int = 0
    unverified: int = 0

    def right(self, number: int) -> bool:
        """Whether the choice of that round was the right one. What can't be read never is."""
        return bool(self.choices) and self.choices[number] == self.right_at


async def choose(question: Question, parts: Parts) -> Chosen:
    """Asks, checks and asks again while a claim of the reasoning does not hold.

    Raises `UpstreamError` and `CheckError` for what would fail for every question.
    """
    right_at = question.right_at(parts.order)
    prompt = question.prompt(parts.order)
    chat = Chat({**parts.params, "messages": [{"role": "user", "content": prompt}]}, question.question)
    reply = await _ask(parts.llm, chat)
    picks: list[Pick] = []
    attempts: list[Attempt] = []
    while reply is not None:
        picks.append(read_pick(reply.drafts[0].text))
        attempts.append(await _check(reply, picks[-1], question, parts))
        if not attempts[-1].nonfactual or len(attempts) > parts.rounds:
            break
        reply = await _ask(parts.llm, revision(chat, attempts[-1]))
    findings = [finding for attempt in attempts for finding in attempt.findings]
    verdicts = [finding.verdict for finding in findings if finding.verdict is not Verdict.NOT_CHECKABLE]
    return Chosen(
        right_at,
        tuple(pick.choice for pick in picks),
        _best(picks, attempts),
        len(verdicts),
        verdicts.count(Verdict.UNVERIFIED),
    )


async def _ask(llm: LLM, chat: Chat) -> Reply | None:
    """The reply; None where this one call failed."""
    try:
        return await llm.complete(chat)
    except UpstreamError as error:
        if isinstance(error, UpstreamConnectionError) or error.status in _STOPS:
            raise
        return None


async def _check(reply: Reply, pick: Pick, question: Question, parts: Parts) -> Attempt:
    """The reply as an attempt with the findings of its reasoning; the choice itself is no claim."""
    claims = segment(pick.reasoning)
    evidence = parts.evidence(question)
    findings = await verify(claims, question.question, parts.checker, evidence, parts.top_k)
    return Attempt(reply.drafts[0], reply.usage, findings)


def _best(picks: list[Pick], attempts: list[Attempt]) -> int:
    """The proxy's rule (`judge.best`) over the rounds whose choice can be read; the first where none can."""
    readable = [index for index, pick in enumerate(picks) if pick.choice is not None]
    return readable[judging.best([attempts[index] for index in readable])] if readable else 0
