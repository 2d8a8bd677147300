"""The language of a text, of the two that the project knows."""

from __future__ import annotations

import re

from proxy.text.scripts import CJK, UNSPACED
from proxy.types import Language

_UNSPACED = re.compile(f"[{UNSPACED}]")
_WORD = re.compile(rf"[^\W\d_{CJK}]+")


def language_of(text: str) -> Language:
    """`zh` where the text has at least as many Chinese or Japanese letters as words in other scripts.

    Otherwise `en`. Chinese answers are full of Latin names, so words are counted, not letters.
    """
    unspaced = sum(1 for _ in _UNSPACED.finditer(text))
    return "zh" if unspaced and unspaced >= sum(1 for _ in _WORD.finditer(text)) else "en"
