"""From which probability on a claim that fails counts as contradicted: chosen so that few do that are not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from proxy.checkers.builtin.weights import Contradiction
from proxy.types import Verdict
from training.ensemble import Flags, Floats, Table

ALARMS = 0.05
"""Of the failed claims of a source that nothing contradicts, the share that may be called contradicted."""
REPORTED = frozenset({"fever_symmetric"})
"""Sources that the threshold is measured on, and so not chosen by."""
_GRID = tuple(round(0.5 + 0.01 * step, 2) for step in range(50))


def fit_contradiction(
    table: Table, verdicts: Sequence[Verdict | None], supported: Flags, said: Flags, chances: Floats
) -> Contradiction:
    """The threshold on `chances`, and its figures beside those of the rule alone.

    All of length n: the right verdicts, which rows pass for support, and what `builtin.contradiction` makes
    of each: the rule's word and the probability. A row counts as not contradicted where it is labelled
    supported or unsupported; of one that is only labelled as not supported nothing is known.
    """
    known = np.array([one in (Verdict.SUPPORTED, Verdict.UNSUPPORTED) for one in verdicts], dtype=np.bool_)
    true = np.array([one is Verdict.CONTRADICTED for one in verdicts], dtype=np.bool_)
    choosing = (table.calibration > 0) & ~np.isin(table.sources, list(REPORTED))
    threshold = _threshold(chances, known & ~supported & choosing, table.sources)
    called = ~supported & (said | (chances >= threshold))
    measured = {
        source: dict(_figures(true[rows], (~supported & said)[rows], called[rows]))
        for source in dict.fromkeys(table.sources[true].tolist())
        for rows in [(table.sources == source) & (true | known)]
    }
    return Contradiction(threshold=threshold, figures=measured)


def _threshold(chances: Floats, wrong: Flags, sources: NDArray[np.str_]) -> float:
    """The least at which in no source more than `ALARMS` of the rows `wrong` to call are called."""
    parts = [chances[wrong & (sources == source)] for source in sorted(set(sources[wrong].tolist()))]
    passing = (one for one in _GRID if all((part >= one).mean() <= ALARMS for part in parts))
    return next(passing, 1.0)


def _figures(true: Flags, said: Flags, called: Flags) -> Mapping[str, float]:
    """Recall, and precision over rows of all three labels: of the rule alone, and of both together."""
    found = {
        "rows": len(true),
        "contradicted": true.sum(),
        "rule_recall": said[true].mean(),
        "rule_precision": _precision(true, said),
        "recall": called[true].mean(),
        "precision": _precision(true, called),
    }
    return {name: round(float(value), 3) for name, value in found.items()}


def _precision(true: Flags, called: Flags) -> float:
    """1 where none is called."""
    return float(true[called].mean()) if called.any() else 1.0
