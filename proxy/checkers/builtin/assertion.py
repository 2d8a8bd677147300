"""What an evidence asserts: it, without the sentences that have a claim's words in a frame.

Word overlap takes `A checker must say that "X" is true` for X, and so does a small NLI model. Only a
sentence that says most of the claim is looked at, so that all other evidence is read as it is.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Set

from proxy.checkers.builtin.claim_view import ClaimView
from proxy.checkers.builtin.evidence_windows import EvidenceView, Unit
from proxy.checkers.builtin.nonveridical import scopes
from proxy.checkers.injection import blanked

_SAID = 0.6
"""Share of a claim's words, by weight, that must stand in a frame."""
_LONGEST = 1_000
"""Code points of a sentence that a frame is looked for in."""
_YES = re.compile(r"[\s\"'“”「」]{0,4}(?:(?:yes|indeed|correct|right)\b|是的|对|没错|的确)", re.I)


def asserted(evidence: EvidenceView, claim: ClaimView) -> str:
    """The evidence's text with each sentence that only mentions the claim replaced by line breaks, so that
    offsets hold; the text itself where there is none. Linear in the evidence."""
    weights: defaultdict[Unit, float] = defaultdict(float)
    for token, weight in zip(claim.tokens, claim.weights, strict=True):
        weights[token.key] += weight
    least = _SAID * sum(weights.values())
    spans = [
        evidence.sentences[at]
        for at, said in enumerate(evidence.units)
        if _weight(weights, said) >= least > 0 and _mentioned(evidence, at, claim.text, weights, least)
    ]
    return blanked(evidence.text, spans)


def _mentioned(
    evidence: EvidenceView, at: int, claim: str, weights: Mapping[Unit, float], least: float
) -> bool:
    """Whether a frame holds `least` of the claim, and it is no question that the next sentence affirms."""
    start, end = evidence.sentences[at]
    if _YES.match(evidence.text, end):
        return False
    end = min(end, start + _LONGEST)
    tokens = evidence.tokens[slice(*evidence.bounds[at])]
    return any(
        _weight(
            weights, {one.key for one in tokens if first <= one.start - start and one.end - start <= last}
        )
        >= least
        for first, last in scopes(evidence.text[start:end], claim)
    )


def _weight(weights: Mapping[Unit, float], said: Set[Unit] | Set[str]) -> float:
    """What is said of the claim, by the weights of its keys; those of neighbours count for nothing here."""
    return sum(weights[unit] for unit in said if unit in weights)
