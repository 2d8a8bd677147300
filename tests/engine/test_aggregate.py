from hypothesis import given
from hypothesis import strategies as st

from proxy.engine.judging import combined, major, scalar, shares, strict, verdict_of
from proxy.types import Claim, Evidence, Finding, Judgement, Passage, Usage, Verdict

S, U, C = Verdict.SUPPORTED, Verdict.UNSUPPORTED, Verdict.CONTRADICTED
VERDICTS = st.lists(st.sampled_from(list(Verdict)))
CLAIM = Claim(0, 5, "A, B.", "A, B.")


def evidence(name: str, verdict: Verdict) -> Evidence:
    return Evidence(Passage(name, name, name, "", name, "", 0, 1), 0.5, Judgement(verdict))


def part(verdict: Verdict, score: float, *passages: str) -> Finding:
    found = tuple(evidence(name, verdict) for name in passages)
    return Finding(CLAIM, verdict, score, found, found if verdict is S else (), Usage(1, 1))


def test_one_contradiction_is_enough() -> None:
    assert strict([S, U, C]) is C
    assert strict([S, U]) is U
    assert strict([S, S]) is S


def test_what_was_not_checked_is_never_supported() -> None:
    assert strict([S, Verdict.UNVERIFIED]) is Verdict.UNVERIFIED
    assert strict([]) is strict([Verdict.NOT_CHECKABLE]) is Verdict.NOT_CHECKABLE
    assert major([]) is Verdict.NOT_CHECKABLE


def test_the_majority_decides_and_of_equals_the_worst() -> None:
    assert major([S, S, C]) is S
    assert major([S, U]) is U
    assert major([S, C, Verdict.NOT_CHECKABLE, Verdict.NOT_CHECKABLE]) is C


@given(VERDICTS)
def test_supported_needs_something_that_is(verdicts: list[Verdict]) -> None:
    for rule in ("strict", "soft", "major"):
        assert verdict_of(verdicts, rule) is not S or S in verdicts


@given(VERDICTS)
def test_shares_add_up(verdicts: list[Verdict]) -> None:
    value = scalar(verdicts)
    if value is None:
        assert not any(shares(verdicts).values())
    else:
        assert abs(sum(shares(verdicts).values()) - 1) < 1e-9
        assert abs(value - (shares(verdicts)[S] - shares(verdicts)[C])) < 1e-9


def test_a_sentence_holds_with_all_of_its_parts_and_cites_what_they_cite() -> None:
    found = combined(CLAIM, [part(S, 0.9, "x", "y"), part(S, 0.7, "y", "z")], "strict")
    assert (found.verdict, found.score) == (S, 0.7)
    assert [one.passage.id for one in found.cited] == ["x", "y", "z"]
    assert found.usage == Usage(2, 2)


def test_a_sentence_of_which_a_part_fails_cites_nothing() -> None:
    parts = [part(S, 0.9, "x"), part(C, 0.2, "y")]
    found = combined(CLAIM, parts, "strict")
    assert (found.verdict, found.score, found.cited) == (C, 0.2, ())
    assert [one.passage.id for one in found.evidence] == ["y", "x"]
    assert combined(CLAIM, parts, "soft").score == 0.5
    assert combined(CLAIM, parts, "soft").verdict is C


def test_the_majority_of_the_parts_carries_a_sentence() -> None:
    found = combined(CLAIM, [part(S, 0.9, "x"), part(S, 0.8, "z"), part(U, 0.2, "y")], "major")
    assert found.verdict is S
    assert [one.passage.id for one in found.cited] == ["x", "z"]
