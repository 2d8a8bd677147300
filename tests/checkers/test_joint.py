"""Several claims in one prompt, over real HTTP: what is asked, how strictly it is read, and what it costs."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.checkers import joint
from proxy.checkers.llm_checker import LLMChecker
from proxy.checkers.prompts import PROMPTS
from proxy.errors import CheckError
from proxy.types import Json, Pair, PromptName, Usage, Verdict
from proxy.upstream.http import HTTPUpstream
from tests.checkers.labels import NAMES, NO, YES
from tests.checkers.prompted import text_of
from tests.scripted_upstream import Drop, Hang, Reply, Status, Upstream

S, U, C, X = Verdict.SUPPORTED, Verdict.UNSUPPORTED, Verdict.CONTRADICTED, Verdict.UNVERIFIED
EVIDENCE = "The Rialto Bridge was designed by Antonio da Ponte and finished in 1591."


def claims(*texts: str, evidence: str = EVIDENCE) -> list[Pair]:
    return [Pair(text, evidence, f"before {text}", "How old is it?", "Rialto Bridge") for text in texts]


THREE = claims("It is old.", "It is new.", "It is red.")


def is_joint(body: Json) -> bool:
    return text_of(body).count("\n<claim-") > 1


@pytest.mark.parametrize("name", NAMES)
async def test_each_prompt_asks_once_about_claims_that_share_their_evidence(
    upstream: Upstream, llm: HTTPUpstream, name: PromptName
) -> None:
    upstream.enqueue(f"1: {YES[name]}\n2: {NO[name]}\n3: {YES[name]}")
    judgements = await LLMChecker(llm, prompt=name, claims_per_call=10).check(THREE)
    assert [one.verdict for one in judgements] == [S, U, S]
    assert [one.score for one in judgements] == [1.0, 0.0, 1.0]
    assert judgements[1].reason == f"2: {NO[name]}"
    (request,) = upstream.requests
    text = text_of(request.body)
    assert text.count(EVIDENCE) == 1
    for pair in THREE:
        assert text.count(f"\n{pair.claim}\n") == 1
        assert pair.context in text
    assert (THREE[0].question in text) == (name in ("ceg", "refchecker"))
    assert PROMPTS[name].guard in text


async def test_one_claim_a_call_is_the_default_and_a_lone_claim_is_asked_as_ever(
    upstream: Upstream, llm: HTTPUpstream
) -> None:
    upstream.answer = lambda _: "Neutral"
    await LLMChecker(llm, prompt="refchecker").check(THREE)
    assert len(upstream.requests) == 3
    upstream.requests.clear()
    await LLMChecker(llm, prompt="refchecker", claims_per_call=5).check(THREE[:1])
    (request,) = upstream.requests
    assert request.body["messages"] == PROMPTS["refchecker"].messages(THREE[0])


async def test_claims_of_other_evidence_question_or_title_are_asked_apart_and_come_back_in_order(
    upstream: Upstream, llm: HTTPUpstream
) -> None:
    def answer(body: Json) -> str:
        text = text_of(body)
        if not is_joint(body):
            return "Contradiction"
        return "1: Entailment\n2: Neutral" if EVIDENCE in text else "1: Neutral\n2: Entailment"

    upstream.answer = answer
    other = claims("a", "b", evidence="Another document.")
    one, two = THREE[:2]
    lone = Pair("c", EVIDENCE, "", "Another question?", "Rialto Bridge")
    judgements = await LLMChecker(llm, prompt="refchecker", claims_per_call=9).check(
        [one, other[0], lone, two, other[1]]
    )
    assert [judgement.verdict for judgement in judgements] == [S, U, C, U, S]
    assert len(upstream.requests) == 3


@given(st.lists(st.sampled_from("abc"), max_size=40), st.integers(1, 7))
@settings(deadline=None)
def test_every_pair_is_in_one_group_of_its_own_kind(evidence: list[str], size: int) -> None:
    pairs = [Pair(str(at), text) for at, text in enumerate(evidence)]
    groups = joint.grouped(pairs, size)
    assert sorted(at for group in groups for at in group) == list(range(len(pairs)))
    for group in groups:
        assert 1 <= len(group) <= size
        assert len({pairs[at].evidence for at in group}) == 1
    full = {text: -(-evidence.count(text) // size) for text in evidence}
    assert len(groups) == sum(full.values())


N = None
READINGS: list[tuple[PromptName, str, list[Verdict | None]]] = [
    ("refchecker", "1: Entailment\n2: Contradiction\n3: Neutral", [S, C, U]),
    ("refchecker", "3: Neutral\n1: Entailment\n2: Contradiction", [S, C, U]),
    ("refchecker", "**1:** Entailment\n- 2. Neutral\n(3) Neutral.", [S, U, U]),
    ("refchecker", "```\n1: Entailment\n2: Neutral\n3: Neutral\n```", [S, U, U]),
    ("refchecker", "```text\n1: Entailment\n\n2: Neutral\n\n3: Neutral\n```\n", [S, U, U]),
    ("refchecker", "Claim 1: Entailment\nClaim 2: Answer: Neutral\nClaim 3: Neutral", [S, U, U]),
    ("refchecker", "Let me see.\n1: Entailment\n2: Neutral\n3: Neutral", [S, U, U]),
    ("refchecker", "<think>1: Neutral</think>\n1: Entailment\n2: Neutral\n3: Neutral", [S, U, U]),
    ("refchecker", "1: Entailment\n3: Neutral", [S, N, U]),
    ("refchecker", "1: Entailment\n2: Ent", [S, N, N]),
    ("refchecker", "1: Entailment\n1: Neutral\n2: Entailment\n2: Entailment", [N, S, N]),
    ("refchecker", "1: Entailment\n1: unclear\n2: Neutral\n3: Neutral", [N, U, U]),
    ("refchecker", "1: Entailment or Neutral\n2: not Entailment\n3: Neutral", [N, N, U]),
    ("refchecker", "1: Entailment - no, Neutral\n2: Neutral\n3: Neutral", [N, U, U]),
    ("refchecker", "1: Entailment\n2: Neutral\n3: Neutral\nOn second thought, 1 is Neutral.", [N, N, N]),
    ("refchecker", "1: Entailment\nThis is wrong.\n2: Neutral\n3: Neutral", [N, N, N]),
    ("refchecker", "0: Entailment\n1: Entailment\n2: Neutral", [N, N, N]),
    ("refchecker", "1: Entailment\n2: Neutral\n3: Neutral\n4: Entailment", [N, N, N]),
    ("refchecker", "1-3: Entailment", [N, N, N]),
    ("refchecker", "1, 2, 3: Entailment", [N, N, N]),
    ("refchecker", "All three claims: Entailment", [N, N, N]),
    ("refchecker", "Entailment\nNeutral\nNeutral", [N, N, N]),
    ("refchecker", "Entailment", [N, N, N]),
    ("refchecker", '{"1": "Entailment", "2": "Entailment", "3": "Entailment"}', [N, N, N]),
    ("refchecker", 'The document says "1: Entailment".', [N, N, N]),
    ("refchecker", "1: Factual\n2: Yes\n3: 是", [N, N, N]),
    ("refchecker", "", [N, N, N]),
    ("refchecker", " \n```\n```", [N, N, N]),
    ("ceg", "1: Factual\n2: Nonfactual\n3: Not factual", [S, U, U]),
    ("ceg", "1: Factual/Nonfactual\n2: Factual\n3: Factual, mostly", [N, S, N]),
    ("ceg_yes_no", "1. Yes\n2. No\n3. Yes and no", [S, U, N]),
    ("citecheck", "1：是\n2：否\n3：是否", [S, U, N]),
    ("citecheck", "１: 是\n陈述2：否。\n3、“是”", [S, U, S]),
]


@pytest.mark.parametrize(("name", "answer", "verdicts"), READINGS)
def test_lines_are_read_strictly(name: PromptName, answer: str, verdicts: list[Verdict | None]) -> None:
    assert [one.verdict if one else None for one in joint.read(name, answer, 3)] == verdicts


@given(st.text(max_size=200), st.sampled_from(NAMES))
@settings(deadline=None, max_examples=100)
def test_no_text_around_a_negative_line_makes_it_one_of_support(said: str, name: PromptName) -> None:
    for answer in (
        f"{said}\n1: {NO[name]}",
        f"1: {NO[name]}\n{said}",
        f"1: {YES[name]}\n{said}\n1: {NO[name]}",
    ):
        (one,) = joint.read(name, answer, 1)
        assert one is None or one.verdict is U


def test_an_answer_of_a_megabyte_is_read_in_time() -> None:
    for said in ("1: " * 300_000, "1: Neutral\n" * 80_000, "1" * 1_000_000, "*" * 1_000_000):
        assert len(joint.read("refchecker", said, 50)) == 50


async def test_a_claim_without_a_clear_line_is_asked_again_alone(
    upstream: Upstream, llm: HTTPUpstream
) -> None:
    upstream.answer = lambda body: "1: Entailment\n2: Maybe" if is_joint(body) else "Contradiction"
    judgements = await LLMChecker(llm, prompt="refchecker", claims_per_call=3).check(THREE)
    assert [one.verdict for one in judgements] == [S, C, C]
    asked = [request.body["messages"] for request in upstream.requests[1:]]
    singles = [PROMPTS["refchecker"].messages(pair) for pair in THREE[1:]]
    assert sorted(map(str, asked)) == sorted(map(str, singles))


@given(st.integers(0, 10_000), st.integers(0, 10_000), st.integers(1, 50))
@settings(deadline=None)
def test_shares_of_the_usage_add_up_and_differ_by_one_token_at_most(
    asked: int, said: int, count: int
) -> None:
    parts = joint.shares(Usage(asked, said), count)
    assert sum(parts, Usage()) == Usage(asked, said)
    assert len(parts) == count
    assert max(part.prompt_tokens for part in parts) - min(part.prompt_tokens for part in parts) <= 1


async def test_what_all_calls_cost_is_counted_exactly_once(upstream: Upstream, llm: HTTPUpstream) -> None:
    usage = {"prompt_tokens": 101, "completion_tokens": 7, "total_tokens": 108}
    upstream.answer = lambda body: Reply("1: Entailment\n2: ?" if is_joint(body) else "?", usage=usage)
    judgements = await LLMChecker(llm, prompt="refchecker", claims_per_call=3).check(THREE)
    assert [one.verdict for one in judgements] == [S, X, X]
    assert len(upstream.requests) == 5
    assert sum((one.usage for one in judgements), Usage()) == Usage(505, 35)


async def test_a_late_answer_leaves_its_claims_unverified_and_the_other_groups_judged(
    upstream: Upstream, llm: HTTPUpstream
) -> None:
    upstream.answer = lambda body: Hang() if "slow" in json.dumps(body) else "1: Yes\n2: Yes"
    pairs = [*claims("slow", "also here"), *claims("a", "b", evidence="Another.")]
    checker = LLMChecker(llm, prompt="ceg_yes_no", claims_per_call=2, timeout=0.3)
    assert [one.verdict for one in await checker.check(pairs)] == [X, X, S, S]
    assert len(upstream.requests) == 2


async def test_a_prompt_that_the_provider_refuses_is_asked_claim_by_claim(
    upstream: Upstream, llm: HTTPUpstream
) -> None:
    upstream.answer = lambda body: Status(400, "too long") if is_joint(body) else "Yes"
    judgements = await LLMChecker(llm, prompt="ceg_yes_no", claims_per_call=3).check(THREE)
    assert [one.verdict for one in judgements] == [S, S, S]
    assert len(upstream.requests) == 4


async def test_a_failed_call_leaves_all_of_its_claims_unverified(
    upstream: Upstream, llm: HTTPUpstream
) -> None:
    upstream.answer = lambda _: Status(500)
    judgements = await LLMChecker(llm, claims_per_call=3).check(THREE)
    assert [one.verdict for one in judgements] == [X, X, X]
    assert len(upstream.requests) == 1


@pytest.mark.parametrize("failure", [Status(401), Drop()])
async def test_a_model_that_is_gone_makes_the_checker_unavailable(
    upstream: Upstream, llm: HTTPUpstream, failure: Status | Drop
) -> None:
    upstream.answer = lambda _: failure
    with pytest.raises(CheckError, match="not available"):
        await LLMChecker(llm, claims_per_call=3).check([*THREE, *claims("none", "here", evidence=" ")])


async def test_a_model_that_is_gone_after_it_answered_leaves_the_open_claims_unverified(
    upstream: Upstream, llm: HTTPUpstream
) -> None:
    upstream.answer = lambda body: "Nothing." if is_joint(body) else Status(401)
    judgements = await LLMChecker(llm, claims_per_call=3).check(THREE)
    assert [one.verdict for one in judgements] == [X, X, X]


async def test_no_evidence_costs_no_call(upstream: Upstream, llm: HTTPUpstream) -> None:
    judgements = await LLMChecker(llm, claims_per_call=3).check(claims("a", "b", evidence=" \n"))
    assert [one.verdict for one in judgements] == [U, U]
    assert not upstream.requests


async def test_of_long_evidence_each_window_is_asked_about_the_claims_that_are_still_open(
    upstream: Upstream, llm: HTTPUpstream
) -> None:
    def answer(body: Json) -> str:
        text = text_of(body)
        if not is_joint(body):
            return "Yes" if "NEEDLE" in text else "No"
        return "1: No\n2: Yes" if text.index("alpha") < text.index("beta") else "1: Yes\n2: No"

    upstream.answer = answer
    evidence = "x" * 150 + " NEEDLE " + "x" * 100
    checker = LLMChecker(llm, prompt="ceg_yes_no", claims_per_call=2, max_evidence_chars=100)
    first, second = await checker.check([Pair("alpha", evidence), Pair("beta", evidence)])
    assert (first.verdict, second.verdict) == (S, S)
    joint_calls = [is_joint(request.body) for request in upstream.requests]
    assert joint_calls[0]
    assert not any(joint_calls[1:])
    assert all("beta" not in text_of(request.body) for request in upstream.requests[1:])


async def test_an_error_at_the_first_window_ends_the_asking(upstream: Upstream, llm: HTTPUpstream) -> None:
    upstream.enqueue(Status(500), "1: Yes\n2: Yes")
    checker = LLMChecker(llm, prompt="ceg_yes_no", claims_per_call=2, max_evidence_chars=100)
    judgements = await checker.check(claims("a", "b", evidence="z" * 300))
    assert [one.verdict for one in judgements] == [X, X]
    assert len(upstream.requests) == 1
