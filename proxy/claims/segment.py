"""A draft to its claims: sentences of paragraphs, list items, rows of tables, headings."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from unicodedata import combining

from proxy.claims.checkable import is_checkable, is_title, only_points
from proxy.claims.material import stated
from proxy.text.inline import READ, Token, tokens
from proxy.text.markdown import Block, Span, blocks
from proxy.text.scripts import CJK
from proxy.text.sentences import NOTE_SIGN, STOPS, sentence_spans
from proxy.types import HEADING_LEVELS, Claim

_LONG_LINE = 60
_MASKED = re.compile(r"[\s.!?。！？；…｡\[\]]")
_ASSIGNS = frozenset(": ： = - – — → => ->".split())
"""What stands between the name of a value and the value."""
_LIST = re.compile(r"\[\d")
"""How a list of numbers begins; other citation markers begin differently (`[^1]`, `【1】`)."""
_WHITE_SPACE = re.compile(r"\s+")
CUTS = (
    re.compile(rf"(?:[，；、：]|[,;:](?=[\s{CJK}]))\s*+"),
    re.compile(rf"\s++|(?<=[{CJK}])(?=[{CJK}])"),
)
"""Where a sentence that is too long may be divided, the best first: never inside a word."""
_BLANK_LINE = re.compile(r"\n[ \t\r>]*+\n")
_ROW_NUMBER = re.compile(r"#?\d{1,4}\.?")
_COUNTS = frozenset("# no no. nr rank index id number step 序号 编号 排名 次序".split())
"""Headings of a column that only counts the rows."""
_VAGUE = frozenset(
    """
    value values detail details description info information answer data fact facts content notes 值 数值 内容
    说明 描述 详情 信息 数据
    """.split()
)
"""Headings of a column that say nothing about what stands in it."""
_OPENERS = " \t\n(<[“\"'（《【「"
_BOLD = ("**", "__", "***", "___")


def segment(draft: str, markers: Iterable[Span] = ()) -> tuple[Claim, ...]:
    """The claims of a Markdown draft, in order, disjoint, `draft[start:end] == text`.

    `markers` are the spans of the citation markers, disjoint and in order: they say nothing. All other
    brackets are part of what the draft says (`the shape [64, 128]`, `see [1]`).

    `end` is where a citation marker can stand without breaking the Markdown: after closing punctuation,
    quotes, emphasis and markers that are there already; never inside code, LaTeX, a link or its target.
    Code blocks, display LaTeX, rulers, definitions of links and bare URLs are in no claim. A row of a table
    is one claim; its `plain` has the headings of row and columns (`Paris, People: 2 million; Founded: 250
    BC`). A sentence of over `MAX_CLAIM` code points is divided. Linear in the length of the draft.
    """
    claims: list[Claim] = []
    headings: Mapping[int, str] = {}
    width = 0
    spans = tuple(markers)
    end, last = 0, len(draft.rstrip())
    for block in blocks(draft):
        start, before, end = block.lines[0][0], end, block.lines[-1][1]
        if block.kind not in ("row", "header"):
            claims += _sentences(draft, block, spans, last)
            headings, width = {}, 0
            continue
        if _BLANK_LINE.search(draft, before, start):
            headings, width = {}, 0
        row = _Row(draft, block, spans)
        if block.kind == "header":
            headings, width = row.cells, block.width
        claims += row.claims(headings, width)
    return tuple(claims)


MAX_CLAIM = 1_000
"""Code points of a claim. A longer sentence is divided at commas, else between words."""
_MAX_VALUES = 8
"""Values of a row that are checked one by one. A row of more is checked as a whole."""
MAX_UNDIVIDED = 4_000
"""Code points up to which what can't be divided is checked: a row of a table, code, a long word."""


@dataclass(frozen=True, slots=True)
class _Piece:
    """A stretch of the draft as people read it. `shape` is what the sentence splitter may see of it.

    `solid`: code, LaTeX, a URL or the text of a link, where no claim may end.
    """

    start: int
    text: str
    shape: str
    solid: bool


