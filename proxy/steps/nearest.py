"""Which of some documents share most with a claim."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass

_WORD = re.compile(r"[^\W\u3400-\u9fff]+|[\u3400-\u9fff]")


@dataclass(frozen=True, slots=True)
class Nearest:
    """Documents by their numbers, as the words (of Chinese, the characters) in them."""

    words: Mapping[int, frozenset[str]]
    documents_with: Mapping[str, int]

    def to(self, text: str, k: int, but: Collection[int] = ()) -> list[int]:
        """The numbers of at most k documents, ascending: those with most of the text's words, rare ones more.

        A word of the text weighs by its inverse document frequency. `but` are left out.
        """
        wanted = _words(text)
        shared = {number: self._shared(wanted, number) for number in self.words if number not in but}
        return sorted(sorted(shared, key=lambda number: (-shared[number], number))[:k])

    def _shared(self, wanted: frozenset[str], number: int) -> float:
        common = wanted & self.words[number]
        return sum(math.log(1 + len(self.words) / self.documents_with[word]) for word in common)


def nearest(texts: Mapping[int, str]) -> Nearest:
    """Documents, by their numbers."""
    words = {number: _words(text) for number, text in texts.items()}
    return Nearest(words, Counter(word for one in words.values() for word in one))


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.casefold()))
