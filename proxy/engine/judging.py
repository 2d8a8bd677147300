"""From judgements to findings, and from attempts to the best one.

Verdicts of many claims as one: of a sentence's parts, of a reply's claims (RefChecker section 3.4).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain, combinations

from proxy.types import (
    Aggregation,
    Attempt,
    Claim,
    Evidence,
    Finding,
    Judgement,
    UpstreamCitations,
    Usage,
    Verdict,
)

MARGIN = 0.2
"""How much less sure than the surest a passage may be to be cited too."""


def judged(evidence: Sequence[Evidence], judgements: Sequence[Judgement]) -> tuple[Evidence, ...]:
    """Each passage with its own judgement."""
    return tuple(
        replace(one, judgement=judgement) for one, judgement in zip(evidence, judgements, strict=True)
    )


def decide(claim: Claim, evidence: Sequence[Evidence]) -> Finding:
    """The finding of a claim whose passages were each judged alone.

    Entailment goes before contradiction, that before neutral (RefChecker section 3.4). Unlike there, a
    passage whose check failed leaves a claim that no other passage supports UNVERIFIED: it might have
    been the one. No passage at all means UNSUPPORTED. Of the passages that carry the claim those are cited
    that do so about as surely as the surest.
    """
    by_verdict = {
        verdict: tuple(one for one in evidence if _verdict(one) is verdict)
        for verdict in (Verdict.SUPPORTED, Verdict.UNVERIFIED, Verdict.CONTRADICTED)
    }
    verdict = next((verdict for verdict, group in by_verdict.items() if group), Verdict.UNSUPPORTED)
    carrying = by_verdict[Verdict.SUPPORTED]
    least = _score(carrying) - MARGIN
    cited = tuple(one for one in carrying if _score([one]) >= least)
    return Finding(claim, verdict, _score(evidence), tuple(evidence), _best_first(cited), _usage(evidence))


def all_of(finding: Finding) -> list[tuple[Evidence, ...]]:
    """All passages of a claim that none of them decides alone, as one group; none where there is no need."""
    undecided = finding.verdict is Verdict.UNSUPPORTED and len(finding.evidence) > 1
    return [finding.evidence] if undecided else []


def pairs_of(finding: Finding) -> list[tuple[Evidence, ...]]:
    """Every two of the passages of a claim that only all of them together bear out."""
    together = _is_joint(finding) and len(finding.cited) > 2
    return list(combinations(finding.evidence, 2)) if together else []


def carried_together(
    finding: Finding, groups: Sequence[tuple[Evidence, ...]], judgements: Sequence[Judgement]
) -> Finding:
    """The finding with what joined passages said: supported by the best group that supports it, if any."""
    finding = replace(finding, usage=sum((one.usage for one in judgements), finding.usage))
    supporting = [
        (judgement.score, group)
        for group, judgement in zip(groups, judgements, strict=True)
        if judgement.verdict is Verdict.SUPPORTED
    ]
    if not supporting:
        return finding
    score, group = max(supporting, key=lambda scored: scored[0])
    joint = Judgement(Verdict.SUPPORTED, score, reason="together with another passage")
    cited = tuple(replace(one, judgement=joint) for one in group)
    return replace(finding, verdict=Verdict.SUPPORTED, score=score, cited=cited)


def with_citations(finding: Finding, own: Collection[str], rule: UpstreamCitations) -> Finding:
    """The finding with the upstream's own citations, of documents whose ids are `own`.

    `verify` keeps those that carry the claim, however much surer another passage is; `merge` keeps those
    too that don't, as `claimed`.
    """
    if rule == "replace" or not own:
        return finding
    theirs = [one for one in finding.evidence if one.passage.document_id in own]
    cited = {one.passage.id: one for one in finding.cited}
    if finding.verdict is Verdict.SUPPORTED:
        cited |= {one.passage.id: one for one in theirs if _verdict(one) is Verdict.SUPPORTED}
    held = {one.passage.document_id for one in cited.values()}
    failed = {one.passage.document_id: one for one in reversed(theirs) if one.passage.document_id not in held}
    claimed = tuple(reversed(failed.values())) if rule == "merge" else ()
    return replace(finding, cited=tuple(cited.values()), claimed=claimed)


def unchecked(claim: Claim) -> Finding:
    """The finding of a claim that nobody checked: because it needs no check, or because none was possible."""
    verdict = Verdict.UNVERIFIED if claim.checkable else Verdict.NOT_CHECKABLE
    return Finding(claim, verdict)


def best(attempts: Sequence[Attempt]) -> int:
    """The attempt with the fewest claims that did not hold, the earliest of equals (CEG, section 3.4).

    A claim that could not be checked counts as one that did not hold, so a failed check never wins. And an
    attempt that supports nothing any more, a refusal say, is no improvement on a first one that did.
    """
    worth = [_count(attempt, Verdict.SUPPORTED) for attempt in attempts]
    eligible = [index for index, supported in enumerate(worth) if index == 0 or supported or not worth[0]]
    return min(eligible, key=lambda index: _count(attempts[index], *_NOT_HOLDING))


_NOT_HOLDING = (Verdict.CONTRADICTED, Verdict.UNSUPPORTED, Verdict.UNVERIFIED)


def _count(attempt: Attempt, *verdicts: Verdict) -> int:
    return sum(finding.verdict in verdicts for finding in attempt.findings)


def _is_joint(finding: Finding) -> bool:
    """Whether passages carry the claim together that don't alone."""
    alone = (one for one in finding.evidence if _verdict(one) is Verdict.SUPPORTED)
    return finding.verdict is Verdict.SUPPORTED and next(alone, None) is None


