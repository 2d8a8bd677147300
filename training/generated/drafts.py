"""What a generator makes: a fact, and pairs of claims of which the fact bears out one.

Right and wrong claims are made from the same frames, so that a claim alone does not tell its label.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Claims = tuple[str, str]
"""A right claim, and the wrong one of the same frame."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A sentence of evidence with claims about it. `wrong` is the label of the wrong ones."""

    fact: str
    pairs: Sequence[Claims]
    kind: str
    wrong: Literal["contradicted", "not_supported"] = "contradicted"


def capital(text: str) -> str:
    """The text with a capital first letter."""
    return text[:1].upper() + text[1:]


def swapped(frames: Sequence[str], right: dict[str, str], wrong: dict[str, str]) -> list[Claims]:
    """Every frame, filled in with the right values and with the wrong ones."""
    return [(frame.format(**right), frame.format(**wrong)) for frame in frames]


def either_way(frame: str, first: str, second: str, first_is_right: bool) -> Claims:
    """The frame with the right one of two words, and with the wrong one."""
    claims = frame.format(first), frame.format(second)
    return claims if first_is_right else claims[::-1]
