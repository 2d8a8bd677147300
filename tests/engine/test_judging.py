"""Findings out of judgements, and the best of the attempts."""

from __future__ import annotations

import pytest

from proxy.engine import judging
from proxy.types import (
    PAGE_BREAK,
    Attempt,
    Claim,
    Draft,
    Evidence,
    Finding,
    Judgement,
    Pair,
    Passage,
    Usage,
    Verdict,
)

S, C, U, X, N = (
    Verdict.SUPPORTED,
    Verdict.CONTRADICTED,
    Verdict.UNSUPPORTED,
    Verdict.UNVERIFIED,
    Verdict.NOT_CHECKABLE,
)
CLAIM = Claim(0, 5, "A is.", "A is.")


def evidence(name: str, verdict: Verdict | None = None, score: float = 0.5) -> Evidence:
    passage = Passage(name, f"doc-{name}", f"Title {name}", "", f"Text {name}.", "", 0, 7)
    judgement = None if verdict is None else Judgement(verdict, score, usage=Usage(1, 2))
    return Evidence(passage, 0.9, judgement)


def attempt(*verdicts: Verdict) -> Attempt:
    findings = tuple(Finding(CLAIM, verdict) for verdict in verdicts)
    return Attempt(Draft("", {}), Usage(), findings)


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ([], U),
        ([U], U),
        ([U, S, C], S),
        ([U, C], C),
        ([X], X),
        ([X, S], S),
        ([X, C], X),
        ([X, U], X),
        ([None], X),
    ],
)
def test_entailment_goes_before_failure_before_contradiction(
    verdicts: list[Verdict | None], expected: Verdict
) -> None:
    judged = [evidence(str(n), verdict) for n, verdict in enumerate(verdicts)]
    finding = judging.decide(CLAIM, judged)
    assert finding.verdict is expected
    assert bool(finding.cited) == (expected is S)


def test_a_passage_far_less_sure_than_the_surest_is_not_cited() -> None:
    finding = judging.decide(CLAIM, [evidence("a", S, 0.6), evidence("b", S, 0.95)])
    assert [one.passage.id for one in finding.cited] == ["b"]


def test_only_supporting_passages_are_cited_the_surest_first() -> None:
    finding = judging.decide(CLAIM, [evidence("a", S, 0.8), evidence("b", U, 0.2), evidence("c", S, 0.9)])
    assert [one.passage.id for one in finding.cited] == ["c", "a"]
    assert finding.score == 0.9
    assert finding.usage == Usage(3, 6)


def test_a_claim_that_two_passages_carry_together_cites_both() -> None:
    alone = judging.decide(CLAIM, [evidence("a", U), evidence("b", U), evidence("c", U)])
    joined = judging.carried_together(alone, judging.all_of(alone), [Judgement(S, 0.7)])
    said = [Judgement(U, 0.1, usage=Usage(5, 0)), Judgement(S, 0.8), Judgement(S, 0.6)]
    together = judging.carried_together(joined, judging.pairs_of(joined), said)
    assert together.verdict is S
    assert [one.passage.id for one in together.cited] == ["a", "c"]
    assert together.usage == Usage(8, 6)


def test_only_what_no_passage_decides_alone_is_joined() -> None:
    assert judging.all_of(judging.decide(CLAIM, [evidence("a", U)])) == []
    assert judging.all_of(judging.decide(CLAIM, [evidence("a", U), evidence("b", C)])) == []
    sure = judging.decide(CLAIM, [evidence(name, S) for name in "abc"])
    assert (judging.all_of(sure), judging.pairs_of(sure)) == ([], [])


def test_of_the_upstreams_citations_those_that_hold_are_kept_however_unsure() -> None:
    finding = judging.decide(CLAIM, [evidence("a", S, 0.9), evidence("b", S, 0.6), evidence("c", U, 0.1)])
    own = {"doc-b", "doc-c"}
    verified = judging.with_citations(finding, own, "verify")
    assert [one.passage.id for one in verified.cited] == ["a", "b"]
    assert verified.claimed == ()
    merged = judging.with_citations(finding, own, "merge")
    assert [one.passage.id for one in merged.cited] == ["a", "b"]
    assert [one.passage.id for one in merged.claimed] == ["c"]
    assert judging.with_citations(finding, own, "replace") == finding


def test_a_citation_that_is_merged_supports_nothing() -> None:
    merged = judging.with_citations(judging.decide(CLAIM, [evidence("a", U, 0.4)]), {"doc-a"}, "merge")
    assert (merged.verdict, merged.cited) == (U, ())
    assert [one.passage.id for one in merged.claimed] == ["a"]


def test_joined_passages_that_do_not_carry_it_change_nothing_but_the_cost() -> None:
    alone = judging.decide(CLAIM, [evidence("a", U), evidence("b", U)])
    for verdict in (U, C, X):
        said = judging.carried_together(alone, [alone.evidence], [Judgement(verdict)])
        assert (said.verdict, said.cited) == (U, ())


def test_joined_evidence_holds_every_passage() -> None:
    asked = Pair.of(CLAIM, [evidence("a"), evidence("b")], "before", "why?")
    assert (asked.context, asked.question) == ("before", "why?")
    assert [(one.title, one.evidence) for one in asked.alone()] == [
        ("Title a", "Text a."),
        ("Title b", "Text b."),
    ]
    assert asked.joined() == Pair("A is.", f"Title a\nText a.{PAGE_BREAK}Title b\nText b.", "before", "why?")


@pytest.mark.parametrize(
    ("attempts", "best"),
    [
        ([attempt(S, U), attempt(S, S)], 1),
        ([attempt(S, U), attempt(S, C)], 0),
        ([attempt(S, U), attempt(U, U), attempt(S)], 2),
        ([attempt(S, U), attempt(X, X)], 0),
        ([attempt(S, U), attempt(N)], 0),
        ([attempt(U), attempt(N)], 1),
        ([attempt(S, U), attempt()], 0),
        ([attempt(X), attempt(S)], 1),
    ],
)
def test_the_best_attempt_has_the_fewest_claims_that_do_not_hold(attempts: list[Attempt], best: int) -> None:
    assert judging.best(attempts) == best
