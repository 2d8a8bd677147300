"""A claim held against the window of evidence that says most of it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from proxy.checkers.builtin.claim_view import ClaimView
from proxy.checkers.builtin.conflicts import (
    Conflict,
    conflict,
    exchanged_month,
    exchanged_unit,
    rival_name,
    rival_number,
)
from proxy.checkers.builtin.matching import Found, matches
from proxy.checkers.builtin.polarity import denies, is_negation, negated_near
from proxy.checkers.builtin.quantities import Told
from proxy.checkers.builtin.tokens import Token
from proxy.checkers.builtin.word_lists import HAN_PLACES

LEAST = 0.4
"""Share of an English claim's words that its evidence must say; else it fails, and no model is asked."""
_SHORT_HAN = 12
"""Content characters of a short Chinese claim; CiteCheck, which the regression learns from, has few."""
_SHORT_HAN_RECALL = 0.8
SAID = 0.6
"""Share of a claim's words but numbers and names that a window must say to be about the same thing."""
_ENTAILED = 0.9
"""P(supported) by the NLI model from which on it may be another word that bears a claim's negation out."""
_BORNE_OUT = 0.5
"""The same of a number that is not in the evidence as such."""
_DENIED = 0.25
"""What is left of the score of a claim that says the window's words with a "not" more or less."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """A claim held against a window.

    `matched` says per token of the claim how far the window says it, from 0 to 1; `content` are the
    indexes of the tokens that count, `lost` those of them that the window does not say at all. `scope` are
    the tokens of all that a Chinese claim may be put together from; without it that is the window alone.
    `conflict` is a quantity or date of it that the evidence has otherwise, in English a unit or a month.
    """

    claim: ClaimView
    found: Found
    near: frozenset[str]
    matched: tuple[float, ...]
    content: tuple[int, ...]
    lost: tuple[int, ...]
    scope: tuple[Token, ...] = ()
    conflict: Conflict | None = None

    @property
    def near_recall(self) -> float:
        """The share of the content words, by rarity, that the window says or the sentences around it have."""
        tokens, weights = self.claim.tokens, self.claim.weights
        said = sum(
            weights[at] * max(self.matched[at], float(tokens[at].key in self.near)) for at in self.content
        )
        return said / sum(weights[at] for at in self.content) if self.content else 0.0

    @property
    def denied(self) -> bool:
        """Whether all that parts the claim from the window is a negation on one side only."""
        if self.claim.language == "zh":
            return denies(self.claim.tokens, self.found.tokens)
        return any(negations(self)) and all(is_negation(self.claim.tokens[at]) for at in self.lost)

    def unsaid(self, entailed: float) -> bool:
        """Whether the evidence lacks what a claim turns on; `entailed` is the NLI model's P(supported).

        In English most of the words, a negation or number (unless the model is sure of the claim), a unit or
        month, a number or name in whose place it has another one, or all of a bare answer, whose question it
        may say. In Chinese a quantity, date or place, or nearly a word of a short claim, in which the
        regression sees just a character missing.
        """
        if self.conflict:
            return True
        if self.claim.language == "en":
            negated = entailed < _ENTAILED and negations(self)[0]
            return self.near_recall < LEAST or negated or self._exchanged(entailed) or self._unanswered
        if any(place in self.claim.text and not self._has(place) for place in HAN_PLACES):
            return True
        said = sum(self.matched[at] for at in self.content)
        return len(self.content) <= _SHORT_HAN and said < _SHORT_HAN_RECALL * len(self.content)

    @property
    def rest_said(self) -> float:
        """Recall of the content words that are neither numbers nor names."""
        tokens, weights = self.claim.tokens, self.claim.weights
        rest = [at for at in self.content if tokens[at].kind not in ("number", "name")]
        total = sum(weights[at] for at in rest)
        return sum(weights[at] * self.matched[at] for at in rest) / total if total else 0.0

    def _exchanged(self, entailed: float) -> bool:
        """Whether a number or name of an English claim is likely another one."""
        tokens, window = self.claim.tokens, self.found.tokens
        if entailed < _BORNE_OUT and any(tokens[at].kind == "number" for at in self.lost):
            return True
        renamed = self.rest_said >= SAID and rival_name(tokens, self.lost, window) is not None
        return renamed or rival_number(tokens, self.lost, window) is not None

    @property
    def _unanswered(self) -> bool:
        answer = self.claim.answer
        own = [at for at in self.content if self.claim.tokens[at].key in answer]
        return bool(own) and not any(self.matched[at] for at in own)

    def _has(self, place: str) -> bool:
        """Whether a place stands in what the claim may be put together from, not anywhere in the evidence."""
        said = "".join(token.key for token in self.scope)
        return place in said or all(pair in self.found.pairs for pair in pairwise(place))

    def factor(self, entailed: float = 0.0) -> float:
        """What the calibrated probability is multiplied by: rules for what the data have too little of.

        `entailed` is the NLI model's P(supported), 0 where it was not asked.
        """
        return self.leaning * (_DENIED if self.denied or self.unsaid(entailed) else 1.0)

    @property
    def leaning(self) -> float:
        """How much of what the claim leans on the evidence says: 1 for a claim that stands alone.

        Half of the question's words are enough, since a question is put in words of its own; of the names
        that a pronoun may stand for, one.
        """
        known = self.near | self.found.keys
        share = 1.0
        if self.claim.asked:
            hits = sum(key in known for key in self.claim.asked)
            share = min(1.0, 2 * hits / len(self.claim.asked))
        return share if not self.claim.subjects or self.claim.subjects & known else 0.0


def compare(
    claim: ClaimView,
    found: Found,
    near: frozenset[str],
    scope: tuple[Token, ...] = (),
    told: tuple[Told, ...] = (),
) -> Comparison:
    """Holds a claim against a window; `near` are the keys of the sentences around it and of the title, `told`
    the quantities and dates of a Chinese claim's `scope`."""
    matched = tuple(matches(claim.tokens, found))
    content = tuple(at for at, weight in enumerate(claim.weights) if weight > 0)
    lost = tuple(at for at in content if not matched[at])
    if claim.language == "zh":
        otherwise = conflict(claim.text, found.text, told)
    else:
        otherwise = exchanged_unit(claim.text, claim.tokens, found.text, found.tokens)
        if otherwise is None and found.tokens:
            otherwise = exchanged_month(claim.text, found.text, found.tokens[0].start, found.tokens[-1].end)
    return Comparison(claim, found, near, matched, content, lost, scope, otherwise)


def negations(comparison: Comparison) -> tuple[bool, bool]:
    """Whether the claim has a negation that the window lacks, and the other way round."""
    tokens = comparison.claim.tokens
    said = {token.key for token, match in zip(tokens, comparison.matched, strict=True) if match > 0}
    ours = any(is_negation(token) for token in tokens)
    theirs = negated_near(comparison.found.tokens, said)
    return ours and not theirs, theirs and not ours
