"""Turns a trained model's outputs into probabilities and verdicts, on rows that it has not learnt.

Platt scaling (Platt 1999) of the log-odds of entailment, and the least probability of contradiction that is
precise enough to call a claim contradicted.
"""

from __future__ import annotations

import hashlib
import logging
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file
from sklearn.linear_model import LogisticRegression

from evaluation.datasets import Label
from proxy.checkers.nli.batch import TokenPair, batch_of
from proxy.checkers.nli.checker import Scores, decisive
from proxy.checkers.nli.linear import use_fast_layers
from proxy.checkers.nli.model import NLIModel, load_adapted
from proxy.checkers.nli.reader import ClaimTooLongError, Reader, Window
from proxy.checkers.nli.weights import Calibration
from proxy.model_files import device, dtype_of, quiet
from proxy.types import Language
from training.objective import log_odds
from training.plan import Plan, read_plan
from training.recipes import Recipe
from training.rows import TrainingRow
from training.run import CALIBRATION, TRAINED, Run, TrainingError, write_json
from training.training_data import Source, evidence_key, read_source

log = logging.getLogger(__name__)

THRESHOLDS: Mapping[Language, float] = {"en": 0.65, "zh": 0.6}
"""Probabilities from which a claim is supported, over 0.5: that loses little or nothing on most development
sets, and a wrong citation is worse than a missing one."""
JOINTLY: Mapping[Language, float] = {"en": 0.87, "zh": 0.75}
"""Probabilities from which several passages support a claim together. From lower ones on, in English, more of
the wrong facts in structured replies are supported: what holds for one of two like things passes for the
other. So it is in Chinese: from 0.65 on 14% of them instead of 10%."""
PRECISION = 0.85
"""Of the claims called contradicted, the share that must be."""
_LEAST_CALLED = 10
"""Claims that must be called contradicted before their precision is believed."""
_NEVER = 1.0
_BOUNDS = np.arange(50, 100) / 100
"""Probabilities that are tried, in hundredths."""
_BATCH_PAIRS = 8


@dataclass(frozen=True, slots=True)
class Scored:
    """What the model says of a row, as the checker puts windows and pieces together."""

    label: Label
    log_odds: float
    contradiction: float
    mismatched: bool = False
    """Whether the evidence is that of another claim."""


def calibrate(recipe: Recipe, base: Path, data: Path, run: Run) -> Path:
    """Writes the calibration of each language of a recipe. Raises `TrainingError` where there is too little
    to calibrate on, or the model tells nothing."""
    model, reader = trained_model(recipe, base, run), served_reader(recipe, base)
    plan = read_plan(run)
    calibrations = {}
    for language, sources in recipe.calibration.items():
        rows = unused_rows(sources, plan, data, run)
        calibrations[language] = calibration_of(_scored(rows, model, reader), language)
        log.info("calibrate: %s, %d rows: %s", language, len(rows), calibrations[language])
    path = run.path(CALIBRATION)
    write_json(path, {language: found.model_dump() for language, found in calibrations.items()})
    return path


def trained_model(recipe: Recipe, base: Path, run: Run) -> NLIModel:
    """The model of a run as it would serve, also in its precision. Raises `TrainingError` before `fit` is
    done."""
    with quiet():
        adapter = load_file(run.needed(TRAINED, "fit"))
        settings = recipe.settings
        model = load_adapted(base, settings.hidden, adapter, dtype_of("auto"), settings.pruning)
    use_fast_layers(model.encoder, device())
    return model.eval().requires_grad_(False).to(device())


def served_reader(recipe: Recipe, base: Path) -> Reader:
    """What reads pairs as they are read when the model serves."""
    return Reader(base, recipe.settings.served_tokens, recipe.settings.served_windows)


