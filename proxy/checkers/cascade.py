"""Several checkers as one: a cheap one decides the clear cases and the next one the rest."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from proxy.errors import CheckError
from proxy.protocols import Checker
from proxy.types import Judgement, Pair, Usage, Verdict

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Step:
    """A checker and its bounds: it decides pairs that it scores at most `low` or at least `high`."""

    checker: Checker
    low: float = 0.1
    high: float = 0.9

    def decides(self, judgement: Judgement) -> bool:
        """Whether the judgement is final, so that no further step is asked."""
        return judgement.verdict is not Verdict.UNVERIFIED and not self.low < judgement.score < self.high


class Cascade:
    """`protocols.Checker` that asks its steps in order; the last one decides all pairs that reach it.

    A step that fails leaves its pairs to the next. If the last one fails at a pair, the pair is UNVERIFIED,
    whatever earlier steps said. A judgement's usage is the sum over all steps that were asked.
    """

    def __init__(self, steps: Sequence[Step]) -> None:
        self._steps = tuple(steps)

    async def check(self, pairs: Sequence[Pair]) -> Sequence[Judgement]:
        """One judgement per pair, in order. A step that is wholly unavailable is not an error."""
        judgements = [Judgement(Verdict.UNVERIFIED, reason="no checker was asked")] * len(pairs)
        spent = [Usage()] * len(pairs)
        left = list(range(len(pairs)))
        for step in self._steps:
            answers = await _ask(step, [pairs[index] for index in left])
            for index, judgement in zip(left, answers, strict=True):
                judgements[index] = judgement
                spent[index] += judgement.usage
            left = [index for index in left if not step.decides(judgements[index])]
        return [replace(judgement, usage=usage) for judgement, usage in zip(judgements, spent, strict=True)]


async def _ask(step: Step, pairs: Sequence[Pair]) -> Sequence[Judgement]:
    if not pairs:
        return []
    try:
        return await step.checker.check(pairs)
    except CheckError as error:
        log.warning("a step of the cascade failed: %s", error.message)
        return [Judgement(Verdict.UNVERIFIED, reason=error.message)] * len(pairs)


class LocalChecker(Checker, Protocol):
    """A checker that computes in this process, on threads of its own."""

    @property
    def version(self) -> str:
        """What its judgements depend on besides the pair."""
        ...

    def close(self) -> None:
        """Ends the threads."""
        ...
