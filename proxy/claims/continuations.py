"""The part of an unfinished text that every continuation parses the same way.

A text that is still being written is read with each of a set of suffixes: those that could change how it is
parsed so far. What all readings share is settled. Suffixes that close something are only tried where it may
be open. Two rare continuations are not covered: a line of prose that turns out to be a table's header, and a
table with outer pipes that goes on without them.

`shortened` keeps what has to be read again small: it cuts the settled beginning off.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from proxy.text.sentences import STOPS
from proxy.types import Claim

Read = Callable[[str], tuple[str, tuple[Claim, ...]]]
"""Reads a whole raw text: what is left once markers are taken out, and the claims of that."""

Reading = tuple[str, tuple[Claim, ...]]


@dataclass(frozen=True, slots=True)
class Known:
    """How much of a text is settled already: its first `claims`, its first `end` code points."""

    claims: int
    end: int


@dataclass(frozen=True, slots=True)
class Agreement:
    """The first `claims` claims and `end` code points that all `readings`, by suffix, have in common.

    `doubt` is the suffix whose reading left nothing new to settle, or None. `wanting`: read without a suffix,
    the text would settle more.
    """

    readings: Mapping[str, tuple[str, tuple[Claim, ...]]]
    claims: int
    end: int
    doubt: str | None = None
    wanting: bool = False


def agreed(read: Read, raw: str, suffixes: Iterable[str], known: Known) -> Agreement:
    """Reads the text with each suffix, the empty one first, until nothing new is left to agree on.

    The last claim counts only once its line has ended or another claim follows: what follows a sentence
    decides whether it is one.
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
    """The length of the longest common prefix of two sequences."""
    limit = min(len(first), len(second))
    if first[:limit] == second[:limit]:
        return limit
    low = 0
    while limit - low > 1:
        middle = (low + limit) // 2
        low, limit = (middle, limit) if first[:middle] == second[:middle] else (low, middle)
    return low


def moved(claims: Iterable[Claim], by: int) -> tuple[Claim, ...]:
    """The claims, `by` code points further on."""
    return tuple(replace(claim, start=claim.start + by, end=claim.end + by) for claim in claims)


def _followed(text: str, claims: tuple[Claim, ...]) -> int:
    """How many claims have another claim or a line end after them."""
    if claims and "\n" not in text[claims[-1].end :]:
        return len(claims) - 1
    return len(claims)


