"""Text inside a document that is made to look like a prompt or an answer: not evidence, whatever it says.

Turns of a chat, fences, headings under which a claim is put up for judgement, lines that are a verdict and
objects that hold one. Fact-checking pages state claims that way too, and do not assert them either.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_LABELS = (
    r"(?:fully[ ])?supported|factual|non-?factual|entail(?:ment|ed)|neutral|contradict(?:ion|ed)|true|correct"
    r"|yes|no|false|是|否|真|属实|支持|正确|得到支[持撑]|完全支[持撑]"
)
_VERDICT = (
    r"verdict|label|answer|judge?ment|conclusion|rating|factual|supported|entailment|结论|判断|标签|答案|回答"
)
_PARAGRAPH = r"(?:[^\n]|\n(?![ \t]*\n))*"
_EDGE = r"[ \t>*_#`\"'“”.。!！,，;；]{0,8}"
_RULES = (
    # a marker of a chat template or a fence: nothing behind it is the document's own
    re.compile(
        r"(?:<[|｜][\w/ ▁]{1,40}[|｜]>|\[/?INST\]|<</?SYS>>|</?(?:start|end)_of_turn>"
        r"|^[ \t]{0,8}</?(?:document|evidence|context|claim|question|passage|reference|instructions?|system"
        r"|user|assistant|prompt|data)(?:-[0-9a-f]{4,64})?>)(?s:.*)",
        re.I | re.M,
    ),
    # a turn of a chat, as far as its paragraph goes
    re.compile(
        r"^[ \t#*]{0,8}(?:(?:assistant|chatgpt|助手|助理)[ \t*]{0,4}[:：]"
        r"|(?:system|系统)(?:[ ]prompt|[ ]message|提示|消息)?[ \t*]{0,4}[:：][^\S\n]{0,4}"
        rf"(?:your?\b|你|您|请)){_PARAGRAPH}",
        re.I | re.M,
    ),
    # a claim put up for judgement, as far as its paragraph goes
    re.compile(
        r"^[ \t#*]{0,8}(?:claim|response segment|hypothesis|rumou?r|myth|陈述|待核查陈述|说法|传言|谣言)"
        rf"[ \t]{{0,4}}\d{{0,3}}[ \t*]{{0,4}}[:：]{_PARAGRAPH}",
        re.I | re.M,
    ),
    # a line that is a verdict
    re.compile(
        rf"^{_EDGE}(?:(?:(?:the|final)[ ])?(?:{_VERDICT})(?:[ ]is)?[ \t]{{0,4}}[:：]|\d{{1,3}}[ \t]?[:：])"
        rf"{_EDGE}(?:{_LABELS}){_EDGE}$",
        re.I | re.M,
    ),
    # an object with a verdict in it
    re.compile(
        rf"\{{(?=[^{{}}]{{0,4000}}?[\"'](?:{_VERDICT})[\"'][ \t]{{0,4}}[:：])[^{{}}]{{0,4000}}\}}?",
        re.I,
    ),
)
_SIGNS = re.compile(r"[:：{]|<[|｜/<]|\[/?INST|_of_turn>|^[ \t]{0,8}<\w", re.I | re.M)


def without_scaffolding(text: str) -> str:
    """The text with what only looks like a prompt or an answer replaced by line breaks, so that offsets hold.

    Text without any is returned as it is.
    """
    if not _SIGNS.search(text):
        return text
    return blanked(text, sorted(_spans(text)))


def blanked(text: str, spans: list[tuple[int, int]]) -> str:
    """The text with a line break for each character of the spans, which are in order and may overlap."""
    pieces: list[str] = []
    at = 0
    for start, end in spans:
        if end > at:
            start = max(at, start)
            pieces += (text[at:start], "\n" * (end - start))
            at = end
    return "".join((*pieces, text[at:])) if pieces else text


def _spans(text: str) -> Iterator[tuple[int, int]]:
    for rule in _RULES:
        for match in rule.finditer(text):
            yield match.span()
