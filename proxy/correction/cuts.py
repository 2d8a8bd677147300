"""What else goes when a sentence is taken out of a Markdown draft.

- Beside other sentences: the space behind it, or, at the end of a line, the one before it.
- Alone on one of several lines of a paragraph or item: its line.
- Alone in a paragraph: its lines and the blank line that set it apart.
- Alone in an item of a list, or in a row of a table (a row is one claim): the whole line with its list mark.
  Items are not renumbered, and the sentence that introduces a list stays.

A table's header goes with the last of its rows. Headings, other header rows, an item with others nested under
it and a paragraph above a ruler stay: without them what follows would mean something else.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from proxy.text.markdown import Block, Span, blocks, is_ruler
from proxy.text.pairs import Mark, marks_of
from proxy.types import Claim

_BLANK = " \t\r\n>"
_PREFIX = re.compile(r"[ \t>]*")
_SPACES = re.compile(r"[ \t]*")


@dataclass(frozen=True, slots=True)
class Edit:
    """`text[start:end]` becomes `by`.

    Edits are applied one after the other, the last in the text first. So `start` is an offset into the
    original text, `end` one into what the edits before have left of it.
    """

    start: int
    end: int
    by: str = ""


def applied(text: str, edits: Sequence[Edit]) -> str:
    """The text with the edits made, in the order given."""
    for edit in edits:
        text = text[: edit.start] + edit.by + text[edit.end :]
    return text


def moving(edits: Sequence[Edit]) -> Callable[[int], int]:
    """A function that gives the new offset of a position that no edit touches."""
    ordered = sorted(edits, key=lambda edit: edit.start)
    starts = [edit.start for edit in ordered]
    shifts = [0, *accumulate(len(edit.by) - (edit.end - edit.start) for edit in ordered)]
    return lambda position: position + shifts[bisect_left(starts, position)]


def cuts(text: str, claims: Sequence[Claim]) -> tuple[Edit, ...] | None:
    """The edits that take all the claims out, last first, or None where a claim has to stay."""
    ordered = sorted(claims, key=lambda claim: claim.start)
    starts = [claim.start for claim in ordered]
    edits: list[Edit] = []
    row_stays = False
    for block in reversed(blocks(text)):
        first = bisect_left(starts, block.lines[0][0])
        last = bisect_left(starts, block.lines[-1][1])
        kept = block.kind == "heading" or (block.kind == "header" and row_stays)
        row_stays = block.kind == "row" and (row_stays or first == last)
        if first == last:
            continue
        if kept:
            return None
        block_edits = _block_cuts(text, block, _runs(text, ordered[first:last]))
        if block_edits is None:
            return None
        for edit in block_edits:
            edits.append(edit)
            text = applied(text, [edit])
    return tuple(edits)


def headers(text: str, claims: Sequence[Claim]) -> list[Span]:
    """The spans of the headers of tables that lose all of their rows with the claims, from the first cell to
    the last, in order."""
    starts = sorted(claim.start for claim in claims)
    emptied: list[Span] = []
    going, staying = 0, 0
    for block in reversed(blocks(text)):
        start, end = block.lines[0][0], block.lines[-1][1]
        if block.kind == "row":
            goes = bisect_left(starts, start) < bisect_left(starts, end)
            going, staying = going + goes, staying + (not goes)
            continue
        if block.kind == "header" and going and not staying:
            emptied.append((start, end))
        going = staying = 0
    return emptied[::-1]


def _runs(text: str, claims: Sequence[Claim]) -> list[Span]:
    """The claims' spans, those with nothing but white space between them joined."""
    runs: list[Span] = []
    for claim in claims:
        if runs and not text[runs[-1][1] : claim.start].strip(_BLANK):
            runs[-1] = runs[-1][0], claim.end
        else:
            runs.append((claim.start, claim.end))
    return runs


