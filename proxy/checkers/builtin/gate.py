"""Two doubts as one: is the claim said, and is it the evidence's own sentence with a detail exchanged."""

from __future__ import annotations

import math


def gated(support: float, swap: float) -> float:
    """The log-odds of P(supported) * (1 - P(swapped)), out of the log-odds of the two probabilities.

    Two models, since a lone gap in a sentence that is otherwise the evidence's own means little in a
    citation, which words things its own way, and all in a copied sentence.
    """
    log_both = -_softplus(-support) - _softplus(swap)
    return log_both - math.log(-math.expm1(min(log_both, -1e-12)))


def _softplus(value: float) -> float:
    """log(1 + exp(value)) without overflow."""
    return max(value, 0.0) + math.log1p(math.exp(-abs(value)))
