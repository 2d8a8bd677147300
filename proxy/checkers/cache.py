"""A cache of judgements, in memory."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from proxy.aio import ASKER, Asker
from proxy.errors import CheckError
from proxy.protocols import Checker
from proxy.types import Judgement, Page, Pair, Usage, Verdict

_Key = tuple[str, Pair]
_Outcome = Judgement | CheckError | None
"""None if the check that asked was cancelled or failed otherwise: those that wait ask themselves."""


@dataclass(frozen=True, slots=True)
class _Call:
    """A pair that somebody is asking about."""

    asker: Asker
    outcome: asyncio.Future[_Outcome]


class Cached:
    """`protocols.Checker` that asks another one only about pairs whose judgement it does not hold.

    `version` names what the judgements depend on besides the pair: the model, its weights, its settings. At
    most `max_pairs` are kept, of at most `max_chars` code points together; the least recently used are
    dropped first. UNVERIFIED is never kept. If another `check` is asking about a pair already, its judgement
    is awaited; what fails for another request is asked again. Usage is counted once: a judgement out of the
    cache has none.
    """

    def __init__(self, inner: Checker, version: str, *, max_pairs: int = 10_000, max_chars: int = 20_000_000):
        self.inner = inner
        self._version = version
        self._bounds = max_pairs, max_chars
        self._kept = Judgements(max_pairs, max_chars)
        self._under_way: dict[_Key, _Call] = {}
        self.hits = 0
        """Pairs whose judgement was there, or under way."""
        self.misses = 0
        """Pairs that the inner checker was asked about."""

    def apart(self) -> Cached:
        """The same checker behind a cache of its own."""
        pairs, chars = self._bounds
        return Cached(self.inner, self._version, max_pairs=pairs, max_chars=chars)

    async def check(self, pairs: Sequence[Pair]) -> Sequence[Judgement]:
        """One judgement per pair, in order. Raises what the inner checker raises."""
        keys = [(self._version, pair) for pair in pairs]
        judged: dict[_Key, Judgement] = {}
        while missing := [key for key in dict.fromkeys(keys) if key not in judged]:
            judged |= await self._round(missing)
        first = {key: place for place, key in reversed([*enumerate(keys)])}
        return [
            judged[key] if first[key] == place else replace(judged[key], usage=Usage())
            for place, key in enumerate(keys)
        ]

    async def _round(self, keys: Sequence[_Key]) -> dict[_Key, Judgement]:
        """Judgements out of the cache, then of pairs that nobody asks about, then of those that others do."""
        kept = {key: judgement for key in keys if (judgement := self._kept.get(key)) is not None}
        theirs = {key: self._under_way[key] for key in keys if key not in kept and key in self._under_way}
        ours = [key for key in keys if key not in kept and key not in theirs]
        self.hits += len(keys) - len(ours)
        self.misses += len(ours)
        judged = kept | (await self._ask(ours) if ours else {})
        if theirs:
            await asyncio.wait([call.outcome for call in theirs.values()])
        for key, call in theirs.items():
            outcome = call.outcome.result()
            failed = isinstance(outcome, CheckError) or (
                outcome is not None and outcome.verdict is Verdict.UNVERIFIED
            )
            if failed and call.asker is not ASKER.get():
                continue  # their own budget or deadline may be why
            if isinstance(outcome, CheckError):
                raise outcome
            if outcome is not None:
                judged[key] = replace(outcome, usage=Usage())
        return judged

    async def _ask(self, keys: Sequence[_Key]) -> dict[_Key, Judgement]:
        loop = asyncio.get_running_loop()
        outcomes: dict[_Key, _Outcome] = dict.fromkeys(keys)
        calls = {key: _Call(ASKER.get(), loop.create_future()) for key in keys}
        self._under_way |= calls
        try:
            judgements = dict(zip(keys, await self.inner.check([pair for _, pair in keys]), strict=True))
            outcomes |= judgements
        except CheckError as error:
            outcomes = dict.fromkeys(keys, error)
            raise
        finally:
            for key, call in calls.items():
                del self._under_way[key]
                call.outcome.set_result(outcomes[key])
        for key, judgement in judgements.items():
            self._kept.put(key, judgement)
        return judgements


class Judgements:
    """The store, bounded by the number of judgements and the length of their texts. Least recently used."""

    def __init__(self, max_pairs: int, max_chars: int) -> None:
        self._max_pairs = max_pairs
        self._max_chars = max_chars
        self._chars = 0
        self._kept: OrderedDict[_Key, Judgement] = OrderedDict()

    def get(self, key: _Key) -> Judgement | None:
        """The judgement of that pair without its usage, or None."""
        judgement = self._kept.get(key)
        if judgement is not None:
            self._kept.move_to_end(key)
        return judgement

    def put(self, key: _Key, judgement: Judgement) -> None:
        """Keeps a judgement, unless it is UNVERIFIED or longer than the whole store may be."""
        size = _characters(key, judgement)
        if judgement.verdict is Verdict.UNVERIFIED or size > self._max_chars or not self._max_pairs:
            return
        self._forget(key)
        while self._kept and (len(self._kept) >= self._max_pairs or self._chars + size > self._max_chars):
            self._forget(next(iter(self._kept)))
        self._kept[key] = replace(judgement, usage=Usage())
        self._chars += size

    def _forget(self, key: _Key) -> None:
        judgement = self._kept.pop(key, None)
        if judgement is not None:
            self._chars -= _characters(key, judgement)


def _characters(key: _Key, judgement: Judgement) -> int:
    pair = key[1]
    texts = (pair.statement, pair.context, pair.question, judgement.reason)
    pages = (Page(pair.evidence, pair.title), *pair.others)
    return sum(map(len, texts)) + sum(len(page.text) + len(page.title) for page in pages)
