"""Finds and removes citation markers in a text.

Vouch's own markers come back in a conversation, and an upstream writes markers of its own. A marker can be
part of a sentence: `According to [1]`, `(see [2])`. Brackets can be content: `the shape [64, 128]`. What
markers say is in `cited_numbers`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from proxy.text.inline import Token, tokens
from proxy.text.markdown import Span, blocks
from proxy.text.sentences import CITATION, SIGNS, STOPS, WIDE_STOPS

_CLOSERS = "\"')]}”’“‘」』）】》〉〕］»«*_~\\ \t"
_BEFORE_STOP = re.compile(rf"[ \t]?(?:[.!?;:](?!(?:{CITATION.pattern}){{0,20}}[\w=])|[{WIDE_STOPS}：])")
_BEFORE_CLAUSE = re.compile(r"[ \t]?[,，、)）]")
_OPENERS = " \t(<[“\"'（《【「"
_EMPHASIS = "*_~"
_BREAK = "\\"
_MAX_TAG = 256
_SIGNED_STOP = re.compile(
    rf"[{STOPS}][\"'”’」』）)*_]{{0,4}}"
    rf"(?:{SIGNS}|\[[^\[\]\n]{{1,200}}\]\([^()\s]{{1,200}}\)|<sup>\d{{1,3}}</sup>){{1,20}}$",
    re.I,
)
_MAX_SIGNS = 512
_NUMBER = re.compile(r"[1-9]\d{0,2}")
_WORD_BEFORE = re.compile(r"([^\W_]{1,30})$")
IDENTIFIER = re.compile(r"(?:(?<![\w'’])[a-zA-Z]|\w*_\w*|[a-z]+[A-Z]\w*|[a-zA-Z]+\d+)$", re.A)
"""What may be the name of an array."""
_NAME = re.compile(r"(?:\d|[A-Z][a-z]+)$", re.A)
"""What a citation may follow without a space: a year, a name. Any other word may be that of an array."""
_SAID_BEFORE = re.compile(r"(?:根据|依据|参见|参考|按照|来自|[据见为是于])[ \t]*$")
_RANGE = re.compile(r"[ \t]?[-–][ \t]?")
_SEPARATOR = re.compile(rf"[ \t]*|[,;，、；][ \t]{{1,3}}|{_RANGE.pattern}")
_SENTENCE_END = re.compile(r"[.!?;][ \t]|[。！？；|\n]")
_NEAR = 100
"""Code points on either side of a marker in which its sentence is looked at."""
_ARRAY = re.compile(r"(?<![\w'’])[a-z_]\w{0,30}$", re.A)
_INDEXED = re.compile(r"(?<![\w'’])([a-z_]\w{0,30})(\[\d{1,3}\])", re.A)
_CODE = re.compile(
    r"[ \t>*+-]*[a-z_][\w.]{0,60}(?:(?:\[[^\[\]\n]{0,20}\]){0,3}[ \t]*[-+*/%]?=(?!=)|\()", re.A
)
"""How a line of code begins: with an assignment or a call."""
_GOES_ON = re.compile(r"[ \t]*[a-z]")
_PLAIN = re.compile(r"\[\d{1,3}\]")
_DATA = re.compile(
    r"\{[^{}]*$|\[(?:\[[\d\s,.-]*\]|[\d\s,.\"'-])*$|[\"'”]\s?:\s?$|\w\((?:[^()\n]*,\s?)?$", re.A
)
"""What stands before a number in data: `{"ids": `, `[[1], `, `f(x, `."""
_CONTENT_WORDS = frozenset(
    """
    about above also an and are array article as at be below between by citation citations context
    document documents domain eq equals equation example fig figure for from gives in index interval is
    item like list matrix no note of on or output page paper paragraph passage passages prints range ref
    reference references returned returns section see sequence set source sources step studies study table
    than that the to tuple using vector via was were with
    """.split()
)
"""Words after which `[1]` is part of what the sentence says (`see [1]`, `the interval [1, 2]`)."""


Known = Collection[int] | None
"""The numbers of the documents that may be cited; None: any number is taken for one of them."""


def strip_markers(text: str, known: Known = None) -> str:
    """`text` without its citation markers and the spaces before them.

    A marker is a citation behind a sentence, a line or a cell, or before the punctuation that ends it.
    Brackets in code, LaTeX, links and definitions, at the start of a line (`[1] Title`) and as an index
    (`a[1]`) stay. So do those behind the same word as others that are part of the sentence (`option [1] or
    option [2]`). Stripping twice is the same as stripping once. Stripping markers that were inserted at the
    ends of the claims of a stripped text restores it exactly. Linear in the length.

    Brackets that name other numbers than those `known` may be content (`press [2].`, `the shape [64, 128]`):
    they are markers only behind a sentence, or, with one number, directly behind the word that ends a
    sentence, a clause or a line (`tall[2].`). A footnote (`[^note]`) that numbers no document stays.
    """
    return without(text, marks(text, known))


@dataclass(frozen=True, slots=True)
class Marks:
    """A run of markers to remove, `text[start:end]`, with the spaces before it; `each` has one span a
    marker. `doubtful`: it is to stay."""

    start: int
    end: int
    each: tuple[Span, ...]
    doubtful: bool = False


def without(text: str, removed: Iterable[Marks]) -> str:
    """`text` without the `removed` runs, which are disjoint and in order."""
    kept: list[str] = []
    position = 0
    for run in removed:
        kept.append(text[position : run.start])
        position = run.end
    return "".join(kept) + text[position:]


def marks(text: str, known: Known = None) -> Iterator[Marks]:
    """The runs of markers that `strip_markers` removes, disjoint, in order."""
    return (run for run in _possible_marks(text, known) if not run.doubtful)


def doubtful_marks(text: str, known: Known) -> Iterator[Span]:
    """What `strip_markers` leaves since it may be a word of the sentence, though it stands where it ends
    (`press [2].`). Whether the sentence holds is to be read without it: it may be a citation (`tall [2].`).
    """
    return (span for run in _possible_marks(text, known) if run.doubtful for span in run.each)


def _possible_marks(text: str, known: Known) -> Iterator[Marks]:
    if "[" not in text and "【" not in text:
        return
    for block in blocks(text):
        groups = [(line,) for line in block.lines] if block.kind in ("row", "header") else [block.lines]
        for lines in groups:
            yield from _marks_of_lines(text, lines, known)


def _marks_of_lines(text: str, lines: Sequence[Span], known: Known) -> Iterator[Marks]:
    line_tokens = _with_links(text, tokens(text, lines[0], lines[1:]))
    removed: dict[int, int] = {}
    kept: dict[str, int] = {}
    line = index = 0
    while index < len(line_tokens):
        if line_tokens[index].kind != "citation":
            index += 1
            continue
        last = _run_end(text, line_tokens, index)
        while lines[line][1] < line_tokens[index].end:
            line += 1
        run = _Run(text, line_tokens, index, last, lines[line])
        twin = kept.get(run.word)
        span = None if twin is not None and twin > run.near else _removable(run, removed, known)
        doubtful = span is not None and run.is_doubtful(known, removed)
        if (span is None or doubtful) and run.word:
            kept[run.word] = run.start
        if span is not None:
            if not doubtful:
                removed[span[1]] = span[0]
            yield Marks(*span, tuple(_each(run, span[0])), doubtful)
        index = last + 1


def _each(run: _Run, start: int) -> Iterator[Span]:
    """The markers of a run from `start` on; those with a dash between them are one."""
    held: Span | None = None
    for token in run.tokens[run.first : run.last + 1]:
        if token.kind != "citation" or token.start < start:
            continue
        if held is not None and _RANGE.fullmatch(run.text, held[1], token.start):
            held = held[0], token.end
            continue
        if held is not None:
            yield held
        held = token.start, token.end
    if held is not None:
        yield held


def _with_links(text: str, tokens: Sequence[Token]) -> list[Token]:
    """The tokens with each link whose text is a number (`[1](url)`, `[[1]](url)`) as one citation."""
    joined: list[Token] = []
    for token in tokens:
        joined.append(token)
        opening, label = joined[-3:-1] if len(joined) > 2 else (None, None)
        if opening is None or label is None or token.kind != "close" or opening.kind != "open":
            continue
        if label.whole and text[opening.start : label.start] == "[" and _is_number(text, label):
            joined[-3:] = [Token("citation", opening.start, token.end)]
    return joined


def _is_number(text: str, token: Token) -> bool:
    form = {"text": _NUMBER, "citation": _PLAIN}.get(token.kind)
    return form is not None and form.fullmatch(text, token.start, token.end) is not None


def _run_end(text: str, tokens: Sequence[Token], index: int) -> int:
    """The index of the last citation of a run; spaces and a comma may separate citations."""
    last = index
    for following in range(index + 1, len(tokens)):
        token = tokens[following]
        if token.kind == "citation" and "\n" not in text[tokens[last].end : token.start]:
            last = following
        elif token.kind != "text" or not _SEPARATOR.fullmatch(text, token.start, token.end):
            break
    return last


@dataclass(frozen=True, slots=True)
class _Run:
    """Citations `tokens[first:last + 1]` of one line."""

    text: str
    tokens: Sequence[Token]
    first: int
    last: int
    line: Span

    @property
    def start(self) -> int:
        """Where the first marker starts."""
        return self.tokens[self.first].start

    @property
    def end(self) -> int:
        """Where the last marker ends."""
        return self.tokens[self.last].end

    @property
    def gap(self) -> int:
        """Where the spaces before the markers start."""
        start = self.start
        while start > self.line[0] and self.text[start - 1] in " \t":
            start -= 1
        return start

    @property
    def word(self) -> str:
        """The word before the markers with a space between, in lower case."""
        word = _WORD_BEFORE.search(self.text, max(self.line[0], self.gap - 31), self.gap)
        return word[1].lower() if word and self.gap < self.start else ""

    @property
    def near(self) -> int:
        """Where the sentence begins that the markers stand in, if that is near; and the line, at most."""
        return max(self.line[0], self.start - len(_sentence(self.text, self.start, self.end)[0]))

    @property
    def enclosed(self) -> Span | None:
        """The run with the parentheses around it and the spaces before them, if a word stands there."""
        start = self.gap - 1
        while start > self.line[0] and self.text[start - 1] in " \t":
            start -= 1
        return (start, self.end + 1) if self.line[0] < start < self.gap - 1 else None

    def cites(self, known: Known) -> tuple[bool, bool]:
        """Whether the markers are surely citations, and whether each has one number at most."""
        if known is None:
            return True, True
        markers = [token for token in self.tokens[self.first : self.last + 1] if token.kind == "citation"]
        named = [tuple(numbers(self.text[token.start : token.end])) for token in markers]
        certain = all(known and set(each) <= set(known) for each in named)
        return certain, all(len(each) < 2 for each in named)

    def has_note(self, known: Collection[int]) -> bool:
        """Whether one of the markers is a footnote that numbers no document: its text may follow."""
        markers = (self.text[token.start : token.end] for token in self.tokens[self.first : self.last + 1])
        notes = (set(numbers(marker)) for marker in markers if marker.startswith("[^"))
        return any(not note or not note <= set(known) for note in notes)

    def is_doubtful(self, known: Known, removed: Mapping[int, int]) -> bool:
        """Whether the markers may be a word of the sentence: numbers of no document, with a space before
        them, and neither in parentheses nor behind the sentence."""
        if self.gap == self.start or self.text[self.gap - 1] in "(（" or self.cites(known)[0]:
            return False
        markers = (token for token in self.tokens[self.first : self.last + 1] if token.kind == "citation")
        plain = any(_PLAIN.fullmatch(self.text, token.start, token.end) for token in markers)
        return plain and not _after_stop(self.text, self.gap, self.line[0], removed)

    @property
    def wrapped(self) -> bool:
        """Whether formatting encloses nothing but the markers, and would be left empty."""
        before = self.tokens[self.first - 1] if self.first > 0 else None
        after = self.tokens[self.last + 1] if self.last + 1 < len(self.tokens) else None
        opened = before is not None and before.kind == "open" and before.end == self.start
        return opened and after is not None and after.kind == "close" and after.start == self.end


def _removable(run: _Run, removed: Mapping[int, int], known: Known) -> Span | None:
    """The span to remove for a run of markers, or None where the run is part of the text.

    `removed` maps the end of each span removed before to its start.
    """
    text, gap = run.text, run.gap
    if gap <= run.line[0] or run.wrapped or run.tokens[run.first].whole:
        return None
    if gap == run.start and is_index(text, gap, run.tokens[run.first].end):
        return _after_first(run) if known is None else None
    certain, single = run.cites(known)
    if known is not None and (is_data(text, run.start) or run.has_note(known)):
        return None
    if text[gap - 1] in "(（" and text[run.end : run.end + 1] in (")", "）"):
        return run.enclosed if certain or single else None
    if _after_stop(text, gap, run.line[0], removed):
        if known is not None and gap < run.start and _GOES_ON.match(text, run.end):
            return None
        glued = gap < run.start and text[run.end : run.end + 1].isalnum()
        return (run.start if glued else gap), run.end
    if not certain and not single:
        return None
    said = _is_said(text, gap, run.start)
    if known is not None and _SAID_BEFORE.search(text, max(0, gap - 4), gap):
        return None
    if _ends_line(run):
        return _after_first(run) if said else (gap, run.end)
    if said or not _before_punctuation(text, gap, run, certain=certain):
        return None
    return gap, run.end


def _after_stop(text: str, end: int, start: int, removed: Mapping[int, int]) -> bool:
    """Whether a sentence ends at `end`, skipping closing quotes, emphasis, tags, removed markers, the signs
    behind its stop."""
    if _SIGNED_STOP.search(text, max(start, end - _MAX_SIGNS), end):
        return True
    while end > start:
        if end in removed:
            end = removed[end]
        elif text[end - 1] == ">":
            opening = text.rfind("</", max(start, end - _MAX_TAG), end)
            if opening < 0:
                return False
            end = opening
        elif text[end - 1] in _CLOSERS:
            end -= 1
        else:
            return text[end - 1] in STOPS
    return False


def _sentence(text: str, start: int, end: int) -> tuple[str, str]:
    """What stands before and after a marker in its sentence, as far as it is near."""
    before, after = text[max(0, start - _NEAR) : start], text[end : end + _NEAR]
    begins = max((match.end() for match in _SENTENCE_END.finditer(before)), default=0)
    ends = _SENTENCE_END.search(after)
    return before[begins:], after[: ends.start()] if ends else after


def is_index(text: str, start: int, end: int) -> bool:
    """Whether the brackets are an index of the word before them: in a line of code, or if that word has
    another index in the sentence. A capitalised word may be a name with its citation. A link is no index."""
    if text[end - 1] == ")" or (word := _ARRAY.search(text, max(0, start - 32), start)) is None:
        return False
    before, after = _sentence(text, start, end)
    if _CODE.match(before):
        return True
    others = _INDEXED.finditer(f"{before} {after}")
    return any(other[1] == word[0] and other[2] != text[start:end] for other in others)


def is_data(text: str, start: int) -> bool:
    """Whether brackets that begin at `start` are part of a value: in braces or a list, behind a key in
    quotation marks, in the parentheses of a call."""
    return _DATA.search(_sentence(text, start, start)[0]) is not None


def _is_said(text: str, gap: int, start: int) -> bool:
    """Whether the words before make the marker part of the sentence: `see [1]`, `x = [1]`."""
    if gap == start:
        return False
    if text[gap - 1] in "=:：∈<>+([{（":
        return True
    word = _WORD_BEFORE.search(text, max(0, gap - 31), gap)
    return word is not None and word.group(1).lower() in _CONTENT_WORDS


def _ends_line(run: _Run) -> bool:
    """Whether only formatting stands between the markers and the line's end, a line break or a bare URL."""
    if run.end >= run.line[1]:
        return True
    for index in range(run.last + 1, len(run.tokens)):
        token = run.tokens[index]
        if token.start >= run.line[1] or token.kind in ("break", "url"):
            return True
        if token.kind in ("open", "close", "image"):
            continue
        if token.kind != "text" or run.text[token.start : token.end].strip(_OPENERS + _EMPHASIS + _BREAK):
            return False
    return True


