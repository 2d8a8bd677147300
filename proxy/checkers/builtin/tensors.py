"""Pairs of texts as the tensors that the NLI model takes, in batches of few shapes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

STEP = 16
_FEW = (1, 2, 4)
_ROWS = 8
"""Lengths are padded to multiples of `STEP`, batches to a few rows or multiples of `_ROWS`: oneDNN compiles
anew for each shape and keeps only so many."""
_CALL = 96
"""What calling the model once more costs, in tokens that it could have read instead."""


@dataclass(frozen=True, slots=True)
class TokenPair:
    """[CLS] evidence [SEP] claim [SEP] as token ids; the claim's are `ids[start:-1]`."""

    ids: tuple[int, ...]
    start: int


def join(evidence: Sequence[int], claim: Sequence[int], first: int, end: int, room: int) -> TokenPair:
    """A pair of at most `room` tokens, its evidence cut at the end; `first` and `end` are [CLS] and [SEP]."""
    cut = evidence[: max(0, room - 3 - len(claim))]
    return TokenPair((first, *cut, end, *claim, end), len(cut) + 2)


def batches(lengths: Sequence[int], tokens: int) -> list[list[int]]:
    """Indexes by length, longest first, in the batches that cost least: padding against calls.

    A batch has at most `tokens` padded tokens, or one row. Of each end of the sorted rows the cheapest way to
    get there is kept (Bellman), so the cost is the rows times those of the largest batch.
    """
    order = sorted(range(len(lengths)), key=lambda at: -lengths[at])
    widths = [_up(lengths[at], STEP) for at in order]
    cheapest, cuts = [0], [0]
    for end in range(1, len(order) + 1):
        cost, cut = min(_ways(cheapest, widths, end, tokens))
        cheapest.append(cost)
        cuts.append(cut)
    found: list[list[int]] = []
    end = len(order)
    while end:
        found.append(order[cuts[end] : end])
        end = cuts[end]
    return found[::-1]


def _ways(cheapest: Sequence[int], widths: Sequence[int], end: int, tokens: int) -> Iterator[tuple[int, int]]:
    """The cost of the rows before `end` for each start of the last batch, with that start."""
    for start in range(end - 1, -1, -1):
        padded = widths[start] * _height(end - start)
        if padded > tokens and start < end - 1:
            return
        yield cheapest[start] + padded + _CALL, start


def stacked(pairs: Sequence[TokenPair]) -> dict[str, Tensor]:
    """What `AlignedEncoder` takes, of shape (rows, length); rows without meaning may stand at the end."""
    width, height = _up(max(len(pair.ids) for pair in pairs), STEP), _height(len(pairs))
    ids, types, mask = (torch.zeros((height, width), dtype=torch.long) for _ in range(3))
    evidence, claim = (torch.zeros((height, width), dtype=torch.bool) for _ in range(2))
    mask[:, 0] = 1
    for at, pair in enumerate(pairs):
        end = len(pair.ids)
        ids[at, :end] = torch.tensor(pair.ids)
        mask[at, :end] = 1
        types[at, pair.start : end] = 1
        evidence[at, 1 : pair.start - 1] = True
        claim[at, pair.start : end - 1] = True
    return {"ids": ids, "types": types, "mask": mask, "evidence": evidence, "claim": claim}


def _height(rows: int) -> int:
    return next((few for few in _FEW if few >= rows), _up(rows, _ROWS))


def _up(number: int, step: int) -> int:
    return -(-number // step) * step
