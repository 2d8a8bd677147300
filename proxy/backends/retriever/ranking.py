"""What a way of ranking passages gives, and what it must not be under."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage found for a query: its row, and its cosine to the query, 0 where nobody computed it."""

    row: int
    cosine: float = 0.0


class Ranking(Protocol):
    """One way of ranking a corpus. Blocking, one thread at a time."""

    def rank(self, queries: Sequence[str], k: int) -> list[tuple[Hit, ...]]:
        """Per query at most k hits, best first."""
        ...


def over(threshold: float, hits: Sequence[Hit]) -> tuple[Hit, ...]:
    """The hits whose cosine is at least `threshold`, and the first in any case (CEG, section 3.2)."""
    return tuple(hit for place, hit in enumerate(hits) if place == 0 or hit.cosine >= threshold)