def _verdict(evidence: Evidence) -> Verdict:
    return evidence.judgement.verdict if evidence.judgement else Verdict.UNVERIFIED


def _score(evidence: Sequence[Evidence]) -> float:
    return max((one.judgement.score for one in evidence if one.judgement), default=0.0)


def _usage(evidence: Sequence[Evidence]) -> Usage:
    return sum((one.judgement.usage for one in evidence if one.judgement), Usage())


def _best_first(evidence: Sequence[Evidence]) -> tuple[Evidence, ...]:
    return tuple(sorted(evidence, key=lambda one: -one.judgement.score if one.judgement else 0.0))


_WORST_FIRST = (Verdict.CONTRADICTED, Verdict.UNSUPPORTED, Verdict.UNVERIFIED, Verdict.SUPPORTED)
_SCALAR = {Verdict.SUPPORTED: 1, Verdict.UNSUPPORTED: 0, Verdict.CONTRADICTED: -1}


def strict(verdicts: Iterable[Verdict]) -> Verdict:
    """The worst: contradicted where any is, else unsupported where any is, else supported.

    RefChecker's strict rule. What differs: a claim that could not be checked leaves a whole that nothing
    fails UNVERIFIED. Nothing that could be checked at all makes NOT_CHECKABLE (there: "Abstain").
    """
    said = set(verdicts)
    return next((verdict for verdict in _WORST_FIRST if verdict in said), Verdict.NOT_CHECKABLE)


def major(verdicts: Iterable[Verdict]) -> Verdict:
    """The most frequent, of equally frequent ones the worst. RefChecker's majority vote."""
    counts = Counter(verdicts)
    worst_first = [verdict for verdict in _WORST_FIRST if counts[verdict]]
    return max(worst_first, key=lambda verdict: counts[verdict], default=Verdict.NOT_CHECKABLE)


def shares(verdicts: Iterable[Verdict]) -> dict[Verdict, float]:
    """How much of what was checked has each of the three verdicts, zeros where nothing was. RefChecker's soft
    rule."""
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
    """The one verdict of many. `soft` has shares beside it, and the strict one: half a sentence that holds
    makes no sentence that does."""
    return _RULES[rule](verdicts)


def combined(claim: Claim, parts: Sequence[Finding], rule: Aggregation) -> Finding:
    """The finding of a sentence out of those of its parts; it cites what they cite.

    Its score is that of the least sure part; with `soft` and `major` the share of the parts that hold.
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
    """The parts' evidence, that of the parts first which made the verdict what it is."""
    return [part.evidence for part in sorted(parts, key=lambda part: part.verdict is not verdict)]


def _once(evidence: Iterable[Evidence]) -> tuple[Evidence, ...]:
    """Each passage once, as it was met first."""
    found: dict[str, Evidence] = {}
    for one in evidence:
        found.setdefault(one.passage.id, one)
    return tuple(found.values())