class _Run:
    """Text in which sentences are looked for: a paragraph, or the part of it between two hard line breaks."""

    def __init__(self, draft: str, run: Sequence[Token]) -> None:
        self.draft = draft
        self.tokens = run
        self.pieces = list(_pieces(draft, run))
        self.text = "".join(piece.text for piece in self.pieces)
        self.shape = "".join(piece.shape for piece in self.pieces)
        self.offsets = [0]
        for piece in self.pieces[:-1]:
            self.offsets.append(self.offsets[-1] + len(piece.text))
        self.starts = [token.start for token in run]

    def position(self, index: int) -> int:
        """The place in the draft of the character at `index` of the text."""
        piece = bisect_right(self.offsets, index) - 1
        return self.pieces[piece].start + index - self.offsets[piece]

    def claim(self, start: int, end: int, kind: str, level: int, *, opens: bool) -> Claim | None:
        """The claim of a sentence of the text, or None where it has no letter or digit."""
        left, right, closed = self.place(start, end)
        if right <= left or not self.says_something(left, right):
            return None
        said = " ".join(self.text[start:end].split())
        while right < closed and self.position(end - 1) >= right:
            end -= 1
        plain = " ".join(self.text[start:end].split())
        checkable = len(plain) <= MAX_UNDIVIDED and is_checkable(plain, kind)
        names_page = only_points(said) or (is_title(plain) and self.is_linked(left, right))
        checkable = checkable and not names_page
        return Claim(left, right, self.draft[left:right], stated(plain), checkable, level=level, opens=opens)

    def place(self, start: int, end: int) -> tuple[int, int, int]:
        """Where in the draft the text `[start:end]` starts, where its claim ends, and its formatting."""
        left = self.opened(self.position(start))
        closed = self.closed(self.position(end - 1) + 1)
        end = self.before_backslash(left, self.before_url(left, closed))
        return left, self.before_loose(left, end), closed

    def is_list(self) -> bool:
        """Whether it is numbers in brackets and no more: a marker behind them would look like one of them."""
        pieces = (piece for piece in self.pieces if piece.text.strip())
        return all(piece.solid and _LIST.match(piece.text) for piece in pieces)

    def is_linked(self, start: int, end: int) -> bool:
        """Whether all that is said there is the text of links: then a title names a page (`[More](…)`)."""
        first, last = max(0, bisect_right(self.starts, start) - 1), bisect_left(self.starts, end)
        read = [token for token in self.tokens[first:last] if token.kind in READ and start < token.end]
        said = [token for token in read if any(map(str.isalnum, self.draft[token.start : token.end]))]
        return bool(said) and all(token.whole for token in said)

    def heads(self, last: int) -> bool:
        """Whether it is a line in bold that only names what follows. One that ends the draft, at `last`, is
        an answer."""
        first, final = self.tokens[0], self.tokens[-1]
        mark = self.draft[first.start : first.end]
        if first.kind != "open" or mark not in _BOLD:
            return False
        inner = [token for token in self.tokens[1:-1] if token.kind in ("open", "close")]
        colon = final.kind == "text" and self.draft[final.start : final.end].strip() in (":", "：")
        closing = self.tokens[-2] if colon and len(self.tokens) > 2 else final
        whole = closing.kind == "close" and self.draft[closing.start : closing.end] == mark
        inside = [token for token in inner if token is not closing]
        return whole and not inside and final.end < last and is_title(self.text)

    def divided(self, start: int, end: int) -> Iterator[Span]:
        """A sentence in parts of at most `MAX_CLAIM` code points, where it may be divided."""
        while end - start > MAX_CLAIM:
            cut = self._cut(start, start + MAX_CLAIM, end)
            right = start + len(self.shape[start:cut].rstrip())
            if right > start:
                yield start, right
            start = cut
        if self.shape[start:end].strip():
            yield start, end

    def _cut(self, start: int, limit: int, end: int) -> int:
        """Where to divide a sentence: behind its last comma before the limit, else between words before or
        behind it, but not in code, a link or a marker."""
        for first in (start + MAX_CLAIM // 2, start + 1):
            for pattern in CUTS:
                ends = (match.end() for match in pattern.finditer(self.shape, first, limit + 1))
                if cuts := [cut for cut in ends if cut <= limit and self._divisible(cut)]:
                    return cuts[-1]
        behind = CUTS[1].finditer(self.shape, limit, end)
        return next((match.end() for match in behind if self._divisible(match.end())), end)

    def _divisible(self, index: int) -> bool:
        """Whether a claim may end before the character at `index`: a marker there becomes no link."""
        if index >= len(self.text):
            return True
        piece = bisect_right(self.offsets, index) - 1
        inside = self.pieces[piece].solid and self.offsets[piece] < index
        return not (inside or self.text[index] in "([" or combining(self.text[index]))

    def opened(self, start: int) -> int:
        """The start, moved before the marks that open formatting there."""
        index = bisect_right(self.starts, start) - 1
        if self.tokens[index].start == start:
            index -= 1
        while index >= 0 and self.tokens[index].kind == "open" and self.tokens[index].end == start:
            start = self.tokens[index].start
            index -= 1
        return start

    def closed(self, end: int) -> int:
        """The end, moved behind the marks that close formatting, and citations."""
        index = bisect_right(self.starts, end - 1)
        while index < len(self.tokens):
            token = self.tokens[index]
            gap = self.draft[end : token.start]
            blank = token.kind == "text" and not self.draft[token.start : token.end].strip(" \t")
            closes = token.kind == "close" and (not gap or self.tokens[index - 1].kind == "code")
            if closes or (token.kind == "citation" and not gap.strip(" \t")):
                end = token.end
            elif not blank:
                break
            index += 1
        return end

    def before_url(self, start: int, end: int) -> int:
        """The end before a bare URL at the end of a claim, which renderers would extend over a marker."""
        url = self._last_url(start, end)
        if url is None or url.whole or self.draft[url.start - 1 : url.start] == "<":
            return end
        cut = self._behind_text(start, url.start, _OPENERS)
        return end if cut > start and self.draft[cut] == "(" else cut

    def before_backslash(self, start: int, end: int) -> int:
        """The end before backslashes: they break a line, and before a marker would open display LaTeX."""
        cut = end
        while cut > start and self.draft[cut - 1] == "\\":
            cut -= 1
        token = self.tokens[bisect_right(self.starts, end - 1) - 1]
        return self._behind_text(start, cut, " \t\n") if cut < end and token.kind == "text" else end

    def before_loose(self, start: int, end: int) -> int:
        """The end before a lone `*` after a space, which would open emphasis once a marker follows it."""
        while end > start:
            token = self.tokens[bisect_right(self.starts, end - 1) - 1]
            loose = (
                token.kind == "text" and token.end == end and not self.draft[token.start : end].strip("*_~")
            )
            if not loose or not (token.start == start or self.draft[token.start - 1].isspace()):
                break
            end = self._behind_text(start, token.start, " \t\n")
        return end

    def _behind_text(self, start: int, cut: int, skipped: str) -> int:
        """The end of the last text before `cut`, without opening marks, skipped characters and gaps."""
        while cut > start:
            token = self.tokens[bisect_right(self.starts, cut - 1) - 1]
            if cut > token.end:
                cut = token.end
            elif token.kind == "open" or self.draft[cut - 1] in skipped:
                cut -= 1
            else:
                break
        return cut

    def _last_url(self, start: int, end: int) -> Token | None:
        """The last URL of the claim, if no white space follows it."""
        index, right = bisect_right(self.starts, end - 1) - 1, end
        while index >= 0 and self.tokens[index].end > start:
            token = self.tokens[index]
            if token.kind == "url":
                return None if _WHITE_SPACE.search(self.draft, token.end, right) else token
            if _WHITE_SPACE.search(self.draft, max(start, token.start), right):
                return None
            index, right = index - 1, token.start
        return None

    def says_something(self, start: int, end: int) -> bool:
        """Whether a letter or digit stands outside code, LaTeX and URLs, or code names a value in code
        (`port: 8080`, both in code)."""
        index = max(0, bisect_right(self.starts, start) - 1)
        named = False
        while index < len(self.tokens) and self.tokens[index].start < end:
            token = self.tokens[index]
            text = self.draft[max(start, token.start) : min(end, token.end)]
            if token.kind == "text" and any(char.isalnum() for char in text):
                return True
            if token.kind == "code" and named and text.strip():
                return True
            if token.kind in ("text", "code"):
                named = token.kind == "text" and text.strip() in _ASSIGNS and index > 0
            index += 1
        return False


def _sentences(draft: str, block: Block, markers: Sequence[Span], last: int) -> Iterator[Claim]:
    """The claims of a block. `last`: where the text of the whole draft ends."""
    begun, before = False, _before(draft, block)
    for run in _runs(draft, block, markers):
        if not any(token.kind == "text" for token in run.tokens):
            continue
        kind: str = block.kind
        if kind == "paragraph" and run.heads(last):
            kind = "heading"
        elif kind == "heading" and "#" not in before and not is_title(run.text):
            kind = "paragraph"  # underlined, but a statement
        level = _level(before, block, kind)
        for sentence in _unbroken(run):
            for start, end in run.divided(*sentence):
                opens = kind == "heading" or (kind == "item" and not begun)
                claim = run.claim(start, end, kind, level, opens=opens)
                if claim is not None:
                    yield claim
                    begun = True


def _before(draft: str, block: Block) -> str:
    """What stands before a block on its line, behind thoughts: marks, and the space that indents it."""
    start = block.lines[0][0]
    return _THOUGHTS_END.sub("", draft[draft.rfind("\n", 0, start) + 1 : start])


_THOUGHTS_END = re.compile(r"^.*</think(?:ing)?>[ \t]*", re.I | re.S)


def _level(before: str, block: Block, kind: str) -> int:
    """See `Claim`. At one column, a paragraph is above a numbered item, and that above a bullet."""
    if kind != "heading":
        before = before.expandtabs(4)
        indent = len(before) - len(before.lstrip(" >")) if kind == "item" else len(before)
        rank = 0 if kind != "item" else 1 if before[indent : indent + 1].isdigit() else 2
        return HEADING_LEVELS + 1 + 3 * indent + rank
    if block.kind != "heading":
        return HEADING_LEVELS
    return before.count("#") or 1


def _unbroken(run: _Run) -> Iterator[Span]:
    """The sentences of a run, joined where a marker between them would become a link with what follows."""
    start: int | None = None
    for left, right in sentence_spans(run.shape):
        start = left if start is None else start
        end = run.closed(run.position(right - 1) + 1)
        if run.draft[end : end + 1] not in ("(", "[") or right == len(run.shape):
            yield start, right
            start = None
    if start is not None:
        yield start, len(run.shape.rstrip())


class _Row:
    """A row or the header of a table. `cells` are the plain texts of its cells by their column."""

    def __init__(self, draft: str, block: Block, markers: Sequence[Span]) -> None:
        self._draft = draft
        self._block = block
        self._kind = block.kind
        self._runs: list[tuple[int, _Run]] = []
        self.cells: dict[int, str] = {}
        for column, cell in zip(block.columns, block.lines, strict=True):
            runs = list(_runs(draft, Block(block.kind, (cell,)), markers))
            text = stated(" ".join(filter(None, (" ".join(run.text.split()) for run in runs))))
            self._runs += ((column, run) for run in runs)
            if text:
                self.cells[column] = text

    def claims(self, headings: Mapping[int, str], width: int) -> Iterator[Claim]:
        """The claim of the row, read with the headings of the columns. It ends in the last cell within the
        `width` of the table, if that is known, where a marker is seen.

        Code is a value here (a port, a default): a row says nothing only where all it has is one cell of it.
        """
        places: list[Span] = []
        shown: list[Span] = []
        says = len(self.cells) > 1
        for column, run in self._runs:
            if run.shape.strip():
                first, last = len(run.shape) - len(run.shape.lstrip()), len(run.shape.rstrip())
                start, end, _ = run.place(first, last)
                if start < end and not run.is_list():
                    places.append((start, end))
                    shown += places[-1:] if column < width or not width else []
                says = says or run.says_something(start, end)
        if places and says:
            start, end = places[0][0], (shown or places)[-1][1]
            plain, values = self._plain({} if self._kind == "header" else headings)
            checkable = len(plain) <= MAX_UNDIVIDED and is_checkable(plain, self._kind)
            level = _level(_before(self._draft, self._block), self._block, self._kind)
            text = self._draft[start:end]
            yield Claim(start, end, text, plain, checkable, row=True, values=values, level=level)

    def _plain(self, headings: Mapping[int, str]) -> tuple[str, tuple[str, ...]]:
        """The cells with their headings: `Paris, People: 2 million; Founded: 250 BC`. And each of several
        values alone, unless there are too many."""
        cells = dict(self.cells)
        first = min(cells)
        counted = headings.get(first, "#").lower() in _COUNTS and _ROW_NUMBER.fullmatch(cells[first])
        if len(cells) > 2 and headings and counted:
            del cells[first]
        (_, subject), *others = cells.items()
        if not headings or not others:
            return " | ".join(cells.values()), ()
        named = [(headings.get(column, ""), cell) for column, cell in others]
        told = [("" if heading.lower() in _VAGUE else heading, cell) for heading, cell in named]
        values = [f"{heading}: {cell}" if heading else cell for heading, cell in told]
        signs = [", " if heading else ": " for heading, _ in told]
        each = [f"{subject}{sign}{value}" for sign, value in zip(signs, values, strict=True)]
        alone = tuple(each) if 1 < len(each) <= _MAX_VALUES else ()
        return f"{subject}{signs[0]}{'; '.join(values)}", alone


def _runs(draft: str, block: Block, markers: Sequence[Span]) -> Iterator[_Run]:
    """The tokens of a block, divided at hard line breaks."""
    run: list[Token] = []
    line = 0
    for token in _said(draft, tokens(draft, block.lines[0], block.lines[1:]), markers):
        moved = line
        while token.start >= block.lines[moved][1] and moved + 1 < len(block.lines):
            moved += 1
        if (
            run
            and moved != line
            and not _continues(draft, block.lines[moved - 1], block.lines[moved], run[-1], token)
        ):
            yield _Run(draft, run)
            run = []
        line = moved
        if token.kind == "break" and not token.whole:
            yield _Run(draft, run)
            run = []
        else:
            run.append(token)
    yield _Run(draft, run)


def _said(draft: str, tokens: Iterable[Token], markers: Sequence[Span]) -> Iterator[Token]:
    """The tokens, one kind of them for what markers consist of. Numbers in brackets that are no marker are
    notation, like LaTeX."""
    for token in tokens:
        before = bisect_right(markers, (token.start, len(draft))) - 1
        if before >= 0 and token.start < markers[before][1]:
            token = replace(token, kind="citation")
        elif token.kind == "citation" and _LIST.match(draft, token.start):
            token = replace(token, kind="math")
        elif token.kind == "text":
            yield from _around_markers(token, markers, before + 1)
            continue
        yield token


def _around_markers(token: Token, markers: Sequence[Span], index: int) -> Iterator[Token]:
    """A text, with the markers within it, from `index` on, as tokens of their own."""
    start = token.start
    while index < len(markers) and markers[index][0] < token.end:
        left, right = markers[index]
        if start < left:
            yield replace(token, start=start, end=left)
        yield Token("citation", left, right)
        start, index = right, index + 1
    if start < token.end:
        yield replace(token, start=start)


def _continues(draft: str, line: Span, following: Span, last: Token, first: Token) -> bool:
    """Whether a line end is only a wrapped line, as opposed to one that the author meant."""
    in_code = last.kind == "code" or (last.kind == "open" and draft[last.start] == "`")
    if in_code or last.kind == first.kind == "math":
        return True
    first_char, last_char = draft[following[0]], draft[line[1] - 1]
    if draft[line[1] : line[1] + 2] == "  " or last_char == "\\":
        return False
    if first_char.islower():
        return last_char not in ":：。；"
    long = line[1] - line[0] >= _LONG_LINE
    return long and last_char not in STOPS + ":：" and first_char.isascii()


def _pieces(draft: str, run: Sequence[Token]) -> Iterator[_Piece]:
    end = run[0].start if run else 0
    for index, token in enumerate(run):
        if "\n" in draft[end : token.start]:
            yield _Piece(end, " ", " ", False)
        end = token.end
        if token.kind not in READ:
            continue
        text = draft[token.start : token.end]
        if token.kind == "text" and _before_cited_stop(draft, run, index):
            text = text.rstrip(" \t")
        if text:
            shape = text if token.kind == "text" and not token.whole else _MASKED.sub("x", text)
            if _is_note(draft, run, index):
                shape = NOTE_SIGN * len(text)
            yield _Piece(token.start, text, shape, token.whole or token.kind != "text")


def _is_note(draft: str, run: Sequence[Token], index: int) -> bool:
    """Whether it is the text of a link right behind a stop, or a number that is set high."""
    token, opening = run[index], run[index - 1] if index else None
    if token.kind != "text" or opening is None or opening.kind != "open" or opening.end != token.start:
        return False
    mark, text = draft[opening.start : opening.end], draft[token.start : token.end]
    if mark == "[":
        return token.whole and draft[max(0, opening.start - 1) : opening.start] in tuple(STOPS)
    return mark.lower() == "<sup>" and len(text) < 4 and text.isdecimal()


def _before_cited_stop(draft: str, run: Sequence[Token], index: int) -> bool:
    """Whether citations and then a stop follow, so that a space before them goes (`fact [1].`)."""
    following = index + 1
    while following < len(run) and run[following].kind == "citation":
        following += 1
    if following == index + 1 or following == len(run):
        return False
    return run[following].kind == "text" and draft[run[following].start] in ".,;:!?。，；：！？、"
