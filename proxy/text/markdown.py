"""The blocks of a draft, Markdown as LLMs write it, by exact offsets.

This is a line scanner, not a CommonMark parser. Drafts are full of Markdown that the standard does not know
(`1.标题`, `（1）`, tables without outer pipes, fences that are never closed), and all that is needed here is
where text stands that could be a claim. Code, display LaTeX, rulers and definitions of links are in no block.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Literal

from proxy.text.scripts import UNSPACED
from proxy.text.sentences import CITATION, STOPS

Span = tuple[int, int]
BlockKind = Literal["paragraph", "heading", "item", "note", "header", "row"]


@dataclass(frozen=True, slots=True)
class Block:
    """Text that belongs together.

    `lines` are the spans of its lines without container marks (`>`, `-`, `1.`, `#`, for a `note` `[^1]:`) and
    surrounding white space, none empty. Of a `header` or a `row` of a table they are its cells, and `columns`
    has the number of the column that each stands in, from 0. `width`: the columns of a header's table; of
    the cells behind them, renderers show nothing.
    """

    kind: BlockKind
    lines: tuple[Span, ...]
    columns: tuple[int, ...] = ()
    width: int = 0


_QUOTE = re.compile(r"[ \t]*>[ \t]?")
_ITEM = re.compile(
    r"[ \t]*(?:"
    r"[-*+–—][ \t]+"
    r"|[•·▪◦●■○►➢✓✔✅][ \t]*"
    rf"|[(]?\d{{1,3}}[.)][ \t]+|\d{{1,3}}[.)．](?=[{UNSPACED}*“《「（])|\d{{1,3}}、[ \t]*"
    r"|（[0-9一二三四五六七八九十]{1,3}）[ \t]*|[①-⑳][ \t]*|[a-z]\)[ \t]+"
    r")(?:\[[ xX]\][ \t]+)?"
)
_EMPTY_ITEM = re.compile(r"[ \t]*\d{1,3}[.)][ \t]*$")
_HEADING = re.compile(rf"[ \t]*#{{1,6}}(?:[ \t]+|(?=[{UNSPACED}]))")
_FENCE = re.compile(r"[ \t]*(`{3,}(?=[^`]*$)|~{3,})")
_DEFINITION = re.compile(
    r"\[(?:(?P<note>\^[^\]\n]{1,64}\]:)|[^\]\n]{1,64}\]:[ \t]*(?:<|https?:|www\.|/|#|mailto:))"
)
_NUMBERED = re.compile(
    r"\[[ \t]*\d{1,3}[ \t]*\](?=:[ \t]*(?:<|https?:|www\.|/|#|mailto:|\S*[ \t]*$|\S+[ \t]+[\"'(]))"
)
_NUMBERED_LABEL = re.compile(r"\d[ \t]*\]:")
_REFERENCE = re.compile(rf"(?:(?:{CITATION.pattern})[ \t]*){{1,20}}")
_INDENTED = re.compile(r"(?: {4}| {0,3}\t)[ \t]*\S")
_DISPLAY = re.compile(
    r"\$\$|\\\[|\\begin\{([a-zA-Z]{1,20}\*?)\}|<!--|<(pre|script|style|svg|math)\b[^<>\n]{0,200}>",
    re.I,
)
_THOUGHT = re.compile(r"[ \t]*<(think|thinking)\b[^<>\n]{0,200}>", re.I)
_ENVIRONMENT_END = re.compile(r"\\end\{[a-zA-Z]{1,20}\*?\}")
_CLOSERS = {"$$": "$$", "\\[": "\\]", "<!--": "-->"}
_PIPE = re.compile(r"\\.|\|")
_MAX_CONTAINERS = 16


def blocks(draft: str) -> list[Block]:
    """The blocks of `draft` that hold text, in order, disjoint. Linear in the length of the draft."""
    return list(_Scanner(draft).scan())


def skipped(draft: str) -> list[Span]:
    """The spans of the code, display LaTeX and raw HTML that are in no block, in order. Linear in the length
    of the draft."""
    return _scanned(draft).skipped


def numbered_labels(draft: str) -> list[Span]:
    """The spans of the labels `[1]` of link definitions (`[1]: https://…`), in order. With such a definition
    a renderer makes a link of every `[1]` in the draft."""
    if not _NUMBERED_LABEL.search(draft):
        return []
    return _scanned(draft).labels


def _scanned(draft: str) -> _Scanner:
    scanner = _Scanner(draft)
    for _ in scanner.scan():
        pass
    return scanner


class _Scanner:
    """Scans the lines once. Its state is the block that a line may continue."""

    def __init__(self, draft: str) -> None:
        self.draft = draft
        self.kind: BlockKind = "paragraph"
        self.lines: list[Span] = []
        self.labels: list[Span] = []
        self.skipped: list[Span] = []
        self.quote_depth = 0
        self.in_list = False
        self.after_blank = True
        self.in_table = False
        self.missing: set[str] = set()
        self.environment_ends: dict[str, list[int]] | None = None

    def scan(self) -> Iterator[Block]:
        position, size = 0, len(self.draft)
        while position < size:
            end = self._line_end(position)
            start, depth, marked = self._content(position, end)
            behind = self._skip(position, start, end)
            if behind is not None:
                yield from self._flush()
                self.after_blank = True
                self.skipped.append((start, behind))
                position = behind
                continue
            yield from self._line(start, end, depth, marked)
            position = end + 1
        yield from self._flush()

    def _line_end(self, position: int) -> int:
        end = self.draft.find("\n", position)
        return len(self.draft) if end < 0 else end

    def _content(self, start: int, end: int) -> tuple[int, int, bool]:
        """Where a line's text starts, its depth of quotation, and whether a list mark stands before it."""
        depth, marked = 0, False
        if is_ruler(self.draft[start:end]):
            return start, depth, marked
        for _ in range(_MAX_CONTAINERS):
            if quote := _QUOTE.match(self.draft, start, end):
                start, depth = quote.end(), depth + 1
            elif item := _ITEM.match(self.draft, start, end) or self._empty_item(start, end):
                start, marked = item.end(), True
            else:
                break
        return start, depth, marked

    def _empty_item(self, start: int, end: int) -> re.Match[str] | None:
        """`2.` alone on its line is an empty item, but in the last line it is an answer."""
        return _EMPTY_ITEM.match(self.draft, start, end) if end < len(self.draft) - 1 else None

    def _skip(self, line_start: int, start: int, end: int) -> int | None:
        """Where to go on after the code, display LaTeX or raw HTML that starts here, or None."""
        if fence := _FENCE.match(self.draft, start, end):
            return self._after_fence(fence.group(1), end)
        if self.after_blank and not self.in_list and _INDENTED.match(self.draft, line_start, end):
            return end + 1
        if thought := _THOUGHT.match(self.draft, start, end):
            return self._after_thoughts(thought)
        content = self.draft[start:end].lstrip()
        opening = _DISPLAY.match(content)
        if opening is None:
            return None
        if opening.group(1):
            closer = f"\\end{{{opening.group(1)}}}"
        elif opening.group(2):
            closer = f"</{opening.group(2)}>"
        else:
            closer = _CLOSERS[opening.group()]
        return self._after_closer(closer, end - len(content) + opening.end(), end)

    def _after_fence(self, fence: str, end: int) -> int:
        position = end + 1
        while position < len(self.draft):
            end = self._line_end(position)
            line = self.draft[position:end].lstrip(" \t>").rstrip()
            position = end + 1
            if len(line) >= len(fence) and not line.strip(fence[0]):
                break
        return position

    def _after_thoughts(self, opening: re.Match[str]) -> int | None:
        """Behind a thought, those behind it and white space: the answer may go on in the same line."""
        behind: int | None = None
        thought: re.Match[str] | None = opening
        while thought and (end := self._end(f"</{thought[1]}>", thought.end())) is not None:
            behind = end
            thought = _THOUGHT.match(self.draft, behind)
        while behind is not None and self.draft[behind : behind + 1] in (" ", "\t"):
            behind += 1
        return behind

    def _after_closer(self, closer: str, start: int, line_end: int) -> int | None:
        """None where the closer is missing, or text follows it on the line that it opened in."""
        end = self._end(closer, start)
        return None if end is not None and end < line_end and self.draft[end:line_end].strip() else end

    def _end(self, closer: str, start: int) -> int | None:
        """Where the next closer ends. Missing closers are remembered, to keep the scan linear."""
        if closer in self.missing:
            return None
        closing = self._closing(closer, start)
        if closing < 0:
            self.missing.add(closer)
            return None
        return closing + len(closer)

    def _closing(self, closer: str, start: int) -> int:
        """Where the closer stands next, or -1. LaTeX has a closer for each of any number of names, so those
        are looked up in a list of all."""
        if not closer.startswith("\\end{"):
            return self.draft.find(closer, start)
        if self.environment_ends is None:
            self.environment_ends = {}
            for match in _ENVIRONMENT_END.finditer(self.draft):
                self.environment_ends.setdefault(match.group(), []).append(match.start())
        ends = self.environment_ends.get(closer, [])
        index = bisect_left(ends, start)
        return ends[index] if index < len(ends) else -1

    def _line(self, start: int, end: int, depth: int, marked: bool) -> Iterator[Block]:
        span = stripped(self.draft, start, end)
        if span is None or is_ruler(self.draft[start:end]):
            if span is not None and self._underlines(span[0], depth):
                self.kind = "heading"
            yield from self._flush()
            self.after_blank = span is None
            return
        row = self._row(span, end)
        heading = _HEADING.match(self.draft, start, end)
        starts_new = marked or depth != self.quote_depth or row is not None or heading is not None
        if starts_new or not self.lines or self.kind in ("heading", "header", "row"):
            yield from self._flush()
        self._note_list(start, marked)
        if row is None and heading is None and (label := _NUMBERED.match(self.draft, *span)):
            self.labels.append(label.span())
        self.quote_depth, self.after_blank = depth, False
        if row is not None:
            yield from row
        elif heading is not None:
            yield from self._heading(heading.end(), end)
        elif definition := _DEFINITION.match(self.draft, *span):
            yield from self._flush()
            note = stripped(self.draft, definition.end(), span[1]) if definition["note"] else None
            if note is not None:
                yield Block("note", (note,))
        elif reference := _REFERENCE.match(self.draft, *span):
            yield from self._flush()
            if reference.end() < span[1]:
                self.kind, self.lines = "paragraph", [span]
        else:
            if not self.lines:
                self.kind = "item" if marked else "paragraph"
            self.lines.append(span)

    def _underlines(self, start: int, depth: int) -> bool:
        """Whether a ruler that starts there makes the line above a heading (CommonMark 4.3). Behind the end
        of a sentence it is the ruler that authors mean."""
        if self.draft[start] not in "=-" or self.kind != "paragraph" or len(self.lines) != 1:
            return False
        return depth == self.quote_depth and self.draft[self.lines[0][1] - 1] not in STOPS

    def _note_list(self, start: int, marked: bool) -> None:
        """A list goes on through blank lines as long as lines are indented."""
        line_start = self.draft.rfind("\n", 0, start) + 1
        indented = self.draft[line_start : line_start + 1] in (" ", "\t")
        self.in_list = marked or (self.in_list and (indented or not self.after_blank))

    def _heading(self, start: int, end: int) -> Iterator[Block]:
        while end > start and self.draft[end - 1] in "# \t":
            end -= 1
        span = stripped(self.draft, start, end)
        if span is not None:
            yield Block("heading", (span,))

    def _row(self, span: Span, end: int) -> list[Block] | None:
        """The blocks of a table's line: none for the ruler. None where the line is no row."""
        line = self.draft[slice(*span)]
        if "|" not in line:
            self.in_table = False
            return None
        if _is_table_ruler(line):
            return []
        following = self.draft[end + 1 : self._line_end(end + 1)] if end < len(self.draft) else ""
        is_header = _is_table_ruler(following.lstrip(" \t>"))
        closed = len(line) > 2 and line[0] == "|" and line[-1] == "|"
        if not (is_header or self.in_table or closed):
            return None
        self.in_table = True
        cells = list(_cells(self.draft, *span))
        kind: BlockKind = "header" if is_header else "row"
        lines, columns = tuple(cell for _, cell in cells), tuple(column for column, _ in cells)
        width = following.strip(" \t\r>").strip("|").count("|") + 1 if is_header else 0
        return [Block(kind, lines, columns, width)] if cells else []

    def _flush(self) -> Iterator[Block]:
        if self.lines:
            yield Block(self.kind, tuple(self.lines))
        self.lines = []
        self.kind = "paragraph"


def is_ruler(line: str) -> bool:
    """Whether the line is `---`, `* * *`, `___` or the like."""
    marks = line.replace(" ", "").replace("\t", "")
    return len(marks) >= 3 and marks[0] in "-*_=" and not marks.strip(marks[0])


def stripped(text: str, start: int, end: int) -> Span | None:
    """The span without white space at its ends, or None where nothing is left."""
    while start < end and text[start].isspace():
        start += 1
    while start < end and text[end - 1].isspace():
        end -= 1
    return (start, end) if start < end else None


def _is_table_ruler(line: str) -> bool:
    line = line.strip()
    return "|" in line and "-" in line and not line.strip("|:- \t")


def _cells(text: str, start: int, end: int) -> Iterator[tuple[int, Span]]:
    """Columns and spans of the cells that are not empty.

    Pipes that are not escaped divide them; those in inline code, too (GFM 4.10).
    """
    cell, column = start, -1 if text[start] == "|" else 0
    pipes = (match for match in _PIPE.finditer(text, start, end) if match.group() == "|")
    for left, right in chain((match.span() for match in pipes), [(end, end)]):
        span = stripped(text, cell, left)
        if span is not None:
            yield column, span
        cell, column = right, column + 1
