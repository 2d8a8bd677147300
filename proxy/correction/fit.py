"""Whether a rewrite fits the place of the sentence it was asked for, and what it takes to make it fit."""

from __future__ import annotations

import re
from collections.abc import Callable

from proxy.claims.rendered import is_row
from proxy.text.language import language_of
from proxy.text.markdown import blocks
from proxy.text.scripts import WIDE
from proxy.text.sentences import CITATION
from proxy.types import Claim

_TIMES, _MORE = 3, 200
"""A rewrite may have this many times the sentence's code points, and as many more."""

_STOPS = ".!?。！？；…"
_CLOSERS = "\"'”’」』）)】》*_~"
_BETWEEN_WIDE = re.compile(rf"(?<=[{WIDE}])\s*\n\s*(?=[{WIDE}])")
_ACTIVE = re.compile(
    r"(?:https?|ftp|data|javascript|mailto|file):[^\s<>()\[\]]+|www\.[^\s<>()\[\]]+|\]\([^()]*\)|!\["
    r"|<[a-zA-Z/!][^<>]{0,500}>?",
    re.I,
)
"""What makes a renderer fetch, link or run something."""
_ABOUT_THE_CHECK = re.compile(
    r"\b(?:provided|given|supplied|retrieved|reference) (?:documents?|passages?|materials?|evidence)\b"
    r"|\b(?:according to|based on) (?:the|these|those|any of the) documents\b"
    r"|\bthe documents? (?:do(?:es)? not|don't|doesn't|says?|states?|mentions?|supports?|confirms?"
    r"|contradicts?|provides?|indicates?|bears?)\b"
    r"|\b(?:corrected|rewritten|revised) (?:sentence|statement|version|response)\b|^\(?sentence \d+\b"
    r"|\bmy (?:previous|earlier|last) (?:response|answer|reply|statement)\b|\bapologi[sz]e\b|\bmy apologies\b"
    r"|^(?:sorry|correction|note)\b[,:]"
    r"|(?:参考|所给|给定|提供的|上述|以上|这些)(?:参考)?(?:文档|资料|材料)"
    r"|文档[中里]?(?:没有|未|并未|指出|提到|提及|显示|表明|说|支持|不支持|矛盾)"
    r"|(?:根据|依据|基于)(?:参考|所给|提供的)?文档|(?:更正|修正|改写)后|上一次的?回答|抱歉|对不起"
    r"|^（?第 ?\d+ ?句",
    re.I,
)


def fitted(said: str, claim: Claim) -> str | None:
    """The rewrite as it may stand in the claim's place, or None where it may not.

    It becomes one line, loses list marks and outer pipes that the claim doesn't have, and ends with a stop
    where the claim does. It may not be much longer than the claim, in another language, or bring in links,
    images, HTML, citation marks or words about the check that the claim doesn't have.
    """
    line = " ".join(_BETWEEN_WIDE.sub("", said.strip()).split())
    line = _stopped(_bare_row(line) if is_row(claim) else _unmarked(line, claim.text), claim.text)
    if not line or any(fault(line, claim.text) for fault in _FAULTS):
        return None
    return line


def _bare_row(line: str) -> str:
    return line.removeprefix("|").removesuffix("|").strip()


def _unmarked(line: str, text: str) -> str:
    """The line without marks of a list, quote or heading before it, unless the text has such too."""
    return line if _lead(text) else line[_lead(line) :]


def _lead(text: str) -> int:
    """How many code points of containers' marks stand before the text."""
    found = blocks(text)
    return found[0].lines[0][0] if found and found[0].kind not in ("row", "header") else 0


def _stopped(line: str, text: str) -> str:
    """With the text's own stop, without which the next sentence would run into it."""
    stop = text.rstrip(_CLOSERS)[-1:]
    return line + stop if stop in _STOPS and line[-1:].isalnum() else line


def _too_long(line: str, text: str) -> bool:
    return len(line) > _TIMES * len(text) + _MORE


def _in_another_language(line: str, text: str) -> bool:
    return language_of(line) != language_of(text)


def _active(line: str, text: str) -> bool:
    return not set(_ACTIVE.findall(line)) <= set(_ACTIVE.findall(text))


def _cites(line: str, text: str) -> bool:
    return not set(CITATION.findall(line)) <= set(CITATION.findall(text))


def _talks(line: str, text: str) -> bool:
    return bool(_ABOUT_THE_CHECK.search(line)) and not _ABOUT_THE_CHECK.search(text)


_FAULTS: tuple[Callable[[str, str], bool], ...] = (_too_long, _in_another_language, _active, _cites, _talks)
