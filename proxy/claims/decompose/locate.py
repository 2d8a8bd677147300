"""Finds the part of a sentence that a triplet stands for.

After RefChecker's localiser, which slides windows over token embeddings for each element of a triplet. What
differs: words are compared, not embeddings, so no model is needed. And there is one span for the whole
triplet: the run of words with the highest sum of gains.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from proxy.text.inline import tokens
from proxy.text.scripts import CJK, WIDE_PUNCTUATION
from proxy.text.words import Span, Word, spoken, words
from proxy.types import Claim, Triplet

ALIGNED = 0.5
"""The share of a triplet's content words that a sentence must have for the triplet to align with it."""

_TOLD, _HEAD, _SHARED, _OTHER, _GAP = 1.0, 0.5, 0.1, -0.05, -0.5
"""The gain of a word: of the relation or object; of the subject (it may stand far away); a shared function
word; a function word and a content word that are not shared."""

_WIDE = re.compile(f"[{CJK}{WIDE_PUNCTUATION}“”‘’]")


@dataclass(frozen=True, slots=True)
class Alignment:
    """The best span of `claim.text` for a triplet, and the share in [0, 1] of the triplet's content in it."""

    start: int
    end: int
    share: float


def locate(triplet: Triplet, claim: Claim) -> Claim:
    """The claim of a triplet: its span of the draft, and the triplet as a sentence in `plain`.

    A triplet that does not align has the whole claim's span.
    """
    plain = spelt(triplet)
    alignment = aligned(triplet, claim)
    if alignment.share < ALIGNED:
        return replace(claim, plain=plain, triplet=triplet)
    return replace(
        claim,
        start=claim.start + alignment.start,
        end=claim.start + alignment.end,
        text=claim.text[alignment.start : alignment.end],
        plain=plain,
        triplet=triplet,
    )


def aligned(triplet: Triplet, claim: Claim) -> Alignment:
    """How a triplet aligns with a claim, without link targets and formatting. Linear."""
    read = _words_of(claim.text)
    predicate, head = set(spoken((triplet.relation, triplet.tail))), set(spoken((triplet.head,)))
    start, end = _best_run([_gain(word, predicate, head) for word in read])
    while end > start and not read[end - 1].content:  # what follows an "in" is not the triplet's
        end -= 1
    if start == end:
        return Alignment(0, len(claim.text), 0.0)
    said = {key for word in read[start:end] if word.content for key in word.keys} | set(
        spoken((claim.text[read[start].start : read[end - 1].end],))
    )
    return Alignment(read[start].start, read[end - 1].end, _share(triplet, said))


def spelt(triplet: Triplet) -> str:
    """The triplet as a sentence: its elements joined by spaces, but not between Chinese characters."""
    text = triplet.head
    for element in (triplet.relation, triplet.tail):
        text += element if _wide(text[-1:]) or _wide(element[:1]) else f" {element}"
    return text


def _share(triplet: Triplet, said: set[str]) -> float:
    weight = matched = 0.0
    for element, gain in ((triplet.head, _HEAD), (triplet.relation, _TOLD), (triplet.tail, _TOLD)):
        content = [word for word in words(element) if word.content]
        weight += gain * len(content)
        matched += gain * sum(1 for word in content if said.intersection(word.keys))
    return matched / weight if weight else 0.0


def _gain(word: Word, told: set[str], head: set[str]) -> float:
    if not word.content:
        return _SHARED if (told | head).intersection(word.keys) else _OTHER
    if told.intersection(word.keys):
        return _TOLD
    return _HEAD if head.intersection(word.keys) else _GAP


def _best_run(gains: Sequence[float]) -> Span:
    """The run with the highest sum, the first of equals; (0, 0) where no sum is above 0."""
    best, best_sum = (0, 0), 0.0
    start, total = 0, 0.0
    for index, gain in enumerate(gains):
        if total <= 0:
            start, total = index, 0.0
        total += gain
        if total > best_sum:
            best, best_sum = (start, index + 1), total
    return best


def _words_of(text: str) -> tuple[Word, ...]:
    shown = [" "] * len(text)
    for token in _shown(text):
        shown[token[0] : token[1]] = text[token[0] : token[1]]
    return words("".join(shown))


def _shown(text: str) -> Iterable[Span]:
    return (
        (token.start, token.end)
        for token in tokens(text, (0, len(text)))
        if token.kind in ("text", "code", "math")
    )


def _wide(char: str) -> bool:
    return _WIDE.match(char) is not None
