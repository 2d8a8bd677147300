"""Attempts whose sentences failed, to test re-prompts and splices with."""

from __future__ import annotations

from collections.abc import Collection

from proxy.claims.segment import segment
from proxy.types import Attempt, Claim, Draft, Evidence, Finding, Judgement, Passage, Usage, Verdict


def passage(text: str, title: str = "Eiffel Tower") -> Passage:
    return Passage(f"id-{text[:20]}", "doc", title, "", text, "https://example.org", 0, len(text))


def finding(
    claim: Claim, verdict: Verdict, *passages: Passage, missing: tuple[tuple[int, int], ...] = ()
) -> Finding:
    judgement = Judgement(verdict, missing=missing)
    evidence = tuple(Evidence(one, 0.9, judgement) for one in passages)
    return Finding(claim, verdict, evidence=evidence, cited=evidence if verdict is Verdict.SUPPORTED else ())


def attempt_of(text: str, failed: Collection[str], *passages: Passage) -> Attempt:
    """The draft's claims, each supported, but for those of the given texts, which nothing supports."""
    findings = tuple(
        finding(claim, Verdict.UNSUPPORTED if claim.text in failed else Verdict.SUPPORTED, *passages)
        for claim in segment(text)
    )
    named = {one.claim.text for one in findings}
    assert set(failed) <= named, f"no claim: {set(failed) - named}; there are {named}"
    return Attempt(Draft(text, {"index": 0}), Usage(), findings)
