"""Pairs judged window by window: what local models that read one window at a time have in common."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Generic, TypeVar

from proxy.backends.checkers.windows import Window, batches
from proxy.types import Judgement, Pair, Verdict

log = logging.getLogger(__name__)

AnyWindow = TypeVar("AnyWindow", bound=Window)


class Windowed(Generic[AnyWindow]):
    """Judges pairs by the windows of their evidence, on a thread of its own. The best window decides.

    Args:
        name: the checker's, for the thread and the log.
        read: the windows of a pair in the order of its evidence; none where there is nothing to compare. A
            `ValueError` is what is said of the pair, which is UNVERIFIED then.
        judge: one judgement per window, UNVERIFIED for a window that the model failed on. When it raises, it
            is asked for each window alone, so that a failure is that of its window.
        batch_size: windows that are judged at once, about equally long ones together.
    """

    def __init__(
        self,
        name: str,
        read: Callable[[Pair], Sequence[AnyWindow]],
        judge: Callable[[Sequence[AnyWindow]], Sequence[Judgement]],
        batch_size: int,
    ) -> None:
        self._name = name
        self._read = read
        self._judge = judge
        self._batch_size = batch_size
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix=name)

    async def check(self, pairs: Sequence[Pair]) -> list[Judgement]:
        """One judgement per pair, in order. What still waits when the caller goes away is dropped."""
        loop = asyncio.get_running_loop()
        cuts = [await loop.run_in_executor(self._thread, self._cut, pair) for pair in pairs]
        windows = [window for cut in cuts if not isinstance(cut, Judgement) for window in cut]
        judged: dict[int, Judgement] = {}
        for batch in batches(windows, self._batch_size):
            found = await loop.run_in_executor(self._thread, self._judged, [windows[at] for at in batch])
            judged.update(zip(batch, found, strict=True))
        in_order = (judged[at] for at in range(len(windows)))
        return [cut if isinstance(cut, Judgement) else best(list(islice(in_order, len(cut)))) for cut in cuts]

    def close(self) -> None:
        """Ends the thread; what it is at is finished first."""
        self._thread.shutdown(wait=True, cancel_futures=True)

    def _cut(self, pair: Pair) -> Sequence[AnyWindow] | Judgement:
        """The pair's windows, or what is to be said of it without any."""
        pair = pair.joined()
        try:
            windows = self._read(pair)
        except ValueError as error:
            return Judgement(Verdict.UNVERIFIED, reason=str(error))
        except Exception as error:
            log.exception("the %s checker stumbled over a pair", self._name)
            return Judgement(Verdict.UNVERIFIED, reason=f"the checker failed: {type(error).__name__}")
        if windows:
            return windows
        what = "the claim has no words to check" if pair.evidence.strip() else "there is no evidence"
        return Judgement(Verdict.UNSUPPORTED, reason=what)

    def _judged(self, windows: Sequence[AnyWindow]) -> Sequence[Judgement]:
        try:
            return self._judge(windows)
        except Exception:
            log.exception("the %s checker's model failed on %d windows", self._name, len(windows))
        if len(windows) == 1:
            return [FAILED]
        return [one for window in windows for one in self._judged([window])]


def best(judged: Sequence[Judgement]) -> Judgement:
    """What a pair's windows, at least one, say together: the highest score decides. A window that the model
    failed on leaves the pair UNVERIFIED, unless another one supports the claim."""
    known = [one for one in judged if one.verdict is not Verdict.UNVERIFIED]
    if not known:
        return FAILED
    highest = max(known, key=lambda one: one.score)
    if len(known) == len(judged) or highest.verdict is Verdict.SUPPORTED:
        return highest
    return Judgement(Verdict.UNVERIFIED, reason="the checker's model failed on a part of the evidence")


FAILED = Judgement(Verdict.UNVERIFIED, reason="the checker's model failed")
"""Of a window whose judgement the model owes."""
