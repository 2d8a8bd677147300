"""Findings out of judgements, and the best of the attempts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from proxy.engine import judging
from proxy.types import (
    PAGE_BREAK,
    Attempt,
    Claim,
    Context,
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


def attempt(*verdicts: Verdict, text: str = "") -> Attempt:
    """Claims that differ, with these verdicts."""
    findings = tuple(
        Finding(replace(CLAIM, plain=f"{CLAIM.plain} {number}"), verdict)
        for number, verdict in enumerate(verdicts)
    )
    return Attempt(Draft(text, {}), Usage(), findings)


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
    joined = judging.carried_together(alone, judging.all_of(alone), [Judgement(S, 0.65)])
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
    asked = Pair.of(CLAIM, [evidence("a"), evidence("b")], Context("before", "Old:"), "why?")
    assert (asked.context, asked.question) == ("before", "why?")
    assert (asked.claim, asked.statement) == ("A is.", "Old: A is.")
    assert [(one.title, one.evidence) for one in asked.alone()] == [
        ("Title a", "Text a."),
        ("Title b", "Text b."),
    ]
    joined = f"Title a\nText a.{PAGE_BREAK}Title b\nText b."
    assert asked.joined() == Pair("A is.", joined, "before", "why?", topic="Old:")


@pytest.mark.parametrize(
    ("section", "shown"),
    [
        ("Holidays > France", "Title a\nHolidays > France"),
        ("Title a", "Title a"),
        ("", "Title a"),
        ("page 12", "Title a"),
        ("row 3", "Title a"),
        ("leave.csv, row 3", "Title a"),
    ],
)
def test_evidence_stands_under_the_headings_of_its_section_but_under_no_place(
    section: str, shown: str
) -> None:
    passage = replace(evidence("a").passage, section=section)
    assert Pair.of(CLAIM, [replace(evidence("a"), passage=passage)]).title == shown


@pytest.mark.parametrize(
    ("attempts", "best"),
    [
        ([attempt(S, U), attempt(S, S)], 1),
        ([attempt(S, U), attempt(S, C)], 0),
        ([attempt(S, C, U), attempt(S, C)], 1),
        ([attempt(U), attempt(S, S, U), attempt(S)], 1),
    ],
)
def test_the_best_attempt_has_most_that_holds_then_least_that_does_not(
    attempts: list[Attempt], best: int
) -> None:
    assert judging.best(attempts) == best


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(attempt(S), id="less that holds"),
        pytest.param(attempt(S, S, S, U, U, U), id="more that holds, and a larger share that does not"),
        pytest.param(attempt(X, X), id="not checked"),
        pytest.param(attempt(N), id="nothing to check"),
        pytest.param(attempt(), id="nothing"),
    ],
)
def test_no_attempt_wins_that_says_less_than_the_first(other: Attempt) -> None:
    assert judging.best([attempt(S, S, U), other]) == 0


def test_a_refusal_does_not_win_over_a_draft_of_which_nothing_holds() -> None:
    assert judging.best([attempt(U), attempt(N)]) == 0


def test_a_claim_that_is_repeated_counts_once() -> None:
    same = Finding(CLAIM, S)
    assert judging.best([attempt(S, S, U), Attempt(Draft("", {}), Usage(), (same, same, same))]) == 0


def test_what_holds_must_still_be_about_the_question() -> None:
    question = "When was the Eiffel Tower completed?"
    claim = replace(CLAIM, plain="The Eiffel Tower was completed in 1889.")
    wrong = Finding(replace(CLAIM, plain="It is 400 metres high."), C)
    first = Attempt(Draft("", {}), Usage(), (Finding(claim, S), wrong))
    told = attempt(S, S, text="Paris is a city. The Seine is a river.")
    again = attempt(S, S, text="The tower was completed in 1889. It is 330 metres high.")
    assert judging.best([first, told], question) == 0
    assert judging.best([first, again], question) == 1


@pytest.mark.parametrize(
    ("first", "again", "best"),
    [
        ("```py\nx = 1\n```", "It is.", 0),
        ("```py\nx = 1\n```", "```py\nx = 2\n```", 0),
        ("```py\nx = 1\n```", "- So:\n\n  ~~~python\n  x =  1\n  ~~~", 1),
        ("$$\na = b\n$$", "It is $a$.", 0),
        ("$$\na = b\n$$", "It is \\[ a = b \\], then.", 1),
        ("\\begin{align}\na\n\\end{align}", "a", 0),
        ("![A map](a.png)", "It is.", 0),
        ("![A map](a.png)", "See ![the map](a.png).", 1),
        ("Call `x`. <!-- a note -->", "It is.", 1),
    ],
)
def test_no_attempt_wins_that_loses_code_a_formula_or_an_image(first: str, again: str, best: int) -> None:
    assert judging.best([attempt(S, U, text=first), attempt(S, S, text=again)]) == best


def test_why_claims_could_not_be_checked_is_told_once() -> None:
    failed = replace(evidence("a"), judgement=Judgement(X, reason="no readable answer"))
    findings = [Finding(CLAIM, X, evidence=(failed, failed)), Finding(CLAIM, S, evidence=(evidence("b", S),))]
    assert judging.failures(findings) == ["no readable answer"]
