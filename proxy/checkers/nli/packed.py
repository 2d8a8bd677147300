"""Weights in blocks of four-bit numbers, for a base model that is small enough to come with the package."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor

PACKED = "packed.safetensors"
BLOCK = 32
"""Weights that share a scale."""
_NIBBLES, _SCALES = ".nibbles", ".scales"
_ZERO = 8


def packed(name: str, nibbles: Tensor, scales: Tensor) -> dict[str, Tensor]:
    """A matrix as two tensors of a file: `nibbles` of shape (rows, columns / 2), two weights to a byte, and
    `scales` of shape (rows, columns / `BLOCK`)."""
    return {f"{name}{_NIBBLES}": nibbles, f"{name}{_SCALES}": scales}


def read_packed(file: Path) -> Iterator[tuple[str, Tensor]]:
    """The names and weights of a file, in float32: a weight is (nibble - 8) times its block's scale.

    The low nibbles of a block's 16 bytes are its first 16 weights. Raises `OSError`, `SafetensorError` where
    the file can't be read, `KeyError`, `RuntimeError` where it is no such file.
    """
    tensors = load_file(file)
    for name in tensors:
        if not name.endswith(_SCALES):
            yield name.removesuffix(_NIBBLES), _unpacked(tensors, name)


def _unpacked(tensors: Mapping[str, Tensor], name: str) -> Tensor:
    if not name.endswith(_NIBBLES):
        return tensors[name].float()
    rows, half = tensors[name].shape
    pairs = tensors[name].view(rows, half * 2 // BLOCK, BLOCK // 2)
    numbers = torch.cat([pairs & 15, pairs >> 4], -1).float() - _ZERO
    scales = tensors[f"{name.removesuffix(_NIBBLES)}{_SCALES}"].float()
    return (numbers * scales[..., None]).view(rows, half * 2)
