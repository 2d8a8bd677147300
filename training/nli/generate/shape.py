"""What a generator makes: a fact, and pairs of claims that differ only in what makes one right and one wrong.

Right and wrong claims come from the same frames, so that a claim alone never tells its label.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

Pair = tuple[str, str]
"""A right claim and the wrong one of the same frame."""


@dataclass(frozen=True, slots=True)
class Draft:
    """One evidence with the claims that can be made of it; `wrong` is the label of the wrong ones."""

    fact: str
    pairs: Sequence[Pair]
    kind: str
    wrong: str = "contradicted"


def capital(text: str) -> str:
    """The text with its first letter capital."""
    return text[:1].upper() + text[1:]


def swap(frames: Sequence[str], right: dict[str, str], wrong: dict[str, str]) -> list[Pair]:
    """Every frame filled in with the right values and with the wrong ones."""
    return [(frame.format(**right), frame.format(**wrong)) for frame in frames]
