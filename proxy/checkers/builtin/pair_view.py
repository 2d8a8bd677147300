"""Pairs as the checker sees them: a claim, the best window of its evidence, and what an NLI model reads."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from proxy.checkers.builtin.assertion import asserted
from proxy.checkers.builtin.claim_view import ClaimView, Lexicon, read_claim
from proxy.checkers.builtin.comparison import Comparison, compare
from proxy.checkers.builtin.evidence_windows import (
    EvidenceReader,
    EvidenceView,
    Window,
    best_window,
    claim_units,
    scope,
)
from proxy.checkers.builtin.excerpt import BUDGET, Extract, core, excerpt, excerpt_text, within
from proxy.checkers.builtin.matching import read_window
from proxy.checkers.builtin.quantities import Told, read_quantities, respelt
from proxy.checkers.builtin.tokens import Token, tokenize
from proxy.checkers.injection import without_scaffolding
from proxy.types import Language, Pair

_AROUND = 3
"""Sentences on either side of the window whose words count as near."""


_PIECE = 60
"""Tokens of a piece of a claim: one of more than twice as many is read by the NLI model piece by piece."""
_SENTENCE_END = re.compile(r"[.!?;\n。！？；]")


@dataclass(frozen=True, slots=True)
class Read:
    """A claim held against the window of its evidence that says most of it; `quote` is that window's span.

    `extracts` are what an NLI model is to read: one, or of a long claim one for each piece of it.
    """

    comparison: Comparison
    quote: tuple[int, int]
    extracts: tuple[Extract, ...]


class Reading:
    """Reads pairs; each evidence once. Lives as long as one batch.

    With `always_before` what an NLI model reads has the sentence before the window, whether the window leans
    on it or not: so it is in the rows that the models learn from, lest they trust every sentence.
    """

    def __init__(
        self, lexicons: Mapping[Language, Lexicon], reader: EvidenceReader, *, always_before: bool = False
    ) -> None:
        self._lexicons = lexicons
        self._reader = reader
        self._always_before = always_before
        self._evidence: dict[str, EvidenceView] = {}
        self._titles: dict[str, list[Token]] = {}
        self._claims: dict[tuple[str, str, str], ClaimView] = {}

    def read(self, pair: Pair) -> Read | None:
        """None where the evidence or the claim has nothing to compare. Linear in the length of both."""
        claim = self._claim(pair)
        evidence = self._read(asserted(self._read(without_scaffolding(pair.evidence)), claim))
        units = claim_units(claim.tokens, claim.weights)
        window = best_window(units, len(claim.tokens), evidence)
        if window is None or not any(claim.weights):
            return None
        title = self._title(pair.title)
        found = read_window(evidence.text, _tokens(evidence, window), title)
        near = frozenset(token.key for token in (*_around(evidence, window), *title))
        wider = scope(claim.tokens, evidence, window) if claim.language == "zh" else ()
        return Read(
            compare(claim, found, near, _tokens_of(evidence, wider), _quantities_of(evidence, wider)),
            (evidence.sentences[window.first][0], evidence.sentences[window.last][1]),
            tuple(_extracts(claim, evidence, window, pair.title, self._always_before)),
        )

    def _claim(self, pair: Pair) -> ClaimView:
        key = (pair.claim, pair.context, pair.question)
        if key not in self._claims:
            self._claims[key] = read_claim(pair, self._lexicons)
        return self._claims[key]

    def _read(self, text: str) -> EvidenceView:
        if text not in self._evidence:
            self._evidence[text] = self._reader.read(text)
        return self._evidence[text]

    def _title(self, title: str) -> list[Token]:
        if title not in self._titles:
            self._titles[title] = tokenize(title)
        return self._titles[title]


def _extracts(
    claim: ClaimView, evidence: EvidenceView, window: Window, title: str, always_before: bool
) -> Iterator[Extract]:
    """The claim with what the evidence says of it; of a long claim each piece, with what the window says."""
    budget = BUDGET[claim.language]
    if len(claim.tokens) <= 2 * _PIECE:
        units = claim_units(claim.tokens, claim.weights)
        wide = excerpt(units, evidence, window, budget, always_before=always_before)
        nested = dict.fromkeys((core(units, evidence, window), within(window), wide))
        texts = [excerpt_text(evidence, one) for one in nested]
        yield _extract(claim, claim.text, 0, texts, title)
        return
    inside = _within(evidence, window)
    for first, last in _pieces(claim):
        units = claim_units(claim.tokens[first:last], claim.weights[first:last])
        own = best_window(units, last - first, inside)
        start = 0 if first == 0 else claim.tokens[first].start
        end = len(claim.text) if last == len(claim.tokens) else claim.tokens[last].start
        said = excerpt(units, inside, own, budget, always_before=always_before) if own else ()
        text, piece = excerpt_text(inside, said), claim.text[start:end]
        if not _stands_in(piece, text):
            yield _extract(claim, piece, start, [text], title)


def _extract(claim: ClaimView, piece: str, offset: int, texts: Sequence[str], title: str) -> Extract:
    return Extract(tuple(_shown(text, piece, title, claim.language) for text in texts), piece, offset)


def _shown(text: str, piece: str, title: str, language: Language) -> str:
    """The text as a piece of a claim is read beside it."""
    named = f"{title}{'：' if language == 'zh' else '. '}" if title and not text.startswith(title) else ""
    return named + (respelt(piece, text) if language == "zh" else text)


def _pieces(claim: ClaimView) -> Iterator[tuple[int, int]]:
    """A long claim's tokens in runs of at most `_PIECE`, cut where a sentence ends if one does."""
    tokens, first = claim.tokens, 0
    while first < len(tokens):
        last = min(first + _PIECE, len(tokens))
        for at in range(last, first, -1) if last < len(tokens) else ():
            if _SENTENCE_END.search(claim.text, tokens[at - 1].end, tokens[at].start):
                last = at
                break
        yield first, last
        first = last


def _stands_in(piece: str, text: str) -> bool:
    """Whether a piece stands in a text word for word: then no model need read it, and of hundreds of pieces
    none is doubted by chance."""
    return " ".join(piece.split()).casefold() in " ".join(text.split()).casefold()


def _within(evidence: EvidenceView, window: Window) -> EvidenceView:
    """The evidence with the window's sentences only."""
    own = slice(window.first, window.last + 1)
    return replace(
        evidence,
        sentences=evidence.sentences[own],
        bounds=evidence.bounds[own],
        units=evidence.units[own],
    )


def _around(evidence: EvidenceView, window: Window) -> list[Token]:
    """The tokens of a window and of the sentences on either side of it."""
    first, last = max(0, window.first - _AROUND), min(len(evidence.bounds) - 1, window.last + _AROUND)
    return [token for at in range(first, last + 1) for token in _tokens(evidence, Window(at, at))]


def _tokens_of(evidence: EvidenceView, sentences: Sequence[int]) -> tuple[Token, ...]:
    return tuple(token for at in sentences for token in _tokens(evidence, Window(at, at)))


def _quantities_of(evidence: EvidenceView, sentences: Sequence[int]) -> tuple[Told, ...]:
    return tuple(told for at in sentences for told in read_quantities(evidence.text, *evidence.sentences[at]))


def _tokens(evidence: EvidenceView, window: Window) -> Sequence[Token]:
    return evidence.tokens[evidence.bounds[window.first][0] : evidence.bounds[window.last][1]]
