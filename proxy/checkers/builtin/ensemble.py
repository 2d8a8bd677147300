"""What the calibrated model weighs: overlap, and what the NLI model of the claim's language says."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from proxy.checkers.builtin.chinese import FEATURES_ZH, features_zh
from proxy.checkers.builtin.comparison import LEAST, Comparison
from proxy.checkers.builtin.features import FEATURES, features
from proxy.checkers.builtin.nli import Entailment
from proxy.types import Language

ENTAILED = "nli_supported"
NLI_INPUTS = (ENTAILED, "nli_contradicted", "nli_unsupported", "nli_word", "nli_log_odds")
"""The NLI model's classes, its doubt of the word that it doubts most, and its log-odds of support."""
INPUTS: Mapping[Language, tuple[str, ...]] = {
    "en": (*FEATURES, *NLI_INPUTS),
    "zh": (*FEATURES_ZH, *NLI_INPUTS),
}
"""The inputs by name, in order: first those that need no model."""
_LEAST_SAID: Mapping[Language, float] = {"en": LEAST, "zh": 0.55}
"""Share of a claim's words, or characters, that its evidence must say for the NLI model to be asked."""
_SURE = 1e-4
"""How near to 0 and 1 a probability counts in log-odds."""
_NOT_ASKED = (0.02, 0.1, 0.88, 0.9, -3.9)


def overlap(comparison: Comparison) -> tuple[float, ...]:
    """The inputs of the claim's language that need no model."""
    return features_zh(comparison) if comparison.claim.language == "zh" else features(comparison)


def asked(comparison: Comparison) -> bool:
    """Whether the NLI model is to be asked too."""
    return comparison.near_recall >= _LEAST_SAID[comparison.claim.language]


def inputs(values: Sequence[float], entailment: Entailment | None) -> tuple[float, ...]:
    """All values of `INPUTS`: what `overlap` gave, then what the NLI model said. `entailment` is None where
    it was not asked."""
    return (*values, *(_told(entailment) if entailment else _NOT_ASKED))


def _told(entailment: Entailment) -> tuple[float, ...]:
    doubt = max((word[2] for word in entailment.words), default=0.0)
    held = min(max(entailment.supported, _SURE), 1 - _SURE)
    odds = math.log(held / (1 - held))
    return entailment.supported, entailment.contradicted, entailment.unsupported, doubt, odds
