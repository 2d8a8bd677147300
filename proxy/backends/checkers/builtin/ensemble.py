"""What the calibrated model weighs: overlap, and in English what the NLI model says."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from proxy.backends.checkers.builtin.chinese import FEATURES_ZH, features_zh
from proxy.backends.checkers.builtin.comparison import LEAST, Comparison
from proxy.backends.checkers.builtin.features import FEATURES, features
from proxy.backends.checkers.builtin.nli import Entailment
from proxy.types import Language

ENTAILED = "nli_supported"
NLI_INPUTS = (ENTAILED, "nli_contradicted", "nli_unsupported", "nli_word", "nli_log_odds")
"""The NLI model's classes, its doubt of the word that it doubts most, and its log-odds of support."""
INPUTS: Mapping[Language, tuple[str, ...]] = {"en": (*FEATURES, *NLI_INPUTS), "zh": FEATURES_ZH}
"""The inputs by name, in order; the base model knows few Chinese characters, so there it isn't asked."""
_NEAR_RECALL = FEATURES.index("near_recall")
_SURE = 1e-4
"""How near to 0 and 1 a probability counts in log-odds."""
_NOT_ASKED = (0.02, 0.1, 0.88, 0.9, -3.9)


def overlap(comparison: Comparison) -> tuple[float, ...]:
    """The inputs of the claim's language that need no model."""
    return features_zh(comparison) if comparison.claim.language == "zh" else features(comparison)


def asked(language: Language, values: Sequence[float]) -> bool:
    """Whether the NLI model is to be asked too, by what `overlap` gave."""
    return language == "en" and values[_NEAR_RECALL] >= LEAST


def inputs(language: Language, values: Sequence[float], entailment: Entailment | None) -> tuple[float, ...]:
    """All values of `INPUTS`; `entailment` is None where the NLI model was not asked."""
    if language == "zh":
        return tuple(values)
    return (*values, *(_told(entailment) if entailment else _NOT_ASKED))


def _told(entailment: Entailment) -> tuple[float, ...]:
    doubt = max((word[2] for word in entailment.words), default=0.0)
    held = min(max(entailment.supported, _SURE), 1 - _SURE)
    odds = math.log(held / (1 - held))
    return entailment.supported, entailment.contradicted, entailment.unsupported, doubt, odds
