"""SelfCheckGPT's WikiBio GPT-3 passages with human labels, and the figures of their sentences."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError, model_validator
from sklearn.metrics import auc, precision_recall_curve

from evaluation.datasets import DataError, explain
from evaluation.metrics import Figures, Flags, Floats, share
from proxy.types import Claim

Annotation = Literal["accurate", "minor_inaccurate", "major_inaccurate"]


class Biography(BaseModel):
    """A passage of GPT-3 about a person, in sentences, and the Wikipedia paragraph that it should have been.

    `annotation` holds people's label of each sentence. Keys that we don't know are left out.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    wiki_bio_text: str
    gpt3_sentences: tuple[str, ...]
    annotation: tuple[Annotation, ...]

    @model_validator(mode="after")
    def _aligned(self) -> Biography:
        if not self.gpt3_sentences or len(self.gpt3_sentences) != len(self.annotation):
            raise ValueError("`gpt3_sentences` and `annotation` must be as long as each other, and not empty")
        return self

    @property
    def factual(self) -> Flags:
        """Which sentences are accurate, shape (sentences,): minor inaccuracies count as nonfactual."""
        return np.array([label == "accurate" for label in self.annotation], dtype=np.bool_)

    def claims(self) -> tuple[Claim, ...]:
        """The sentences with their places in the passage, a space apart. All of them are checked."""
        return tuple(_claims(self.gpt3_sentences))


@dataclass(frozen=True, slots=True)
class Sentences:
    """n sentences: whether they are accurate, whether they were called supported, and the support scores."""

    factual: Flags
    called: Flags
    scores: Floats


def read_wikibio(path: Path, limit: int | None = None) -> list[Biography]:
    """The passages of a JSON array or a JSON Lines file, the first `limit` of them. Raises `DataError`."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise DataError(f"{path} can't be read: {reason}.") from error
    biographies = [_biography(value, place) for place, value in _values(path, text)]
    if not biographies:
        raise DataError(f"{path} is empty: it must hold passages of SelfCheckGPT's WikiBio GPT-3 data.")
    return biographies[:limit]


def figures(sentences: Sentences) -> Figures:
    """AUC-PR of both classes (SelfCheckGPT, section 6), and accuracies per class of the verdicts.

    A sentence's score for NonFact is 1 less its support. CEG computes its AUC-PR from yes and no, which gives
    the `verdict_auc_pr` here. Both interpolate precision linearly, which flatters the curve of few points.
    """
    factual, scores = sentences.factual, sentences.scores
    right = factual == sentences.called
    verdicts = sentences.called.astype(np.float64)
    recalls = {"nonfact": share(right[~factual]), "fact": share(right[factual])}
    return {
        "auc_pr.nonfact": _area(~factual, 1 - scores),
        "auc_pr.fact": _area(factual, scores),
        "verdict_auc_pr.nonfact": _area(~factual, 1 - verdicts),
        "verdict_auc_pr.fact": _area(factual, verdicts),
        "recall.nonfact": recalls["nonfact"],
        "recall.fact": recalls["fact"],
        "balanced_accuracy": (recalls["nonfact"] + recalls["fact"]) / 2,
    }


def _area(truth: Flags, scores: Floats) -> float:
    """The area under precision against recall; NaN where the sentences are of one class."""
    if truth.all() or not truth.any():
        return math.nan
    precision, recall, _ = precision_recall_curve(truth, scores)
    return float(auc(recall, precision))


def _values(path: Path, text: str) -> Iterator[tuple[str, Any]]:
    """Each passage with the place that it stands at."""
    try:
        if text.lstrip().startswith("["):
            yield from ((f"{path}, entry {index}", value) for index, value in enumerate(json.loads(text)))
            return
        for number, line in enumerate(text.split("\n"), 1):
            if line.strip():
                yield f"{path}:{number}", json.loads(line)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path} is neither a JSON array nor JSON Lines: {error}.") from error


def _biography(value: Any, place: str) -> Biography:
    try:
        return Biography.model_validate(value)
    except ValidationError as error:
        raise DataError(f"{place}: {explain(error)}.") from None


def _claims(sentences: Sequence[str]) -> Iterator[Claim]:
    start = 0
    for text in sentences:
        yield Claim(start, start + len(text), text, text)
        start += len(text) + 1
