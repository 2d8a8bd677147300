"""Several rankings as one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from typing import TypeVar

Item = TypeVar("Item", bound=Hashable)


def fused(rankings: Sequence[Sequence[Item]], k: int, weights: Sequence[float] | None = None) -> list[Item]:
    """All items, best first, by reciprocal rank fusion (Cormack, Clarke and Buettcher, SIGIR 2009).

    An item's score is the sum over the rankings of weight / (k + rank), ranks from 1. The paper has k = 60
    and equal weights. Of equal items the one that an earlier ranking has comes first.
    """
    scores: defaultdict[Item, float] = defaultdict(float)
    for ranking, weight in zip(rankings, weights or [1.0] * len(rankings), strict=True):
        for rank, item in enumerate(ranking, 1):
            scores[item] += weight / (k + rank)
    return sorted(scores, key=lambda item: -scores[item])
