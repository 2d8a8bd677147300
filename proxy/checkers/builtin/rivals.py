"""What an evidence has where a claim has a number or a name that it lacks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from proxy.checkers.builtin.tokens import Token

_SLACK = 4
_NEIGHBOURS = 2
_SPELLING = 3
"""Letters at the start that make two names spellings of one: "Hickam" and "Hickman" are no conflict."""
_HEDGES = frozenset(
    "about around more less fewer than least most over under nearly almost roughly up".split()
)


def rival_number(
    claim: Sequence[Token], lost: Sequence[int], window: Sequence[Token]
) -> tuple[int, Token] | None:
    """The index of the claim's one lost number, and the other number that the window has in its place.

    None where several are lost, or a hedge stands before it; a year is only held against a year.
    """
    numbers = [at for at in lost if claim[at].kind == "number"]
    if len(numbers) != 1:
        return None
    (at,) = numbers
    if any(token.key in _HEDGES for token in claim[max(0, at - 3) : at]):
        return None
    rival = in_place(claim, at, at + 1, window)
    return (at, rival) if rival and _is_year(claim[at]) == _is_year(rival) else None


def rival_name(
    claim: Sequence[Token], lost: Sequence[int], window: Sequence[Token]
) -> tuple[int, int, Token] | None:
    """The run of the claim's lost names, by its first index and that after its last, and the other name that
    the window has in its place.

    None where they stand in several places, or where the two may be spellings of one.
    """
    names = [at for at in lost if claim[at].kind == "name"]
    if not names or names != list(range(names[0], names[-1] + 1)):
        return None
    rival = in_place(claim, names[0], names[-1] + 1, window)
    if rival is None or rival.key[:_SPELLING] == claim[names[0]].key[:_SPELLING]:
        return None
    return names[0], names[-1] + 1, rival


def in_place(claim: Sequence[Token], start: int, end: int, window: Sequence[Token]) -> Token | None:
    """The token that the window has, and the claim has not, where the claim has `claim[start:end]`.

    It is of the same kind, and two neighbours agree: two before, two after, or one on either side.
    """
    left = [token.key for token in claim[max(0, start - 2) : start]]
    right = [token.key for token in claim[end : end + 2]]
    own = {token.key for token in claim}
    for at, token in enumerate(window):
        if token.kind != claim[start].kind or token.key in own:
            continue
        last = at
        while last + 1 < min(len(window), at + _SLACK) and window[last + 1].kind == token.kind:
            last += 1
        before = _agreeing(left[::-1], [other.key for other in reversed(window[max(0, at - 2) : at])])
        after = _agreeing(right, [other.key for other in window[last + 1 : last + 3]])
        if before + after >= _NEIGHBOURS:
            return token
    return None


def _agreeing(one: Sequence[str], other: Sequence[str]) -> int:
    """How many keys two lists have in common from their start."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _is_year(token: Token) -> bool:
    """Whether a number may be a year or a decade."""
    digits = token.key[1:].removesuffix("s")
    return len(digits) == 4 and digits[0] in "12"
