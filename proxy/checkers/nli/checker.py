"""The checker `nli`: a cross-encoder trained for entailment, which runs here without a key or a GPU."""

from __future__ import annotations

import asyncio
import logging
import math
import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import torch

from proxy.checkers.nli.batch import TokenPair, batch_of
from proxy.checkers.nli.reader import ClaimTooLongError, Window
from proxy.checkers.nli.weights import Calibration, Loaded
from proxy.checkers.vetoes import changed_number
from proxy.model_files import device
from proxy.text.scripts import language_of
from proxy.text.sentences import quotable_spans
from proxy.text.words import Span, closest, joined, shared_spans, uncovered
from proxy.types import Judgement, Language, Page, Pair, Verdict

log = logging.getLogger(__name__)

_BATCH_TOKENS = {"cpu": 576}
_GPU_BATCH_TOKENS = 16_384
"""Padded tokens of one batch: what is computed before we look whether the caller is still there. More fall
out of a core's cache."""
_MOST_WORKERS = 4
_PAIRS_AT_ONCE = 16
"""Pairs that are read before we look again."""


_Item = tuple[int, int, TokenPair]
"""A window to compute: the index of its pair, its number among the pair's windows, its tokens."""


@dataclass(frozen=True, slots=True)
class Scores:
    """What the model says of one window: log-odds of entailment, and the share of contradiction in what is
    left."""

    log_odds: float
    contradiction: float


def decisive(windows: Sequence[Window], scores: Sequence[Scores]) -> tuple[Window, Scores]:
    """The window that decides over a pair, its log-odds, and the highest contradiction beside it.

    Of several readings of one place the mean counts, of the places the best, of the claim's pieces the worst.
    """
    readings: defaultdict[tuple[int, int], list[tuple[Window, Scores]]] = defaultdict(list)
    for window, own in zip(windows, scores, strict=True):
        readings[window.piece, window.place].append((window, own))
    pieces: defaultdict[int, list[tuple[Window, Scores]]] = defaultdict(list)
    for (piece, _), same in readings.items():
        odds = statistics.fmean(own.log_odds for _, own in same)
        pieces[piece].append(
            (same[0][0], Scores(odds, statistics.fmean(own.contradiction for _, own in same)))
        )
    best = {piece: max(places, key=lambda read: read[1].log_odds) for piece, places in pieces.items()}
    worst = min(best, key=lambda piece: best[piece][1].log_odds)
    window, own = best[worst]
    return window, Scores(own.log_odds, max(each.contradiction for _, each in pieces[worst]))


