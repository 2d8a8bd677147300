"""Evidence longer than a model reads at once, as windows of it.

Pairs judged window by window: what local models that read one window at a time have in common.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from typing import Generic, TypeVar

from proxy.types import Judgement, Pair, Verdict

LEAST_ROOM = 16
"""Tokens of evidence that a window must have room for."""
_MAX_TITLE_CHARS = 120


@dataclass(frozen=True, slots=True)
class Window:
    """A window of an evidence with its claim: by name the model's inputs, rows of `length` integers.

    `span` is the window's place in `Pair.evidence`, in code points.
    """

    inputs: Mapping[str, Sequence[int]]
    span: tuple[int, int]

    @property
    def length(self) -> int:
        """In tokens, all told."""
        return len(self.inputs["input_ids"])


def batches(windows: Sequence[Window], size: int) -> Iterator[list[int]]:
    """The indexes of windows that are computed at once: about equally long ones, for little padding. The
    longest go first, so that what does not fit into memory fails at once."""
    longest_first = sorted(range(len(windows)), key=lambda at: -windows[at].length)
    for first in range(0, len(windows), size):
        yield longest_first[first : first + size]


def nearest(windows: Mapping[int, Sequence[int]], claim: Sequence[int], most: int) -> list[int]:
    """The keys of at most `most` windows of token ids, ascending: those that share most of the claim's tokens
    with it.

    A token counts the more the fewer windows have it.
    """
    if len(windows) <= most:
        return list(windows)
    wanted = frozenset(claim)
    held = {at: wanted.intersection(tokens) for at, tokens in windows.items()}
    spread = Counter(token for tokens in held.values() for token in tokens)
    weight = {token: math.log(1 + len(windows) / count) for token, count in spread.items()}
    worth = {at: math.fsum(weight[token] for token in tokens) for at, tokens in held.items()}
    return sorted(sorted(windows, key=lambda at: -worth[at])[:most])


def leading_title(pair: Pair) -> str:
    """The title that is to stand before the evidence; empty where the evidence begins with it."""
    title = pair.title.strip()[:_MAX_TITLE_CHARS]
    return "" if pair.evidence.lstrip().startswith(title) else title


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
