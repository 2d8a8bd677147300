"""Figures with their intervals, as values, as JSON and as cells of a table."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from evaluation.markdown import nested, shown
from evaluation.metrics import Figures, Indexes, Interval, intervals


@dataclass(frozen=True, slots=True)
class Estimates:
    """Figures with their 95% intervals; one that the rows, or no resample of them, can give has none."""

    figures: Figures
    intervals: Mapping[str, Interval]

    def as_json(self) -> dict[str, Any]:
        """The figures, and the intervals beside them."""
        return {**nested(self.figures), "intervals": nested(self.intervals)}

    def beside(self, other: Estimates) -> Estimates:
        """Both, which have no figure in common."""
        return Estimates({**self.figures, **other.figures}, {**self.intervals, **other.intervals})

    def cells(self, names: Iterable[str] | None = None) -> list[str]:
        """These figures, or all, with their intervals."""
        wanted = self.figures if names is None else names
        return [shown(self.figures.get(name, math.nan), self.intervals.get(name)) for name in wanted]


def estimate(figures: Callable[[Indexes], Figures], rows: int, resamples: int) -> Estimates:
    """What `figures` gives of all rows, by their numbers, with the intervals of `metrics.intervals`."""
    return Estimates(figures(np.arange(rows)), intervals(figures, rows, resamples) if rows else {})