def _end(common: str, count: int, readings: Iterable[tuple[str, tuple[Claim, ...]]]) -> int:
    """The end of the settled text: that of the last claim, or of the last line before the next claim.

    White space and marks before a claim (`- `, `# `) belong to that claim.
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
    "\n1. The sky.\n",
    "\n| a. The sky" + " | b" * 12,
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
    """Suffixes to try for a text that ends with a whole word, each once, the empty one first.

    Those that end a whole block come next: they change most, so they decide soonest.
    """
    block = text[_block_start(text) :]
    suffixes = ["", *displays(text), *_inline(block), *_tables(text, block), *_plain(text, block)]
    return tuple(dict.fromkeys(suffixes))


def states() -> tuple[str, ...]:
    """Suffixes that show in which block a text ends: a list, a table, a quotation, a paragraph."""
    return _STATES


def displays(text: str) -> dict[str, str]:
    """Suffixes that close display LaTeX, raw HTML or a comment that may be open, with the closer of each."""
    closers = {_display_closer(match.group()) for match in _DISPLAY.finditer(text)}
    return {f"\n\n{closer}\n": closer for closer in sorted(closers)}


def _display_closer(opening: str) -> str:
    if opening.startswith("\\begin"):
        return opening.replace("begin", "end", 1)
    return _DISPLAY_CLOSERS.get(opening) or f"</{opening[1:]}>"


def _block_start(text: str) -> int:
    """Where the last block starts at the latest: no inline formatting goes on after a blank line."""
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
        yield from ("x]", "x](http://x)", "x][y]", "x]](http://x)")
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
    new_block = text.count("\n", len(above)) > 1
    yield from _NEW_BLOCK if new_block else _LINE_START
    if not new_block and above[-1:] not in tuple(STOPS):
        yield "---\n"
    if ">" in block:
        yield "> a b"


_LEAST_KEPT = 64
"""Code points: more than the length from which a line counts as wrapped."""


@dataclass(frozen=True, slots=True)
class Window:
    """The end of the raw text, with only as much before it as decides how it is parsed.

    Offset `i` of its reading is offset `i + shift` of the whole text's. Its first `skip` code points, with
    `claims` claims in them, only stand in for what was cut: the list or quotation marks of the line it starts
    in, or the text before code that was left out.
    """

    raw: str = ""
    shift: int = 0
    skip: int = 0
    claims: int = 0


@dataclass(frozen=True, slots=True)
class _Cut:
    """Where the text may be cut, and the marks that stand in for what was before."""

    position: int
    marks: str = ""


def shortened(read: Read, window: Window, whole: str, agreement: Agreement) -> Window | None:
    """The window without the beginning that no longer matters, or None where nothing can be cut.

    `whole` is the part of `window.raw` that was agreed on. A cut is only made where every continuation is
    parsed after it as it is in the longer window.
    """
    text, claims = agreement.readings[""]
    readings = dict(agreement.readings)
    readings.update((suffix, read(whole + suffix)) for suffix in states())
    for cut in _cuts(text, claims[: agreement.claims], agreement.end):
        behind = raw_end(window.raw, text[: cut.position])
        if cut.position <= window.skip or behind is None:
            continue
        if _reads_alike(read, cut.marks + whole[behind:], cut, readings):
            moved_by = cut.position - len(cut.marks)
            return Window(cut.marks + window.raw[behind:], window.shift + moved_by, len(cut.marks))
    return None


def raw_end(raw: str, text: str) -> int | None:
    """The offset in `raw` after `text`, which is a beginning of `raw` with stretches taken out, brackets in
    parentheses and raised digits, or None."""
    if raw.startswith(text):
        return len(text)
    end = 0
    for char in text:
        if raw[end : end + 1] in _WRITTEN.get(char, char):
            end += 1
            continue
        end = raw.find(char, end) + 1
        if end == 0:
            return None
    return end if end <= len(raw) else None


_WRITTEN = {"(": "([【", ")": ")]】"} | {raised: f"{raised}{n}" for n, raised in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")}
"""What may have stood in the raw text for a character of what is left."""


def _cuts(text: str, claims: tuple[Claim, ...], end: int) -> Iterator[_Cut]:
    """Where to try a cut, the best first: before a claim, a line, a paragraph."""
    kept = [claim for claim in claims if end - claim.start >= _LEAST_KEPT]
    if kept:
        start = text.rfind("\n", 0, kept[-1].start) + 1
        first = next(claim for claim in claims if claim.end > start)
        if first.start < start or first is kept[-1]:
            yield _Cut(start)
        else:
            yield _Cut(kept[-1].start, text[start : first.start])
    limit = kept[-1].start if kept else end
    yield _Cut(text.rfind("\n", 0, max(0, end - 1)) + 1)
    line = limit
    while (line := text.rfind("\n", 0, line)) >= 0:
        if not text[line + 1 : line + 2].isspace() and line + 1 < end:
            yield _Cut(line + 1)
            break
    paragraph = text.rfind("\n\n", 0, limit)
    if paragraph >= 0:
        yield _Cut(paragraph + 2)


def _reads_alike(read: Read, raw: str, cut: _Cut, readings: Mapping[str, Reading]) -> bool:
    skip = len(cut.marks)
    for suffix, (text, claims) in readings.items():
        if any(claim.start < cut.position < claim.end for claim in claims):
            return False
        text_behind, claims_behind = read(raw + suffix)
        if text_behind[skip:] != text[cut.position :]:
            return False
        expected = moved((claim for claim in claims if claim.start >= cut.position), skip - cut.position)
        if claims_behind != expected:
            return False
    return True
