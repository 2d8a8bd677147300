"""Turns judgements into findings, and picks the best of several attempts.

It also combines many verdicts into one: those of a sentence's parts, or of a reply's claims (RefChecker
section 3.4).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations

from proxy.text.sentences import quotable_spans
from proxy.text.verbatim import verbatim
from proxy.text.words import Word, nearest, spoken, words
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
"""A supporting passage is cited if its score is at most this much below the best one."""


def with_quotes(finding: Finding) -> Finding:
    """The finding with a sentence or two as the quote of the passages that it cites, or that decided it."""
    shown = (*finding.cited, finding.decisive)

    def quoting(item: Evidence) -> Evidence:
        return _quoting(item, finding.claim.plain) if item in shown else item

    return replace(
        finding, evidence=tuple(map(quoting, finding.evidence)), cited=tuple(map(quoting, finding.cited))
    )


def _quoting(item: Evidence, claim: str) -> Evidence:
    """The evidence with a quote of at most two sentences: those of its quote, or of all of the passage where
    the checker named none, that share most words with the claim."""
    judgement = item.judgement
    if judgement is None:
        return item
    first, last = judgement.quote or (0, len(item.passage.text))
    text = item.passage.text[first:last]
    spans = quotable_spans(text)
    if len(spans) > 2:
        sentences = nearest({number: text[slice(*span)] for number, span in enumerate(spans)})
        best = sentences.to(claim, 2)
        (only,) = sentences.to(claim, 1)
        start, end = (spans[best[0]][0], spans[best[1]][1]) if best[1] - best[0] == 1 else spans[only]
        first, last = first + start, first + end
    kept = tuple(span for span in judgement.carrying if first <= span[0] and span[1] <= last)
    return replace(item, judgement=replace(judgement, quote=(first, last), carrying=kept))


def judged(evidence: Sequence[Evidence], judgements: Sequence[Judgement]) -> tuple[Evidence, ...]:
    """Each passage with its own judgement."""
    return tuple(
        replace(item, judgement=judgement) for item, judgement in zip(evidence, judgements, strict=True)
    )


def decide(claim: Claim, evidence: Sequence[Evidence]) -> Finding:
    """The finding of a claim whose passages were each judged alone.

    Entailment outranks contradiction, and contradiction outranks neutral (RefChecker section 3.4). What
    differs: where no passage supports the claim and the check of one failed, the claim is UNVERIFIED, since
    that passage might have supported it. A claim without passages is UNSUPPORTED. The finding cites the
    supporting passages whose score is within `MARGIN` of the best.
    """
    by_verdict = {
        verdict: tuple(item for item in evidence if _verdict(item) is verdict)
        for verdict in (Verdict.SUPPORTED, Verdict.UNVERIFIED, Verdict.CONTRADICTED)
    }
    verdict = next((verdict for verdict, group in by_verdict.items() if group), Verdict.UNSUPPORTED)
    carrying = by_verdict[Verdict.SUPPORTED]
    least = _score(carrying) - MARGIN
    cited = tuple(item for item in carrying if _score([item]) >= least)
    return Finding(claim, verdict, _score(evidence), tuple(evidence), _best_first(cited), _usage(evidence))


def all_of(finding: Finding) -> list[tuple[Evidence, ...]]:
    """All passages of a claim as one group, where no passage alone decides it; otherwise nothing."""
    undecided = finding.verdict is Verdict.UNSUPPORTED and len(finding.evidence) > 1
    return [finding.evidence] if undecided else []


def pairs_of(finding: Finding) -> list[tuple[Evidence, ...]]:
    """Every pair of passages, for a claim that only more than two of them together support."""
    together = _is_joint(finding) and len(finding.cited) > 2
    return list(combinations(finding.evidence, 2)) if together else []


def carried_together(
    finding: Finding, groups: Sequence[tuple[Evidence, ...]], judgements: Sequence[Judgement]
) -> Finding:
    """The finding after groups of joined passages were judged. It cites the best supporting group, if any."""
    finding = replace(finding, usage=sum((judgement.usage for judgement in judgements), finding.usage))
    supporting = [
        (judgement.score, group)
        for group, judgement in zip(groups, judgements, strict=True)
        if judgement.verdict is Verdict.SUPPORTED
    ]
    if not supporting:
        return finding
    score, group = max(supporting, key=lambda scored: scored[0])
    joint = Judgement(Verdict.SUPPORTED, score, reason="together with another passage")
    cited = tuple(replace(item, judgement=joint) for item in group)
    return replace(finding, verdict=Verdict.SUPPORTED, score=score, cited=cited)


def with_citations(finding: Finding, own: Collection[str], rule: UpstreamCitations) -> Finding:
    """The finding with the upstream's own citations; `own` are the ids of the documents that it cites.

    `verify` keeps the citations that support the claim, even where another passage scores higher. `merge`
    also keeps those that do not support it, as `claimed`.
    """
    if rule == "replace" or not own:
        return finding
    theirs = [item for item in finding.evidence if item.passage.document_id in own]
    cited = {item.passage.id: item for item in finding.cited}
    if finding.verdict is Verdict.SUPPORTED:
        cited |= {item.passage.id: item for item in theirs if _verdict(item) is Verdict.SUPPORTED}
    held = {item.passage.document_id for item in cited.values()}
    failed = {
        item.passage.document_id: item for item in reversed(theirs) if item.passage.document_id not in held
    }
    claimed = tuple(reversed(failed.values())) if rule == "merge" else ()
    return replace(finding, cited=tuple(cited.values()), claimed=claimed)


def unchecked(claim: Claim) -> Finding:
    """The finding of an unchecked claim: NOT_CHECKABLE, or UNVERIFIED where the check was not possible."""
    verdict = Verdict.UNVERIFIED if claim.checkable else Verdict.NOT_CHECKABLE
    return Finding(claim, verdict)


def failures(findings: Iterable[Finding]) -> list[str]:
    """Why claims that are UNVERIFIED could not be checked, as the checker says; each reason once."""
    unverified = [finding for finding in findings if finding.verdict is Verdict.UNVERIFIED]
    parts = chain.from_iterable(finding.parts or (finding,) for finding in unverified)
    judgements = (item.judgement for part in parts for item in part.evidence)
    reasons = (item.reason for item in judgements if item and item.verdict is Verdict.UNVERIFIED)
    return list(dict.fromkeys(filter(None, reasons)))


_MAX_QUESTION_CHARS = 2_000


def best(attempts: Sequence[Attempt], question: str = "") -> int:
    """The index of the attempt that tells the reader most that holds, the earliest of equals.

    Most supported claims, each counted once however often it is repeated; then fewest that don't hold (a
    claim that could not be checked is one of these). Never an attempt that says less than the first: with
    fewer supported claims, a smaller share of them, nothing checkable, without a code block, formula or image
    that the first shows, or without the words of the `question` that the first's supported claims have; one
    such word may be missing, since a pronoun can stand for it.

    CEG (section 3.4) takes the attempt with the fewest nonfactual claims, which a refusal has.
    """
    first, *others = (_worth(attempt) for attempt in attempts)
    if not others:
        return 0
    asked = [word for word in words(question[:_MAX_QUESTION_CHARS]) if word.content]
    needed = _answered(asked, _supported(attempts[0]))
    eligible = [
        index
        for index, worth in enumerate(others, 1)
        if worth.supported >= first.supported
        and worth.share >= first.share
        and (worth.checkable or not first.checkable)
        and _answered(asked, [attempts[index].draft.text]) >= min(needed, max(1, needed - 1))
    ]
    shown = verbatim(attempts[0].draft.text) if eligible else frozenset()
    eligible = [index for index in eligible if not shown or shown <= verbatim(attempts[index].draft.text)]
    worth_of = [first, *others]
    return max([0, *eligible], key=lambda index: (worth_of[index].supported, -worth_of[index].failing))


@dataclass(frozen=True, slots=True)
class _Worth:
    """Claims of an attempt: supported (different ones), not holding, checkable."""

    supported: int
    failing: int
    checkable: int

    @property
    def share(self) -> float:
        return self.supported / max(1, self.supported + self.failing)


def _worth(attempt: Attempt) -> _Worth:
    checkable = sum(finding.verdict is not Verdict.NOT_CHECKABLE for finding in attempt.findings)
    return _Worth(len(set(_supported(attempt))), _count(attempt, *_NOT_HOLDING), checkable)


def _supported(attempt: Attempt) -> list[str]:
    """The supported claims, so written that repetitions are equal."""
    supported = (finding for finding in attempt.findings if finding.verdict is Verdict.SUPPORTED)
    return [" ".join(finding.claim.plain.casefold().split()) for finding in supported]


def _answered(asked: Sequence[Word], texts: Iterable[str]) -> int:
    """How many of the question's words the texts have."""
    said = spoken(texts)
    return len({word.keys for word in asked if any(said[key] for key in word.keys)})


_NOT_HOLDING = (Verdict.CONTRADICTED, Verdict.UNSUPPORTED, Verdict.UNVERIFIED)


def _count(attempt: Attempt, *verdicts: Verdict) -> int:
    return sum(finding.verdict in verdicts for finding in attempt.findings)


def _is_joint(finding: Finding) -> bool:
    """Whether passages support the claim together, but none does alone."""
    alone = (item for item in finding.evidence if _verdict(item) is Verdict.SUPPORTED)
    return finding.verdict is Verdict.SUPPORTED and next(alone, None) is None


def _verdict(evidence: Evidence) -> Verdict:
    return evidence.judgement.verdict if evidence.judgement else Verdict.UNVERIFIED


def _score(evidence: Sequence[Evidence]) -> float:
    return max((item.judgement.score for item in evidence if item.judgement), default=0.0)


def _usage(evidence: Sequence[Evidence]) -> Usage:
    return sum((item.judgement.usage for item in evidence if item.judgement), Usage())


def _best_first(evidence: Sequence[Evidence]) -> tuple[Evidence, ...]:
    return tuple(sorted(evidence, key=lambda item: -item.judgement.score if item.judgement else 0.0))


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
