"""How faithful the citations of an answer are, computed from the judgements of its statements.

A statement is fully supported or it is not (CiteCheck, 2025). Citation recall and precision are those of ALCE
(Gao et al., Enabling Large Language Models to Generate Text with Citations, 2023, section 4).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from proxy.types import Claim, Judgement, Usage, Verdict

NO_CITATION = "no citation"
_MAX_DOUBTED = 10


@dataclass(frozen=True, slots=True)
class Citation:
    """One number that a statement cites.

    `alone` is the judgement of its document by itself, None where there is no such document or it was not
    judged. `superfluous`: it does not support the statement alone, and the others do without it; None where
    that is unknown.
    """

    number: int
    exists: bool = True
    alone: Judgement | None = None
    superfluous: bool | None = None

    @property
    def supports(self) -> bool | None:
        """Whether the document alone fully supports the statement; None where nobody could tell."""
        if not self.exists:
            return False
        return None if self.alone is None else _is_supported(self.alone)

    @property
    def relevant(self) -> bool:
        """Whether it is known to be needed, or to support the statement by itself."""
        return self.exists and (self.supports is True or self.superfluous is False)


@dataclass(frozen=True, slots=True)
class Statement:
    """One claim of an answer, `answer[start:end]` with the markers in it, and the result for its citations.

    `missing` are documents that it does not cite but that alone support it; they are looked for where its own
    citations do not. `uncovered` are its unsupported words, from checkers that report them.
    """

    claim: Claim
    start: int
    end: int
    verdict: Verdict
    score: float = 0.0
    citations: tuple[Citation, ...] = ()
    missing: tuple[int, ...] = ()
    uncovered: tuple[str, ...] = ()
    reason: str = ""
    usage: Usage = field(default_factory=Usage)

    @property
    def existing(self) -> tuple[int, ...]:
        """The cited numbers that have a document."""
        return tuple(citation.number for citation in self.citations if citation.exists)

    @property
    def recalled(self) -> bool:
        """ALCE's citation recall of a statement: it has citations and these together fully support it."""
        return self.verdict is Verdict.SUPPORTED


@dataclass(frozen=True, slots=True)
class CitationReport:
    """The statements of an answer, in order; `error` says why not all could be checked."""

    statements: tuple[Statement, ...]
    error: str = ""

    @property
    def checkable(self) -> tuple[Statement, ...]:
        """The statements that count: no greetings, questions, opinions."""
        return tuple(statement for statement in self.statements if statement.claim.checkable)

    @property
    def recall(self) -> float | None:
        """The share of statements that their citations fully support; None where nothing is stated."""
        statements = self.checkable
        return sum(statement.recalled for statement in statements) / len(statements) if statements else None

    @property
    def precision(self) -> float | None:
        """The share of citations that are not irrelevant, over all citations of the answer.

        One is right only where its statement is recalled, and irrelevant where it does not support the
        statement alone and the others do without it. As in ALCE's code 0 where nothing is cited. Other than
        there, a number that a statement cites twice counts once, one without a document is a wrong citation,
        and all citations of a statement are read, not the first three.
        """
        statements = self.checkable
        cited = sum(len(statement.citations) for statement in statements)
        right = sum(
            statement.recalled and citation.relevant
            for statement in statements
            for citation in statement.citations
        )
        if not statements:
            return None
        return right / cited if cited else 0.0

    @property
    def f1(self) -> float | None:
        """The harmonic mean of precision and recall, 0 where both are."""
        precision, recall = self.precision, self.recall
        if precision is None or recall is None:
            return None
        return 2 * precision * recall / (precision + recall) if precision + recall else 0.0

    @property
    def faithful(self) -> bool:
        """Whether every statement is fully supported by what it cites."""
        return all(statement.recalled for statement in self.checkable)

    @property
    def usage(self) -> Usage:
        """What all judgements cost."""
        return sum((statement.usage for statement in self.statements), Usage())


