"""Windows of evidence that is longer than a local model reads at once; the best window decides."""

from __future__ import annotations

import asyncio
import logging
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import islice
from typing import Generic, TypeVar

from proxy.types import Judgement, Page, Pair, Verdict

log = logging.getLogger(__name__)

LEAST_ROOM = 16
"""Tokens of evidence that a window must at least have room for."""
_MAX_TITLE_CHARS = 120
_JOINTLY = 0.75
"""The least score with which several passages support a claim: a name in the one may be taken for the subject
of the other."""


@dataclass(frozen=True, slots=True)
class Window:
    """A window of evidence together with the claim.

    `inputs` are the model's inputs by name, each a row of `length` integers. `span` is the window's place in
    `Pair.evidence`, in code points.
    """

    inputs: Mapping[str, Sequence[int]]
    span: tuple[int, int]

    @property
    def length(self) -> int:
        """Tokens of evidence and claim together."""
        return len(self.inputs["input_ids"])


def batches(windows: Sequence[Window], size: int) -> Iterator[list[int]]:
    """The indexes of the windows of each batch.

    Windows of similar length go together, so that little is padded, and the longest first, so that a batch
    too large for the memory fails at once.
    """
    longest_first = sorted(range(len(windows)), key=lambda index: -windows[index].length)
    for first in range(0, len(windows), size):
        yield longest_first[first : first + size]


def nearest(windows: Mapping[int, Sequence[int]], claim: Sequence[int], most: int) -> list[int]:
    """The keys of the `most` windows, or fewer, that share most tokens with the claim, ascending.

    `windows` and `claim` are token ids. A token weighs log(1 + windows / windows that have it).
    """
    if len(windows) <= most:
        return list(windows)
    wanted = frozenset(claim)
    held = {key: wanted.intersection(tokens) for key, tokens in windows.items()}
    spread = Counter(token for tokens in held.values() for token in tokens)
    weight = {token: math.log(1 + len(windows) / count) for token, count in spread.items()}
    worth = {key: math.fsum(weight[token] for token in tokens) for key, tokens in held.items()}
    return sorted(sorted(windows, key=lambda key: -worth[key])[:most])


def leading_title(pair: Pair) -> str:
    """The headings to put before the evidence; empty if the evidence begins with them."""
    page = Page(pair.evidence, "\n".join(line.strip()[:_MAX_TITLE_CHARS] for line in pair.title.splitlines()))
    return "\n".join(page.headings())


AnyWindow = TypeVar("AnyWindow", bound=Window)


class Windowed(Generic[AnyWindow]):
    """Judges pairs by the windows of their evidence, on a thread of its own. The best window decides.

    Args:
        name: of the checker, for the thread and the log.
        read: the windows of a pair in the order of its evidence; none if there is nothing to compare. If it
            raises `ValueError`, the pair is UNVERIFIED with that message.
        judge: one judgement per window, UNVERIFIED for a window that the model failed on. If it raises, it is
            called for each window alone, so that only the windows at fault fail.
        batch_size: windows that are judged together.
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
        """One judgement per pair, in order. Batches that have not begun when it is cancelled are dropped."""
        loop = asyncio.get_running_loop()
        cuts = [await loop.run_in_executor(self._thread, self._cut, pair) for pair in pairs]
        windows = [window for cut in cuts if not isinstance(cut, Judgement) for window in cut]
        judged: dict[int, Judgement] = {}
        for batch in batches(windows, self._batch_size):
            chosen = [windows[index] for index in batch]
            judged.update(
                zip(batch, await loop.run_in_executor(self._thread, self._judged, chosen), strict=True)
            )
        in_order = (judged[index] for index in range(len(windows)))
        of_pairs = (
            cut if isinstance(cut, Judgement) else best(list(islice(in_order, len(cut)))) for cut in cuts
        )
        return [
            _joint(judgement) if pair.others else judgement
            for pair, judgement in zip(pairs, of_pairs, strict=True)
        ]

    def close(self) -> None:
        """Ends the thread, after the batch that it is computing."""
        self._thread.shutdown(wait=True, cancel_futures=True)

    def _cut(self, pair: Pair) -> Sequence[AnyWindow] | Judgement:
        """The pair's windows, or its judgement if there are none."""
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
        return [judgement for window in windows for judgement in self._judged([window])]


def best(judged: Sequence[Judgement]) -> Judgement:
    """The judgement of a pair by those of its windows, at least one: the highest score decides.

    If the model failed on a window, the pair is UNVERIFIED unless another window supports the claim.
    """
    known = [judgement for judgement in judged if judgement.verdict is not Verdict.UNVERIFIED]
    if not known:
        return FAILED
    highest = max(known, key=lambda judgement: judgement.score)
    if len(known) == len(judged) or highest.verdict is Verdict.SUPPORTED:
        return highest
    return Judgement(Verdict.UNVERIFIED, reason="the checker's model failed on a part of the evidence")


def _joint(judgement: Judgement) -> Judgement:
    if judgement.verdict is Verdict.SUPPORTED and judgement.score < _JOINTLY:
        return replace(
            judgement, verdict=Verdict.UNSUPPORTED, reason="too unsure for several passages together"
        )
    return judgement


FAILED = Judgement(Verdict.UNVERIFIED, reason="the checker's model failed")
"""The judgement of a window that the model failed on."""
