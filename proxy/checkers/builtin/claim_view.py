"""A claim, read once for all evidence it is held against."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from proxy.checkers.builtin.tokens import Token, tokenize
from proxy.checkers.builtin.word_lists import HAN_PRONOUNS, PRONOUNS
from proxy.text.language import language_of
from proxy.types import Language, Pair

_SHORT = {"en": 3, "zh": 6}
"""Content tokens of the longest claim that is taken for a bare answer to its question."""
_AFFIRMED = frozenset({"yes"})
"""Answers that say nothing of their own."""
_SENTENCE_END = re.compile(r"[.!?:;\n。！？；：\"“]")


@dataclass(frozen=True, slots=True)
class Lexicon:
    """How rare words are: the inverse document frequency of common keys, and `rarest` of all others."""

    idf: Mapping[str, float]
    rarest: float

    @classmethod
    def of(cls, bins: Mapping[str, str], rarest: float) -> Lexicon:
        """Out of weights, each with the words that have it, separated by spaces."""
        return cls({word: float(idf) for idf, words in bins.items() for word in words.split()}, rarest)

    def weight(self, token: Token) -> float:
        """What a token of a claim counts: nothing for a stop word, more for a rarer word."""
        return 0.0 if token.kind == "stop" else self.idf.get(token.key, self.rarest)


@dataclass(frozen=True, slots=True)
class ClaimView:
    """A claim's tokens with a weight each, and what it leans on.

    A bare answer is read with its question behind it; `asked` are the keys of the question's content words,
    `answer` those of its own, and both are empty of any other claim.
    `subjects` are those of the names that the pronoun at its start may stand for: any of them will do.
    """

    text: str
    language: Language
    tokens: tuple[Token, ...]
    weights: tuple[float, ...]
    asked: tuple[str, ...] = ()
    subjects: frozenset[str] = frozenset()
    answer: frozenset[str] = frozenset()


def read_claim(pair: Pair, lexicons: Mapping[Language, Lexicon]) -> ClaimView:
    """The claim of `pair`, whole, with what it takes from the pair's question and context."""
    language = language_of(pair.claim)
    lexicon = lexicons[language]
    text = pair.claim
    tokens = _named(text, tokenize(text), lexicon)
    subjects: frozenset[str] = frozenset()
    if pair.context and _leans(text, tokens):
        subjects = _names(_named(pair.context, tokenize(pair.context), lexicon))
    asked: tuple[Token, ...] = ()
    answer: frozenset[str] = frozenset()
    content = sum(token.kind != "stop" for token in tokens)
    if 0 < content <= _SHORT[language] and pair.question:
        asked = tuple(
            token._replace(start=token.start + len(text) + 1, end=token.end + len(text) + 1)
            for token in _named(pair.question, tokenize(pair.question), lexicon)
        )
        answer = frozenset(token.key for token in tokens if token.kind != "stop") - _AFFIRMED
        text = f"{text} {pair.question}"
    tokens = (*tokens, *asked)
    weights = tuple(lexicon.weight(token) for token in tokens)
    words = tuple(token.key for token in asked if token.kind != "stop")
    return ClaimView(text, language, tokens, weights, words, subjects, answer)


def _leans(text: str, tokens: Sequence[Token]) -> bool:
    """Whether a claim's subject stands in its context: "it", or "the film" in a claim without any name."""
    if not tokens:
        return False
    if tokens[0].key == "the":
        return all(token.kind != "name" for token in tokens)
    return tokens[0].key in PRONOUNS or text.startswith(HAN_PRONOUNS)


def _names(tokens: Sequence[Token]) -> frozenset[str]:
    return frozenset(token.key for token in tokens if token.kind == "name")


def _named(text: str, tokens: Sequence[Token], lexicon: Lexicon) -> tuple[Token, ...]:
    """The tokens, where a capitalised common word at the start of a sentence is no name."""
    read: list[Token] = []
    before = 0
    for token in tokens:
        starts = not read or _SENTENCE_END.search(text, before, token.start)
        common = token.kind == "name" and starts and token.key in lexicon.idf
        read.append(token._replace(kind="word") if common else token)
        before = token.end
    return tuple(read)
