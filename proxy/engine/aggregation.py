"""Many verdicts as one: those of a sentence's parts, or of a reply's claims (RefChecker section 3.4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain

from proxy.types import Aggregation, Claim, Evidence, Finding, Usage, Verdict

_WORST_FIRST = (Verdict.CONTRADICTED, Verdict.UNSUPPORTED, Verdict.UNVERIFIED, Verdict.SUPPORTED)
_SCALAR = {Verdict.SUPPORTED: 1, Verdict.UNSUPPORTED: 0, Verdict.CONTRADICTED: -1}


def strict(verdicts: Iterable[Verdict]) -> Verdict:
    """The worst verdict: contradicted if any is, else unsupported if any is, else supported.

    RefChecker's strict rule. What differs: where no claim failed but one could not be checked, the result is
    UNVERIFIED. Without anything checkable it is NOT_CHECKABLE (RefChecker: "Abstain").
    """
    present = set(verdicts)
    return next((verdict for verdict in _WORST_FIRST if verdict in present), Verdict.NOT_CHECKABLE)


def major(verdicts: Iterable[Verdict]) -> Verdict:
    """The most frequent verdict; among equally frequent ones the worst.

    RefChecker's majority vote. What differs: of equally frequent ones its code takes the first that it meets.
    """
    counts = Counter(verdicts)
    worst_first = [verdict for verdict in _WORST_FIRST if counts[verdict]]
    return max(worst_first, key=lambda verdict: counts[verdict], default=Verdict.NOT_CHECKABLE)


def shares(verdicts: Iterable[Verdict]) -> dict[Verdict, float]:
    """The share of each of the three verdicts among the checked claims; zeros where none was checked.
    RefChecker's soft rule."""
    counts = Counter(verdict for verdict in verdicts if verdict in _SCALAR)
    return {verdict: counts[verdict] / max(1, counts.total()) for verdict in _SCALAR}


def scalar(verdicts: Iterable[Verdict]) -> float | None:
    """The mean of 1 for supported, 0 for unsupported, -1 for contradicted; None where nothing was checked."""
    values = [_SCALAR[verdict] for verdict in verdicts if verdict in _SCALAR]
    return sum(values) / len(values) if values else None


_RULES: Mapping[Aggregation, Callable[[Iterable[Verdict]], Verdict]] = {
    "strict": strict,
    "soft": strict,
    "major": major,
}


def verdict_of(verdicts: Iterable[Verdict], rule: Aggregation) -> Verdict:
    """Many verdicts as one. `soft` reports shares as well, but its one verdict is the strict one: a sentence
    that is half supported is not supported."""
    return _RULES[rule](verdicts)


def combined(claim: Claim, parts: Sequence[Finding], rule: Aggregation) -> Finding:
    """The finding of a sentence, combined from those of its parts; it cites what they cite.

    Its score is the lowest score of a part; with `soft` and `major`, the share of supported parts.
    """
    verdict = verdict_of((part.verdict for part in parts), rule)
    checked = [part for part in parts if part.verdict is not Verdict.NOT_CHECKABLE]
    least = min((part.score for part in checked), default=0.0)
    score = least if rule == "strict" else shares(part.verdict for part in checked)[Verdict.SUPPORTED]
    cited = _once(chain.from_iterable(part.cited for part in parts)) if verdict is Verdict.SUPPORTED else ()
    return Finding(
        claim,
        verdict,
        score,
        _once(chain.from_iterable(_decisive(parts, verdict))),
        cited,
        sum((part.usage for part in parts), Usage()),
        tuple(parts),
    )


def _decisive(parts: Sequence[Finding], verdict: Verdict) -> list[tuple[Evidence, ...]]:
    """The evidence of each part; parts whose verdict is the combined one come first."""
    return [part.evidence for part in sorted(parts, key=lambda part: part.verdict is not verdict)]


def _once(evidence: Iterable[Evidence]) -> tuple[Evidence, ...]:
    """Each passage once, in its first occurrence."""
    by_passage: dict[str, Evidence] = {}
    for item in evidence:
        by_passage.setdefault(item.passage.id, item)
    return tuple(by_passage.values())
