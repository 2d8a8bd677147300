"""Word weights out of a corpus."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence

from proxy.checkers.builtin.tokens import tokenize
from proxy.types import Language

_RARE = 8
"""Passages that a word must be in to get a weight of its own."""


def word_weights(texts: Sequence[str], language: Language) -> tuple[dict[str, str], float]:
    """Inverse document frequencies of common keys, in steps of a half, and that of the rarest of them.

    Only words written in lower case count in English: a name never gets a common word's weight.
    """
    kinds = ("word",) if language == "en" else ("word", "han")
    held: Counter[str] = Counter()
    for text in texts:
        held.update({token.key for token in tokenize(text) if token.kind in kinds})
    bins: defaultdict[float, list[str]] = defaultdict(list)
    for word in sorted(held):
        if held[word] >= _RARE:
            bins[max(0.5, round(2 * math.log(len(texts) / held[word])) / 2)].append(word)
    rarest = max(0.5, round(2 * math.log(max(len(texts), _RARE) / _RARE)) / 2)
    return {str(idf): " ".join(words) for idf, words in sorted(bins.items())}, rarest