def _block_cuts(text: str, block: Block, runs: Sequence[Span]) -> list[Edit] | None:
    start, end = block.lines[0][0], block.lines[-1][1]
    around = text[start : runs[0][0]] + text[runs[-1][1] : end]
    alone = len(runs) == 1 and not around.strip(_BLANK + "*_~")
    if alone or block.kind in ("row", "header"):
        whole = _whole(text, block)
        return None if whole is None else [Edit(*whole)]
    marks = [replace(mark, start=start + mark.start) for mark in marks_of(text[start:end])]
    starts = [mark.start for mark in marks]
    edits = []
    for run in reversed(runs):
        within = marks[bisect_left(starts, run[0]) : bisect_left(starts, run[1])]
        edits.append(_part(text, block, run, *_left_by(within, run[0] - start, run[1] - start)))
    return edits


def _left_by(marks: Sequence[Mark], start: int, end: int) -> tuple[list[str], list[str]]:
    """The marks that close something before `start`, and those that open something which ends behind `end`,
    both offsets into the block."""
    paired = [(mark, mark.partner) for mark in marks if mark.partner is not None]
    closers = [mark.text for mark, partner in paired if partner < start]
    return closers, [mark.text for mark, partner in paired if partner >= end]


def _whole(text: str, block: Block) -> Span | None:
    """The lines of a block and the blank lines that set it apart."""
    start = text.rfind("\n", 0, block.lines[0][0]) + 1
    end = _line_end(text, block.lines[-1][1])
    if block.kind == "header":
        end = _line_end(text, end + 1)  # the ruler
    below = text[end + 1 : _line_end(text, end + 1)]
    following = _next_line(text, end)
    on_ruler = block.kind == "paragraph" and is_ruler(below.strip(_BLANK))
    nests = block.kind == "item" and _indent(text, following) > _indent(text, start)
    if on_ruler or nests:
        return None
    if following == len(text):
        return _previous_end(text, start), end
    previous = text[text.rfind("\n", 0, max(0, start - 1)) + 1 : start]
    return start, (following if not previous.strip(_BLANK) else end + 1)


def _line_end(text: str, position: int) -> int:
    end = text.find("\n", position)
    return len(text) if end < 0 else end


def _next_line(text: str, end: int) -> int:
    """The start of the next line that is not blank; the text's end where there is none."""
    start = end + 1
    while start < len(text):
        end = _line_end(text, start)
        if text[start:end].strip(_BLANK):
            return start
        start = end + 1
    return len(text)


def _previous_end(text: str, start: int) -> int:
    """The end of the line before `start` that is not blank; 0 where there is none."""
    while start > 0:
        before = text.rfind("\n", 0, start - 1) + 1
        if text[before:start].strip(_BLANK):
            return start - 1
        start = before
    return 0


def _indent(text: str, line: int) -> int:
    return _skipped(_PREFIX, text, line) - line


def _skipped(pattern: re.Pattern[str], text: str, start: int) -> int:
    """Where the pattern's match at `start` ends."""
    match = pattern.match(text, start)
    return match.end() if match else start


def _part(
    text: str, block: Block, run: Span, closers: Sequence[str] = (), openers: Sequence[str] = ()
) -> Edit:
    """A part of a block goes, with the space or line end that would be left over. Marks in it whose
    counterparts stand outside of it stay."""
    start, end = run
    first, last = _line_of(block, start), _line_of(block, end - 1)
    starts_line, ends_line = start == block.lines[first][0], end == block.lines[last][1]
    left, right = start, end
    if not starts_line:
        while left > block.lines[first][0] and text[left - 1] in " \t":
            left -= 1
    elif first:
        left = block.lines[first - 1][1]
    if not ends_line:
        right = _skipped(_SPACES, text, end)
    elif last + 1 < len(block.lines):
        right = block.lines[last + 1][0]
    follows = not ends_line or (starts_line and right > end)
    between = text[left:start] if follows else text[end:right]
    return Edit(left, right, "".join([*closers, between, *openers]))


def _line_of(block: Block, position: int) -> int:
    return bisect_right(block.lines, position, key=lambda line: line[1])
