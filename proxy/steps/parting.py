"""What the splitters of both languages make: clauses."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Clause:
    """A stretch `start:end` of a sentence's plain text, and what it says when it stands alone."""

    start: int
    end: int
    plain: str
