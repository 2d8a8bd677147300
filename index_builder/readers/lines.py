"""Lines of a page to paragraphs."""

from __future__ import annotations

import re

_HYPHEN = re.compile(r"(?<=[^\W\d_])[-\u2010]$")
_BULLET = re.compile(r"(?:[•‣▪●○◦·*\u2013-]|\(?\d{1,3}[.)])\s")
_ENDED = tuple(".!?:;。！？：；”\"’')）")
_CJK = re.compile(r"[\u3000-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uffef]")


def unwrapped(text: str) -> list[str]:
    """The paragraphs of a page whose lines were broken to fit its width.

    A line goes on in the next one unless a blank line or a bullet follows, or it is shorter than three
    quarters of the longest line and ends like a sentence, or shorter than half of it (a heading, a cell).
    A hyphen at the end of a line, between a letter and a small letter, is the typesetter's and goes.
    """
    lines = [" ".join(line.split()) for line in text.replace("\xad\n", "").splitlines()]
    longest = max(map(len, lines), default=0)
    paragraphs: list[list[str]] = []
    ended = True
    for line in lines:
        if not line:
            ended = True
            continue
        if ended or _BULLET.match(line):
            paragraphs.append([line])
        else:
            paragraphs[-1].append(line)
        short = len(line) < longest * 0.75 and line.endswith(_ENDED)
        ended = short or len(line) < longest * 0.5
    return [_joined(paragraph) for paragraph in paragraphs]


def _joined(lines: list[str]) -> str:
    parts: list[str] = []
    for line in lines:
        if parts and _HYPHEN.search(parts[-1]) and line[0].islower():
            parts[-1] = parts[-1][:-1]
        elif parts and not (_CJK.match(parts[-1][-1]) and _CJK.match(line)):
            parts.append(" ")
        parts.append(line)
    return "".join(parts)
