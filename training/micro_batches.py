"""A plan as steps of the optimizer, each of several micro-batches of rows of like length."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

import torch
from torch import Tensor

from proxy.checkers.nli.batch import Batch, SpecialTokens, batch_of
from training.plan import Plan, PlanRow
from training.recipes import Settings

_POOL_STEPS = 12
"""Steps whose rows are sorted by length together."""

Unit = tuple[PlanRow, ...]


@dataclass(frozen=True, slots=True)
class MicroBatch:
    """What a thread computes at once: pairs, their classes and the numbers of their units, both of shape
    (rows,)."""

    pairs: Batch
    labels: Tensor
    groups: Tensor


def steps(plan: Plan, settings: Settings, epoch: int, batch_tokens: int) -> Iterator[list[list[Unit]]]:
    """The plan once, as steps of micro-batches of units. The same arguments give the same steps.

    A micro-batch has at most so many padded tokens, and no more rows than a step.

    The first epoch is in the plan's order, but for a shuffle within each pool; later ones are shuffled.
    """
    rng = Random(settings.seed + epoch)
    lines = list(plan.lines)
    if epoch:
        rng.shuffle(lines)
    pool: list[Unit] = []
    rows = 0
    for line in lines:
        pool.append(plan.unit(line))
        rows += len(pool[-1])
        if rows >= settings.step_rows * _POOL_STEPS:
            yield from _pool_steps(pool, settings.step_rows, batch_tokens, rng)
            pool, rows = [], 0
    if pool:
        yield from _pool_steps(pool, settings.step_rows, batch_tokens, rng)


def micro_batch(units: Sequence[Unit], special: SpecialTokens) -> MicroBatch:
    """The units as tensors."""
    rows = [row for unit in units for row in unit]
    groups = [number for number, unit in enumerate(units) for _ in unit]
    return MicroBatch(
        batch_of([row.tokens for row in rows], special),
        torch.tensor([row.label for row in rows]),
        torch.tensor(groups),
    )


def _pool_steps(
    pool: Sequence[Unit], step_rows: int, batch_tokens: int, rng: Random
) -> Iterator[list[list[Unit]]]:
    batches: list[list[Unit]] = []
    for unit in sorted(pool, key=_length):
        rows = len(unit) + (sum(map(len, batches[-1])) if batches else 0)
        if batches and rows <= step_rows and rows * _length(unit) <= batch_tokens:
            batches[-1].append(unit)
        else:
            batches.append([unit])
    rng.shuffle(batches)
    step: list[list[Unit]] = []
    rows = 0
    for batch in batches:
        step.append(batch)
        rows += sum(map(len, batch))
        if rows >= step_rows:
            yield step
            step, rows = [], 0
    if step:
        yield step


def _length(unit: Unit) -> int:
    return max(row.tokens.length for row in unit)
