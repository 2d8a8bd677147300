"""What a claim and the best window of its evidence have in common, as numbers to weigh."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from proxy.backends.checkers.builtin.claims import ClaimView
from proxy.backends.checkers.builtin.conflicts import Conflict, conflict
from proxy.backends.checkers.builtin.matching import Found, matches
from proxy.backends.checkers.builtin.polarity import (
    antonym,
    denies,
    is_negation,
    negated_near,
    strong_missing,
)
from proxy.backends.checkers.builtin.quantities import Told
from proxy.backends.checkers.builtin.tokens import Token
from proxy.backends.checkers.builtin.words import HAN_PLACES

_LOOSE = 0.6
"""Share of kept neighbours below which a claim is not at all in the evidence's own words."""
_LONGEST_GAP = 8
_SHORT_HAN = 12
"""Content characters of a short Chinese claim; CiteCheck, which the regression learns from, has few."""
_SHORT_HAN_RECALL = 0.8
_DENIED = 0.25
"""What is left of the score of a claim that says the window's words with a "not" more or less."""

FEATURES = (
    "recall",
    "near_recall",
    "plain_recall",
    "unmatched_max",
    "unmatched_sum",
    "all_matched",
    "length",
    "bigrams",
    "trigrams",
    "longest_run",
    "longest_gap",
    "gap_share",
    "order",
    "numbers",
    "number_any",
    "number_missing",
    "number_conflict",
    "name_any",
    "name_missing",
    "name_share",
    "word_missing",
    "word_weak",
    "literal",
    "gaps",
    "worst_gap",
    "far_gap",
    "far_any",
    "literal_gap",
    "literal_far",
    "literal_number",
    "literal_name",
    "literal_rarest",
    "verbatim_rarest",
    "lone_gap",
    "lone_worst",
    "negation_added",
    "negation_dropped",
    "antonym",
    "strong_missing",
)
"""The features by name, in the order of the weights."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """A claim held against a window.

    `matched` says per token of the claim how far the window says it, from 0 to 1; `content` are the
    indexes of the tokens that count, `lost` those of them that the window does not say at all. `scope` are
    the tokens of all that a Chinese claim may be put together from; without it that is the window alone.
    `conflict` is a quantity or date of it that the evidence has otherwise.
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
    def denied(self) -> bool:
        """Whether all that parts the claim from the window is a negation on one side only."""
        if self.claim.language == "zh":
            return denies(self.claim.tokens, self.found.tokens)
        return any(negations(self)) and all(is_negation(self.claim.tokens[at]) for at in self.lost)

    @property
    def unsaid(self) -> bool:
        """Whether the evidence lacks what a claim turns on.

        In English a negation, or all of a bare answer, whose question it may say. In Chinese a quantity, date
        or place, or nearly a word of a short claim, in which the regression sees just a character missing.
        """
        if self.claim.language == "en":
            return negations(self)[0] or self._unanswered
        if self.conflict or any(place in self.claim.text and not self._has(place) for place in HAN_PLACES):
            return True
        said = sum(self.matched[at] for at in self.content)
        return len(self.content) <= _SHORT_HAN and said < _SHORT_HAN_RECALL * len(self.content)

    @property
    def _unanswered(self) -> bool:
        answer = self.claim.answer
        own = [at for at in self.content if self.claim.tokens[at].key in answer]
        return bool(own) and not any(self.matched[at] for at in own)

    def _has(self, place: str) -> bool:
        return place in self.found.text or all(pair in self.found.pairs for pair in pairwise(place))

    @property
    def factor(self) -> float:
        """What the calibrated probability is multiplied by: rules for what the data have too little of."""
        return self.leaning * (_DENIED if self.denied or self.unsaid else 1.0)

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
    return Comparison(
        claim, found, near, matched, content, lost, scope, conflict(claim.text, found.text, told)
    )


def features(comparison: Comparison) -> tuple[float, ...]:
    """The values of `FEATURES`, in that order. All are 0 for a claim without content."""
    if not comparison.content:
        return (0.0,) * len(FEATURES)
    values = _overlap(comparison) | _sequence(comparison) | _slots(comparison) | _gaps(comparison)
    values |= _polarity(comparison)
    return tuple(values[name] for name in FEATURES)


def _overlap(comparison: Comparison) -> dict[str, float]:
    """How much is said: words by rarity, or all alike (`plain_`), or with the sentences around (`near_`)."""
    weights, matched, content = comparison.claim.weights, comparison.matched, comparison.content
    tokens, near = comparison.claim.tokens, comparison.near
    total = sum(weights[at] for at in content)
    lost = [weights[at] * (1 - matched[at]) for at in content]
    nearby = sum(weights[at] * max(matched[at], float(tokens[at].key in near)) for at in content)
    return {
        "recall": 1 - sum(lost) / total,
        "near_recall": nearby / total,
        "plain_recall": sum(matched[at] for at in content) / len(content),
        "unmatched_max": max(lost),
        "unmatched_sum": math.log1p(sum(lost)),
        "all_matched": float(min(matched[at] for at in content) >= 1),
        "length": math.log1p(len(content)),
    }


