"""An evidence whose quantities and dates are spelt as the claim spells them, for a model that reads both."""

from __future__ import annotations

import re
from collections.abc import Sequence

from proxy.checkers.builtin.quantities import Date, Quantity, Told, read_quantities

_UNITS = ("年", "月", "日")
_DIGIT = re.compile(r"\d")


def respelt(claim: str, evidence: str) -> str:
    """The Chinese evidence with the claim's spelling of what bears it out: 17158人 where that says 约1.7万人.

    Whether a number bears another one out a rule tells exactly; a small model would have to guess. Only what
    counts or measures the same thing is respelt; a date keeps the parts that the claim does not name. Linear
    in the evidence for each of the claim's quantities.
    """
    claimed = read_quantities(claim)
    parts: list[str] = []
    end = 0
    for one in read_quantities(evidence) if claimed else ():
        spelling = _spelling(claim, claimed, one, evidence[one.start : one.end])
        if spelling and one.start >= end:
            parts += [evidence[end : one.start], spelling]
            end = one.end
    return "".join([*parts, evidence[end:]])


def _spelling(claim: str, claimed: Sequence[Told], told: Told, as_it_is: str) -> str | None:
    """How the claim would spell what the evidence has; None where that may stay."""
    for own in claimed:
        mine = claim[own.start : own.end]
        if isinstance(own, Date) and isinstance(told, Date):
            if own.parts == told.parts:
                return mine
            if own.held_by(told) and _DIGIT.search(mine) and not _DIGIT.search(as_it_is):
                return _in_digits(told)
        elif _measure_alike(own, told) and own.held_by(told):
            return mine
    return None


def _measure_alike(own: Told, told: Told) -> bool:
    if not isinstance(own, Quantity) or not isinstance(told, Quantity):
        return False
    return own.measure.base == told.measure.base != ""


def _in_digits(date: Date) -> str:
    found = "".join(
        f"{abs(part)}{unit}" for part, unit in zip(date.parts, _UNITS, strict=True) if part is not None
    )
    return f"公元前{found}" if (date.parts[0] or 0) < 0 else found