def stated(claim: Claim, start: int, end: int, documents: Collection[int]) -> Statement:
    """A statement before checking. One that cites no existing document is UNSUPPORTED already."""
    citations = tuple(Citation(number, number in documents) for number in claim.cited)
    statement = Statement(claim, start, end, Verdict.NOT_CHECKABLE, citations=citations)
    if not claim.checkable:
        return statement
    absent = _absent(citations)
    if statement.existing:
        return replace(statement, verdict=Verdict.UNVERIFIED, reason=absent)
    return replace(statement, verdict=Verdict.UNSUPPORTED, reason=absent or NO_CITATION)


def judged(statement: Statement, together: Judgement, alone: Mapping[int, Judgement]) -> Statement:
    """The statement with the judgements of its documents joined, and of each alone by its number.

    A statement that one document fully supports is supported by all of them. It is UNSUPPORTED where it also
    cites a number without a document: part of its basis can't be looked up.
    """
    judgements = (together, *alone.values())
    supporting = [judgement for judgement in judgements if judgement.verdict is Verdict.SUPPORTED]
    best = max(supporting, key=lambda judgement: judgement.score, default=together)
    absent = _absent(statement.citations)
    one_supports = any(_is_supported(judgement) for judgement in alone.values())
    citations = tuple(
        replace(
            citation,
            alone=alone.get(citation.number),
            superfluous=_superfluous(citation.number, alone, supporting=one_supports)
            if supporting and citation.exists
            else None,
        )
        for citation in statement.citations
    )
    decided = replace(
        statement,
        citations=citations,
        uncovered=tuple(statement.claim.plain[start:end] for start, end in best.missing),
        usage=_spent([together, *alone.values()] if len(alone) > 1 else [together]),
    )
    if supporting and absent:
        return replace(decided, verdict=Verdict.UNSUPPORTED)
    reason = "; ".join(filter(None, (absent, best.reason)))
    return replace(decided, verdict=best.verdict, score=best.score, reason=reason)


def doubtful(statement: Statement) -> tuple[int, ...]:
    """The citations for which only a judgement of all other documents shows whether they are superfluous.

    Empty where a statement cites over ten documents, since each would be read once for every other.
    """
    if not statement.recalled or not 3 <= len(statement.existing) <= _MAX_DOUBTED:
        return ()
    return tuple(
        citation.number
        for citation in statement.citations
        if citation.exists and citation.superfluous is None and citation.supports is False
    )


def thinned(statement: Statement, without: Mapping[int, Judgement]) -> Statement:
    """The statement with judgements of all its documents but one, by the number of the one left out."""
    citations = tuple(
        replace(citation, superfluous=_is_supported(without[citation.number]))
        if citation.number in without
        else citation
        for citation in statement.citations
    )
    return replace(statement, citations=citations, usage=statement.usage + _spent(without.values()))


def supplemented(statement: Statement, others: Mapping[int, Judgement]) -> Statement:
    """The statement with the judgements of documents that it does not cite, by their numbers."""
    missing = tuple(number for number, judgement in others.items() if judgement.verdict is Verdict.SUPPORTED)
    return replace(statement, missing=missing, usage=statement.usage + _spent(others.values()))


def _superfluous(number: int, alone: Mapping[int, Judgement], *, supporting: bool) -> bool | None:
    """Whether a citation of a supported statement is superfluous, as far as single judgements tell."""
    if _is_supported(alone[number]) is not False:
        return False if _is_supported(alone[number]) else None
    # It does not support the statement itself, so any that does is another one.
    if supporting:
        return True
    others = [_is_supported(alone[other]) for other in alone if other != number] if len(alone) == 2 else []
    return others[0] if others else None


def _is_supported(judgement: Judgement) -> bool | None:
    return None if judgement.verdict is Verdict.UNVERIFIED else judgement.verdict is Verdict.SUPPORTED


def _absent(citations: Sequence[Citation]) -> str:
    numbers = [f"[{citation.number}]" for citation in citations if not citation.exists]
    return f"no document {', '.join(numbers)}" if numbers else ""


def _spent(judgements: Iterable[Judgement]) -> Usage:
    return sum((judgement.usage for judgement in judgements), Usage())
