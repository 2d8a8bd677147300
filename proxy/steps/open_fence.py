"""The fenced code block that a text ends in: line after line of it is text, and never a claim."""

from __future__ import annotations

import re

from proxy.steps.agreed import Read

_FENCE = re.compile(r"[ \t>]*(?:(?:[-*+•]|\d{1,3}[.)])[ \t]+)*(`{3,}(?=[^`]*$)|~{3,})")
_PROSE = "\n\nThe sky is blue. The sea is deep.\n"


def open_fence(read: Read, raw: str, claims: int) -> str | None:
    """The fence of the code that `raw` ends in (three or more backticks or tildes), or None.

    `raw` is whole lines with so many claims. A look at its lines tells which fence it may be, and reading it
    with prose behind, inside and outside of the code, whether it is.
    """
    fence = _last_open(raw)
    if fence is None or len(read(raw + _PROSE)[1]) != claims:
        return None
    return fence if len(read(f"{raw}{fence}{_PROSE}")[1]) == claims + 2 else None


def ends(line: str, fence: str) -> bool:
    """Whether a whole line of the code ends it."""
    line = line.lstrip(" \t>").rstrip()
    return len(line) >= len(fence) and not line.strip(fence[0])


def _last_open(raw: str) -> str | None:
    if "```" not in raw and "~~~" not in raw:
        return None
    fence: str | None = None
    for line in raw.split("\n"):
        if fence is None:
            match = _FENCE.match(line)
            fence = match.group(1) if match else None
        elif ends(line, fence):
            fence = None
    return fence
