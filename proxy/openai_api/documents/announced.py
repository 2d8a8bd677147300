"""Material that lines of the prompt announce: between rules (LlamaIndex, Spring AI), behind one (LangChain),
under a heading such as `Context:`, `## References` or `参考资料：`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from proxy.text.markdown import Span

_MAX_LINE = 300
_NOUNS = (
    "contexts?|documents?|passages?|sources?|excerpts?|references?|search results?|reference materials?"
    "|knowledge base|上下文信息|上下文|参考资料|参考内容|参考文档|参考信息|参考材料|相关文档|相关资料"
    "|已知信息|背景资料|检索结果|搜索结果|知识库内容|知识库信息|知识库|资料|文档|材料"
)
_KINDS = "relevant|retrieved|provided|given|additional|context|background|the|以下是|以下为|相关"
_RULE = re.compile(r"[ \t]*(-{6,}+|={6,}+|#{6,}+|\*{6,}+|_{6,}+)[ \t]*")
_QUOTES = re.compile(r'[ \t]*(`{3,}|"{3}|\'{3}|-{3,})\w{0,12}[ \t]*')
_BEFORE_RULE = re.compile(rf"\b(?:context|information|knowledge)\b|{_NOUNS}|信息", re.I)
_REACH = 400
"""How many characters before a rule may say that material follows."""

_HEADING = re.compile(
    rf"[\W_]{{0,8}}(?:(?:{_KINDS}) ?){{0,2}}(?:{_NOUNS})(?: information)?"
    r"[\])】*_ \t]{0,6}(?P<colon>[:：])?[* \t]{0,4}",
    re.I,
)
_ANNOUNCED = re.compile(rf"(?:\bfollowing\b|\bbelow\b|以下|下[面列])[^\n:：]{{0,30}}?(?:{_NOUNS})", re.I)
_MARKUP = re.compile(r"[ \t]*(?:#|\*\*|__|\[|【|=|<)")
"""Without a colon a heading has one of these: the bare word may be a line of a list."""

_PARAGRAPH = re.compile(r"\n[ \t\r]*+\n")
_PIECES = re.compile(r"following pieces of (?:retrieved )?context", re.I)
_ABOUT = r"(?:context|questions?|query|above|provided|documents|sources|information)\b"
_END = re.compile(
    r"[\W_]{0,8}(?:"
    r"(?:(?:user(?:'s)?|my|the|customer|current|helpful|final) )?(?:question|query|answer|instructions?|task"
    r"|rules?|requirements?|guidelines?|response|human|user|assistant)(?: is)?[\])】*_ \t]{0,6}(?:[:：]|$)"
    rf"|(?:given|based on|using|according to|answer|if|when)\b[^\n]{{0,80}}?\b{_ABOUT}"
    r"|please\b[^\n]{0,60}?\b(?:answer|respond|reply|provide|cite|use|write)\b"
    r"|(?:用户|客户|我的|当前)?的?(?:问题|提问|查询|回答要求|回答规则|回答|答案|要求|规则|任务|指令)"
    r"(?:是|为)?[\])】*_ \t]{0,6}(?:[:：]|$)"
    r"|请[^\n]{0,20}?(?:回答|根据|基于|参考|使用|用|给出|总结)|(?:根据|基于)(?:以上|上述|上面|前面)|以上(?:是|为)"
    r")",
    re.I,
)
_ASKS = re.compile(r"[\W_]{0,8}(?:user(?:'s)? )?(?:question|query|问题|提问)[\])】*_ \t]{0,6}[:：]", re.I)
_ROLE_PLAY = re.compile(r"\W{0,4}(?:you are|you're|act as|you must|your task|你是|你的任务|请)", re.I)
"""What a region that is no material begins with."""


@dataclass(frozen=True, slots=True)
class Region:
    """A part of a message that is material. `closed` where its end is marked, and not the message's own.

    `span` is where it stands in the message, with the rules, quotes or heading around it.
    """

    text: str
    closed: bool
    span: Span


@dataclass(frozen=True, slots=True)
class _Line:
    start: int
    end: int
    text: str


def ends_material(text: str) -> int | None:
    """Where the first line starts that begins something else: a question, an answer, an instruction."""
    return next((line.start for line in _lines(text) if line.start and _END.match(line.text)), None)


def fenced(text: str) -> list[Region]:
    """What stands between two rules, `------` or longer, of which the words before the first say what it is.

    Behind the last rule without a partner everything is material, not closed.
    """
    rules = [line for line in _lines(text) if _RULE.fullmatch(line.text)]
    regions = []
    index = 0
    while index < len(rules):
        opening = rules[index]
        before = text[max(rules[index - 1].end if index else 0, opening.start - _REACH) : opening.start]
        if not _BEFORE_RULE.search(before):
            index += 1
            continue
        closing = rules[index + 1] if index + 1 < len(rules) else None
        span = opening.start, closing.end if closing else len(text)
        regions.append(_region(text, span, opening.end, closing.start if closing else None))
        index += 2
    return regions


def headed(text: str) -> list[Region]:
    """What stands under headings, each to the line that ends the material, else to the end, not closed."""
    regions: list[Region] = []
    begin: int | None = None
    heading = 0
    paragraphs = _Paragraphs(text)
    for line in _lines(text):
        start = _heading(paragraphs, line)
        if begin is not None and line.start < begin and _ASKS.match(line.text):
            begin = None  # the question stands before the material, whose own heading follows
        if begin is not None and (start is not None or (line.start >= begin and _END.match(line.text))):
            regions.append(_region(text, (heading, line.start), begin, line.start))
            begin = None
        if start is not None:
            begin, heading = start, line.start
    if begin is not None:
        regions.append(_region(text, (heading, len(text)), begin, None))
    return [region for region in regions if region.text and not _ROLE_PLAY.match(region.text)]


class _Paragraphs:
    """Where paragraphs begin. Positions are asked for in ascending order, and no text is searched twice."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._next: re.Match[str] | None = None
        self._searched = 0

    def after(self, position: int) -> int | None:
        """The start of the first paragraph after the blank line that follows `position`."""
        if not self._searched or (self._next is not None and self._next.start() < position):
            self._next = _PARAGRAPH.search(self._text, position)
            self._searched = position + 1
        return None if self._next is None else self._next.end()


