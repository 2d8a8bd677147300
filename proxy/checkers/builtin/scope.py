"""The sentences of an evidence that a Chinese claim may have been put together from."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from proxy.checkers.builtin.evidence_windows import EvidenceView, Window
from proxy.checkers.builtin.tokens import Token

_AROUND = 3
"""Sentences on either side of the window that are in the scope whatever they say."""
_SHARED = 3
"""Pairs of neighbours that another sentence must have in common with the claim."""
_BUDGET = 600
"""Tokens of the scope; the window and its surroundings are kept whatever their length."""


def scope(claim: Sequence[Token], evidence: EvidenceView, window: Window) -> tuple[int, ...]:
    """The indexes of the window's sentences, of what surrounds it, and of the sentences that say most of
    the claim, in the order of the text.

    A sentence that has little in common with the claim stays out, so that other text beside the evidence
    changes nothing. Linear in the evidence.
    """
    first, last = max(0, window.first - _AROUND), min(len(evidence.bounds) - 1, window.last + _AROUND)
    chosen = set(range(first, last + 1))
    pairs = {
        (one.key, other.key) for one, other in pairwise(claim) if one.kind != "stop" or other.kind != "stop"
    }
    shared = {at: len(pairs & said) for at, said in enumerate(evidence.units) if at not in chosen}
    left = _BUDGET - sum(_length(evidence, at) for at in chosen)
    for at in sorted(shared, key=lambda one: (-shared[one], one)):
        left -= _length(evidence, at)
        if left < 0 or shared[at] < _SHARED:
            break
        chosen.add(at)
    return tuple(sorted(chosen))


def _length(evidence: EvidenceView, at: int) -> int:
    first, last = evidence.bounds[at]
    return last - first