def unused_rows(sources: Sequence[Source], plan: Plan, data: Path, run: Run) -> list[TrainingRow]:
    """Rows whose evidence the plan does not have: of each source as many as it is to give, half of them
    supported, chosen by a checksum of their ids."""
    learnt = {row.evidence for line in plan.lines for row in plan.unit(line)}
    chosen: list[TrainingRow] = []
    for source in sources:
        rows = read_source(source, source.path(data, run), "calibrate")
        rows = [row for row in rows if evidence_key(row.evidence) not in learnt]
        rows.sort(key=lambda row: hashlib.sha256(row.id.encode()).digest())
        half = (source.rows or len(rows)) // 2
        for side in (True, False):
            chosen += [row for row in rows if row.supported is side][:half]
    return chosen


def calibration_of(rows: Sequence[Scored], language: Language) -> Calibration:
    """The calibration with the least log loss of `supported`, and the least probability of contradiction that
    reaches the precision.

    Mismatched evidence is too easy for the first, but must not be called a contradiction.
    """
    own = [row for row in rows if not row.mismatched]
    odds = np.array([[row.log_odds] for row in own], dtype=np.float64)
    right = np.array([row.label == "supported" for row in own], dtype=np.bool_)
    if right.all() or not right.any():
        raise TrainingError(f"There are no rows of both labels to calibrate {language} on.")
    fitted = LogisticRegression(C=1e6).fit(odds, right)
    scale, bias = float(fitted.coef_[0, 0]), float(fitted.intercept_[0])
    if scale <= 0:
        raise TrainingError(
            f"The model can't tell supported claims from others in {language}: train it longer."
        )
    threshold = THRESHOLDS[language]
    least = math.log(threshold / (1 - threshold))
    failing = [row for row in rows if scale * row.log_odds + bias < least and row.label != "not_supported"]
    entailed = 1 / (1 + np.exp([-scale * row.log_odds - bias for row in failing]))
    probabilities = np.array([row.contradiction for row in failing], dtype=np.float64) * (1 - entailed)
    contradicted = np.array([row.label == "contradicted" for row in failing], dtype=np.bool_)
    return Calibration(
        scale=round(scale, 4),
        bias=round(bias, 4),
        threshold=threshold,
        contradiction=least_precise(probabilities, contradicted),
        jointly=JOINTLY[language],
    )


def least_precise(
    probabilities: NDArray[np.float64], contradicted: NDArray[np.bool_], precision: float = PRECISION
) -> float:
    """The least probability at which the claims called contradicted are so with that precision; 1 if there is
    none.

    Both arrays are of shape (n,), of claims that fail.
    """
    for bound in _BOUNDS:
        called = contradicted[probabilities >= bound]
        if len(called) >= _LEAST_CALLED and called.mean() >= precision:
            return float(bound)
    return _NEVER


def _scored(rows: Sequence[TrainingRow], model: NLIModel, reader: Reader) -> list[Scored]:
    scored = []
    for row in rows:
        try:
            windows = reader.read(row.pair())
        except ClaimTooLongError:
            continue
        if windows:
            scores = decisive_scores(windows, model, reader)
            scored.append(Scored(row.label, *scores, mismatched=row.id.endswith("#mismatched")))
    return scored


def decisive_scores(windows: Sequence[Window], model: NLIModel, reader: Reader) -> tuple[float, float]:
    """Log-odds of entailment and contradiction's share of the rest, as the checker has them."""
    outputs = [
        output
        for batch in _batches([window.tokens for window in windows])
        for output in _outputs(model, reader, batch)
    ]
    _, scores = decisive(windows, [Scores(*output) for output in outputs])
    return scores.log_odds, scores.contradiction


def _batches(pairs: Sequence[TokenPair]) -> Iterator[Sequence[TokenPair]]:
    for start in range(0, len(pairs), _BATCH_PAIRS):
        yield pairs[start : start + _BATCH_PAIRS]


def _outputs(model: NLIModel, reader: Reader, pairs: Sequence[TokenPair]) -> list[tuple[float, float]]:
    with torch.inference_mode():
        logits = model(batch_of(pairs, reader.special).to(device()))
    shares = (logits[:, 1] - logits[:, 2]).sigmoid()
    return list(zip(log_odds(logits).tolist(), shares.tolist(), strict=True))
