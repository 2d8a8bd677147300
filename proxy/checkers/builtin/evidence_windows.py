"""Evidence cut into sentences, and the run of sentences that says most of a claim.

Also the sentences of an evidence that a Chinese claim may have been put together from.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

from proxy.checkers.builtin.tokens import Token, tokenize
from proxy.text.sentences import sentence_spans

Unit = str | tuple[str, str]
"""The key of a token, or those of two neighbours."""

_WIDTHS = (1, 2, 3)
_TOKENS_PER_SENTENCE = 15
_LONG, _SHORT_SENTENCE = 120, 5
"""A claim of more than so many tokens may be put together of sentences that are as short as that."""
_LONGEST = 80
"""Tokens of the longest sentence that is kept whole: a table or a page without a full stop is cut."""
KIN = 5
"""Letters with which two forms of a word begin alike ("nation", "national")."""
_EQUAL = 1e-9
_WIDENING = 0.03
"""What each further sentence must add, as a share of the claim: a narrow window is wanted."""


@dataclass(frozen=True, slots=True)
class EvidenceView:
    """An evidence text, read once for all claims held against it.

    `sentences` are spans of the text, `bounds` the same as spans of `tokens`, `units` what each one says.
    """

    text: str
    tokens: tuple[Token, ...]
    sentences: tuple[tuple[int, int], ...]
    bounds: tuple[tuple[int, int], ...]
    units: tuple[frozenset[Unit], ...]


@dataclass(frozen=True, slots=True)
class Window:
    """Sentences `first` to `last` of an evidence, both counted in."""

    first: int
    last: int


class EvidenceReader:
    """Cuts evidence into tokens and sentences."""

    def read(self, text: str) -> EvidenceView:
        """The evidence with its tokens and sentences. Linear in its length."""
        tokens = tokenize(text)
        spans = sentence_spans(text)
        bounds = tuple(_bounds(text, tokens, spans))
        sentences = tuple(_spans(tokens, bounds, spans))
        units = tuple(frozenset(_units(tokens[first:last])) for first, last in bounds)
        return EvidenceView(text, tuple(tokens), sentences, bounds, units)


def _bounds(
    text: str, tokens: Sequence[Token], spans: Sequence[tuple[int, int]]
) -> Iterator[tuple[int, int]]:
    """The sentences that have tokens, as spans of `tokens`; overlong ones cut at line ends, then by count."""
    at = 0
    for _, end in spans:
        first = at
        while at < len(tokens) and tokens[at].start < end:
            at += 1
        if at - first <= _LONGEST:
            if at > first:
                yield first, at
            continue
        start = first
        for here in range(first + 1, at):
            if here - start == _LONGEST or "\n" in text[tokens[here - 1].end : tokens[here].start]:
                yield start, here
                start = here
        yield start, at


def _spans(
    tokens: Sequence[Token], bounds: Sequence[tuple[int, int]], spans: Sequence[tuple[int, int]]
) -> Iterator[tuple[int, int]]:
    """The bounds as spans of the text, with the punctuation at the ends of the sentences they are in."""
    at = 0
    for first, last in bounds:
        while spans[at][1] <= tokens[first].start:
            at += 1
        start, end = spans[at]
        whole_start = first == 0 or tokens[first - 1].start < start
        whole_end = last == len(tokens) or tokens[last].start >= end
        yield start if whole_start else tokens[first].start, end if whole_end else tokens[last - 1].end


def claim_units(tokens: Sequence[Token], weights: Sequence[float]) -> dict[Unit, float]:
    """What a window can say of a claim: content words by weight, and pairs of neighbours by 1 each."""
    units: dict[Unit, float] = {
        token.key: weight for token, weight in zip(tokens, weights, strict=True) if weight > 0
    }
    units.update({(one.key, other.key): 1.0 for one, other in pairwise(tokens)})
    return units


def best_window(units: Mapping[Unit, float], tokens: int, evidence: EvidenceView) -> Window | None:
    """The run of sentences with the greatest weight of the claim's `units`, None where there are none.

    Runs of one to three sentences are tried, and longer ones for a claim of many `tokens`, up to all of them.
    Of runs that say as much the shortest are taken, of these the one with most words like the claim's
    ("European" for "Europe"), else the first. Linear in both.
    """
    own = frozenset(units)
    hits = [tuple(own & sentence) for sentence in evidence.units]
    if not hits:
        return None
    widths = {*_WIDTHS, math.ceil(tokens / _TOKENS_PER_SENTENCE)}
    if tokens > _LONG:
        widths.add(math.ceil(tokens / _SHORT_SENTENCE))
    toll = _WIDENING * sum(units.values())
    best, best_score = [Window(0, 0)], -math.inf
    for width in sorted({min(width, len(hits)) for width in widths}):
        for first, weight in enumerate(_run_weights(units, hits, width)):
            score = weight - toll * (min(width, 3) - 1)
            if score > best_score + _EQUAL:
                best, best_score = [], score
            if score > best_score - _EQUAL:
                best.append(Window(first, first + width - 1))
    return best[0] if len(best) == 1 else max(best, key=partial(_aptness, _beginnings(units), evidence))


def _beginnings(units: Mapping[Unit, float]) -> dict[str, float]:
    """What a claim's long words count by their first `KIN` letters."""
    found: defaultdict[str, float] = defaultdict(float)
    for key, weight in units.items():
        if isinstance(key, str) and len(key) >= KIN and not key.startswith("#"):
            found[key[:KIN]] += weight
    return found


