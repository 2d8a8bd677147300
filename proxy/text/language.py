"""The language that a text is in, of those whose words we know."""

from __future__ import annotations

import re

from proxy.types import Language

_CHINESE = re.compile(r"[㐀-鿿豈-﫿]")
_LETTER = re.compile(r"[A-Za-z]")


def language_of(text: str) -> Language:
    """Chinese where it has at least a third as many Chinese characters as Latin letters, else English.

    A Chinese character carries about as much as a short word, and Chinese answers are full of Latin names.
    """
    chinese = sum(1 for _ in _CHINESE.finditer(text))
    return "zh" if chinese and 3 * chinese >= sum(1 for _ in _LETTER.finditer(text)) else "en"
