"""Weights in blocks of four-bit numbers, for a base model that is small enough to come with the package."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import torch
from safetensors import safe_open
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


class PackedEmbedding(torch.nn.Module):
    """A table of vectors that stays packed: each is unpacked when it is looked up, as `read_packed` does.

    A multilingual vocabulary is most of a small model's memory, and a text has few of its rows.
    """

    nibbles: Tensor
    scales: Tensor

    def __init__(self, file: Path, name: str, dtype: torch.dtype) -> None:
        """Raises as `read_packed` does."""
        super().__init__()
        with safe_open(file, "pt") as tensors:
            for part in (_NIBBLES, _SCALES):
                self.register_buffer(part[1:], tensors.get_tensor(f"{name}{part}").clone(), persistent=False)
        self._dtype = dtype

    def forward(self, ids: Tensor) -> Tensor:
        """The vectors of ids of any shape, which is followed by their dimension."""
        rows = ids.flatten()
        vectors = _unpacked(self.nibbles[rows], self.scales[rows])
        return vectors.view(*ids.shape, vectors.shape[-1]).to(self._dtype)


def read_packed(file: Path, but: str = "") -> Iterator[tuple[str, Tensor]]:
    """The names and weights of a file, in float32: a weight is (nibble - 8) times its block's scale. The one
    named `but` is left out.

    The low nibbles of a block's 16 bytes are its first 16 weights. Raises `OSError`, `SafetensorError` where
    the file can't be read, `KeyError`, `RuntimeError` where it is no such file.
    """
    tensors = load_file(file)
    for key, tensor in tensors.items():
        name = key.removesuffix(_NIBBLES)
        if key.endswith(_SCALES) or name == but:
            continue
        yield name, _unpacked(tensor, tensors[f"{name}{_SCALES}"]) if name != key else tensor.float()


def _unpacked(nibbles: Tensor, scales: Tensor) -> Tensor:
    rows, half = nibbles.shape
    pairs = nibbles.view(rows, half * 2 // BLOCK, BLOCK // 2)
    numbers = torch.cat([pairs & 15, pairs >> 4], -1).float() - _ZERO
    return (numbers * scales.float()[..., None]).view(rows, half * 2)
