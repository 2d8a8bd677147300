"""Passages between two lines of their own: `[CONTEXT 0]:` and `[END CONTEXT 0]` (AnythingLLM),
`[webpage 1 begin]` and `[webpage 1 end]`, `[file content begin]` (DeepSeek's templates)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from heapq import merge

from proxy.openai_api.documents.described import Found, labelled, number_of
from proxy.text.markdown import Span

_KINDS = "context|document|source|passage|file|webpage|web page|chunk|reference|result"


@dataclass(frozen=True, slots=True)
class _Form:
    """`opening` and `closing` have the number as group 1, if any; `opening` the title as group 2, if any."""

    opening: re.Pattern[str]
    closing: re.Pattern[str]


_FORMS = (
    _Form(
        re.compile(rf"\[(?:begin )?(?:{_KINDS})(?: #?(\d{{1,7}}))?(?:: ?([^\]\n]{{1,200}}))?\]:?", re.I),
        re.compile(rf"\[end (?:{_KINDS})(?: #?(\d{{1,7}}))?[^\]\n]{{0,200}}\]", re.I),
    ),
    _Form(
        re.compile(rf"\[(?:{_KINDS}) (\d{{1,7}}) begin\]()", re.I),
        re.compile(rf"\[(?:{_KINDS}) (\d{{1,7}}) end\]", re.I),
    ),
    _Form(
        re.compile(r"(?:\[file name\]()[:：][ \t]?([^\n]{1,200})\n)\[file content begin\]", re.I),
        re.compile(r"\[file content end\]()", re.I),
    ),
)


def passages(text: str) -> list[Found]:
    """The passages of the first form that the text has any of, in order."""
    return [passage for _, passage in _located(text)]


def spans(text: str) -> list[Span]:
    """Where these passages stand, with the lines around each."""
    return [span for span, _ in _located(text)]


def _located(text: str) -> list[tuple[Span, Found]]:
    return next(filter(None, (_between(text, form) for form in _FORMS)), [])


def _between(text: str, form: _Form) -> list[tuple[Span, Found]]:
    """From each opening to the first closing of its number; what opens in between is text."""
    ends = list(form.closing.finditer(text))
    last = {end.group(1) or "": end.start() for end in ends}
    passages: list[tuple[Span, Found]] = []
    opening: re.Match[str] | None = None
    for line in merge(form.opening.finditer(text), ends, key=lambda match: match.start()):
        number = line.group(1) or ""
        if opening is None:
            if line.re is form.opening and last.get(number, -1) >= line.end():
                opening = line
        elif line.re is form.closing and number == (opening.group(1) or ""):
            inner = text[opening.end() : line.start()].strip()
            if inner:
                title = (opening.group(2) or "").strip()
                extent = line.end() - opening.start()
                passage = labelled(Found(inner, number_of(number), title, "", extent))
                passages.append(((opening.start(), line.end()), passage))
            opening = None
    return passages
