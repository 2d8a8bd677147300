"""A checker for tests of what goes around one: it counts, and can be held, made to fail and cut short."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from proxy.errors import CheckError
from proxy.types import Judgement, Pair, Usage, Verdict

SPENT = Usage(10, 1)


def pairs(*claims: object) -> list[Pair]:
    return [Pair(str(claim), "evidence") for claim in claims]


class Counting:
    """Says of each pair what its claim is, in `reason`. Claims that begin with "unsure" are UNVERIFIED.

    `gate`, where it is closed, holds every call. A call with a claim of `poison` raises `error`.
    """

    def __init__(self, *, score: float = 1.0, poison: str = "", error: Exception | None = None) -> None:
        self.calls: list[list[str]] = []
        self.cancelled = 0
        self.gate = asyncio.Event()
        self.gate.set()
        self.score = score
        self.poison = poison
        self.error = error or CheckError("the poison works")

    @property
    def asked(self) -> list[str]:
        return [claim for call in self.calls for claim in call]

    async def check(self, pairs: Sequence[Pair]) -> Sequence[Judgement]:
        self.calls.append([pair.claim for pair in pairs])
        try:
            await self.gate.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        if self.poison and any(pair.claim == self.poison for pair in pairs):
            raise self.error
        return [self._judge(pair.claim) for pair in pairs]

    def _judge(self, claim: str) -> Judgement:
        if claim.startswith("unsure"):
            return Judgement(Verdict.UNVERIFIED, reason=claim, usage=SPENT)
        verdict = Verdict.SUPPORTED if self.score >= 0.5 else Verdict.UNSUPPORTED
        return Judgement(verdict, self.score, reason=claim, usage=SPENT)


async def until(condition: Callable[[], object]) -> None:
    """Lets other tasks run until `condition()` holds."""
    for _ in range(100_000):
        if condition():
            return
        await asyncio.sleep(0)
    raise AssertionError("it never came about")


def said(judgements: Sequence[Judgement]) -> list[str]:
    return [judgement.reason for judgement in judgements]
