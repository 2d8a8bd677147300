"""Detection of factual errors, by segment and by response: NumPy, no files."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from evaluation.metrics import Figures, Flags, Indexes

Counts = NDArray[np.int64]
"""Shape (responses, 4): errors found, errors missed, false alarms, right ones left alone."""


def counted(wrong: Sequence[Flags], called: Sequence[Flags]) -> dict[str, Counts]:
    """Per response the counts of its segments, and its own: wrong where any segment is.

    `wrong` and `called` hold per response which segments people, and the checker, call nonfactual.
    """
    segments = [_counts(truth, said) for truth, said in zip(wrong, called, strict=True)]
    responses = [
        _counts(np.array([truth.any()]), np.array([said.any()]))
        for truth, said in zip(wrong, called, strict=True)
    ]
    return {"segment": np.array(segments), "response": np.array(responses)}


def figures(levels: dict[str, Counts], rows: Indexes) -> Figures:
    """F1, precision and recall of factual errors as in FELM, and CEG's accuracies per class.

    `rows` are the responses that count. A figure that they can't give is NaN.
    """
    values: dict[str, float] = {}
    for level, counts in levels.items():
        hit, missed, alarm, left = (int(total) for total in counts[rows].sum(axis=0))
        nonfactual, factual = _ratio(hit, hit + missed), _ratio(left, left + alarm)
        values |= {
            f"{level}.f1": _ratio(2 * hit, 2 * hit + missed + alarm),
            f"{level}.precision": _ratio(hit, hit + alarm),
            f"{level}.recall_nonfactual": nonfactual,
            f"{level}.recall_factual": factual,
            f"{level}.balanced_accuracy": (nonfactual + factual) / 2,
        }
    return values


def _counts(truth: Flags, said: Flags) -> list[int]:
    return [
        int((truth & said).sum()),
        int((truth & ~said).sum()),
        int((~truth & said).sum()),
        int((~truth & ~said).sum()),
    ]


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else math.nan
