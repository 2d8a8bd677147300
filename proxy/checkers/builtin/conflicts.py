"""Whether an evidence has another quantity or date where a Chinese claim has its own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

from proxy.checkers.builtin.quantities import Told, read_quantities
from proxy.checkers.builtin.word_lists import STOP_CHARS

_CLAUSE_END = re.compile(r"[，。；！？：、,;!?:\n（）()]")
_LONGEST = 60
"""Code points of a clause that are looked at on either side of a number."""
_LEAST = 3
"""Pairs of characters that a clause must have to tell a number's place."""
_HERE, _ELSEWHERE = 0.6, 0.1
"""Shares of them that the clause of the other number has at least, and that of the same number at most."""


class Placed(Protocol):
    """What stands at `start` to `end` of a text."""

    @property
    def start(self) -> int: ...

    @property
    def end(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Conflict:
    """What a claim says, and what its evidence has `instead`, in the order of the text."""

    claimed: Placed
    instead: tuple[Placed, ...]


def conflict(claim: str, evidence: str, told: Sequence[Told]) -> Conflict | None:
    """The first quantity or date of a claim that the evidence has otherwise; `told` are the evidence's.

    Either it has some of the same kind and none that bears the claim's out, or one that does stands in a
    clause about something else, and another one in the claim's own. None where there is none: what the
    evidence is silent on is no conflict.
    """
    for claimed in read_quantities(claim) if told else ():
        bearing = [one for one in told if claimed.held_by(one)]
        rivals = [one for one in told if claimed.rivals(one) and one not in bearing]
        if bearing and rivals:
            rivals = list(_in_its_place(claim, claimed, evidence, bearing, rivals))
        if rivals:
            return Conflict(claimed, tuple(rivals))
    return None


def _in_its_place(
    claim: str, claimed: Told, evidence: str, bearing: Sequence[Told], rivals: Sequence[Told]
) -> Iterator[Told]:
    """The rivals whose clause is the claim's, where that of no number that bears it out is."""
    own = _clause(claim, claimed)
    if len(own) < _LEAST:
        return
    shares = [len(own & _clause(evidence, one)) / len(own) for one in bearing]
    if max(shares) <= _ELSEWHERE:
        yield from (one for one in rivals if len(own & _clause(evidence, one)) / len(own) >= _HERE)


def _clause(text: str, told: Told) -> frozenset[tuple[str, str]]:
    """The neighbouring characters on either side of a number, as far as its clause goes."""
    before = _CLAUSE_END.split(text[max(0, told.start - _LONGEST) : told.start])[-1]
    after = _CLAUSE_END.split(text[told.end : told.end + _LONGEST], maxsplit=1)[0]
    return frozenset(
        pair
        for part in (before, after)
        for pair in pairwise([one for one in part if one not in STOP_CHARS and not one.isspace()])
    )
