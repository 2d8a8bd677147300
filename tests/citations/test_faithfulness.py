from __future__ import annotations

import pytest

from proxy.citations.faithfulness import (
    CitationReport,
    Statement,
    doubtful,
    judged,
    stated,
    supplemented,
    thinned,
)
from proxy.types import Claim, Judgement, Usage, Verdict

YES = Judgement(Verdict.SUPPORTED, 0.9, reason="says so", usage=Usage(10, 1))
NO = Judgement(Verdict.UNSUPPORTED, 0.2, reason="does not say so", usage=Usage(10, 1), missing=((0, 5),))
AGAINST = Judgement(Verdict.CONTRADICTED, 0.1, reason="says otherwise", usage=Usage(10, 1))
FAILED = Judgement(Verdict.UNVERIFIED, reason="failed")


def citing(*numbers: int, documents: tuple[int, ...] = (1, 2, 3), checkable: bool = True) -> Statement:
    text = "Paris is the capital."
    return stated(Claim(0, 21, text, text, checkable, cited=numbers), 0, 21, documents)


def superfluous(statement: Statement) -> dict[int, bool | None]:
    return {one.number: one.superfluous for one in statement.citations}


def test_what_cites_nothing_is_unsupported_and_says_why() -> None:
    assert (citing().verdict, citing().reason) == (Verdict.UNSUPPORTED, "no citation")
    assert (citing(7, 8).verdict, citing(7, 8).reason) == (Verdict.UNSUPPORTED, "no document [7], [8]")
    assert citing(1).verdict is Verdict.UNVERIFIED
    assert citing(checkable=False).verdict is Verdict.NOT_CHECKABLE


def test_one_document_decides_alone() -> None:
    statement = judged(citing(1), YES, {1: YES})
    assert (statement.verdict, statement.score, statement.usage) == (Verdict.SUPPORTED, 0.9, Usage(10, 1))
    assert superfluous(statement) == {1: False}
    statement = judged(citing(1), NO, {1: NO})
    assert (statement.verdict, statement.reason) == (Verdict.UNSUPPORTED, "does not say so")
    assert statement.uncovered == ("Paris",)
    assert superfluous(statement) == {1: None}


@pytest.mark.parametrize("together", [NO, AGAINST, FAILED])
def test_what_one_document_supports_all_together_do(together: Judgement) -> None:
    statement = judged(citing(1, 2), together, {1: YES, 2: NO})
    assert statement.verdict is Verdict.SUPPORTED
    assert superfluous(statement) == {1: False, 2: True}


def test_two_that_only_together_support_are_both_needed() -> None:
    statement = judged(citing(1, 2), YES, {1: NO, 2: NO})
    assert superfluous(statement) == {1: False, 2: False}
    assert doubtful(statement) == ()


def test_of_three_each_is_left_out_to_see_whether_it_is_needed() -> None:
    statement = judged(citing(1, 2, 3), YES, {1: NO, 2: NO, 3: NO})
    assert doubtful(statement) == (1, 2, 3)
    statement = thinned(statement, {1: NO, 2: NO, 3: YES})
    assert superfluous(statement) == {1: False, 2: False, 3: True}
    assert statement.usage == Usage(70, 7)


def test_a_check_that_failed_supports_nothing_and_tells_nothing() -> None:
    statement = judged(citing(1), FAILED, {1: FAILED})
    assert (statement.verdict, statement.reason) == (Verdict.UNVERIFIED, "failed")
    assert [one.supports for one in statement.citations] == [None]
    statement = judged(citing(1, 2), YES, {1: YES, 2: FAILED})
    assert superfluous(statement) == {1: False, 2: None}
    assert judged(citing(1, 2), FAILED, {1: NO, 2: NO}).verdict is Verdict.UNVERIFIED
    statement = judged(citing(1, 2), YES, {1: NO, 2: FAILED})
    assert superfluous(statement) == {1: None, 2: None}
    assert CitationReport((statement,)).precision == 0


def test_a_number_without_a_document_is_never_supported() -> None:
    statement = judged(citing(1, 7), YES, {1: YES})
    assert (statement.verdict, statement.score) == (Verdict.UNSUPPORTED, 0)
    assert statement.reason == "no document [7]"
    assert [one.supports for one in statement.citations] == [True, False]
    assert judged(citing(1, 7), AGAINST, {1: AGAINST}).verdict is Verdict.CONTRADICTED
    assert CitationReport((statement,)).precision == 0


def test_missing_citations_are_those_that_support_alone() -> None:
    statement = supplemented(citing(), {1: NO, 2: YES, 3: FAILED})
    assert (statement.verdict, statement.missing) == (Verdict.UNSUPPORTED, (2,))


def test_recall_and_precision_are_those_of_alce() -> None:
    report = CitationReport(
        (
            judged(citing(1), YES, {1: YES}),  # recalled, its one citation right
            judged(citing(1, 2), YES, {1: YES, 2: NO}),  # recalled, one right, one irrelevant
            judged(citing(3), NO, {3: NO}),  # not recalled, its citation wrong
            citing(),  # not recalled, nothing to be precise about
            citing(checkable=False),  # not counted
        )
    )
    assert report.recall == pytest.approx(2 / 4)
    assert report.precision == pytest.approx(2 / 4)
    assert report.f1 == pytest.approx(0.5)
    assert not report.faithful


def test_figures_of_an_answer_without_statements_or_without_citations() -> None:
    empty = CitationReport((citing(checkable=False),))
    assert (empty.recall, empty.precision, empty.f1, empty.faithful) == (None, None, None, True)
    bare = CitationReport((citing(),))
    assert (bare.recall, bare.precision, bare.f1, bare.faithful) == (0, 0, 0, False)
