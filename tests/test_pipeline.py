"""The loop: draft, check, revise, best. Fakes stand for the Protocols; the steps are real."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field

import pytest

from proxy.errors import CheckError, RetrievalError, UpstreamConnectionError, UpstreamError
from proxy.pipeline import Options, Pipeline
from proxy.types import Chat, Draft, Evidence, Json, Judgement, Pair, Passage, Reply, Usage, Verdict

CHAT = Chat({"messages": [{"role": "user", "content": "What of it?"}]}, question="What of it?")


@dataclass
class Script:
    """An LLM that says one text after the other; an error is raised. Records what it is asked."""

    says: list[str | Exception]
    editable: bool = True
    asked: list[Json] = field(default_factory=list)

    async def complete(self, chat: Chat) -> Reply:
        self.asked.append(chat.body)
        said = self.says.pop(0)
        if isinstance(said, Exception):
            raise said
        drafts = tuple(Draft(text, {}, self.editable) for text in said.split("||"))
        return Reply(drafts, Usage(10, 1), {})

    def stream(self, chat: Chat) -> AsyncIterator[Json]:
        raise NotImplementedError


@dataclass
class Shelf:
    """Finds the same passages for everything."""

    texts: tuple[str, ...] = ("All about it.", "More about it.", "And the rest.")
    batches: list[list[str]] = field(default_factory=list)
    error: Exception | None = None

    async def search(self, queries: Sequence[str], k: int) -> Sequence[tuple[Evidence, ...]]:
        self.batches.append(list(queries))
        if self.error:
            raise self.error
        found = [
            Evidence(Passage(f"p{n}", "doc", "Doc", "", text, "", 0, len(text)), 0.9)
            for n, text in enumerate(self.texts)
        ]
        return [tuple(found[:k]) for _ in queries]


@dataclass
class Judge:
    """Judges by a word of the claim; `slow` claims take long."""

    judge: Callable[[Pair], Verdict] | None = None

    async def check(self, pairs: Sequence[Pair]) -> Sequence[Judgement]:
        if any("slow" in pair.claim for pair in pairs):
            await asyncio.sleep(30)
        if any("broken" in pair.claim for pair in pairs):
            raise CheckError("the checker is gone")
        return [Judgement(self.of(pair), 0.9, usage=Usage(1, 1)) for pair in pairs]

    def of(self, pair: Pair) -> Verdict:
        if self.judge:
            return self.judge(pair)
        for word, verdict in (("true", Verdict.SUPPORTED), ("false", Verdict.CONTRADICTED)):
            if re.search(rf"\b{word}\b", pair.claim):
                return verdict
        return Verdict.UNSUPPORTED


def pipeline(
    *says: str | Exception, judge: Judge | None = None, **options: object
) -> tuple[Pipeline, Script]:
    script = Script(list(says))
    return Pipeline(script, Shelf(), judge or Judge(), Options(**options)), script  # type: ignore[arg-type]


async def test_what_holds_is_asked_once() -> None:
    loop, script = pipeline("This claim is true.")
    (outcome,) = (await loop.answer(CHAT)).outcomes
    assert [finding.verdict for finding in outcome.answer.findings] == [Verdict.SUPPORTED]
    assert len(script.asked) == 1


async def test_messages_are_appended_never_altered() -> None:
    loop, script = pipeline("This claim is false.", "This claim is true.")
    (outcome,) = (await loop.answer(CHAT)).outcomes
    assert (outcome.best, outcome.answer.draft.text) == (1, "This claim is true.")
    assert script.asked[1]["messages"][0] is CHAT.body["messages"][0]
    assert len(script.asked[1]["messages"]) == 3
    assert len(CHAT.body["messages"]) == 1


async def test_there_are_at_most_so_many_rounds() -> None:
    loop, script = pipeline(*["This claim is false."] * 9, max_rounds=3)
    (outcome,) = (await loop.answer(CHAT)).outcomes
    assert (len(script.asked), len(outcome.attempts), outcome.best) == (4, 4, 0)


async def test_no_rounds_means_no_re_prompt() -> None:
    loop, script = pipeline("This claim is false.", max_rounds=0)
    await loop.answer(CHAT)
    assert len(script.asked) == 1


async def test_text_that_may_not_be_touched_is_checked_but_not_revised() -> None:
    loop, script = pipeline("This claim is false.[1]")
    script.editable = False
    (outcome,) = (await loop.answer(CHAT)).outcomes
    assert outcome.answer.draft.text == "This claim is false.[1]"
    assert len(script.asked) == 1
    assert outcome.answer.nonfactual


async def test_a_first_call_that_fails_is_the_callers() -> None:
    loop, _ = pipeline(UpstreamConnectionError("nobody there"))
    with pytest.raises(UpstreamError, match="nobody there"):
        await loop.answer(CHAT)


async def test_all_claims_are_searched_for_in_one_batch() -> None:
    shelf = Shelf()
    text = "One claim is true. Another claim is true. Is this a question? The third claim is true."
    await Pipeline(Script([text]), shelf, Judge()).answer(CHAT)
    assert [len(batch) for batch in shelf.batches] == [3]


async def test_claims_over_the_limit_are_unverified() -> None:
    loop, _ = pipeline("The first claim is true. The second claim is true.", max_claims=1)
    (outcome,) = (await loop.answer(CHAT)).outcomes
    assert [finding.verdict for finding in outcome.answer.findings] == [Verdict.SUPPORTED, Verdict.UNVERIFIED]


async def test_at_the_deadline_what_is_checked_keeps_its_verdict() -> None:
    loop, _ = pipeline("This claim is true. This claim is slow.", deadline=0.3)
    (outcome,) = (await loop.answer(CHAT)).outcomes
    assert [finding.verdict for finding in outcome.answer.findings] == [Verdict.SUPPORTED, Verdict.UNVERIFIED]
    assert outcome.answer.error == "the deadline passed"


async def test_a_checker_that_fails_for_one_claim_leaves_the_others() -> None:
    loop, _ = pipeline("This claim is broken. This claim is true.")
    (outcome,) = (await loop.answer(CHAT)).outcomes
    assert [finding.verdict for finding in outcome.answer.findings] == [Verdict.UNVERIFIED, Verdict.SUPPORTED]
    assert outcome.answer.error == "the checker is gone"


async def test_a_corpus_that_cannot_be_searched_leaves_all_unverified() -> None:
    shelf = Shelf(error=RetrievalError("no disk"))
    (outcome,) = (await Pipeline(Script(["This claim is true."]), shelf, Judge()).answer(CHAT)).outcomes
    assert [finding.verdict for finding in outcome.answer.findings] == [Verdict.UNVERIFIED]
    assert outcome.answer.error == "no disk"


async def test_no_passage_is_unsupported() -> None:
    loop = Pipeline(Script(["This claim is true."]), Shelf(texts=()), Judge(), Options(max_rounds=0))
    (outcome,) = (await loop.answer(CHAT)).outcomes
    assert [finding.verdict for finding in outcome.answer.findings] == [Verdict.UNSUPPORTED]


async def test_two_passages_that_carry_a_claim_together_are_both_cited() -> None:
    def both(pair: Pair) -> Verdict:
        held = "All about it." in pair.evidence and "And the rest." in pair.evidence
        return Verdict.SUPPORTED if held else Verdict.UNSUPPORTED

    loop, _ = pipeline("This claim needs two.", judge=Judge(both))
    (outcome,) = (await loop.answer(CHAT)).outcomes
    (finding,) = outcome.answer.findings
    assert finding.verdict is Verdict.SUPPORTED
    assert [one.passage.id for one in finding.cited] == ["p0", "p2"]
    assert finding.usage == Usage(3 + 1 + 3, 3 + 1 + 3)


async def test_each_choice_is_refined_on_its_own() -> None:
    loop, script = pipeline("This claim is true.||This claim is false.", "It is true now.")
    answer = await loop.answer(CHAT)
    assert [outcome.best for outcome in answer.outcomes] == [0, 1]
    assert len(script.asked) == 2
    assert answer.writing == Usage(10, 1)
    assert answer.verification == Usage(10 + 3 + 3 + 3, 1 + 3 + 3 + 3)


async def test_cancelling_cancels_the_check() -> None:
    begun = asyncio.Event()
    cancelled = asyncio.Event()

    class Waiting(Judge):
        async def check(self, pairs: Sequence[Pair]) -> Sequence[Judgement]:
            begun.set()
            try:
                await asyncio.sleep(30)
            except asyncio.CancelledError:
                cancelled.set()
                raise
            return []

    loop, _ = pipeline("This claim is true.", judge=Waiting())
    task = asyncio.ensure_future(loop.answer(CHAT))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert cancelled.is_set()
