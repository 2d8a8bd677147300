"""Scores become probabilities and verdicts on rows that the plan does not have."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from evaluation.datasets import Label
from tests.training.toys import SETTINGS, toy_base, toy_recipe, toy_rows
from training.calibrate import THRESHOLDS, Scored, calibration_of, least_precise, unused_rows
from training.plan import make_plan, read_plan
from training.run import TrainingError, open_run
from training.training_data import Source, evidence_key


def scored(label: Label, log_odds: float, count: int, contradiction: float = 0.0) -> list[Scored]:
    return [Scored(label, log_odds, contradiction)] * count


def test_probabilities_are_the_shares_that_are_supported() -> None:
    rows = scored("supported", 3.0, 80) + scored("not_supported", 3.0, 20)
    rows += scored("supported", -1.0, 30) + scored("not_supported", -1.0, 70)
    calibration = calibration_of(rows, "en")
    for log_odds, share in ((3.0, 0.8), (-1.0, 0.3)):
        logit = calibration.scale * log_odds + calibration.bias
        assert 1 / (1 + math.exp(-logit)) == pytest.approx(share, abs=0.01)
    assert calibration.threshold == THRESHOLDS["en"]


def test_contradiction_is_called_where_it_is_precise() -> None:
    rows = scored("supported", 5.0, 100)
    rows += scored("contradicted", -5.0, 40, contradiction=0.9) + scored(
        "unsupported", -5.0, 5, contradiction=0.9
    )
    rows += scored("contradicted", -5.0, 10, contradiction=0.6) + scored(
        "unsupported", -5.0, 20, contradiction=0.6
    )
    bound = calibration_of(rows, "en").contradiction
    assert 0.6 <= bound <= 0.9  # above the imprecise ones


def test_rows_that_do_not_tell_the_labels_apart_play_no_part_in_contradiction() -> None:
    shares = np.array([0.9] * 20)
    assert least_precise(shares, np.ones(20, dtype=np.bool_)) == 0.5
    assert least_precise(shares, np.zeros(20, dtype=np.bool_)) == 1
    assert least_precise(shares[:5], np.ones(5, dtype=np.bool_)) == 1


def test_a_model_that_tells_nothing_is_an_error() -> None:
    rows = scored("supported", -1.0, 50) + scored("unsupported", 1.0, 50)
    with pytest.raises(TrainingError, match="train it longer"):
        calibration_of(rows, "en")
    with pytest.raises(TrainingError, match="both labels"):
        calibration_of(scored("supported", 1.0, 5), "zh")


def test_calibration_shares_no_evidence_with_the_plan(tmp_path: Path) -> None:
    base, data = toy_base(tmp_path / "base"), tmp_path / "data"
    run = open_run(tmp_path / "run")
    recipe = toy_recipe(base, data, SETTINGS)
    make_plan(recipe, base, data, run)
    plan = read_plan(run)
    learnt = {row.evidence for line in plan.lines for row in plan.unit(line)}
    left = unused_rows([Source("train/toy.jsonl", "MIT")], plan, data, run)
    assert left
    assert not learnt & {evidence_key(row.evidence) for row in left}
    toy_rows(data / "train" / "fresh.jsonl", 900, seed=5)
    rows = unused_rows([Source("train/fresh.jsonl", "MIT", 20)], plan, data, run)
    assert len(rows) == 20
    assert sum(row.supported for row in rows) == 10
