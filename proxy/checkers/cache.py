"""Judgements kept for when the same pair comes again."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace

from proxy.errors import CheckError
from proxy.protocols import Checker
from proxy.types import Judgement, Page, Pair, Usage, Verdict

_Key = tuple[str, Pair]
_Outcome = Judgement | CheckError | None
"""None where the one who asked has gone or stumbled: whoever waits asks anew."""


class Cached:
    """`protocols.Checker` that asks another one only for pairs that it has no judgement of.

    `version` names what the judgements depend on besides the pair: the model, its weights, its settings. At
    most `max_pairs` are kept, of at most `max_chars` code points together, the least recently used go first.
    A pair that is UNVERIFIED is never kept. A pair that another `check` is asking for already is waited for,
    not asked again. A judgement costs once: the others who get it get it with no usage.
    """

    def __init__(self, inner: Checker, version: str, *, max_pairs: int = 10_000, max_chars: int = 20_000_000):
        self._inner = inner
        self._version = version
        self._kept = Judgements(max_pairs, max_chars)
        self._under_way: dict[_Key, asyncio.Future[_Outcome]] = {}

    async def check(self, pairs: Sequence[Pair]) -> Sequence[Judgement]:
        """One judgement per pair, in order. Raises what the inner checker raises."""
        keys = [(self._version, pair) for pair in pairs]
        found: dict[_Key, Judgement] = {}
        while missing := [key for key in dict.fromkeys(keys) if key not in found]:
            found |= await self._round(missing)
        first = {key: at for at, key in reversed([*enumerate(keys)])}
        return [
            found[key] if first[key] == at else replace(found[key], usage=Usage())
            for at, key in enumerate(keys)
        ]

    async def _round(self, keys: Sequence[_Key]) -> dict[_Key, Judgement]:
        """What is kept, what nobody else asks for, and then what others had asked for before."""
        kept = {key: judgement for key in keys if (judgement := self._kept.get(key)) is not None}
        theirs = {key: self._under_way[key] for key in keys if key not in kept and key in self._under_way}
        ours = [key for key in keys if key not in kept and key not in theirs]
        found = kept | (await self._ask(ours) if ours else {})
        if theirs:
            await asyncio.wait(theirs.values())
        for key, future in theirs.items():
            outcome = future.result()
            if isinstance(outcome, CheckError):
                raise outcome
            if outcome is not None:
                found[key] = replace(outcome, usage=Usage())
        return found

    async def _ask(self, keys: Sequence[_Key]) -> dict[_Key, Judgement]:
        loop = asyncio.get_running_loop()
        outcomes: dict[_Key, _Outcome] = dict.fromkeys(keys)
        futures: dict[_Key, asyncio.Future[_Outcome]] = {key: loop.create_future() for key in keys}
        self._under_way |= futures
        try:
            judgements = dict(zip(keys, await self._inner.check([pair for _, pair in keys]), strict=True))
            outcomes |= judgements
        except CheckError as error:
            outcomes = dict.fromkeys(keys, error)
            raise
        finally:
            for key, future in futures.items():
                del self._under_way[key]
                future.set_result(outcomes[key])
        for key, judgement in judgements.items():
            self._kept.put(key, judgement)
        return judgements


class Judgements:
    """The judgements that are kept, bounded by their number and by the length of their texts."""

    def __init__(self, max_pairs: int, max_chars: int) -> None:
        self._max_pairs = max_pairs
        self._max_chars = max_chars
        self._chars = 0
        self._kept: OrderedDict[_Key, Judgement] = OrderedDict()

    def get(self, key: _Key) -> Judgement | None:
        """The judgement of that pair, if it is kept; without usage."""
        judgement = self._kept.get(key)
        if judgement is not None:
            self._kept.move_to_end(key)
        return judgement

    def put(self, key: _Key, judgement: Judgement) -> None:
        """Keeps a judgement, unless it decides nothing or is longer than everything may be."""
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
    texts = (pair.claim, pair.context, pair.question, judgement.reason)
    pages = (Page(pair.evidence, pair.title), *pair.others)
    return sum(map(len, texts)) + sum(len(page.text) + len(page.title) for page in pages)
