"""What all readings of a text share that may go on in many ways."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from proxy.types import Claim

Read = Callable[[str], tuple[str, tuple[Claim, ...]]]
"""A whole text to what is left of it once stretches (marks) are taken out, and the claims of that."""


@dataclass(frozen=True, slots=True)
class Known:
    """How much of a text is settled already: its first `claims`, its first `end` code points."""

    claims: int
    end: int


@dataclass(frozen=True, slots=True)
class Agreement:
    """The first `claims` and `end` code points that all `readings`, by suffix, have in common.

    `doubt` is the suffix that left nothing new, None where something is. `wanting`: as the text stands there
    would be more.
    """

    readings: Mapping[str, tuple[str, tuple[Claim, ...]]]
    claims: int
    end: int
    doubt: str | None = None
    wanting: bool = False


def agreed(read: Read, raw: str, suffixes: Iterable[str], known: Known) -> Agreement:
    """Reads the text with each suffix, the empty one first, as long as anything new may be agreed on.

    The last claim is only agreed on once its line has ended, whatever the suffixes say: what follows a
    sentence decides whether it is one.
    """
    readings: dict[str, tuple[str, tuple[Claim, ...]]] = {}
    common, count, end, wanting = "", 0, 0, False
    for suffix in suffixes:
        text, claims = readings[suffix] = read(raw + suffix)
        if len(readings) == 1:
            common, count = text, _followed(text, claims)
        common = common[: shared(common, text)]
        count = min(count, shared(readings[""][1][:count], claims))
        end = _end(common, count, readings.values())
        if len(readings) == 1:
            wanting = count > known.claims
        if count <= known.claims and end <= known.end:
            return Agreement(readings, count, end, suffix, wanting)
    return Agreement(readings, count, end, None, len(readings[""][1]) > count + 1)


def shared(first: str | tuple[Claim, ...], second: str | tuple[Claim, ...]) -> int:
    """How many items two sequences have in common from their start."""
    limit = min(len(first), len(second))
    if first[:limit] == second[:limit]:
        return limit
    low = 0
    while limit - low > 1:
        middle = (low + limit) // 2
        low, limit = (middle, limit) if first[:middle] == second[:middle] else (low, middle)
    return low


def moved(claims: Iterable[Claim], by: int) -> tuple[Claim, ...]:
    """The claims at places `by` code points further on."""
    return tuple(replace(claim, start=claim.start + by, end=claim.end + by) for claim in claims)


def _followed(text: str, claims: tuple[Claim, ...]) -> int:
    """How many claims have another one or a line end behind them."""
    if claims and "\n" not in text[claims[-1].end :]:
        return len(claims) - 1
    return len(claims)


def _end(common: str, count: int, readings: Iterable[tuple[str, tuple[Claim, ...]]]) -> int:
    """To where the text is settled: the last claim's end, or that of the last line before any other claim.

    White space and the marks before a claim (`- `, `# `) go with that claim.
    """
    behind, following = 0, common.rfind("\n") + 1
    for _, claims in readings:
        behind = max(behind, claims[count - 1].end if count else 0)
        following = min([following, *(claim.start for claim in claims[count : count + 1])])
    return max(behind, common.rfind("\n", 0, following) + 1)
