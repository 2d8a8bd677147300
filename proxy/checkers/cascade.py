"""Checkers one after the other: the cheap one decides what it is sure of, the next gets the rest."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace

from proxy.errors import CheckError
from proxy.protocols import Checker
from proxy.types import Judgement, Pair, Usage, Verdict

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Step:
    """A checker, and how sure it has to be: it decides what it scores at most `low` or at least `high`."""

    checker: Checker
    low: float = 0.1
    high: float = 0.9

    def decides(self, judgement: Judgement) -> bool:
        """Whether no further step needs to look."""
        return judgement.verdict is not Verdict.UNVERIFIED and not self.low < judgement.score < self.high


class Cascade:
    """`protocols.Checker` that asks its steps in order; the last one decides whatever is left to it.

    A step that fails leaves its pairs to the next. A pair that the last one fails at is UNVERIFIED, whatever
    an earlier one thought of it. A judgement's usage is that of all steps that were asked.
    """

    def __init__(self, steps: Sequence[Step]) -> None:
        self._steps = tuple(steps)

    async def check(self, pairs: Sequence[Pair]) -> Sequence[Judgement]:
        """One judgement per pair, in order. A step that is wholly unavailable is not an error."""
        judgements = [Judgement(Verdict.UNVERIFIED, reason="no checker was asked")] * len(pairs)
        spent = [Usage()] * len(pairs)
        left = list(range(len(pairs)))
        for step in self._steps:
            for at, judgement in zip(left, await _ask(step, [pairs[at] for at in left]), strict=True):
                judgements[at] = judgement
                spent[at] += judgement.usage
            left = [at for at in left if not step.decides(judgements[at])]
        return [replace(one, usage=usage) for one, usage in zip(judgements, spent, strict=True)]


async def _ask(step: Step, pairs: Sequence[Pair]) -> Sequence[Judgement]:
    if not pairs:
        return []
    try:
        return await step.checker.check(pairs)
    except CheckError as error:
        log.warning("a step of the cascade failed: %s", error.message)
        return [Judgement(Verdict.UNVERIFIED, reason=error.message)] * len(pairs)
