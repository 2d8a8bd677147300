"""Words that turn a sentence round or strengthen it: negations, opposites, "only" and its like."""

from __future__ import annotations

from collections.abc import Sequence

from proxy.checkers.builtin.claim_view import ClaimView
from proxy.checkers.builtin.matching import Found
from proxy.checkers.builtin.tokens import Token, stem
from proxy.checkers.builtin.word_lists import (
    ANTONYMS,
    HAN_ANTONYMS,
    HAN_NEGATIONS,
    HAN_STRONG,
    NEGATIONS,
    STRONG_WORDS,
)

_NEAR = 4
"""Tokens around a negation within which a word of the claim makes it the claim's business."""
_NEGATIONS = frozenset({*NEGATIONS, *map(stem, NEGATIONS), *HAN_NEGATIONS})
_STRONG = frozenset({*STRONG_WORDS, *map(stem, STRONG_WORDS)})
_SPELT = {stem(word): word for word in ANTONYMS}
_ANTONYMS = {stem(word): frozenset(map(stem, others)) for word, others in ANTONYMS.items()}


def is_negation(token: Token) -> bool:
    """Whether a token turns its sentence round."""
    return token.key in _NEGATIONS


def negated_near(tokens: Sequence[Token], said: set[str]) -> bool:
    """Whether a negation stands close to a content word out of `said`."""
    for at, token in enumerate(tokens):
        if is_negation(token):
            around = tokens[max(0, at - _NEAR) : at + _NEAR + 1]
            if any(other.key in said and other.kind != "stop" for other in around if other is not token):
                return True
    return False


def denies(claim: Sequence[Token], window: Sequence[Token]) -> bool:
    """Whether a window says a Chinese claim word for word but for its negations; fillers do not count."""
    if _joined(claim, negations=True) in _joined(window, negations=True):
        return False
    return _joined(claim, negations=False) in _joined(window, negations=False)


def _joined(tokens: Sequence[Token], *, negations: bool) -> str:
    return " ".join(
        token.key
        for token in tokens
        if token.kind != "stop" and token.key != "有" and (negations or not is_negation(token))
    )


def antonym(claim: ClaimView, found: Found) -> tuple[str, str] | None:
    """A word of the claim that the window lacks, and its opposite that only the window has."""
    if claim.language == "zh":
        window = "".join(token.key for token in found.tokens)
        for word, others in HAN_ANTONYMS.items():
            if word in claim.text and word not in window:
                for other in sorted(others):
                    if other in window and other not in claim.text:
                        return word, other
        return None
    own = {token.key for token in claim.tokens}
    for token in claim.tokens:
        if token.key in _ANTONYMS and token.key not in found.keys:
            for other in sorted(_ANTONYMS[token.key] - own):
                if other in found.keys:
                    return _SPELT[token.key], _SPELT[other]
    return None


def strong_missing(claim: ClaimView, found: Found) -> list[str]:
    """Words of the claim such as "only", "all" and "first" that the window lacks."""
    if claim.language == "zh":
        window = "".join(token.key for token in found.tokens)
        return [word for word in HAN_STRONG if word in claim.text and word not in window]
    return [token.key for token in claim.tokens if token.key in _STRONG and token.key not in found.keys]
