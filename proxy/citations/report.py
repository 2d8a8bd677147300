"""Checks whether the documents that an answer cites support it: CiteCheck's question, ALCE's figures."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from proxy.aio import together
from proxy.citations.cited_numbers import assign, read_citations
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
from proxy.types import Context, Document, Evidence, Judgement, Pair, Passage

log = logging.getLogger(__name__)

_AT_ONCE = 16
"""How many statements are checked at the same time: each holds copies of the text of all its documents."""


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
        log.warning("some or all citations could not be checked: %s", errors[0])
    return CitationReport(tuple(check.statements), errors[0] if errors else "")


def numbered(documents: Sequence[Document]) -> tuple[Document, ...]:
    """The documents, each with a number: its position, from 1, where it has none.

    Raises `RequestError` where two have the same number.
    """
    result = tuple(
        document if document.number is not None else replace(document, number=position)
        for position, document in enumerate(documents, 1)
    )
    twice, times = next(iter(Counter(document.number for document in result).most_common(1)), (None, 0))
    if times > 1:
        message = f"Two documents are numbered {twice}. One without a number is numbered by its position."
        raise RequestError(message, param="documents")
    return result


@dataclass(frozen=True, slots=True)
class _Check:
    """One answer being checked. `statements` are replaced as they are decided; each has its context."""

    statements: list[Statement]
    contexts: Sequence[Context]
    evidence: Mapping[int, Evidence]
    nearest: Nearest
    checker: Checker
    question: str
    options: CitationOptions

    async def run(self, errors: list[str]) -> None:
        """Checks each statement against its own citations first, then, where these fail, against others."""
        wanted = [index for index, statement in enumerate(self.statements) if statement.claim.checkable]
        bound = self.options.max_statements
        if len(wanted) > bound:
            errors.append(f"only the first {bound:,} statements were checked")
        places = asyncio.Semaphore(_AT_ONCE)

        async def guarded(work: Callable[[int], Awaitable[None]], index: int) -> None:
            async with places:
                try:
                    await work(index)
                except CheckError as error:
                    errors.append(error.message)

        own = [index for index in wanted[:bound] if self.statements[index].existing]
        await together(guarded(self._own, index) for index in own)
        failed = [index for index in wanted[:bound] if not self.statements[index].recalled]
        await together(guarded(self._others, index) for index in failed)

    async def _own(self, index: int) -> None:
        """Judges its documents together and each alone; then all but one, where that tells more."""
        cited = self.statements[index].existing
        judgements = await self._ask(
            index, [*((number,) for number in cited), *([cited] if len(cited) > 1 else ())]
        )
        statement = judged(self.statements[index], judgements[-1], dict(zip(cited, judgements, strict=False)))
        self.statements[index] = statement
        left_out = doubtful(statement)
        judgements = await self._ask(
            index, [[other for other in cited if other != number] for number in left_out]
        )
        self.statements[index] = thinned(statement, dict(zip(left_out, judgements, strict=True)))

    async def _others(self, index: int) -> None:
        """Judges the nearest documents that it does not cite, each alone."""
        statement = self.statements[index]
        others = self.nearest.to(statement.claim.plain, self.options.top_k, but=statement.existing)
        judgements = await self._ask(index, [(number,) for number in others])
        self.statements[index] = supplemented(statement, dict(zip(others, judgements, strict=True)))

    async def _ask(self, index: int, groups: Sequence[Sequence[int]]) -> Sequence[Judgement]:
        """One judgement per group of documents."""
        claim, context = self.statements[index].claim, self.contexts[index]
        joined = ([self.evidence[number] for number in group] for group in groups)
        pairs = [Pair.of(claim, evidence, context, self.question) for evidence in joined]
        return await self.checker.check(pairs) if pairs else ()


def _prepared(
    answer: str, documents: Sequence[Document], checker: Checker, question: str, options: CitationOptions
) -> _Check:
    passages = {document.number: _passage(document) for document in documents if document.number is not None}
    cited = read_citations(answer, passages)
    claims = assign(segment(cited.text), cited)
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
