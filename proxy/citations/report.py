"""Do the documents that an answer cites bear it out? CiteCheck's question, with ALCE's figures."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from proxy.aio import together
from proxy.citations.attribution import assign, read_citations
from proxy.citations.faithfulness import (
    CitationReport,
    Statement,
    doubtful,
    judged,
    stated,
    supplemented,
    thinned,
)
from proxy.claims.context import contexts
from proxy.claims.segment import segment
from proxy.errors import CheckError, RequestError
from proxy.protocols import Checker
from proxy.text.words import Nearest, nearest
from proxy.types import Document, Evidence, Judgement, Pair, Passage

log = logging.getLogger(__name__)

_AT_ONCE = 16
"""Statements under way: each holds the text of all its documents, several times where there are many."""


@dataclass(frozen=True, slots=True)
class CitationOptions:
    """Bounds of one check. `deadline` is in seconds.

    Statements beyond the first `max_statements` stay UNVERIFIED. One that its own citations don't support is
    held against the `top_k` other documents that share most with it.
    """

    max_statements: int = 500
    top_k: int = 5
    deadline: float = 60.0


async def check_citations(
    answer: str,
    documents: Sequence[Document],
    checker: Checker,
    question: str = "",
    options: CitationOptions = CitationOptions(),
) -> CitationReport:
    """Per statement of `answer`, whether the documents whose numbers it cites fully support it together.

    `documents` have numbers, each its own (see `numbered`). Nothing is raised: what is not checked when the
    deadline passes, or because the checker fails, is UNVERIFIED.
    """
    until = asyncio.get_running_loop().time() + options.deadline
    check = await asyncio.to_thread(_prepared, answer, documents, checker, question, options)
    errors: list[str] = []
    try:
        async with asyncio.timeout_at(until):
            await check.run(errors)
    except TimeoutError:
        errors.append("the deadline passed")
    if errors:
        log.warning("checking citations was not possible, wholly or in part: %s", errors[0])
    return CitationReport(tuple(check.statements), errors[0] if errors else "")


def numbered(documents: Sequence[Document]) -> tuple[Document, ...]:
    """The documents with numbers: their places, from 1, where they have none.

    Raises `RequestError` where two have the same.
    """
    found = tuple(
        one if one.number is not None else replace(one, number=place)
        for place, one in enumerate(documents, 1)
    )
    twice, times = next(iter(Counter(one.number for one in found).most_common(1)), (None, 0))
    if times > 1:
        message = f"Two documents are numbered {twice}; one without a number has that of its place."
        raise RequestError(message, param="documents")
    return found


@dataclass(frozen=True, slots=True)
class _Check:
    """One answer on its way: `statements` change as they are decided; of `contexts` there is one for each."""

    statements: list[Statement]
    contexts: Sequence[str]
    evidence: Mapping[int, Evidence]
    nearest: Nearest
    checker: Checker
    question: str
    options: CitationOptions

    async def run(self, errors: list[str]) -> None:
        """Every statement's own citations first; then, where these don't do, what else would."""
        wanted = [at for at, one in enumerate(self.statements) if one.claim.checkable]
        bound = self.options.max_statements
        if len(wanted) > bound:
            errors.append(f"only the first {bound:,} statements were checked")
        places = asyncio.Semaphore(_AT_ONCE)

        async def guarded(work: Callable[[int], Awaitable[None]], at: int) -> None:
            async with places:
                try:
                    await work(at)
                except CheckError as error:
                    errors.append(error.message)

        own = [at for at in wanted[:bound] if self.statements[at].existing]
        await together(guarded(self._own, at) for at in own)
        failed = [at for at in wanted[:bound] if not self.statements[at].recalled]
        await together(guarded(self._others, at) for at in failed)

    async def _own(self, at: int) -> None:
        """All its documents joined and each alone; then all but one, where that tells more."""
        cited = self.statements[at].existing
        told = await self._ask(at, [*((number,) for number in cited), *([cited] if len(cited) > 1 else ())])
        statement = judged(self.statements[at], told[-1], dict(zip(cited, told, strict=False)))
        self.statements[at] = statement
        left_out = doubtful(statement)
        told = await self._ask(at, [[one for one in cited if one != number] for number in left_out])
        self.statements[at] = thinned(statement, dict(zip(left_out, told, strict=True)))

    async def _others(self, at: int) -> None:
        """The documents that it does not cite, each alone."""
        statement = self.statements[at]
        others = self.nearest.to(statement.claim.plain, self.options.top_k, but=statement.existing)
        told = await self._ask(at, [(number,) for number in others])
        self.statements[at] = supplemented(statement, dict(zip(others, told, strict=True)))

    async def _ask(self, at: int, groups: Sequence[Sequence[int]]) -> Sequence[Judgement]:
        """One judgement per group of documents."""
        claim, context = self.statements[at].claim, self.contexts[at]
        joined = ([self.evidence[number] for number in group] for group in groups)
        pairs = [Pair.of(claim, evidence, context, self.question) for evidence in joined]
        return await self.checker.check(pairs) if pairs else ()


def _prepared(
    answer: str, documents: Sequence[Document], checker: Checker, question: str, options: CitationOptions
) -> _Check:
    cited = read_citations(answer)
    claims = assign(segment(cited.text), cited)
    passages = {one.number: _passage(one) for one in documents if one.number is not None}
    return _Check(
        statements=[stated(claim, *cited.original(claim.start, claim.end), passages) for claim in claims],
        contexts=contexts(claims, question),
        evidence={number: Evidence(passage, 0.0) for number, passage in passages.items()},
        nearest=nearest({number: passage.text for number, passage in passages.items()}),
        checker=checker,
        question=question,
        options=options,
    )


def _passage(document: Document) -> Passage:
    """The whole document: the checkers read long evidence themselves."""
    text = document.text
    return Passage(document.id, document.id, document.title, "", text, document.url, 0, len(text))
