"""Splits a sentence into clauses by rule, without a model. In doubt a sentence stays whole.

RefChecker (section 3.1) compares triplets with sub-sentences, which an LLM writes. Here a sub-sentence is a
clause: it begins at a semicolon, a conjunction or a relative pronoun, and one without a subject of its own
takes that of the sentence. A sentence is not split where one expression governs several clauses: a condition,
a report ("he claimed that"), a modal verb, a disjunction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from proxy.claims.context import RenderedClaim, rendered
from proxy.claims.decompose.chinese_clauses import chinese_clauses
from proxy.claims.decompose.clause_words import Clause
from proxy.claims.decompose.english_clauses import english_clauses
from proxy.text.scripts import language_of
from proxy.text.words import uncovered
from proxy.types import Claim, Extraction, Language

MAX_CHARS = 2_000
"""A longer sentence stays whole."""

_SPLITTERS: Mapping[Language, Callable[[RenderedClaim], Sequence[Clause]]] = {
    "en": english_clauses,
    "zh": chinese_clauses,
}


def clauses(claim: Claim) -> tuple[Claim, ...]:
    """The clauses of a sentence in the order of the draft, at least two, or () where it stays whole.

    `start` and `end` are a span of the draft inside the claim's, `text` is the draft there; `plain` stands
    alone: with the subject, and the phrase before it, that the clause shares. The `plain`s together say each
    content word of the sentence.
    """
    text = rendered(claim) if len(claim.text) <= MAX_CHARS else None
    if text is None or text.text.endswith(("?", "？")):
        return ()
    split = _SPLITTERS[language_of(text.text)](text)
    if len(split) < 2 or uncovered(text.text, (clause.plain for clause in split)):
        return ()
    return tuple(
        _part(claim, text, clause) for clause in sorted(split, key=lambda clause: (clause.start, clause.end))
    )


def _part(claim: Claim, text: RenderedClaim, clause: Clause) -> Claim:
    start, end = text.span(clause.start, clause.end)
    return replace(
        claim,
        start=claim.start + start,
        end=claim.start + end,
        text=claim.text[start:end],
        plain=clause.plain,
    )


class ClauseExtractor:
    """`protocols.Extractor` by the rules of `clauses`: fast enough to run on the event loop."""

    async def extract(self, claims: Sequence[Claim], question: str) -> Sequence[Extraction]:
        """One extraction per claim, in order, without any error. The question is not needed."""
        return [Extraction(clauses(claim) if claim.checkable else ()) for claim in claims]
