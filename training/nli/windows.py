"""Evidence in windows that a small cross-encoder can read: the sentences that share most with the claim."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence

TokenCounter = Callable[[Sequence[str]], list[int]]

_SENTENCE = re.compile(r"(?<=[.!?])[\"'”’)\]]*\s+(?=[\"'“‘(\[]*[A-Z0-9\u00c0-\u024f])|(?<=[。！？；])|\n+")
_WORD = re.compile(r"[a-z0-9\u00c0-\u024f]+|[\u3400-\u9fff]")
_CJK = re.compile(r"[\u3400-\u9fff]")
_STOP = frozenset(
    [
        "the",
        "a",
        "an",
        "of",
        "in",
        "on",
        "at",
        "to",
        "for",
        "and",
        "or",
        "is",
        "are",
        "was",
        "were",
        "be",
        "been",
        "by",
        "with",
        "from",
        "as",
        "that",
        "this",
        "it",
        "its",
        "his",
        "her",
        "their",
        "he",
        "she",
        "they",
        "has",
        "have",
        "had",
        "not",
        "no",
        "but",
        "which",
        "who",
        "will",
        "would",
        "can",
    ]
)


def sentences(text: str) -> list[str]:
    """The text's sentences, without surrounding space."""
    return [part.strip() for part in _SENTENCE.split(text) if part and part.strip()]


def keys(text: str) -> list[str]:
    """What two texts are compared by: word stems (five letters), numbers, pairs of Chinese characters."""
    words = _WORD.findall(text.lower().replace(",", ""))
    found = [word[:5] for word in words if not _CJK.match(word) and word not in _STOP]
    found += [a + b for a, b in zip(words, words[1:], strict=False) if _CJK.match(a) and _CJK.match(b)]
    return found


def overlap(claim: str, evidence: str) -> float:
    """The share of the claim's keys that the evidence has."""
    wanted = keys(claim)
    have = set(keys(evidence))
    return sum(key in have for key in wanted) / len(wanted) if wanted else 0.0


def _joined(parts: Sequence[str]) -> str:
    return "".join(parts) if parts and _CJK.search(parts[0]) else " ".join(parts)


def _cut(sentence: str, size: int, limit: int) -> list[str]:
    """A sentence longer than a window, in pieces of words (or characters)."""
    if size <= limit:
        return [sentence]
    spaced = sentence.split(" ")
    units = spaced if len(spaced) * 3 > size else list(sentence)
    step = max(1, int(len(units) * limit * 0.9 / size))
    glue = " " if units is spaced else ""
    return [glue.join(units[at : at + step]) for at in range(0, len(units), step)]


def windows(
    evidence: str, claim: str, count: TokenCounter, limit: int, title: str = "", most: int = 2
) -> list[str]:
    """Up to `most` windows of at most about `limit` tokens, the most promising first.

    The first gathers, in the order of the text, the sentences that together cover the claim best, with their
    neighbours; the second is the unbroken stretch around the best sentence. Text that fits is one window.
    """
    lead = f"{title}. " if title and not evidence.startswith(title) else ""
    parts = sentences(evidence)
    sizes = count(parts)
    if not parts:
        return [lead + evidence]
    room = max(24, limit - (count([lead])[0] if lead else 0))
    if sum(sizes) <= room:
        return [lead + evidence.strip()]
    if max(sizes) > room:
        parts = [piece for part, size in zip(parts, sizes, strict=False) for piece in _cut(part, size, room)]
        sizes = count(parts)
    weights = _weights(parts, claim)
    chosen = _cover(weights, sizes, room)
    found = [lead + _joined([parts[at] for at in sorted(chosen)])]
    if most > 1:
        stretch = _stretch(weights, sizes, room)
        if stretch != sorted(chosen):
            found.append(lead + _joined([parts[at] for at in stretch]))
    return found[:most]


def _weights(parts: Sequence[str], claim: str) -> list[dict[str, float]]:
    """For every sentence the claim's keys that it has, with their rarity in the text."""
    wanted = set(keys(claim))
    shared = [wanted & set(keys(part)) for part in parts]
    often = Counter(key for found in shared for key in found)
    total = len(parts)
    return [{key: math.log(1 + total / often[key]) for key in sorted(found)} for found in shared]


def _cover(weights: Sequence[dict[str, float]], sizes: Sequence[int], room: int) -> set[int]:
    """Greedy choice: what covers most of the claim that is not yet covered, then neighbours."""
    seen: Counter[str] = Counter()
    chosen: set[int] = set()
    left = room

    def gain(at: int) -> float:
        fresh = sum(weight * 0.35 ** seen[key] for key, weight in weights[at].items())
        near = 0.3 if (at - 1 in chosen or at + 1 in chosen) else 0.0
        return fresh + near + 0.05 / (1 + at)

    while True:
        open_ = [at for at in range(len(sizes)) if at not in chosen and sizes[at] <= left]
        if not open_:
            return chosen or {max(range(len(sizes)), key=gain)}
        best = max(open_, key=gain)
        chosen.add(best)
        left -= sizes[best]
        seen.update(weights[best].keys())


def _stretch(weights: Sequence[dict[str, float]], sizes: Sequence[int], room: int) -> list[int]:
    """The run of sentences with the greatest cover that fits."""
    best: tuple[float, list[int]] = (-1.0, [0])
    for start in range(len(sizes)):
        size, stop, found = 0, start, {}
        while stop < len(sizes) and size + sizes[stop] <= room:
            size += sizes[stop]
            found |= weights[stop]
            stop += 1
        if stop > start and sum(found.values()) > best[0]:
            best = (sum(found.values()), list(range(start, stop)))
    return best[1]