def _heading(paragraphs: _Paragraphs, line: _Line) -> int | None:
    """Where what the heading is about begins, if the line is or begins with a heading."""
    match = _HEADING.match(line.text)
    if match is not None and match.group("colon"):
        return line.start + match.end()
    if match is not None and match.end() == len(line.text) and _MARKUP.match(line.text):
        return line.end
    whole = line.end - line.start <= _MAX_LINE
    if whole and line.text.rstrip().endswith((":", "：")) and _ANNOUNCED.search(line.text):
        return line.end
    if _PIECES.search(line.text):
        return paragraphs.after(line.end)
    return None


def _region(text: str, span: Span, start: int, end: int | None) -> Region:
    """The text between, without the quotes or the short rules around all of it."""
    inner = text[start:end].strip()
    lines = list(_lines(inner))
    if len(lines) > 1 and (opening := _QUOTES.fullmatch(lines[0].text)):
        for line in lines[1:]:
            if line.text.strip() == opening.group(1):
                closed = text.index(inner, start) + line.end
                return Region(inner[lines[0].end : line.start].strip(), True, (span[0], closed))
    return Region(inner, end is not None, span)


def _lines(text: str) -> Iterator[_Line]:
    """The lines but the empty ones, of each at most the first `_MAX_LINE` characters."""
    start = 0
    while start < len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        if end > start:
            yield _Line(start, end, text[start : min(end, start + _MAX_LINE)].rstrip("\r"))
        start = end + 1
