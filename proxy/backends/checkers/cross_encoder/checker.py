"""The checker that runs a sequence-classification model over windows of the evidence."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch

from proxy.backends.checkers.cross_encoder.classes import Floats, NLILabel
from proxy.backends.checkers.cross_encoder.model import Classifier
from proxy.backends.checkers.cross_encoder.windows import Reader, Window
from proxy.backends.encoder import Precision
from proxy.steps.sentences import own_punkt, sentence_spans
from proxy.types import Judgement, Pair, Verdict

log = logging.getLogger(__name__)


class CrossEncoderChecker:
    """Implements `types.Checker` with any model that sentence-transformers loads as a `CrossEncoder`.

    Three-class NLI (premise: the evidence, hypothesis: the claim), and grounding models with two classes or
    with one output, as HHEM and MiniCheck. `Judgement.score` is the probability of entailment in the window
    where it is highest; that window, trimmed to whole sentences, is the quote. What claims lean on (context,
    question) is not shown to the model. All work is done on a thread of the checker's own.

    Args:
        model: a hub id or a local folder.
        revision: branch, tag or commit of the hub's repository.
        labels: what the classes mean, in their order, for a model that does not name them.
        threshold: the score from which a claim is supported. Below it, one is contradicted where
            contradiction is the likeliest class of the best window.
        max_tokens: of one window, the claim's included; the model's own window where that is shorter. A claim
            that leaves no room for evidence in it is UNVERIFIED.
        overlap: tokens that a window shares with the one before.
        max_windows: of one evidence; of more, those that have most in common with the claim are computed.
        precision: see `encoder.SentenceTransformerEncoder`.
        batch_size: windows that are computed at once, equally long ones together.
        threads: of the whole process, for torch. None leaves torch's own choice.
        trust_remote_code: run the code that a hub repository brings along.

    Raises:
        ConfigError: the model can't be loaded, or is not one that classifies pairs.
    """

    def __init__(
        self,
        model: str,
        *,
        revision: str | None = None,
        labels: Sequence[NLILabel] = (),
        threshold: float = 0.5,
        max_tokens: int = 512,
        overlap: int = 64,
        max_windows: int = 8,
        precision: Precision = "auto",
        batch_size: int = 8,
        threads: int | None = None,
        trust_remote_code: bool = False,
    ) -> None:
        if threads is not None:
            torch.set_num_threads(threads)
        self._classifier = Classifier(
            model, revision=revision, labels=labels, precision=precision, trust_remote_code=trust_remote_code
        )
        window = min(max_tokens, self._classifier.max_tokens)
        self._reader = Reader(self._classifier.tokenizer, window, overlap, max_windows)
        self._threshold = threshold
        self._batch_size = batch_size
        settings = (
            self._classifier.version,
            self._classifier.classes,
            threshold,
            window,
            overlap,
            max_windows,
        )
        self._version = f"cross_encoder {hashlib.sha256(repr(settings).encode()).hexdigest()}"
        self._punkt = own_punkt()
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="cross-encoder")

    @property
    def version(self) -> str:
        """Changes with the model, its weights and every setting that a judgement depends on."""
        return self._version

    async def check(self, pairs: Sequence[Pair]) -> Sequence[Judgement]:
        """One judgement per pair, in order. What still waits when the caller goes away is dropped."""
        loop = asyncio.get_running_loop()
        cuts = [await loop.run_in_executor(self._thread, self._cut, pair) for pair in pairs]
        windows = [window for cut in cuts if not isinstance(cut, Judgement) for window in cut]
        found = np.empty((len(windows), len(self._classifier.classes.labels)))
        longest_first = sorted(range(len(windows)), key=lambda at: -windows[at].length)
        for start in range(0, len(windows), self._batch_size):
            batch = longest_first[start : start + self._batch_size]
            found[batch] = await loop.run_in_executor(
                self._thread, self._classify, [windows[at] for at in batch]
            )
        return await loop.run_in_executor(self._thread, self._judge_all, pairs, cuts, found)

    def close(self) -> None:
        """Ends the thread; what it is at is finished first."""
        self._thread.shutdown(wait=True, cancel_futures=True)

    def _cut(self, pair: Pair) -> list[Window] | Judgement:
        """The pair's windows, or what is to be said of it without any."""
        try:
            windows = self._reader.read(pair)
        except ValueError as error:
            return Judgement(Verdict.UNVERIFIED, reason=str(error))
        except Exception as error:
            log.exception("the cross-encoder's tokenizer stumbled over a pair")
            return Judgement(Verdict.UNVERIFIED, reason=f"the checker failed: {type(error).__name__}")
        if not windows:
            what = "the claim has no words to check" if pair.evidence.strip() else "there is no evidence"
            return Judgement(Verdict.UNSUPPORTED, reason=what)
        return windows

    def _classify(self, windows: Sequence[Window]) -> Floats:
        """Probabilities, shape (n, classes); NaN for a window that the model failed on even alone."""
        try:
            return self._classifier.probabilities(windows)
        except Exception:
            log.exception("the cross-encoder failed on %d windows", len(windows))
            if len(windows) > 1:
                return np.vstack([self._classify([window]) for window in windows])
            return np.full((1, len(self._classifier.classes.labels)), np.nan)

    def _judge_all(
        self, pairs: Sequence[Pair], cuts: Sequence[list[Window] | Judgement], found: Floats
    ) -> list[Judgement]:
        judgements: list[Judgement] = []
        at = 0
        for pair, cut in zip(pairs, cuts, strict=True):
            if isinstance(cut, Judgement):
                judgements.append(cut)
                continue
            judgements.append(self._judge(pair, cut, found[at : at + len(cut)]))
            at += len(cut)
        return judgements

    def _judge(self, pair: Pair, windows: Sequence[Window], probabilities: Floats) -> Judgement:
        """What a pair's windows say together. One that failed leaves it open, unless another supports."""
        failed = ~np.isfinite(probabilities).all(axis=1)
        if failed.all():
            return Judgement(Verdict.UNVERIFIED, reason="the checker's model failed")
        entailed = np.where(failed, -1.0, self._classifier.classes.entailment(probabilities))
        best = int(entailed.argmax())
        score = float(entailed[best])
        if failed.any() and score < self._threshold:
            return Judgement(
                Verdict.UNVERIFIED, reason="the checker's model failed on a part of the evidence"
            )
        verdict = self._verdict(score, probabilities[best])
        return Judgement(verdict, score, self._quote(pair.evidence, windows[best].span), _REASONS[verdict])

    def _verdict(self, score: float, probabilities: Floats) -> Verdict:
        if score >= self._threshold:
            return Verdict.SUPPORTED
        contradicts = self._classifier.classes.contradicts(probabilities)
        return Verdict.CONTRADICTED if contradicts else Verdict.UNSUPPORTED

    def _quote(self, evidence: str, span: tuple[int, int]) -> tuple[int, int]:
        """The sentences that are whole in the window, or the window where none is."""
        whole = [
            sentence
            for sentence in sentence_spans(evidence, self._punkt)
            if span[0] <= sentence[0] and sentence[1] <= span[1]
        ]
        return (whole[0][0], whole[-1][1]) if whole else span


_REASONS = {
    Verdict.SUPPORTED: "the model holds that the evidence entails it",
    Verdict.CONTRADICTED: "the model holds that the evidence contradicts it",
    Verdict.UNSUPPORTED: "the model does not hold that the evidence entails it",
}