class NLIChecker:
    """Implements `protocols.Checker`.

    `Judgement.score` is the probability that the evidence entails the claim, as the manifest calibrates it.
    The best window of the evidence counts; of a claim that is read in pieces, the worst piece. The model
    reads the claim, the context that it needs, the evidence and its title, but not the question.

    Args:
        models: by the language of the claim.
        workers: threads, each of which computes whole batches on one core; None: as torch has, four at most.
    """

    def __init__(self, models: Mapping[Language, Loaded], workers: int | None = None) -> None:
        self._models = dict(models)
        self._device = device()
        for loaded in self._models.values():
            loaded.model.to(self._device)
        self._tokens = _BATCH_TOKENS.get(self._device.type, _GPU_BATCH_TOKENS)
        self._workers = workers or min(torch.get_num_threads(), _MOST_WORKERS)
        self._at_once = self._workers if self._device.type == "cpu" else 1
        self._threads = ThreadPoolExecutor(self._workers, "nli-checker", initializer=_one_core)

    @property
    def version(self) -> str:
        """A checksum of the weights, for caches."""
        return "-".join(
            ["nli", *(f"{language}:{self._models[language].version}" for language in self._models)]
        )

    async def check(self, pairs: Sequence[Pair]) -> Sequence[Judgement]:
        """One judgement per pair, in order. What still waits when the caller goes away is dropped."""
        loop = asyncio.get_running_loop()
        read: list[tuple[Language, list[Window] | Judgement]] = []
        for start in range(0, len(pairs), _PAIRS_AT_ONCE):
            few = pairs[start : start + _PAIRS_AT_ONCE]
            read += await loop.run_in_executor(self._threads, self._read, few)
        jobs = []
        for language in self._models:
            items = [
                (index, number, window.tokens)
                for index, (spoken, windows) in enumerate(read)
                if spoken == language and not isinstance(windows, Judgement)
                for number, window in enumerate(windows)
            ]
            jobs += [(language, batch) for batch in _batches(items, self._tokens, self._at_once)]
        scored: dict[tuple[int, int], Scores | None] = {}
        answers = await asyncio.gather(
            *(
                loop.run_in_executor(self._threads, self._scores, language, [pair for *_, pair in batch])
                for language, batch in jobs
            )
        )
        for (_, batch), scores in zip(jobs, answers, strict=True):
            scored |= {(index, number): one for (index, number, _), one in zip(batch, scores, strict=True)}
        return [
            windows
            if isinstance(windows, Judgement)
            else self._judgement(
                pairs[index],
                self._models[language].manifest.calibration[language],
                [(window, scored[index, number]) for number, window in enumerate(windows)],
            )
            for index, (language, windows) in enumerate(read)
        ]

    def close(self) -> None:
        """Ends the threads; what they are at is finished first."""
        self._threads.shutdown(wait=True, cancel_futures=True)

    def _read(self, pairs: Sequence[Pair]) -> list[tuple[Language, list[Window] | Judgement]]:
        return [self._read_one(pair) for pair in pairs]

    def _read_one(self, pair: Pair) -> tuple[Language, list[Window] | Judgement]:
        """The pair's windows, or its judgement where there is nothing to read. The border: a text that we
        stumble over leaves its own pair UNVERIFIED."""
        language = language_of(pair.statement)
        if language not in self._models:
            return language, Judgement(
                Verdict.UNVERIFIED, reason=f"there is no model for language {language}"
            )
        try:
            windows = self._models[language].reader.read(pair)
        except ClaimTooLongError as error:
            return language, Judgement(Verdict.UNVERIFIED, reason=str(error))
        except Exception as error:
            log.exception("the checker stumbled over a pair")
            return language, Judgement(
                Verdict.UNVERIFIED, reason=f"the checker failed: {type(error).__name__}"
            )
        if windows:
            return language, windows
        texts = (Page(pair.evidence), *pair.others)
        evidence = any(page.text.strip() for page in texts)
        what = "the claim has no words to check" if evidence else "there is no evidence"
        return language, Judgement(Verdict.UNSUPPORTED, reason=what)

    def _scores(self, language: Language, pairs: Sequence[TokenPair]) -> list[Scores | None]:
        """The border: None for pairs that the model fails on."""
        loaded = self._models[language]
        try:
            batch = batch_of(pairs, loaded.reader.special)
            with torch.inference_mode():
                logits = loaded.model(batch.to(self._device))
            if not torch.isfinite(logits).all():
                log.error("the checker's model for %s gave no finite numbers", language)
                return [None] * len(pairs)
            shares = (logits[:, 1] - logits[:, 2]).sigmoid().tolist()
            odds = (logits[:, 0] - logits[:, 1:].logsumexp(-1)).tolist()
            return [Scores(*scores) for scores in zip(odds, shares, strict=True)]
        except Exception:
            log.exception("the checker's model for %s failed on %d pairs", language, len(pairs))
            return [None] * len(pairs)

    def _judgement(
        self, pair: Pair, calibration: Calibration, windows: Sequence[tuple[Window, Scores | None]]
    ) -> Judgement:
        scores = [own for _, own in windows if own is not None]
        if len(scores) < len(windows):
            return Judgement(Verdict.UNVERIFIED, reason="the checker's model failed")
        window, own = decisive([window for window, _ in windows], scores)
        score = _sigmoid(calibration.scale * own.log_odds + calibration.bias)
        least = max(calibration.threshold, calibration.jointly) if pair.others else calibration.threshold
        if score >= least:
            if number := changed_number(pair.claim, _texts(pair)):
                reason = f"the evidence has another number than {number}"
                quote, _ = _quoted(pair, _nearest_sentence(pair))
                return Judgement(
                    Verdict.CONTRADICTED, score, quote, reason, veto="number", missing=_missing(pair)
                )
            quote, carrying = _quoted(pair, next(iter(window.sentences), None))
            return Judgement(
                Verdict.SUPPORTED, score, quote, "the evidence entails the claim", carrying=carrying
            )
        if own.contradiction * (1 - score) >= calibration.contradiction:
            verdict, reason = Verdict.CONTRADICTED, "the evidence says otherwise"
        else:
            verdict, reason = Verdict.UNSUPPORTED, "the evidence does not say it"
        quote, carrying = _quoted(pair, _nearest_sentence(pair))
        return Judgement(verdict, score, quote, reason, carrying=carrying, missing=_missing(pair))


def _one_core() -> None:
    """Each thread computes alone: threads that share a batch wait for each other where a core is taken."""
    torch.set_num_threads(1)


def _batches(items: Sequence[_Item], tokens: int, at_once: int) -> list[list[_Item]]:
    """Batches of items of similar length, the longest first, each of about `tokens` tokens at most.

    They are of similar size, and their number is a multiple of `at_once` where there are enough items, so
    that no core waits for another one. Where lengths differ much, a batch ends early: padded it has half as
    many tokens again at most, or one item.
    """
    total = sum(pair.padded for *_, pair in items)
    count = -(-total // (tokens * at_once)) * at_once
    batches: list[list[_Item]] = []
    before, last = 0, -1
    for item in sorted(items, key=lambda item: -item[2].length):
        length = item[2].padded
        place = (2 * before + length) * count // (2 * total)
        if place != last or 2 * (len(batches[-1]) + 1) * batches[-1][0][2].padded > 3 * tokens:
            batches.append([])
        batches[-1].append(item)
        before, last = before + length, place
    return batches


def _sigmoid(value: float) -> float:
    return 1 / (1 + math.exp(-value)) if value >= 0 else math.exp(value) / (1 + math.exp(value))


def _nearest_sentence(pair: Pair) -> Span | None:
    """The sentence of the evidence that says most of a claim that failed. What scored highest in the window
    that decided is often about something else."""
    spans = quotable_spans(pair.evidence)
    sentences = [pair.evidence[slice(*span)] for span in spans]
    return spans[closest(sentences, pair.claim, pair.title)] if spans else None


def _quoted(pair: Pair, sentence: Span | None) -> tuple[Span | None, tuple[Span, ...]]:
    """The sentence, and its words that are the claim's too."""
    if sentence is None:
        return None, ()
    start, end = sentence
    shared = shared_spans(pair.evidence[start:end], pair.claim)
    return sentence, tuple((start + first, start + last) for first, last in shared)


def _missing(pair: Pair) -> tuple[tuple[int, int], ...]:
    """The content words of the claim that stand nowhere in the evidence or its titles."""
    return joined(pair.claim, uncovered(pair.claim, _texts(pair)))


def _texts(pair: Pair) -> list[str]:
    """The evidence with its titles."""
    pages = (Page(pair.evidence, pair.title), *pair.others)
    return [text for page in pages for text in (page.text, page.title)]