def _sequence(comparison: Comparison) -> dict[str, float]:
    """How far the words stand in the same order: neighbours, runs, and what is missing in a row."""
    keys = [token.key for token in comparison.claim.tokens]
    found, content = comparison.found, comparison.content
    pairs = [pair in found.pairs for pair in pairwise(keys)] or [bool(comparison.matched[0])]
    triples = [one and other for one, other in pairwise(pairs)] or pairs
    gap = max(_runs([not comparison.matched[at] for at in content]), default=0)
    places = [found.places[keys[at]] for at in content if keys[at] in found.places]
    return {
        "bigrams": sum(pairs) / len(pairs),
        "trigrams": sum(triples) / len(triples),
        "longest_run": (max(_runs(pairs), default=0) + 1) / len(keys),
        "longest_gap": float(min(gap, _LONGEST_GAP)),
        "gap_share": gap / len(content),
        "order": _longest_rising(places) / len(places) if places else 0.0,
    }


def _slots(comparison: Comparison) -> dict[str, float]:
    """Numbers and names that are missing, and other words."""
    tokens, matched = comparison.claim.tokens, comparison.matched
    kinds = [tokens[at].kind for at in comparison.content]
    lost = [tokens[at].kind for at in comparison.lost]
    numbers, names = lost.count("number"), lost.count("name")
    own = {token.key for token in tokens}
    rivals = any(number not in own for number in comparison.found.numbers)
    return {
        "numbers": float(min(kinds.count("number"), 3)),
        "number_any": float(numbers > 0),
        "number_missing": float(min(numbers, 2)),
        "number_conflict": float(numbers > 0 and rivals),
        "name_any": float(names > 0),
        "name_missing": float(min(names, 3)),
        "name_share": names / max(kinds.count("name"), 1),
        "word_missing": math.log1p(len(lost) - numbers - names),
        "word_weak": math.log1p(sum(0 < matched[at] < 1 for at in comparison.content)),
    }


def _gaps(comparison: Comparison) -> dict[str, float]:
    """What is missing from a claim that is otherwise the evidence's own words: the mark of a swapped detail.

    `literal` is 1 where all neighbours outside the gaps are neighbours in the window, 0 where 60% are.
    The features named after it count gaps as far as the rest is literal; `lone_` where there is but one.
    """
    tokens, weights = comparison.claim.tokens, comparison.claim.weights
    lost = set(comparison.lost)
    far = {at for at in lost if tokens[at].key not in comparison.near}
    kept = [
        (tokens[at].key, tokens[at + 1].key) in comparison.found.pairs
        for at in range(len(tokens) - 1)
        if at not in lost and at + 1 not in lost
    ]
    literal = max(0.0, (sum(kept) / len(kept) if kept else 0.0) - _LOOSE) / (1 - _LOOSE)
    gaps, far_gaps = _gap_weights(weights, lost), _gap_weights(weights, far)
    worst, far_worst = math.log1p(max(gaps, default=0.0)), math.log1p(max(far_gaps, default=0.0))
    rarest = max((weights[at] for at in lost), default=0.0)
    lone = literal * (len(gaps) == 1)
    return {
        "literal": literal,
        "gaps": math.log1p(len(gaps)),
        "worst_gap": worst,
        "far_gap": far_worst,
        "far_any": float(bool(far)),
        "literal_gap": worst * literal,
        "literal_far": far_worst * literal,
        "literal_number": any(tokens[at].kind == "number" for at in lost) * literal,
        "literal_name": any(tokens[at].kind == "name" for at in lost) * literal,
        "literal_rarest": rarest * literal,
        "verbatim_rarest": rarest * literal**4,
        "lone_gap": lone,
        "lone_worst": lone * worst,
    }


def _polarity(comparison: Comparison) -> dict[str, float]:
    """Signs that a sentence was turned round, or made stronger than the evidence."""
    claim, found = comparison.claim, comparison.found
    added, dropped = negations(comparison)
    return {
        "negation_added": float(added),
        "negation_dropped": float(dropped),
        "antonym": float(antonym(claim, found) is not None),
        "strong_missing": float(min(len(strong_missing(claim, found)), 2)),
    }


def negations(comparison: Comparison) -> tuple[bool, bool]:
    """Whether the claim has a negation that the window lacks, and the other way round."""
    tokens = comparison.claim.tokens
    said = {token.key for token, match in zip(tokens, comparison.matched, strict=True) if match > 0}
    ours = any(is_negation(token) for token in tokens)
    theirs = negated_near(comparison.found.tokens, said)
    return ours and not theirs, theirs and not ours


def _gap_weights(weights: Sequence[float], lost: set[int]) -> list[float]:
    """The weight of each run of tokens in `lost`."""
    sums: list[float] = []
    for at in sorted(lost):
        if at - 1 in lost:
            sums[-1] += weights[at]
        else:
            sums.append(weights[at])
    return sums


def _runs(flags: Sequence[bool]) -> Iterator[int]:
    """The lengths of the runs of True."""
    length = 0
    for flag in (*flags, False):
        if flag:
            length += 1
        elif length:
            yield length
            length = 0


def _longest_rising(places: Sequence[int]) -> int:
    """Length of the longest rising subsequence (Schensted 1961), in n log n."""
    tails: list[int] = []
    for place in places:
        at = bisect_left(tails, place)
        tails[at : at + 1] = [place]
    return len(tails)
