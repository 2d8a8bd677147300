"""Evidence cut into overlapping windows of tokens."""

from __future__ import annotations

from itertools import takewhile

Bounds = tuple[int, int]

_SHARED = 0.25
"""What a window has in common with the one before, as a share of its tokens."""


def windows(tokens: int, room: int) -> list[Bounds]:
    """The bounds of windows of `room` tokens that cover all `tokens`; the last one ends where they end."""
    if tokens <= room:
        return [(0, tokens)] if tokens else []
    step = max(1, room - int(room * _SHARED))
    firsts = takewhile(lambda first: first + room < tokens, range(0, tokens, step))
    return [*((first, first + room) for first in firsts), (tokens - room, tokens)]
