"""The visible sign behind a claim that failed (CEG section 3.4: remind the reader), and out again."""

from __future__ import annotations

from collections.abc import Iterator

from proxy.claims.segment import segment

WARNING = "[?]"
"""Where claims are to be marked and no sign is set."""


def strip_warning(text: str, sign: str) -> str:
    """The text without the signs that stand right behind its claims; elsewhere they belong to what it says.

    An empty sign is in no text. Signs set behind the claims of a text come out again without a trace.
    """
    if not sign or sign not in text:
        return text
    pieces = text.split(sign)
    ends = {claim.end for claim in segment("".join(pieces))}
    return "".join(_joined(pieces, sign, ends))


def _joined(pieces: list[str], sign: str, ends: set[int]) -> Iterator[str]:
    position = 0
    for at, piece in enumerate(pieces):
        if at and position not in ends:
            yield sign
        yield piece
        position += len(piece)
