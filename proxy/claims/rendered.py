"""A claim's text as people read it: where each character stands, and what must stay in one piece."""

from __future__ import annotations

import re
from dataclasses import dataclass

from proxy.text.inline import tokens
from proxy.text.words import Span
from proxy.types import Claim

_PROTECTED = re.compile(
    r"\"[^\"]{1,400}\"|“[^“”]{1,400}”|‘[^‘’]{1,400}’(?!\w)|「[^「」]{1,400}」|『[^『』]{1,400}』|《[^《》]{1,400}》"
    r"|\([^()]{0,400}\)|（[^（）]{0,400}）|\[[^\[\]]{0,400}\]|【[^【】]{0,400}】|\{[^{}]{0,400}\}"
    r"|(?<!\w)'[^']{2,400}'(?!\w)|\d[\d,.:/–-]*\d"
)
_STOPS = ".,;:!?。，；：！？、"
_UNPAIRED = re.compile(r"[\"“”「」『』《》()（）\[\]【】{}]")


@dataclass(frozen=True, slots=True)
class RenderedClaim:
    """`text` is the claim's `plain`; `places[i]` is where its character `i` stands in `claim.text`.

    `whole[i]` is True where character `i` belongs to a quotation, brackets, number, code, link or formula.
    """

    text: str
    places: tuple[int, ...]
    whole: tuple[bool, ...]
    length: int
    """Of `claim.text`."""

    def span(self, start: int, end: int) -> Span:
        """The span of `claim.text` that shows `text[start:end]`, with the formatting around the whole."""
        right = self.length if end == len(self.text) else self.places[end - 1] + 1
        return self.places[start] if start else 0, right


def rendered(claim: Claim) -> RenderedClaim | None:
    """How the claim reads, or None where that is not its `plain` (a JSON string, a row of a table), or
    where a quotation or bracket has no other half.
    """
    text, places, whole = _characters(claim.text)
    if text != claim.plain or is_row(claim):
        return None
    for match in _PROTECTED.finditer(text):
        whole[match.start() : match.end()] = [True] * (match.end() - match.start())
    if any(not whole[match.start()] for match in _UNPAIRED.finditer(text)):
        return None
    return RenderedClaim(text, tuple(places), tuple(whole), len(claim.text))


def is_row(claim: Claim) -> bool:
    """Whether the claim is a row of a table."""
    return " | " in claim.plain and "|" in claim.text


def _characters(raw: str) -> tuple[str, list[int], list[bool]]:
    """Without formatting, and with white space as `Claim.plain` has it."""
    text: list[str] = []
    places: list[int] = []
    whole: list[bool] = []
    gap = cited = False
    for token in tokens(raw, (0, len(raw))):
        cited = cited or token.kind == "citation"
        if token.kind not in ("text", "code", "math", "url"):
            continue
        for place in range(token.start, token.end):
            if raw[place].isspace():
                gap = bool(text)
                continue
            one_piece = token.whole or token.kind != "text"
            if gap and not (cited and raw[place] in _STOPS):
                text.append(" ")
                places.append(place - 1)
                whole.append(one_piece)
            gap = cited = False
            text.append(raw[place])
            places.append(place)
            whole.append(one_piece)
    return "".join(text), places, whole
