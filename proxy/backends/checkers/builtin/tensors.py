"""Pairs of texts as the tensors that the NLI model takes, in batches of few shapes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

STEP = 16
_ROWS = 8
"""Lengths are padded to multiples of `STEP`, batches to multiples of `_ROWS`: for each new shape oneDNN
compiles anew, which costs more than the padding."""


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
    """Indexes by length, longest first, in batches of about `tokens` padded tokens at most."""
    alike: defaultdict[int, list[int]] = defaultdict(list)
    for at, length in enumerate(lengths):
        alike[_up(length, STEP)].append(at)
    return [
        group[start : start + size]
        for length, group in sorted(alike.items(), reverse=True)
        for size in [max(_ROWS, tokens // length // _ROWS * _ROWS)]
        for start in range(0, len(group), size)
    ]


def stacked(pairs: Sequence[TokenPair]) -> dict[str, Tensor]:
    """What `AlignedEncoder` takes, of shape (rows, length); rows without meaning may stand at the end."""
    width, height = _up(max(len(pair.ids) for pair in pairs), STEP), _up(len(pairs), _ROWS)
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


def _up(number: int, step: int) -> int:
    return -(-number // step) * step
