"""Claims to findings: take apart, search, judge (CEG sections 3.2 and 3.3, RefChecker section 3)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from proxy.aio import together
from proxy.claims.context import contexts, needs_context, query
from proxy.engine import judging
from proxy.engine.judging import combined
from proxy.errors import CheckError, RetrievalError
from proxy.protocols import Checker, Extractor, Retriever
from proxy.text.words import Nearest, nearest
from proxy.types import (
    Aggregation,
    Claim,
    Evidence,
    Extraction,
    Finding,
    Judgement,
    Pair,
    Passage,
    UpstreamCitations,
)

log = logging.getLogger(__name__)
T = TypeVar("T")

_WHOLE = Extraction()
_MAX_CITED = 5
"""Passages of one document that the upstream cited which are checked, besides those that retrieval finds."""


@dataclass(frozen=True, slots=True)
class Verified:
    """The findings of claims, in their order.

    `error` says why checking was not possible, wholly or in part; `malformed` counts what an extractor said
    that could not be read.
    """

    findings: tuple[Finding, ...]
    error: str = ""
    malformed: int = 0


@dataclass(frozen=True, slots=True)
class _Asked:
    """A claim with what it needs to be understood, taken apart."""

    claim: Claim
    context: str
    extraction: Extraction

    @property
    def parts(self) -> tuple[tuple[Claim, str], ...]:
        """What is checked one by one, each with its context: a part that leans does so on the first one."""
        if not self.extraction.parts:
            return ((self.claim, self.context),)
        first, *others = self.extraction.parts
        before = f"{self.context} {first.plain}".strip()
        following = ((part, before if needs_context(part.plain) else self.context) for part in others)
        return ((first, self.context), *following)


@dataclass(frozen=True, slots=True)
class _Held:
    """A claim beside the passages that it is held against."""

    claim: Claim
    context: str
    evidence: tuple[Evidence, ...]


@dataclass(frozen=True, slots=True)
class Verifier:
    """What claims are checked with.

    `documents` are those of the request by the client's number, for citations of the upstream's own, which
    `citations` says what to do with. Claims beyond the first `max_claims` stay UNVERIFIED.
    """

    retriever: Retriever
    checker: Checker
    extractor: Extractor | None = None
    top_k: int = 5
    max_claims: int = 500
    aggregation: Aggregation = "strict"
    citations: UpstreamCitations = "replace"
    documents: Mapping[int, Sequence[Passage]] = field(default_factory=dict)
    _words: dict[int, Nearest] = field(default_factory=dict, init=False, repr=False, compare=False)

    async def verify(
        self, claims: Sequence[Claim], question: str, until: float, told: Sequence[Claim] = ()
    ) -> Verified:
        """The findings. What is not checked by `until` (the loop's time) is UNVERIFIED; nothing is raised.

        `told` are the claims of the draft before these, which they may lean on.
        """
        found: dict[Claim, Finding] = {}
        asked: list[_Asked] = []
        errors: list[str] = []
        try:
            async with asyncio.timeout_at(until):
                asked += await self._taken_apart(claims, question, told)
                await self._find_all(asked, question, found, errors)
        except TimeoutError:
            errors.append("the deadline passed")
        except RetrievalError as error:
            errors.append(error.message)
        errors += [one.extraction.error for one in asked if one.extraction.error]
        if errors:
            log.warning("checking was not possible, wholly or in part: %s", errors[0])
        findings = tuple(found.get(claim) or judging.unchecked(claim) for claim in claims)
        return Verified(findings, errors[0] if errors else "", sum(one.extraction.malformed for one in asked))

    async def _taken_apart(
        self, claims: Sequence[Claim], question: str, told: Sequence[Claim]
    ) -> list[_Asked]:
        """The claims to be checked, and what each says."""
        known = contexts((*told, *claims), question)[len(told) :]
        needs = [need for need in zip(claims, known, strict=True) if need[0].checkable]
        wanted = needs[: max(0, self.max_claims - sum(claim.checkable for claim in told))]
        parts: Sequence[Extraction] = [_WHOLE] * len(wanted)
        if self.extractor is not None and wanted:
            parts = await self.extractor.extract([claim for claim, _ in wanted], question)
        return [_Asked(*need, extraction) for need, extraction in zip(wanted, parts, strict=True)]

    async def _find_all(
        self, asked: Sequence[_Asked], question: str, found: dict[Claim, Finding], errors: list[str]
    ) -> None:
        """Search for all in one batch, then check each; `found` and `errors` fill as they are done."""
        queries = [query(part, context) for one in asked for part, context in one.parts]
        if not queries:
            return
        passages = iter(await self.retriever.search(queries, self.top_k))

        async def find(one: _Asked, evidence: Sequence[tuple[Evidence, ...]]) -> None:
            try:
                found[one.claim] = await self._find(one, evidence, question)
            except CheckError as error:
                errors.append(error.message)

        await together([find(one, [next(passages) for _ in one.parts]) for one in asked])

    async def _find(self, one: _Asked, evidence: Sequence[tuple[Evidence, ...]], question: str) -> Finding:
        held = [
            _Held(part, context, (*own, *self._cited(part, own)))
            for (part, context), own in zip(one.parts, evidence, strict=True)
        ]
        findings = [
            judging.with_citations(finding, self._own(finding.claim), self.citations)
            for finding in await self._judge(held, question)
        ]
        if not one.extraction.parts:
            return findings[0]
        finding = combined(one.claim, findings, self.aggregation)
        return replace(finding, usage=finding.usage + one.extraction.usage)

    async def _judge(self, held: Sequence[_Held], question: str) -> list[Finding]:
        """Hold each claim against each passage; where none decides it, against all joined, then each two."""

        async def ask(groups_of_each: Sequence[Sequence[Sequence[Evidence]]]) -> list[list[Judgement]]:
            pairs = [
                Pair.of(one.claim, group, one.context, question)
                for one, groups in zip(held, groups_of_each, strict=True)
                for group in groups
            ]
            told = iter(await self.checker.check(pairs) if pairs else ())
            return [[next(told) for _ in groups] for groups in groups_of_each]

        alone = await ask([[(passage,) for passage in one.evidence] for one in held])
        findings = [
            judging.decide(one.claim, judging.judged(one.evidence, said))
            for one, said in zip(held, alone, strict=True)
        ]
        for groups_of in (judging.all_of, judging.pairs_of):
            groups = [groups_of(finding) for finding in findings]
            joined = zip(findings, groups, await ask(groups), strict=True)
            findings = [judging.carried_together(*one) for one in joined]
        return findings

    def _cited(self, claim: Claim, found: Sequence[Evidence]) -> Iterator[Evidence]:
        """Of the documents that the upstream cites for the claim, what retrieval did not find."""
        if self.citations == "replace":
            return
        known = {one.passage.id for one in found}
        for number in claim.cited:
            passages = self.documents.get(number, ())
            found_already = [at for at, one in enumerate(passages) if one.id in known]
            best = self._words_of(number).to(claim.plain, _MAX_CITED, found_already)
            yield from (Evidence(passages[at], 0.0) for at in best)

    def _words_of(self, number: int) -> Nearest:
        """The words of a document's passages, read once."""
        if number not in self._words:
            passages = self.documents.get(number, ())
            self._words[number] = nearest({at: one.text for at, one in enumerate(passages)})
        return self._words[number]

    def _own(self, claim: Claim) -> frozenset[str]:
        """Ids of the documents that the upstream cites for the claim."""
        passages = (passage for number in claim.cited for passage in self.documents.get(number, ()))
        return frozenset(passage.document_id for passage in passages)
