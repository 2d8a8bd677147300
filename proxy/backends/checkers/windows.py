"""Evidence longer than a model reads at once, as windows of it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from proxy.types import Pair

LEAST_ROOM = 16
"""Tokens of evidence that a window must have room for."""
_MAX_TITLE_CHARS = 120


@dataclass(frozen=True, slots=True)
class Window:
    """A window of an evidence with its claim: by name the model's inputs, rows of `length` integers.

    `span` is the window's place in `Pair.evidence`, in code points.
    """

    inputs: Mapping[str, Sequence[int]]
    span: tuple[int, int]

    @property
    def length(self) -> int:
        """In tokens, all told."""
        return len(self.inputs["input_ids"])


def batches(windows: Sequence[Window], size: int) -> Iterator[list[int]]:
    """The indexes of windows that are computed at once: about equally long ones, for little padding. The
    longest go first, so that what does not fit into memory fails at once."""
    longest_first = sorted(range(len(windows)), key=lambda at: -windows[at].length)
    for first in range(0, len(windows), size):
        yield longest_first[first : first + size]


def nearest(windows: Mapping[int, Sequence[int]], claim: Sequence[int], most: int) -> list[int]:
    """The keys of at most `most` windows of token ids, ascending: those that share most of the claim's tokens
    with it.

    A token counts the more the fewer windows have it.
    """
    if len(windows) <= most:
        return list(windows)
    wanted = frozenset(claim)
    held = {at: wanted.intersection(tokens) for at, tokens in windows.items()}
    spread = Counter(token for tokens in held.values() for token in tokens)
    weight = {token: math.log(1 + len(windows) / count) for token, count in spread.items()}
    worth = {at: math.fsum(weight[token] for token in tokens) for at, tokens in held.items()}
    return sorted(sorted(windows, key=lambda at: -worth[at])[:most])


def leading_title(pair: Pair) -> str:
    """The title that is to stand before the evidence; empty where the evidence begins with it."""
    title = pair.title.strip()[:_MAX_TITLE_CHARS]
    return "" if pair.evidence.lstrip().startswith(title) else title
