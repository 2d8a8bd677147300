"""Pairs as the cross-encoder reads them: token ids, padded batches, and masks of evidence and claim."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

_STEP = 16
"""Batches are padded to multiples of so many tokens: oneDNN compiles anew for each shape, and keeps what it
compiled in memory."""


@dataclass(frozen=True, slots=True)
class TokenPair:
    """Token ids of a window of evidence and of a claim, without special tokens.

    `context` are tokens that the model reads before the claim and that are not judged.
    """

    evidence: tuple[int, ...]
    claim: tuple[int, ...]
    context: tuple[int, ...] = ()

    @property
    def length(self) -> int:
        """Tokens with the four special ones."""
        return len(self.evidence) + len(self.context) + len(self.claim) + 4

    @property
    def padded(self) -> int:
        """The least length of a batch that has the pair."""
        return padded(self.length)


def padded(length: int) -> int:
    """The least length of a batch with that many tokens."""
    return -(-length // _STEP) * _STEP


@dataclass(frozen=True, slots=True)
class SpecialTokens:
    """The ids of a tokenizer's special tokens."""

    start: int
    end: int
    pad: int


@dataclass(frozen=True, slots=True)
class Batch:
    """Padded pairs as tensors of shape (pairs, length): ids, and masks of all tokens, evidence and claim."""

    ids: Tensor
    mask: Tensor
    evidence: Tensor
    claim: Tensor

    def tensors(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """All four."""
        return self.ids, self.mask, self.evidence, self.claim

    def to(self, device: torch.device) -> Batch:
        """The same batch on a device."""
        return Batch(*(moved(tensor, device) for tensor in self.tensors()))


def moved(tensor: Tensor, device: torch.device) -> Tensor:
    """A tensor of the processor's memory on a device. A GPU goes on computing meanwhile."""
    if device.type == "cuda":
        return tensor.pin_memory().to(device, non_blocking=True)
    return tensor.to(device)


def batch_of(pairs: Sequence[TokenPair], special: SpecialTokens) -> Batch:
    """The pairs as one batch, padded to the longest."""
    width = max(pair.padded for pair in pairs)
    start, end, pad = special.start, special.end, special.pad
    rows = [
        [start, *pair.evidence, end, end, *pair.context, *pair.claim, end, *[pad] * (width - pair.length)]
        for pair in pairs
    ]
    split, stop = (
        torch.tensor(sizes)[:, None]
        for sizes in ([len(pair.evidence) for pair in pairs], [pair.length for pair in pairs])
    )
    claims = torch.tensor([len(pair.claim) for pair in pairs])[:, None]
    place = torch.arange(width)
    masks = (
        place < stop,
        (place > 0) & (place <= split),
        (place >= stop - 1 - claims) & (place < stop - 1),
    )
    return Batch(torch.tensor(rows), *(mask.long() for mask in masks))
