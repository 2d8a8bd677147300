"""What a claim and the best window of its evidence have in common, as numbers to weigh."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import pairwise

from proxy.checkers.builtin.comparison import Comparison, negations
from proxy.checkers.builtin.polarity import antonym, strong_missing

_LOOSE = 0.6
"""Share of kept neighbours below which a claim is not at all in the evidence's own words."""
_LONGEST_GAP = 8

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
    total = sum(weights[at] for at in content)
    lost = [weights[at] * (1 - matched[at]) for at in content]
    return {
        "recall": 1 - sum(lost) / total,
        "near_recall": comparison.near_recall,
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
