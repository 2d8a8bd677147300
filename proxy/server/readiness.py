"""Whether the server is ready: a canary claim was checked lately."""

from __future__ import annotations

import asyncio
import itertools
import logging
import time

from proxy.aio import ASKER, Asker
from proxy.config.checker_settings import LOCAL_CHECKERS
from proxy.config.settings import Settings
from proxy.engine.app_context import AppContext
from proxy.errors import CheckError
from proxy.protocols import Checker
from proxy.types import Pair, Verdict

log = logging.getLogger(__name__)

_PATIENCE = 2.0
"""Seconds that a question for readiness waits for a check that is under way."""
_FRESH = 5.0
"""Seconds within which a check is not repeated."""


class Canary:
    """Has a claim checked, with its turn among all others, when somebody asks whether the server is ready.

    Each claim is a new one, so that no cache answers. A checker that asks an LLM is not tried: that would
    cost money, and the upstream's failures are no reason to take Vouch away.

    Args:
        checker: what is tried; None for nothing.
        within: seconds within which a check must have ended well.
    """

    def __init__(self, checker: Checker | None, within: float) -> None:
        self._checker = checker
        self._within = within
        self._checked = -float("inf")
        self._under_way: asyncio.Task[None] | None = None
        self._numbers = itertools.count(1)

    async def sings(self) -> bool:
        """Whether a claim was checked lately; tries it where the last time is some seconds ago."""
        if self._checker is None or self._age() < min(_FRESH, self._within):
            return True
        if self._under_way is None or self._under_way.done():
            self._under_way = asyncio.create_task(self._check(self._checker))
        await asyncio.wait({self._under_way}, timeout=_PATIENCE)
        return self._age() < self._within

    def close(self) -> None:
        """Ends a check that is under way."""
        if self._under_way is not None:
            self._under_way.cancel()

    def _age(self) -> float:
        return time.monotonic() - self._checked

    async def _check(self, checker: Checker) -> None:
        ASKER.set(Asker(" canary"))
        said = f"Canary number {next(self._numbers)} has yellow feathers."
        try:
            (judgement,) = await checker.check([Pair(said, said)])
        except CheckError as error:
            log.warning("the canary claim could not be checked: %s", error.message)
            return
        except Exception:
            log.exception("the canary claim could not be checked")
            return
        if judgement.verdict is Verdict.UNVERIFIED:
            log.warning("the canary claim could not be checked: %s", judgement.reason)
            return
        self._checked = time.monotonic()


def canary_of(context: AppContext, settings: Settings) -> Canary:
    """The canary for the checker that requests get by default, or the first step of it that computes here."""
    name = settings.checker.name
    steps = [step.name for step in settings.checker.cascade.steps] if name == "cascade" else [name]
    checkers = next(iter(context.models.values())).checkers
    local = next((step for step in steps if step in LOCAL_CHECKERS and step in checkers), None)
    return Canary(checkers[local] if local else None, settings.server.ready_within)