def _after_first(run: _Run) -> Span | None:
    """The markers of a run after its first, which is part of the sentence."""
    first = run.tokens[run.first].end
    return (first, run.end) if first < run.end else None


def _before_punctuation(text: str, gap: int, run: _Run, *, certain: bool) -> bool:
    """Whether the markers stand before the end of a sentence or, where they are clearly markers, of a
    clause."""
    if text[run.start - 1] == "[":
        return False
    glued = gap == run.start and text[gap - 1].isascii() and (text[gap - 1].isalnum() or text[gap - 1] == "_")
    if _BEFORE_STOP.match(text, run.end):
        return not (glued and IDENTIFIER.search(text, max(0, gap - 31), gap))
    before = max(0, gap - 31)
    if glued and (not certain or IDENTIFIER.search(text, before, gap) or not _NAME.search(text, before, gap)):
        return False
    if _BEFORE_CLAUSE.match(text, run.end):
        return True
    word_before = text[gap - 1].isalnum()
    word_after = text[run.end : run.end + 1] == " " and text[run.end + 1 : run.end + 2].isalpha()
    return (
        certain
        and gap < run.start
        and word_before
        and word_after
        and CITATION.fullmatch(text, run.start, run.end) is not None
    )


_NUMBERS = re.compile(r"(\d{1,3})(?:\]?[ \t]?[-–][ \t]?\[?(\d{1,3}))?")
_LONGEST_RANGE = 100


def numbers(marker: str) -> Iterator[int]:
    """The numbers of one marker as written."""
    label = marker.partition("](")[0].strip("[]【】")
    if label.startswith("^"):
        label = label[1:] if label[1:].isdecimal() else ""
    if marker.startswith("【"):
        label = re.split("[†:]", label, maxsplit=1)[0]
    for match in _NUMBERS.finditer(label):
        first, last = int(match[1]), int(match[2] or match[1])
        yield from range(first, last + 1) if first <= last < first + _LONGEST_RANGE else (first, last)
