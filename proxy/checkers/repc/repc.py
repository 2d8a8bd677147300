"""The RepC checker: a shallow classifier decides by a model's hidden states."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from proxy.checkers.repc.classifiers import Floats
from proxy.checkers.repc.hidden_states import ClaimWindow, HiddenStates
from proxy.checkers.repc.stored import Description, Stored, calibrated, read_classifier
from proxy.checkers.windows import FAILED, Windowed
from proxy.errors import ConfigError
from proxy.types import Judgement, Pair, Precision, Verdict


class RepCChecker:
    """Implements `protocols.Checker` with a classifier made by `python -m training.repc`.

    RefChecker (EMNLP 2024), section 4. Long evidence is read in overlapping windows. The window with the
    highest probability of support decides and is the quote; in the paper's code, if none supports the claim,
    any that contradicts it decides. The claim is never cut: one that leaves no room for evidence is
    UNVERIFIED. The model runs on a thread of its own.

    Args:
        model: the name, folder or hub id of the model that the classifier was trained on.
        classifier: the folder that training wrote, or the `repc.json` in it.
        precision: see `SentenceTransformerEncoder`.
        batch_size: windows that are computed together.

    Raises:
        ConfigError: a file is missing or broken, or the model is not the one the classifier was trained on.
    """

    def __init__(
        self,
        model: str,
        classifier: str | Path,
        *,
        precision: Precision = "auto",
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
        )
        _same_model(stored, self._states, str(classifier))
        self._version = hashlib.sha256(f"{stored.sha256} {self._states.checksum}".encode()).hexdigest()
        self._windowed = Windowed("RepC", self._states.reader.read, self._judge, batch_size)

    @property
    def version(self) -> str:
        """A SHA-256 of classifier and model, for caches of judgements."""
        return self._version

    async def check(self, pairs: Sequence[Pair]) -> Sequence[Judgement]:
        """One judgement per pair, in order. Batches that have not begun when it is cancelled are dropped."""
        return await self._windowed.check(pairs)

    def close(self) -> None:
        """Ends the thread, after the batch that it is computing."""
        self._windowed.close()

    def _judge(self, windows: Sequence[ClaimWindow]) -> list[Judgement]:
        states = self._states.read(windows)
        finite = np.isfinite(states).all(axis=(1, 2))
        probabilities = np.full((len(windows), len(self._description.classes)), np.nan)
        probabilities[finite] = self._ensemble.probabilities(states[finite])
        return [
            _judgement(self._description, window, row)
            for window, row in zip(windows, probabilities, strict=True)
        ]


def _same_model(stored: Stored, states: HiddenStates, classifier: str) -> None:
    wanted = stored.description.model
    if wanted.sha256 != states.checksum:
        raise ConfigError(
            f"The RepC classifier {classifier} was trained on the model {wanted.name} (SHA-256 "
            f"{wanted.sha256[:12]}…, hidden size {wanted.hidden_size}), not on {states.name} "
            f"({states.checksum[:12]}…, {states.hidden_size}): name that model, or train for this one with "
            "`python -m training.repc`."
        )


def _judgement(description: Description, window: ClaimWindow, probabilities: Floats) -> Judgement:
    if not np.isfinite(probabilities).all():
        return FAILED
    score = float(calibrated(probabilities[0], description.slope, description.offset))
    verdict = description.verdict(probabilities, score)
    return Judgement(verdict, score, window.span, _REASONS[verdict])


_REASONS = {
    Verdict.SUPPORTED: "the evidence supports it",
    Verdict.CONTRADICTED: "the evidence contradicts it",
    Verdict.UNSUPPORTED: "the evidence does not support it",
}
