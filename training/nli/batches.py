"""Rows of a plan as optimiser steps of micro-batches of like length, units kept whole."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from nli.config import Config
from nli.encode import Encoder, Pair
from nli.model import Batch

_POOL_STEPS = 12


@dataclass(frozen=True, slots=True)
class Micro:
    """What one thread computes at once."""

    batch: Batch
    labels: Tensor
    groups: Tensor


@dataclass(frozen=True, slots=True)
class _Unit:
    number: int
    pairs: tuple[Pair, ...]
    labels: tuple[int, ...]

    @property
    def size(self) -> int:
        return max(pair.size for pair in self.pairs)


def steps(
    rows: Sequence[dict[str, Any]], encoder: Encoder, config: Config, seed: int
) -> Iterator[list[Micro]]:
    """The plan's rows once, in its order but for a shuffle by length within a pool."""
    rng = random.Random(seed)
    units = _units(rows, encoder)
    pool_rows = config.batch_rows * _POOL_STEPS
    pool: list[_Unit] = []
    for unit in units:
        pool.append(unit)
        if sum(len(found.labels) for found in pool) >= pool_rows:
            yield from _pool_steps(pool, encoder, config, rng)
            pool = []
    if pool:
        yield from _pool_steps(pool, encoder, config, rng)


def _units(rows: Sequence[dict[str, Any]], encoder: Encoder) -> Iterator[_Unit]:
    pairs = encoder.pairs([(row["window"], row["claim"]) for row in rows])
    start = 0
    for at in range(1, len(rows) + 1):
        if at == len(rows) or rows[at]["unit"] != rows[start]["unit"]:
            yield _Unit(start, tuple(pairs[start:at]), tuple(row["target"] for row in rows[start:at]))
            start = at


def _pool_steps(
    pool: Sequence[_Unit], encoder: Encoder, config: Config, rng: random.Random
) -> Iterator[list[Micro]]:
    micros: list[list[_Unit]] = []
    for unit in sorted(pool, key=lambda unit: unit.size):
        count = sum(len(found.labels) for found in micros[-1]) if micros else 0
        if micros and (count + len(unit.labels)) * unit.size <= config.micro_tokens:
            micros[-1].append(unit)
        else:
            micros.append([unit])
    rng.shuffle(micros)
    step: list[Micro] = []
    filled = 0
    for units in micros:
        step.append(_micro(units, encoder))
        filled += len(step[-1].labels)
        if filled >= config.batch_rows:
            yield step
            step, filled = [], 0
    if step:
        yield step


def _micro(units: Sequence[_Unit], encoder: Encoder) -> Micro:
    pairs = [pair for unit in units for pair in unit.pairs]
    labels = [label for unit in units for label in unit.labels]
    groups = [unit.number for unit in units for _ in unit.labels]
    return Micro(encoder.batch(pairs), torch.tensor(labels), torch.tensor(groups))
