"""Turns claims into findings: split them into parts, retrieve passages, check (CEG sections 3.2 and 3.3,
RefChecker section 3)."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import TypeVar

from proxy.aio import ASKER, together
from proxy.claims.context import contexts, needs_context, queries
from proxy.engine import judging
from proxy.engine.judging import combined
from proxy.errors import CheckError, RetrievalError
from proxy.protocols import Checker, Extractor, Retriever
from proxy.retrieval.fusion import fused
from proxy.text.words import Nearest, nearest
from proxy.types import (
    Aggregation,
    Claim,
    Context,
    Evidence,
    Extraction,
    Finding,
    Judgement,
    Pair,
    Passage,
    UpstreamCitations,
    Verdict,
)

log = logging.getLogger(__name__)
T = TypeVar("T")

_WHOLE = Extraction()
_SURE = 0.75
"""The score from which a passage carries a claim so surely that the others need not be checked. Over 280
claims of real replies, 0.75 checks a sixth fewer than 0.9, and cites what scores 0.02 less."""
_LATER = 2
"""Passages that are checked at once when the first one did not carry the claim."""
_UNDER_WAY = 24
"""Claims of a reply that a local checker works on at once, in the order of the reply: when the deadline
passes, the first ones are decided. Were all begun at once, hardly one would be."""
_FUSION_K = 60
"""Of reciprocal rank fusion, as in its paper."""
_MAX_CITED = 5
"""How many passages of a document that the upstream cites are checked, besides the retrieved ones."""


@dataclass(frozen=True, slots=True)
class Verified:
    """The findings of claims, in their order.

    `error` says why some or all claims could not be checked. `malformed` counts outputs of the extractor
    that could not be parsed.
    """

    findings: tuple[Finding, ...]
    error: str = ""
    malformed: int = 0


@dataclass(frozen=True, slots=True)
class _PreparedClaim:
    """A claim with the context that it needs, and the parts it was split into."""

    claim: Claim
    context: Context
    extraction: Extraction

    @property
    def parts(self) -> tuple[tuple[Claim, Context], ...]:
        """The parts to check, each with its context. A part that needs context gets the first part too."""
        if not self.extraction.parts:
            return ((self.claim, self.context),)
        first, *others = self.extraction.parts
        before = replace(self.context, before=f"{self.context.before} {first.plain}".strip())
        leaning = (needs_context(part.plain) and not part.row for part in others)
        following = (
            (part, before if leans else self.context) for part, leans in zip(others, leaning, strict=True)
        )
        return ((first, self.context), *following)


def _by_value(claim: Claim, extraction: Extraction) -> Extraction:
    """The values of a row as parts: a passage may have them all, and yet not say them of these columns."""
    return replace(extraction, parts=tuple(replace(claim, plain=value, values=()) for value in claim.values))


@dataclass(frozen=True, slots=True)
class _RetrievedClaim:
    """A claim and the passages that it is checked against."""

    claim: Claim
    context: Context
    evidence: tuple[Evidence, ...]


@dataclass(frozen=True, slots=True)
class Verifier:
    """Checks claims: retrieves passages for each and asks the checker about them.

    `documents` holds the passages of the request's documents by the client's number; the upstream's own
    citations refer to these numbers, and `citations` says how to treat them. Claims beyond the first
    `max_claims` stay UNVERIFIED. With `early_exit` the passages of a claim are checked in turns, in the
    order of retrieval, until one carries it surely: less work for a checker that runs here, more round trips
    for one that asks an LLM. What was not checked is left out of the finding.
    """

    retriever: Retriever
    checker: Checker
    extractor: Extractor | None = None
    top_k: int = 5
    max_claims: int = 500
    aggregation: Aggregation = "strict"
    citations: UpstreamCitations = "replace"
    early_exit: bool = False
    documents: Mapping[int, Sequence[Passage]] = field(default_factory=dict)
    _window: asyncio.Semaphore = field(
        default_factory=partial(asyncio.Semaphore, _UNDER_WAY), init=False, repr=False, compare=False
    )
    _words: dict[int, Nearest] = field(default_factory=dict, init=False, repr=False, compare=False)

    async def verify(
        self, claims: Sequence[Claim], question: str, until: float, prior_claims: Sequence[Claim] = ()
    ) -> Verified:
        """The findings, one per claim. Claims not checked by `until` (in the event loop's time) are
        UNVERIFIED. Raises nothing.

        `prior_claims` are the earlier claims of the draft: `claims` may need them as context.
        """
        findings: dict[Claim, Finding] = {}
        prepared: list[_PreparedClaim] = []
        errors: list[str] = []
        begun = time.perf_counter()
        try:
            async with asyncio.timeout_at(until):
                prepared += await self._taken_apart(claims, question, prior_claims)
                await self._find_all(prepared, question, findings, errors)
        except TimeoutError:
            errors.append("the deadline passed")
        except RetrievalError as error:
            errors.append(error.message)
        if claims:
            ASKER.get().note("claims", begun, len(claims))
        errors += [item.extraction.error for item in prepared if item.extraction.error]
        in_order = tuple(findings.get(claim) or judging.unchecked(claim) for claim in claims)
        errors += judging.failures(in_order)
        if not errors and any(finding.verdict is Verdict.UNVERIFIED for finding in in_order):
            errors.append(f"only the first {self.max_claims} claims of a reply are checked")
        if errors:
            log.warning("some or all claims could not be checked: %s", errors[0])
        malformed = sum(item.extraction.malformed for item in prepared)
        return Verified(in_order, errors[0] if errors else "", malformed)

    async def _taken_apart(
        self, claims: Sequence[Claim], question: str, prior_claims: Sequence[Claim]
    ) -> list[_PreparedClaim]:
        """The claims to check, each with its context and its parts."""
        room = self.max_claims - sum(claim.checkable for claim in prior_claims)
        if room <= 0:
            return []
        context_of = contexts(claims, question, prior_claims)
        wanted = [need for need in zip(claims, context_of, strict=True) if need[0].checkable][:room]
        parts: Sequence[Extraction] = [_WHOLE] * len(wanted)
        if self.extractor is not None and wanted:
            parts = await self.extractor.extract([claim for claim, _ in wanted], question)
        return [
            _PreparedClaim(*need, extraction if extraction.parts else _by_value(need[0], extraction))
            for need, extraction in zip(wanted, parts, strict=True)
        ]

    async def _find_all(
        self,
        claims: Sequence[_PreparedClaim],
        question: str,
        findings: dict[Claim, Finding],
        errors: list[str],
    ) -> None:
        """Retrieves for all claims in one batch, then checks each. Fills `findings` and `errors`."""
        asked = [queries(part, context) for claim in claims for part, context in claim.parts]
        if not asked:
            return
        found = iter(await self.retriever.search([*chain.from_iterable(asked)], self.top_k))
        passages = iter([_merged([next(found) for _ in of_claim], self.top_k) for of_claim in asked])

        async def find(prepared: _PreparedClaim, evidence: Sequence[tuple[Evidence, ...]]) -> None:
            try:
                async with self._window if self.early_exit else nullcontext():
                    findings[prepared.claim] = await self._find(prepared, evidence, question)
            except CheckError as error:
                errors.append(error.message)

        await together([find(claim, [next(passages) for _ in claim.parts]) for claim in claims])

    async def _find(
        self, prepared: _PreparedClaim, evidence: Sequence[tuple[Evidence, ...]], question: str
    ) -> Finding:
        retrieved = [
            _RetrievedClaim(part, context, (*own, *self._cited(part, own)))
            for (part, context), own in zip(prepared.parts, evidence, strict=True)
        ]
        findings = [
            judging.with_citations(finding, self._own(finding.claim), self.citations)
            for finding in await self._judge(retrieved, question)
        ]
        if not prepared.extraction.parts:
            return findings[0]
        finding = combined(prepared.claim, findings, self.aggregation)
        return replace(finding, usage=finding.usage + prepared.extraction.usage)

    async def _judge(self, retrieved: Sequence[_RetrievedClaim], question: str) -> list[Finding]:
        """Checks each claim against each passage; if none decides it, against all joined, then each pair."""

        async def ask(
            claims: Sequence[_RetrievedClaim], groups_of_each: Sequence[Sequence[Sequence[Evidence]]]
        ) -> list[list[Judgement]]:
            pairs = [
                Pair.of(candidate.claim, group, candidate.context, question)
                for candidate, groups in zip(claims, groups_of_each, strict=True)
                for group in groups
            ]
            judgements = iter(await self.checker.check(pairs) if pairs else ())
            return [[next(judgements) for _ in groups] for groups in groups_of_each]

        checked: list[tuple[Evidence, ...]] = [() for _ in retrieved]
        for turn in self._turns(retrieved):
            open_claims = [index for index, passages in enumerate(checked) if not _carried(passages)]
            wanted = [turn[index] for index in open_claims]
            judgements = await ask(
                [retrieved[index] for index in open_claims],
                [[(item,) for item in passages] for passages in wanted],
            )
            for index, passages, answers in zip(open_claims, wanted, judgements, strict=True):
                checked[index] += judging.judged(passages, answers)
        findings = [
            judging.decide(candidate.claim, _in_order(passages, candidate.evidence))
            for candidate, passages in zip(retrieved, checked, strict=True)
        ]
        for groups_of in (judging.all_of, judging.pairs_of):
            groups = [groups_of(finding) for finding in findings]
            judgements_of = await ask(retrieved, groups)
            findings = [*map(judging.carried_together, findings, groups, judgements_of)]
        return [*map(judging.with_quotes, findings)]

    def _turns(self, retrieved: Sequence[_RetrievedClaim]) -> Iterator[list[tuple[Evidence, ...]]]:
        """The passages of each claim that are checked at once, turn by turn, until every claim has had all.

        Without `early_exit` that is one turn. With it, the first turn has the first passage and those that
        the upstream cites, whose verdicts are wanted in any case; the others have `_LATER` passages each. A
        claim that the first passage does not carry often fails, and then all are checked.
        """
        if not self.early_exit:
            yield [candidate.evidence for candidate in retrieved]
            return
        queues = []
        for candidate in retrieved:
            own = self._own(candidate.claim) if self.citations != "replace" else frozenset()
            first, others = candidate.evidence[:1], candidate.evidence[1:]
            first += tuple(item for item in others if item.passage.document_id in own)
            left = [item for item in others if item.passage.document_id not in own]
            queues.append([first, *(tuple(left[at : at + _LATER]) for at in range(0, len(left), _LATER))])
        for turn in range(max(map(len, queues))):
            yield [queue[turn] if turn < len(queue) else () for queue in queues]

    def _cited(self, claim: Claim, retrieved: Sequence[Evidence]) -> Iterator[Evidence]:
        """Passages of the documents that the upstream cites for the claim and that retrieval did not find."""
        if self.citations == "replace":
            return
        known = {evidence.passage.id for evidence in retrieved}
        for number in claim.cited:
            passages = self.documents.get(number, ())
            retrieved_already = [index for index, passage in enumerate(passages) if passage.id in known]
            best = self._words_of(number).to(claim.plain, _MAX_CITED, retrieved_already)
            yield from (Evidence(passages[index], 0.0) for index in best)

    def _words_of(self, number: int) -> Nearest:
        """The word index of a document's passages, built once."""
        if number not in self._words:
            passages = self.documents.get(number, ())
            self._words[number] = nearest({index: passage.text for index, passage in enumerate(passages)})
        return self._words[number]

    def _own(self, claim: Claim) -> frozenset[str]:
        """Ids of the documents that the upstream cites for the claim."""
        passages = (passage for number in claim.cited for passage in self.documents.get(number, ()))
        return frozenset(passage.document_id for passage in passages)


def _merged(rankings: Sequence[Sequence[Evidence]], k: int) -> tuple[Evidence, ...]:
    """The k best passages of several searches for one claim, each with its best score."""
    best: dict[str, Evidence] = {}
    for item in chain.from_iterable(rankings):
        passage = item.passage.id
        best[passage] = max(best.get(passage, item), item, key=lambda one: one.score)
    in_order = fused([[item.passage.id for item in ranking] for ranking in rankings], _FUSION_K)
    return tuple(best[passage] for passage in in_order[:k])


def _carried(evidence: Sequence[Evidence]) -> bool:
    """Whether a passage carries the claim surely."""
    return any(
        item.judgement is not None
        and item.judgement.verdict is Verdict.SUPPORTED
        and item.judgement.score >= _SURE
        for item in evidence
    )


def _in_order(checked: Sequence[Evidence], retrieved: Sequence[Evidence]) -> list[Evidence]:
    """The checked passages in the order of retrieval."""
    rank = {item.passage.id: number for number, item in enumerate(retrieved)}
    return sorted(checked, key=lambda item: rank[item.passage.id])
