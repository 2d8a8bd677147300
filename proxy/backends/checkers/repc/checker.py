"""The RepC checker: a shallow classifier decides by a model's hidden states."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from proxy.backends.checkers.repc.classifiers import Floats
from proxy.backends.checkers.repc.description import Description, calibrated
from proxy.backends.checkers.repc.files import Stored, read_classifier
from proxy.backends.checkers.repc.reading import Window
from proxy.backends.checkers.repc.states import HiddenStates, batches
from proxy.backends.encoder import Precision
from proxy.errors import ConfigError
from proxy.types import Judgement, Pair, Verdict

log = logging.getLogger(__name__)


class RepCChecker:
    """Implements `types.Checker` with a classifier made by `python -m training.repc`.

    RefChecker (EMNLP 2024), section 4. Evidence longer than the window is read in overlapping windows, of
    which the one that most likely supports the claim decides and is the quote; in the paper's code, where
    none supports the claim, any that contradicts it decides. The claim is never cut: one that leaves no room
    for evidence is UNVERIFIED. All work is done on a thread of the checker's own.

    Args:
        model: the name, folder or hub id of the model that the classifier was trained on.
        classifier: the folder that training wrote, or the `repc.json` in it.
        precision: see `SentenceTransformerEncoder`.
        threads: of the whole process, for torch. None leaves torch's own choice.
        batch_size: windows that are computed at once.

    Raises:
        ConfigError: a file is missing or broken, or the model is not the one the classifier was trained on.
    """

    def __init__(
        self,
        model: str,
        classifier: str | Path,
        *,
        precision: Precision = "auto",
        threads: int | None = None,
        batch_size: int = 8,
    ) -> None:
        stored = read_classifier(Path(classifier))
        self._description = stored.description
        self._ensemble = stored.ensemble
        self._states = HiddenStates(
            model,
            max_tokens=stored.description.max_tokens,
            pooling=stored.description.pooling,
            precision=precision,
            threads=threads,
        )
        _same_model(stored, self._states, str(classifier))
        self._version = hashlib.sha256(f"{stored.sha256} {self._states.checksum}".encode()).hexdigest()
        self._batch_size = batch_size
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="repc-checker")

    @property
    def version(self) -> str:
        """A SHA-256 that changes with the classifier and with the model: for caches of judgements."""
        return self._version

    async def check(self, pairs: Sequence[Pair]) -> Sequence[Judgement]:
        """One judgement per pair, in order. What still waits when the caller goes away is dropped."""
        loop = asyncio.get_running_loop()
        cuts = [await loop.run_in_executor(self._thread, self._cut, pair) for pair in pairs]
        windows = [window for cut in cuts if not isinstance(cut, Judgement) for window in cut]
        found = np.full((len(windows), len(self._description.classes)), np.nan)
        for batch in batches(windows, self._batch_size):
            found[batch] = await loop.run_in_executor(
                self._thread, self._classify, [windows[at] for at in batch]
            )
        judgements, at = [], 0
        for cut in cuts:
            if isinstance(cut, Judgement):
                judgements.append(cut)
                continue
            judgements.append(_judge(self._description, cut, found[at : at + len(cut)]))
            at += len(cut)
        return judgements

    def close(self) -> None:
        """Ends the thread; what it is at is finished first."""
        self._thread.shutdown(wait=True, cancel_futures=True)

    def _cut(self, pair: Pair) -> list[Window] | Judgement:
        """The pair's windows, or what is to be said of it without any."""
        try:
            windows = self._states.reader.read(pair)
        except ValueError as error:
            return Judgement(Verdict.UNVERIFIED, reason=str(error))
        except Exception as error:
            log.exception("the RepC checker stumbled over a pair")
            return Judgement(Verdict.UNVERIFIED, reason=f"the checker failed: {type(error).__name__}")
        return windows or Judgement(Verdict.UNSUPPORTED, reason="there is no evidence")

    def _classify(self, windows: Sequence[Window]) -> Floats:
        """Probabilities, shape (n, classes); NaN for a window that the model failed on even alone."""
        found = np.full((len(windows), len(self._description.classes)), np.nan)
        try:
            states = self._states.read(windows)
            finite = np.isfinite(states).all(axis=(1, 2))
            found[finite] = self._ensemble.probabilities(states[finite])
        except Exception:
            log.exception("the RepC checker's model failed on %d windows", len(windows))
            if len(windows) > 1:
                return np.vstack([self._classify([window]) for window in windows])
        return found


def _same_model(stored: Stored, states: HiddenStates, classifier: str) -> None:
    wanted = stored.description.model
    if wanted.sha256 != states.checksum:
        raise ConfigError(
            f"The RepC classifier {classifier} was trained on the model {wanted.name} (SHA-256 "
            f"{wanted.sha256[:12]}…, hidden size {wanted.hidden_size}), not on {states.name} "
            f"({states.checksum[:12]}…, {states.hidden_size}): name that model, or train for this one with "
            "`python -m training.repc`."
        )


def _judge(description: Description, windows: Sequence[Window], probabilities: Floats) -> Judgement:
    """What the windows of one pair say together: a failed one leaves the claim open, unless another one
    supports it."""
    failed = ~np.isfinite(probabilities).all(axis=1)
    if failed.all():
        return Judgement(Verdict.UNVERIFIED, reason="the checker's model failed")
    best = int(np.where(failed, -1, probabilities[:, 0]).argmax())
    score = float(calibrated(probabilities[best, 0], description.slope, description.offset))
    verdict = description.verdict(probabilities[best], score)
    if failed.any() and verdict is not Verdict.SUPPORTED:
        return Judgement(Verdict.UNVERIFIED, reason="the checker's model failed on a part of the evidence")
    return Judgement(verdict, score, windows[best].span, _REASONS[verdict])


_REASONS = {
    Verdict.SUPPORTED: "the evidence supports it",
    Verdict.CONTRADICTED: "the evidence contradicts it",
    Verdict.UNSUPPORTED: "the evidence does not support it",
}
