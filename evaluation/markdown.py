"""Figures as Markdown and as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from evaluation.metrics import Figures, Interval

_DIGITS = 4
_SHOWN = 3


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table; bars in cells are escaped."""
    lines = [header, ["---"] * len(header), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)


def shown(value: float, interval: Interval | None = None) -> str:
    """`0.912 [0.894, 0.929]`; a figure that the rows can't give is a dash."""
    if math.isnan(value):
        return "–"
    text = f"{value:.{_SHOWN}f}"
    return f"{text} [{interval[0]:.{_SHOWN}f}, {interval[1]:.{_SHOWN}f}]" if interval else text


def nested(figures: Figures | Mapping[str, Interval]) -> dict[str, Any]:
    """`{"recall.supported": x}` as `{"recall": {"supported": x}}`, for JSON: rounded, and null for NaN."""
    tree: dict[str, Any] = {}
    for name, value in figures.items():
        section, _, key = name.rpartition(".")
        node = tree.setdefault(section, {}) if section else tree
        node[key] = [rounded(one) for one in value] if isinstance(value, tuple) else rounded(value)
    return tree


def failures(unverified: int, counted: str = "not supported") -> str:
    """A line on pairs that the checker failed on, where there are any: what they are counted as."""
    return (
        f"\nThe checker failed on {unverified:,} of the pairs; they count as {counted}.\n"
        if unverified
        else ""
    )


def rounded(value: float) -> float | None:
    """Four digits, or None for NaN."""
    return None if math.isnan(value) else round(value, _DIGITS)


def print_json(line: Mapping[str, Any]) -> None:
    """One line on standard output, at once."""
    print(json.dumps(line, ensure_ascii=False, allow_nan=False), flush=True)
