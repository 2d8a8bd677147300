r"""Ranges of characters by script, for the character classes of regular expressions; the language of a text.

    re.compile(f"[{HAN}]")

Each range is defined here and nowhere else.
"""

from __future__ import annotations

import re

from proxy.types import Language

HAN = "\u3005\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
"""Chinese characters, also as Japanese and Korean write them, and the mark that repeats one (U+3005)."""

KANA = "\u3040-\u30ff"
"""Japanese Hiragana and Katakana."""

HANGUL = "\uac00-\ud7af"
"""Korean syllables."""

UNSPACED = HAN + KANA
"""Letters of scripts that put no space between words."""

CJK = UNSPACED + HANGUL
"""Letters of Chinese, Japanese and Korean."""

WIDE_PUNCTUATION = "\u3000-\u303f\uff00-\uffef"
"""CJK punctuation and full-width forms, the full-width letters and digits among them."""

WIDE = UNSPACED + WIDE_PUNCTUATION
"""Characters between which a line may end without standing for a space."""

_HAN = re.compile(f"[{HAN}]")
_UNSPACED = re.compile(f"[{UNSPACED}]")
_WORD = re.compile(rf"[^\W\d_{CJK}]+")

_ENOUGH = 20_000
"""Characters of a text that tell its language; a request may hold millions."""


def has_han(text: str) -> bool:
    """Whether there is a Chinese character in the text."""
    return _HAN.search(text) is not None


def han_count(text: str) -> int:
    """The number of Chinese characters in the text."""
    return sum(1 for _ in _HAN.finditer(text))


def language_of(text: str) -> Language:
    """`zh` where the text has at least as many Chinese or Japanese letters as words in other scripts.

    Otherwise `en`. Chinese answers are full of Latin names, so words are counted, not letters. Of a long text
    the beginning counts.
    """
    unspaced = sum(1 for _ in _UNSPACED.finditer(text, 0, _ENOUGH))
    return "zh" if unspaced and unspaced >= sum(1 for _ in _WORD.finditer(text, 0, _ENOUGH)) else "en"
