"""The built-in checker: holds claims against the best window of their evidence, with no model to load."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from proxy.backends.checkers.builtin.claims import ClaimView, Lexicon, read_claim
from proxy.backends.checkers.builtin.contradiction import contradiction, shortfall
from proxy.backends.checkers.builtin.features import Comparison, compare, features
from proxy.backends.checkers.builtin.matching import read_window
from proxy.backends.checkers.builtin.model import LanguageModel, Weights, load_weights
from proxy.backends.checkers.builtin.tokens import Token, tokenize
from proxy.backends.checkers.builtin.windows import (
    EvidenceReader,
    EvidenceView,
    Window,
    best_window,
    claim_units,
)
from proxy.types import Judgement, Language, Pair, Verdict

log = logging.getLogger(__name__)

_AROUND = 3
"""Sentences on either side of the window whose words count as near."""


class Reading:
    """Reads pairs into comparisons; each evidence once. Lives as long as one batch."""

    def __init__(self, lexicons: Mapping[Language, Lexicon], reader: EvidenceReader) -> None:
        self._lexicons = lexicons
        self._reader = reader
        self._evidence: dict[str, EvidenceView] = {}
        self._titles: dict[str, list[Token]] = {}
        self._claims: dict[tuple[str, str, str], ClaimView] = {}

    def compare(self, pair: Pair) -> tuple[Comparison, tuple[int, int]] | None:
        """The claim against the best window of its evidence, and that window as a span of the evidence.

        None where the evidence or the claim has nothing to compare. Linear in the length of both.
        """
        claim = self._claim(pair)
        evidence = self._read(pair.evidence)
        units = claim_units(claim.tokens, claim.weights)
        window = best_window(units, len(claim.tokens), evidence)
        if window is None or not any(claim.weights):
            return None
        title = self._title(pair.title)
        found = read_window(evidence.text, _tokens(evidence, window), title)
        near = frozenset(token.key for token in (*_around(evidence, window), *title))
        span = evidence.sentences[window.first][0], evidence.sentences[window.last][1]
        return compare(claim, found, near), span

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


class BuiltinChecker:
    """Implements `types.Checker` with overlap features and a calibrated logistic regression per language.

    The work is done on a thread of the checker's own, one batch after the other, so that the event loop stays
    free. Raises `ConfigError` when made with weights that are missing or broken.
    """

    def __init__(self, weights: Weights | None = None) -> None:
        languages = (weights or load_weights()).languages
        self._models: Mapping[Language, LanguageModel] = languages
        self._lexicons = {language: model.lexicon() for language, model in languages.items()}
        self._reader = EvidenceReader()
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="builtin-checker")

    async def check(self, pairs: Sequence[Pair]) -> Sequence[Judgement]:
        """One judgement per pair, in order. What still waits when the caller goes away is dropped."""
        loop = asyncio.get_running_loop()
        reading = Reading(self._lexicons, self._reader)
        return [await loop.run_in_executor(self._thread, self._judge, reading, pair) for pair in pairs]

    def close(self) -> None:
        """Ends the thread; what it is at is finished first."""
        self._thread.shutdown(wait=True, cancel_futures=True)

    def _judge(self, reading: Reading, pair: Pair) -> Judgement:
        """The border: a text that we stumble over leaves its own pair UNVERIFIED, nothing else."""
        try:
            return self._verdict(reading, pair)
        except Exception as error:
            log.exception("the built-in checker stumbled over a pair")
            return Judgement(Verdict.UNVERIFIED, reason=f"the checker failed: {type(error).__name__}")

    def _verdict(self, reading: Reading, pair: Pair) -> Judgement:
        compared = reading.compare(pair)
        if compared is None:
            what = "the claim has no words to check" if pair.evidence.strip() else "there is no evidence"
            return Judgement(Verdict.UNSUPPORTED, reason=what)
        comparison, quote = compared
        model = self._models[comparison.claim.language]
        score = model.probability(features(comparison)) * comparison.factor
        if score >= model.threshold:
            return Judgement(Verdict.SUPPORTED, score, quote, "the evidence says it")
        conflict = contradiction(comparison) if comparison.leaning == 1 else None
        if conflict:
            return Judgement(Verdict.CONTRADICTED, score, quote, conflict)
        return Judgement(Verdict.UNSUPPORTED, score, quote, shortfall(comparison))


def _around(evidence: EvidenceView, window: Window) -> list[Token]:
    """The tokens of a window and of the sentences on either side of it, on the same page."""
    first, last = max(0, window.first - _AROUND), min(len(evidence.bounds) - 1, window.last + _AROUND)
    page = evidence.pages[window.first]
    return [
        token
        for at in range(first, last + 1)
        if evidence.pages[at] == page
        for token in _tokens(evidence, Window(at, at))
    ]


def _tokens(evidence: EvidenceView, window: Window) -> Sequence[Token]:
    return evidence.tokens[evidence.bounds[window.first][0] : evidence.bounds[window.last][1]]
