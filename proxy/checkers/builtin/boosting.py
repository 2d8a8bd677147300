"""Gradient-boosted trees (Friedman 2001) as plain numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, model_validator

Index = Annotated[int, Field(ge=0)]


class Tree(BaseModel):
    """A tree as columns over its nodes, the root first; parents stand before their children.

    A node with `left` 0 is a leaf of `values`; at another one, an input of at most its threshold goes left.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    inputs: tuple[Index, ...]
    thresholds: tuple[FiniteFloat, ...]
    left: tuple[Index, ...]
    right: tuple[Index, ...]
    values: tuple[FiniteFloat, ...]

    @model_validator(mode="after")
    def _is_a_tree(self) -> Tree:
        sizes = {len(self.inputs), len(self.thresholds), len(self.left), len(self.right), len(self.values)}
        if len(sizes) != 1 or 0 in sizes:
            raise ValueError("a tree's columns have different lengths, or none at all")
        for at, (left, right) in enumerate(zip(self.left, self.right, strict=True)):
            if left and not at < min(left, right) <= max(left, right) < len(self.left):
                raise ValueError("a tree's children must stand behind their parent")
        return self

    def value(self, inputs: Sequence[float]) -> float:
        """That of the leaf which the inputs lead to."""
        at = 0
        while self.left[at]:
            low = inputs[self.inputs[at]] <= self.thresholds[at]
            at = self.left[at] if low else self.right[at]
        return self.values[at]


class Trees(BaseModel):
    """The sum of trees over a start, in log-odds."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    start: FiniteFloat
    trees: tuple[Tree, ...]

    def log_odds(self, inputs: Sequence[float]) -> float:
        """Of the positive class."""
        return self.start + sum(tree.value(inputs) for tree in self.trees)

    @property
    def widest(self) -> int:
        """How many inputs there must be."""
        return max((max(tree.inputs) + 1 for tree in self.trees), default=0)
