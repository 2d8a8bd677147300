"""From where on a claim that fails is contradicted: chosen by the claims that are not."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from proxy.checkers.builtin.builtin_weights import Contradiction
from proxy.types import Verdict
from training.calibrate import ALARMS, fit_contradiction
from training.regression import Table

ROWS = 200
SUPPORTED, CONTRADICTED, UNSUPPORTED = Verdict.SUPPORTED, Verdict.CONTRADICTED, Verdict.UNSUPPORTED


def fitted(
    verdicts: Sequence[Verdict | None],
    chances: Sequence[float],
    *,
    sources: Sequence[str] | str = "one",
    calibration: float = 1.0,
    passed: bool = False,
    said: Sequence[bool] | bool = False,
) -> Contradiction:
    n = len(verdicts)
    none = np.zeros(n, dtype=np.bool_)
    table = Table(
        values=np.zeros((n, 1)),
        supported=np.array([one is SUPPORTED for one in verdicts]),
        swapped=none,
        fit=np.ones(n),
        gate=np.zeros(n),
        calibration=np.full(n, calibration),
        factors=np.ones(n),
        groups=np.arange(n),
        sources=np.array(np.broadcast_to(sources, n)),
    )
    return fit_contradiction(
        table, verdicts, none | passed, np.array(np.broadcast_to(said, n)), np.array(chances)
    )


def spread(
    verdict: Verdict | None, low: float = 0.0, high: float = 1.0
) -> tuple[list[Verdict | None], list[float]]:
    """Rows of one label, their probabilities evenly between two bounds."""
    return [verdict] * ROWS, np.linspace(low, high, ROWS, endpoint=False).tolist()


@pytest.mark.parametrize("verdict", [UNSUPPORTED, SUPPORTED])
def test_of_failed_claims_that_nothing_contradicts_few_are_called_so(verdict: Verdict) -> None:
    verdicts, chances = spread(verdict)
    threshold = fitted(verdicts, chances).threshold
    assert threshold == pytest.approx(1 - ALARMS)


def test_the_source_with_the_most_false_alarms_decides() -> None:
    verdicts, low = spread(UNSUPPORTED, 0.0, 0.6)
    _, high = spread(UNSUPPORTED, 0.4, 0.9)
    both = fitted(verdicts * 2, low + high, sources=["low"] * ROWS + ["high"] * ROWS)
    assert both.threshold == fitted(verdicts, high).threshold > fitted(verdicts, low).threshold


def test_rows_that_say_nothing_of_it_do_not_count() -> None:
    quiet = fitted([UNSUPPORTED] * ROWS, [0.1] * ROWS).threshold
    for verdict, chance in ((None, 0.99), (CONTRADICTED, 0.99)):
        found = fitted([UNSUPPORTED] * ROWS + [verdict] * ROWS, [0.1] * ROWS + [chance] * ROWS)
        assert found.threshold == quiet
    loud = [UNSUPPORTED] * ROWS, [0.99] * ROWS
    assert fitted(*loud, passed=True).threshold == quiet
    assert fitted(*loud, calibration=0.0).threshold == quiet
    assert fitted(*loud, sources="fever_symmetric").threshold == quiet


def test_where_no_threshold_is_safe_none_passes() -> None:
    assert fitted([UNSUPPORTED] * ROWS, [0.999] * ROWS).threshold == 1.0


def test_the_figures_tell_the_rule_from_both_together() -> None:
    verdicts = [CONTRADICTED] * 4 + [UNSUPPORTED] * 96 + [None] * 5
    chances = [0.9, 0.9, 0.0, 0.0] + [0.9] + [0.0] * 95 + [0.9] * 5
    said = [True, False, True, False] + [False, True] + [False] * 99
    found = fitted(verdicts, chances, said=said)
    assert found.threshold == 0.5
    assert found.figures == {
        "one": {
            "rows": 100,
            "contradicted": 4,
            "rule_recall": 0.5,
            "rule_precision": 0.667,
            "recall": 0.75,
            "precision": 0.6,
        }
    }
