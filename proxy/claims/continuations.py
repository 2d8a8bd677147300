"""What all readings of a text share that may go on in many ways.

How a text that is still being written may go on, as far as that could change what stands in it already.

What all of these leave alone is taken for settled. Closers are only tried where something is there to close.
Left out is what a reply hardly does: a line of prose that becomes the header of a table further on, or a
table with outer pipes that goes on without them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
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


_MID_LINE = ("", "a b. The sea")
_LINE_START = ("", "a b", "The sky. The sea", "- a b")
_NEW_BLOCK = ("", "a b", "The sky. The sea", "    a b\n")
_STATES = (
    "\n\n    The sky. The sea.\n",
    "\n\nThe sky. The sea.\n",
    "\na b. The sea",
    "\n> The sky.\n",
    "\n- The sky.\n",
    "\n| a. The sky | b",
)

_BLANK_LINE = re.compile(r"\n[ \t\r]*\n")
_RUNS = re.compile(r"\*+|(?<![^\W_])_+|~~|`+")
_TAG = re.compile(r"<[a-zA-Z/!]")
_BARE_ROW = re.compile(r"^[ \t]*[^|\s][^|\n]*\|", re.M)
_DISPLAY = re.compile(
    r"\$\$|\\\[|\\begin\{[a-zA-Z]{1,20}\*?\}|<!--|<(?:pre|script|style|svg|math|think|thinking)\b", re.I
)
_DISPLAY_CLOSERS = {"$$": "$$", "\\[": "\\]", "<!--": "-->"}
_LONGEST_EMPHASIS = 3


def continuations(text: str) -> tuple[str, ...]:
    """Suffixes for a text that ends with a whole word, each once, the empty one first.

    Those that end a whole block come next: where one of them changes anything, it changes the most.
    """
    block = text[_block_start(text) :]
    suffixes = ["", *displays(text), *_inline(block), *_tables(text, block), *_plain(text, block)]
    return tuple(dict.fromkeys(suffixes))


def states() -> tuple[str, ...]:
    """Suffixes that tell in which block a text stands: a list, a table, a quotation, a paragraph."""
    return _STATES


def displays(text: str) -> dict[str, str]:
    """Suffixes that end display LaTeX, raw HTML or a comment that may be open, with the closer of each."""
    closers = {_display_closer(match.group()) for match in _DISPLAY.finditer(text)}
    return {f"\n\n{closer}\n": closer for closer in sorted(closers)}


def _display_closer(opening: str) -> str:
    if opening.startswith("\\begin"):
        return opening.replace("begin", "end", 1)
    return _DISPLAY_CLOSERS.get(opening) or f"</{opening[1:]}>"


def _block_start(text: str) -> int:
    """Where the last block starts at the latest: nothing within a line is closed behind a blank line."""
    start = 0
    for match in _BLANK_LINE.finditer(text):
        start = match.end()
    return start


def _inline(block: str) -> Iterator[str]:
    """Closers of emphasis, inline code, LaTeX, links, tags and marks that may be open in a block."""
    for run in sorted({match.group() for match in _RUNS.finditer(block)}):
        if run[0] == "`":
            yield run
        elif len(run) <= _LONGEST_EMPHASIS:
            yield f"x{run}"
        else:
            yield from (f"x{run[:length]}" for length in range(1, _LONGEST_EMPHASIS + 1))
    if "$" in block:
        yield from ("x$", "x$$", "$a$ b")
    if "\\" in block:
        yield from ("x\\)", "x\\]")
    if "[" in block:
        yield from ("x]", "x](http://x)", "x]](http://x)")
    if "](" in block:
        yield from ("x)", 'x")', "x')", "x>)")
    if _TAG.search(block):
        yield from ("x>", 'x">', "-->")
    if "【" in block:
        yield "x】"


def _tables(text: str, block: str) -> Iterator[str]:
    """What makes a line a row or the header of a table."""
    if "|" not in text:
        return
    yield from ("|---|---|\n", "---|---|\n", "x |\n|---|---|\n", "x |\n", "\n|---|---|\n")
    if _BARE_ROW.search(text):
        yield "x | y"


def _plain(text: str, block: str) -> Iterator[str]:
    line = text[text.rfind("\n") + 1 :]
    if any(char.isalnum() for char in line):
        yield from _MID_LINE
        return
    above = text[: len(text) - len(line)].rstrip(" \t\r\n")
    yield from _NEW_BLOCK if text.count("\n", len(above)) > 1 else _LINE_START
    if ">" in block:
        yield "> a b"
