"""The checker that runs a sequence-classification model over windows of the evidence."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch

from proxy.backends.checkers.cross_encoder.classes import Floats
from proxy.backends.checkers.cross_encoder.model import Classifier
from proxy.backends.checkers.cross_encoder.windows import Reader
from proxy.backends.checkers.windowed import FAILED, Windowed
from proxy.backends.checkers.windows import Window
from proxy.text.sentences import own_punkt, sentence_spans
from proxy.types import Judgement, NLILabel, Pair, Precision, Verdict


class CrossEncoderChecker:
    """Implements `protocols.Checker` with any model that sentence-transformers loads as a `CrossEncoder`.

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
        self._windowed = Windowed("cross-encoder", self._read, self._judge, batch_size)

    @property
    def version(self) -> str:
        """Changes with the model, its weights and every setting that a judgement depends on."""
        return self._version

    async def check(self, pairs: Sequence[Pair]) -> Sequence[Judgement]:
        """One judgement per pair, in order. What still waits when the caller goes away is dropped."""
        return await self._windowed.check(pairs)

    def close(self) -> None:
        """Ends the thread; what it is at is finished first."""
        self._windowed.close()

    def _read(self, pair: Pair) -> list[Window]:
        """The pair's windows, each with what is to be quoted of it as its span."""
        windows = self._reader.read(pair)
        sentences = sentence_spans(pair.evidence, self._punkt) if windows else []
        return [replace(window, span=_whole(sentences, window.span)) for window in windows]

    def _judge(self, windows: Sequence[Window]) -> list[Judgement]:
        found = self._classifier.probabilities(windows)
        scores = self._classifier.classes.entailment(found)
        return [
            self._judgement(float(score), row, window.span)
            for window, score, row in zip(windows, scores, found, strict=True)
        ]

    def _judgement(self, score: float, probabilities: Floats, span: tuple[int, int]) -> Judgement:
        if not np.isfinite(probabilities).all():
            return FAILED
        verdict = self._verdict(score, probabilities)
        return Judgement(verdict, score, span, _REASONS[verdict])

    def _verdict(self, score: float, probabilities: Floats) -> Verdict:
        if score >= self._threshold:
            return Verdict.SUPPORTED
        contradicts = self._classifier.classes.contradicts(probabilities)
        return Verdict.CONTRADICTED if contradicts else Verdict.UNSUPPORTED


def _whole(sentences: Sequence[tuple[int, int]], span: tuple[int, int]) -> tuple[int, int]:
    """The sentences that are whole in a window's span, or the span where none is."""
    whole = [one for one in sentences if span[0] <= one[0] and one[1] <= span[1]]
    return (whole[0][0], whole[-1][1]) if whole else span


_REASONS = {
    Verdict.SUPPORTED: "the model holds that the evidence entails it",
    Verdict.CONTRADICTED: "the model holds that the evidence contradicts it",
    Verdict.UNSUPPORTED: "the model does not hold that the evidence entails it",
}
