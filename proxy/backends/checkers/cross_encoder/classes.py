"""What the classes of a model mean."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from proxy.types import NLILabel

Floats = NDArray[np.float64]

_WORDS: Mapping[NLILabel, frozenset[str]] = {
    "entailment": frozenset(
        "entailment entail entails entailed support supports supported consistent factual faithful grounded "
        "attributable".split()
    ),
    "neutral": frozenset(
        "neutral not_entailment not_entailed not_supported unsupported not_enough_info nei inconsistent "
        "hallucination hallucinated unfaithful ungrounded not_attributable extrapolatory".split()
    ),
    "contradiction": frozenset(
        "contradiction contradict contradicts contradicted contradictory refute refutes refuted".split()
    ),
}
_MEANINGS: Mapping[str, NLILabel] = {word: label for label, words in _WORDS.items() for word in words}


@dataclass(frozen=True, slots=True)
class Classes:
    """The classes of a model, by index. A model with one output has no classes: that output is entailment."""

    labels: tuple[NLILabel, ...]

    def probabilities(self, outputs: Floats) -> Floats:
        """Of a model's outputs, shape (n, classes), the softmax; of a single output the sigmoid."""
        if len(self.labels) == 1:
            return 1 / (1 + np.exp(-np.clip(outputs, -500, 500)))
        odds = np.exp(outputs - outputs.max(axis=1, keepdims=True))
        shares: Floats = odds / odds.sum(axis=1, keepdims=True)
        return shares

    def entailment(self, probabilities: Floats) -> Floats:
        """Shape (n,)."""
        return probabilities[:, self.labels.index("entailment")]

    def contradicts(self, probabilities: Floats) -> bool:
        """Whether of one row, shape (classes,), contradiction is the likeliest."""
        return self.labels[int(probabilities.argmax())] == "contradiction"


def read_classes(id2label: Mapping[int, str], given: Sequence[NLILabel] = ()) -> Classes:
    """The classes by the model's own names for them, or those `given` in their order.

    Raises:
        ValueError: a name is not understood, or the names can't be right. It says what to set.
    """
    names = [id2label[index] for index in sorted(id2label)]
    if given and len(given) != len(names):
        raise ValueError(f"it has {len(names)} classes ({', '.join(names)}), and `labels` names {len(given)}")
    if given:
        return Classes(tuple(given))
    if len(names) == 1:
        return Classes(("entailment",))
    meanings = [_MEANINGS.get(re.sub(r"[\s-]+", "_", name.strip().casefold())) for name in names]
    labels = tuple(meaning for meaning in meanings if meaning is not None)
    if len(labels) < len(names) or labels.count("entailment") != 1:
        raise ValueError(
            f"its classes are called {', '.join(names)}: say in `labels` which of them, in this order, is "
            "entailment, neutral or contradiction"
        )
    return Classes(labels)
