"""The sentences of an evidence that an NLI model reads: those that say most of the claim."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from proxy.checkers.builtin.evidence_windows import EvidenceView, Unit, Window
from proxy.types import Language

BUDGET: Mapping[Language, int] = {"en": 90, "zh": 150}
"""Tokens of evidence that are read, unless the window alone has more: about 120 word pieces, or 100 Chinese
ones, which hold several characters."""
_REACH = 40
"""Sentences on either side of the window from which others are taken: what stands far off may be about
anything."""
_LITERAL, _NEAR = 0.75, 3
"""Of a window that says so much of the claim only those close by: the word that is missing stands somewhere
in any long text, and is just the one that may be wrong."""
_WORTH = 0.06
"""What another sentence must add, as a share of the claim's units."""
_LEANING = re.compile(
    r"\W{0,8}(?:(?:he|she|it|they|we|his|her|hers|its|their|this|these|that|those|there|here|such|both|who|which"
    r"|the (?:same|latter|former))\b|[他她它其该此这那]|后者|前者)",
    re.I,
)
"""How a sentence begins that speaks of what the one before it names."""
_BLANK_LINE = re.compile(r"\n[^\S\n]*\n")


@dataclass(frozen=True, slots=True)
class Extract:
    """A claim, or a piece of one that starts at `offset`, and what it is read beside.

    `texts` are the sentence that says most of it, the window, and the window with what other sentences of the
    evidence add, as far as these differ. What bears the claim out the best counts: so a sentence that has
    nothing to do with it takes nothing away.
    """

    texts: tuple[str, ...]
    claim: str
    offset: int


def excerpt(
    units: Mapping[Unit, float],
    evidence: EvidenceView,
    window: Window,
    budget: int,
    *,
    always_before: bool = False,
) -> tuple[int, ...]:
    """Indexes of the sentences to read, in order: the window, then of those around it what adds most of the
    claim until `budget` tokens, then the sentence before the window (whom "he" means) where there is room.

    That one is taken if the window leans on it and they are of one paragraph, or `always_before`. Linear in
    the evidence for each sentence that is added.
    """
    chosen = set(within(window))
    left = budget - sum(_length(evidence, at) for at in chosen)
    open_units: dict[Unit, float] = {unit: weight for unit, weight in units.items() if isinstance(unit, str)}
    whole = sum(open_units.values())
    worth = _WORTH * whole
    for at in chosen:
        _take(open_units, evidence, at)
    reach = _NEAR if sum(open_units.values()) <= (1 - _LITERAL) * whole else _REACH
    first, last = max(0, window.first - reach), window.last + reach + 1
    near = list(enumerate(evidence.units))[first:last]
    while left > 0 and open_units:
        gains = {
            at: sum(open_units[unit] for unit in said if unit in open_units)
            for at, said in near
            if at not in chosen and _length(evidence, at) <= left
        }
        best = max(gains, key=lambda at: (gains[at], -abs(at - window.first)), default=None)
        if best is None or gains[best] <= worth:
            break
        chosen.add(best)
        left -= _length(evidence, best)
        _take(open_units, evidence, best)
    before = window.first - 1
    if before >= 0 and _length(evidence, before) <= left and (always_before or _leans(evidence, window)):
        chosen.add(before)
    return tuple(sorted(chosen))


def within(window: Window) -> tuple[int, ...]:
    """The indexes of a window's sentences."""
    return tuple(range(window.first, window.last + 1))


def core(units: Mapping[Unit, float], evidence: EvidenceView, window: Window) -> tuple[int, ...]:
    """The index of the sentence of a window that says most of the claim, the first of several."""

    def said(at: int) -> float:
        return sum(units[unit] for unit in evidence.units[at] if unit in units)

    return (max(within(window), key=said),)


def _leans(evidence: EvidenceView, window: Window) -> bool:
    """Whether a window, not the first sentence, speaks of what the sentence before it names."""
    (_, last), (first, _) = evidence.bounds[window.first - 1 : window.first + 1]
    start = evidence.tokens[first].start
    if _BLANK_LINE.search(evidence.text, evidence.tokens[last - 1].end, start):
        return False
    return _LEANING.match(evidence.text, evidence.sentences[window.first][0]) is not None


def excerpt_text(evidence: EvidenceView, sentences: tuple[int, ...]) -> str:
    """The sentences' text; where some are left out between two, an ellipsis stands."""
    parts: list[str] = []
    for at, last in zip(sentences, (None, *sentences), strict=False):
        start, end = evidence.sentences[at]
        gap = "" if last is None else " " if at == last + 1 else " … "
        parts.append(gap + evidence.text[start:end].strip())
    return "".join(parts)


def _length(evidence: EvidenceView, at: int) -> int:
    first, last = evidence.bounds[at]
    return last - first


def _take(open_units: dict[Unit, float], evidence: EvidenceView, at: int) -> None:
    for unit in evidence.units[at]:
        open_units.pop(unit, None)