def _aptness(beginnings: Mapping[str, float], evidence: EvidenceView, run: Window) -> tuple[int, float]:
    """How short the run is, then the weight of the claim's long words that it has in any form."""
    said = {
        key[:KIN]
        for sentence in evidence.units[run.first : run.last + 1]
        for key in sentence
        if isinstance(key, str) and key[:KIN] in beginnings
    }
    return run.first - run.last, math.fsum(beginnings[key] for key in said)


def _run_weights(units: Mapping[Unit, float], hits: Sequence[Sequence[Unit]], width: int) -> Iterator[float]:
    """The weight of what each run of `width` sentences says, by the index of its first sentence."""
    held: Counter[Unit] = Counter()
    weight = 0.0
    for at, sentence in enumerate(hits):
        for unit in sentence:
            held[unit] += 1
            if held[unit] == 1:
                weight += units[unit]
        if at >= width:
            for unit in hits[at - width]:
                held[unit] -= 1
                if not held[unit]:
                    weight -= units[unit]
        if at >= width - 1:
            yield weight


def _units(tokens: Sequence[Token]) -> Iterator[Unit]:
    for token in tokens:
        yield token.key
    for one, other in pairwise(tokens):
        yield one.key, other.key


_AROUND = 3
"""Sentences on either side of the window that are in the scope whatever they say."""
_SHARED = 3
"""Pairs of neighbours that another sentence must have in common with the claim."""
_BUDGET = 600
"""Tokens of the scope; the window and its surroundings are kept whatever their length."""


def scope(claim: Sequence[Token], evidence: EvidenceView, window: Window) -> tuple[int, ...]:
    """The indexes of the window's sentences, of what surrounds it, and of the sentences that say most of
    the claim, in the order of the text.

    A sentence that has little in common with the claim stays out, so that other text beside the evidence
    changes nothing. Linear in the evidence.
    """
    first, last = max(0, window.first - _AROUND), min(len(evidence.bounds) - 1, window.last + _AROUND)
    chosen = set(range(first, last + 1))
    pairs = {
        (one.key, other.key) for one, other in pairwise(claim) if one.kind != "stop" or other.kind != "stop"
    }
    shared = {at: len(pairs & said) for at, said in enumerate(evidence.units) if at not in chosen}
    left = _BUDGET - sum(_length(evidence, at) for at in chosen)
    for at in sorted(shared, key=lambda one: (-shared[one], one)):
        left -= _length(evidence, at)
        if left < 0 or shared[at] < _SHARED:
            break
        chosen.add(at)
    return tuple(sorted(chosen))


def _length(evidence: EvidenceView, at: int) -> int:
    first, last = evidence.bounds[at]
    return last - first
