"""Inline Markdown: divides a block into text, formatting, code, LaTeX, links and citation markers."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from proxy.text.scripts import HAN
from proxy.text.sentences import CITATION

Span = tuple[int, int]
TokenKind = Literal["text", "code", "math", "url", "open", "close", "image", "break", "citation"]
"""`open` and `close` only format what is between them."""
READ = frozenset[TokenKind](("text", "code", "math", "url"))
"""The kinds that people read."""


@dataclass(frozen=True, slots=True)
class Token:
    """A stretch `draft[start:end]` of one kind. `whole`: part of a link's text, which is never divided."""

    kind: TokenKind
    start: int
    end: int
    whole: bool = False


_TARGET = (
    r"\([ \t]*(?:<[^<>\n]{0,2000}>|(?:[^\s()<>]|\([^\s()]{0,500}\)){0,2000}+)"
    r"(?:[ \t]+(?:\"[^\"\n]{0,500}\"|'[^'\n]{0,500}'))?[ \t]*\)"
)
_TEXT = r"(?:[^\[\]\\\n]|\\.|\[[^\[\]\n]{0,200}\]){0,1000}+"
_SPECIAL = re.compile(
    rf"(?P<citation>{CITATION.pattern})"
    r"|(?P<ticks>`+)"
    r"|(?P<math>\$\$(?:[^$]|\$(?!\$)){1,5000}?\$\$"
    r"|(?<![\w$\\])\$(?![\s$])[^$\n]{0,1000}(?<![\s\\])\$(?![\w$])"
    r"|\\\((?:[^\\]|\\[^()]){1,5000}?\\\)|\\\[(?:[^\\]|\\[^\[\]]){1,5000}?\\\])"
    r"|(?P<escape>\\(?=[!-/:-@\[-`{-~]))"
    rf"|(?P<image>!\[{_TEXT}\]{_TARGET})"
    rf"|(?P<link>\[(?P<label>{_TEXT})\](?:{_TARGET}|(?P<reference>\[(?!\^)[^\[\]\n]{{1,64}}\](?!\())))"
    r"|(?P<autolink><(?:https?|ftp|mailto):[^\s<>]{1,2000}>)"
    rf"|(?P<url>(?:https?://|www\.)[^\s<>\[\]\"“”‘’（）【】「」『』，。；、！？{HAN}]{{1,2000}})"
    r"|(?P<br><(?:br|/?(?:li|[uo]l|p|div|h[1-6]|t[rdh]|d[tdl]|table|blockquote|summary|details))"
    r"(?:[ \t][^<>\n]{0,500})?/?>)"
    r"|(?P<comment><!--(?:[^-<]|-(?!->)|<(?!!--)){0,5000}+-->)"
    r"|(?P<tag></?[a-zA-Z][a-zA-Z0-9-]{0,20}(?:[ \t][^<>\n]{0,500})?/?>)"
    r"|(?P<emphasis>\*{1,3}|_{1,3}|~~)",
    re.I,
)
_MONEY = re.compile(
    rf"\$\d[\d,.]*(?:(?:{CITATION.pattern}){{0,20}}[ \t]+(?:[a-z]{{2,}}|[A-Z][a-z]+)"
    rf"|(?:{CITATION.pattern}|[^\x00-\x7f]))"
)
"""An amount of money and words before another dollar sign (`$5 and US$`), which is no LaTeX."""


def tokens(draft: str, line: Span, rest: Sequence[Span] = ()) -> list[Token]:
    """The tokens of a block whose lines are `line` and `rest`, in order; line ends are not covered.

    Emphasis that is never closed, a lone backtick or dollar sign, is text.
    """
    spans = [line, *rest]
    scanned = _Inline(draft, spans).scan()
    return list(_clip(scanned, spans))


