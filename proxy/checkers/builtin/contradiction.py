"""When a failed claim is contradicted, not only unsupported, and the words that say why it failed.

A wrong "contradicted" reads badly, so the rule is narrow: the window must say most of the claim and have
something else where the claim has a number, a name, a negation or the opposite word. Where it is silent, the
NLI model may still call an English claim contradicted, if the window lacks one run of its words at most.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import accumulate

from proxy.checkers.builtin.comparison import SAID, Comparison
from proxy.checkers.builtin.conflicts import Conflict, rival_name, rival_number
from proxy.checkers.builtin.ensemble import INPUTS
from proxy.checkers.builtin.polarity import antonym, is_negation
from proxy.checkers.builtin.tokens import Token

_SAID_TURNED = 0.75
"""As `SAID` before a negation or an opposite word, which are common enough to stand there by chance."""
_DOUBT = 0.5
"""Probability from which a word counts as not borne out."""
_MOST = 3
_SHOWN = 40
_GAPS, _CONTRADICTED, _UNSUPPORTED = (
    INPUTS["en"].index(name) for name in ("gaps", "nli_contradicted", "nli_unsupported")
)
_ONE_GAP = math.log1p(1)


def contradiction(comparison: Comparison) -> str | None:
    """What the evidence says otherwise, in a few words, or None where it only does not say the claim."""
    if comparison.leaning < 1 or (said := comparison.rest_said) < SAID:
        return None
    conflict = _quantity_conflict(comparison) or _number_conflict(comparison) or _name_conflict(comparison)
    if conflict or said < _SAID_TURNED:
        return conflict
    return _opposite(comparison) or _negation(comparison)


def contradicted(comparison: Comparison, values: Sequence[float], score: float) -> float:
    """The probability that an English claim is contradicted, by its `ensemble.inputs` and its score.

    P(not supported), which the calibrated score tells, times P(contradicted | not supported), which the NLI
    model does. The model learnt to tell the two apart from rule-made claims alone, and calls nearly every
    other claim that fails contradicted: so 0 where the window lacks more than one run of the claim's words,
    or a number, of which the rule alone says whether the window has another one in its place.
    """
    numberless = all(comparison.claim.tokens[at].kind != "number" for at in comparison.lost)
    if comparison.leaning < 1 or values[_GAPS] > _ONE_GAP or not numberless:
        return 0.0
    against = values[_CONTRADICTED]
    return (1 - score) * against / (against + values[_UNSUPPORTED])


def shortfall(comparison: Comparison) -> str:
    """What of the claim the evidence does not say, in a few words."""
    tokens, lost = comparison.claim.tokens, comparison.lost
    if comparison.leaning < 1:
        return "the evidence is about something else than the claim's subject or question"
    if conflict := comparison.conflict:
        return f'the evidence has another number or date than "{_claimed(comparison, conflict)}"'
    if not lost:
        return "the evidence has the claim's words, but does not say it as a whole"
    telling = [at for at in lost if tokens[at].kind in ("number", "name")] or list(lost)
    runs: list[tuple[int, int]] = []
    for at in telling:
        if runs and runs[-1][1] == at:
            runs[-1] = (runs[-1][0], at + 1)
        else:
            runs.append((at, at + 1))
    shown = ", ".join(f'"{_text(comparison, start, end)}"' for start, end in runs[:_MOST])
    more = f" and {len(runs) - _MOST} more" if len(runs) > _MOST else ""
    return f"{shown}{more} {'is' if len(runs) == 1 else 'are'} not in the evidence"


def carrying(comparison: Comparison) -> tuple[tuple[int, int], ...]:
    """The spans of the evidence's window that say the claim's content words, neighbours joined."""
    claim = comparison.claim
    keys = {
        claim.tokens[at].key for at in comparison.content if comparison.matched[at] and claim.weights[at] > 0
    }
    return _joined((token.start, token.end) for token in comparison.found.tokens if token.key in keys)


def missing(
    comparison: Comparison, doubted: Sequence[tuple[int, int, float]], end: int
) -> tuple[tuple[int, int], ...]:
    """The spans of the claim's first `end` code points that nothing bears out: words that the window lacks,
    and those that the NLI model has `doubted` (spans with a probability). Sorts, else linear in the claim."""
    tokens = comparison.claim.tokens
    spans = sorted((start, stop) for start, stop, p in doubted if p >= _DOUBT)
    starts, furthest = [start for start, _ in spans], list(accumulate((stop for _, stop in spans), max))
    lost = [(tokens[at].start, tokens[at].end) for at in comparison.lost]
    lost += [(one.claimed.start, one.claimed.end) for one in (comparison.conflict,) if one]
    lost += [
        (token.start, token.end)
        for token in tokens
        if (before := bisect_left(starts, token.end)) and furthest[before - 1] > token.start
    ]
    return _joined(span for span in sorted(set(lost)) if span[1] <= end)


def _joined(spans: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Spans in order, those joined that are at most one code point apart."""
    found: list[tuple[int, int]] = []
    for start, end in spans:
        if found and start <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return tuple(found)


def _quantity_conflict(comparison: Comparison) -> str | None:
    """Only where the window has one other value: of several it is not known which one is meant."""
    conflict, window = comparison.conflict, comparison.found.tokens
    if conflict is None or not window:
        return None
    text = comparison.found.text
    instead = {
        text[one.start : one.end]
        for one in conflict.instead
        if window[0].start <= one.start and one.end <= window[-1].end
    }
    if len(instead) != 1:
        return None
    return f"numbers differ: {_claimed(comparison, conflict)} / {instead.pop()}"


def _claimed(comparison: Comparison, conflict: Conflict) -> str:
    return comparison.claim.text[conflict.claimed.start : conflict.claimed.end]


def _number_conflict(comparison: Comparison) -> str | None:
    found = rival_number(comparison.claim.tokens, comparison.lost, comparison.found.tokens)
    if found is None:
        return None
    at, rival = found
    return f"numbers differ: {_text(comparison, at, at + 1)} / {_said(comparison, rival)}"


def _name_conflict(comparison: Comparison) -> str | None:
    found = rival_name(comparison.claim.tokens, comparison.lost, comparison.found.tokens)
    if found is None:
        return None
    start, end, rival = found
    return f"names differ: {_text(comparison, start, end)} / {_said(comparison, rival)}"


def _opposite(comparison: Comparison) -> str | None:
    pair = antonym(comparison.claim, comparison.found)
    return f"the evidence has the opposite: {pair[0]} / {pair[1]}" if pair else None


def _negation(comparison: Comparison) -> str | None:
    if not comparison.denied:
        return None
    added = any(is_negation(token) for token in comparison.claim.tokens)
    return "the claim denies what the evidence says" if added else "the evidence denies what the claim says"


def _said(comparison: Comparison, token: Token) -> str:
    return comparison.found.text[token.start : token.end]


def _text(comparison: Comparison, start: int, end: int) -> str:
    tokens = comparison.claim.tokens
    text = comparison.claim.text[tokens[start].start : tokens[end - 1].end]
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