class _Inline:
    """Scans a block once and pairs emphasis on the way."""

    def __init__(self, draft: str, spans: Sequence[Span]) -> None:
        self.draft = draft
        self.start, self.end = spans[0][0], spans[-1][1]
        self.ticks = _tick_runs(draft, self.start, self.end)
        self.tokens: list[Token] = []
        self.openers: dict[str, int] = {}

    def scan(self) -> list[Token]:
        self._scan(self.start, self.end, whole=False)
        return self.tokens

    def _scan(self, start: int, end: int, *, whole: bool) -> None:
        position = start
        while position < end:
            match = _SPECIAL.search(self.draft, position, end)
            if match is None:
                self._add("text", position, end, whole)
                return
            self._add("text", position, match.start(), whole)
            position = self._special(match, end, whole)

    def _special(self, match: re.Match[str], end: int, whole: bool) -> int:
        """Adds what was matched. Returns where to go on."""
        kind, (left, right) = match.lastgroup or "", match.span()
        if match.group("reference") is not None and self._is_no_link(match):
            self._add("text", left, left + 1, whole)
            return left + 1
        if match.group("label") is not None:
            self._link(match)
        elif kind == "ticks":
            return self._code(left, right, end, whole)
        elif kind == "math" and _MONEY.match(match.group()):
            self._add("text", left, left + 1, whole)
            return left + 1
        elif kind == "url":
            while self.draft[right - 1] in ".,;:!?*_~'" or self._unbalanced(left, right):
                right -= 1
            self._add("url", left, right, whole)
            return right
        elif kind == "autolink":
            self._add("open", left, left + 1, whole)
            self._add("url", left + 1, right - 1, whole)
            self._add("close", right - 1, right, whole)
        elif kind == "emphasis":
            self._emphasis(match.group(), left, right, whole)
        else:
            self._add(_kind(kind, match.group()), left, right, whole)
            if kind == "escape":
                self._add("text", right, right + 1, whole)
                return right + 1
        return right

    def _unbalanced(self, left: int, right: int) -> bool:
        url = self.draft[left:right]
        return url[-1] == ")" and url.count("(") < url.count(")")

    def _is_no_link(self, match: re.Match[str]) -> bool:
        """Whether `[text][label]` is an index (`m[i][j]`), or ends in a marker."""
        before = self.draft[max(self.start, match.start() - 1) : match.start()]
        return before.isalnum() or before == "]" or CITATION.fullmatch(match["reference"]) is not None

    def _link(self, match: re.Match[str]) -> None:
        left, right = match.span("label")
        self._add("open", match.start(), left, True)
        openers, self.openers = self.openers, {}
        self._scan(left, right, whole=True)
        self.openers = openers
        self._add("close", right, match.end(), True)

    def _code(self, left: int, right: int, end: int, whole: bool) -> int:
        starts = self.ticks.get(right - left, [])
        index = bisect_right(starts, left)
        if index == len(starts) or starts[index] + right - left > end:
            self._add("text", left, right, whole)
            return right
        closing = starts[index]
        self._add("open", left, right, whole)
        self._add("code", right, closing, whole)
        self._add("close", closing, closing + right - left, whole)
        return closing + right - left

    def _emphasis(self, mark: str, left: int, right: int, whole: bool) -> None:
        """Pairs a run with the last open run of the same kind. Kinds need not nest."""
        before = self.draft[left - 1] if left > self.start else " "
        after = self.draft[right] if right < self.end else " "
        inside_word = mark[0] == "_" and before.isalnum() and after.isalnum()
        opener = self.openers.get(mark)
        if not before.isspace() and not inside_word and opener is not None:
            del self.openers[mark]
            self.tokens[opener] = Token("open", self.tokens[opener].start, self.tokens[opener].end, whole)
            self._add("close", left, right, whole)
            return
        word_before = mark[0] == "_" and before.isalnum()
        if not after.isspace() and not word_before:
            self.openers[mark] = len(self.tokens)
        self._add("text", left, right, whole)

    def _add(self, kind: TokenKind, start: int, end: int, whole: bool) -> None:
        if start < end:
            self.tokens.append(Token(kind, start, end, whole))


def _kind(group: str, text: str) -> TokenKind:
    if group == "tag":
        return "close" if text.startswith("</") else "open"
    kinds: dict[str, TokenKind] = {
        "citation": "citation",
        "math": "math",
        "escape": "open",
        "image": "image",
        "br": "break",
        "comment": "image",
    }
    return kinds[group]


def _tick_runs(draft: str, start: int, end: int) -> dict[int, list[int]]:
    """Starts of the backtick runs by their length."""
    runs: dict[int, list[int]] = {}
    if draft.find("`", start, end) < 0:
        return runs
    for match in re.compile("`+").finditer(draft, start, end):
        runs.setdefault(match.end() - match.start(), []).append(match.start())
    return runs


def _clip(tokens: Sequence[Token], spans: Sequence[Span]) -> Iterator[Token]:
    """Leaves out line ends and the container marks (`> `) between the lines of a block."""
    line = 0
    for token in tokens:
        start = token.start
        while start < token.end:
            while spans[line][1] <= start and line + 1 < len(spans):
                line += 1
            left, right = spans[line]
            left, right = max(start, left), min(token.end, right)
            if left < right:
                yield Token(token.kind, left, right, token.whole)
            if right >= token.end or line + 1 == len(spans):
                break
            start = max(right, spans[line + 1][0]) if spans[line + 1][0] < token.end else token.end
