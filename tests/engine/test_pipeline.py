"""The loop: draft, check, revise, best. Fakes stand for the Protocols; the steps are real."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from proxy.checkers.batching import Batching
from proxy.engine.pipeline import Pipeline
from proxy.engine.reprompter import Options
from proxy.engine.verifier import Verifier
from proxy.errors import (
    CheckError,
    RetrievalError,
    UpstreamConnectionError,
    UpstreamError,
    UpstreamTimeoutError,
)
from proxy.types import (
    Chat,
    Claim,
    Draft,
    Evidence,
    Extraction,
    Json,
    Judgement,
    Pair,
    Passage,
    Reply,
    ReplyChunk,
    Task,
    Usage,
    Verdict,
)
from proxy.upstream.completion import read_chunk

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

    async def stream(self, chat: Chat) -> AsyncIterator[ReplyChunk]:
        reply = await self.complete(chat)
        told = {} if self.editable else {"logprobs": {"content": [{"token": "x"}]}}
        choices = [
            {"index": n, "delta": {"content": draft.text}, **told} for n, draft in enumerate(reply.drafts)
        ]
        yield read_chunk({"choices": choices, "usage": {"prompt_tokens": 10, "completion_tokens": 1}})


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
    *says: str | Exception,
    judge: Judge | None = None,
    verifier: Mapping[str, Any] | None = None,
    **options: Any,
) -> tuple[Pipeline, Script]:
    script = Script(list(says))
    checking = Verifier(Shelf(), judge or Judge(), **verifier or {})
    return Pipeline(script, checking, Options(**options)), script


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


@pytest.mark.parametrize("mode", ["whole", "claims"])
async def test_what_a_model_thinks_of_a_re_prompt_is_no_part_of_the_answer(mode: Any) -> None:
    @dataclass
    class Thinker(Script):
        async def complete(self, chat: Chat) -> Reply:
            reply = await super().complete(chat)
            message = {"content": reply.drafts[0].text, "reasoning_content": "of our prompt"}
            return replace(reply, drafts=(replace(reply.drafts[0], choice={"message": message}),))

        async def stream(self, chat: Chat) -> AsyncIterator[ReplyChunk]:
            yield read_chunk({"choices": [{"index": 0, "delta": {"reasoning_content": "of the question"}}]})
            async for chunk in super().stream(chat):
                yield chunk

    thought = "<think>=== 1\nThey say it is false.</think>\n"
    second = "This is true." if mode == "whole" else "=== 1\nThis is true.\n=== end"
    llm = Thinker(["This is false.", thought + second])
    loop = Pipeline(llm, Verifier(Shelf(), Judge()), Options(mode=mode))
    answer = (await loop.answer(CHAT)).outcomes[0].answer
    assert answer.draft.text == "This is true."
    assert answer.draft.choice["message"]["reasoning_content"] == "of the question"


async def test_there_are_at_most_so_many_rounds() -> None:
    loop, script = pipeline(*["This claim is false."] * 9, max_rounds=3, fallback=False)
    (outcome,) = (await loop.answer(CHAT)).outcomes
    assert (len(script.asked), len(outcome.attempts), outcome.best) == (4, 4, 0)
    assert [(step.round, step.result) for step in outcome.correction] == [
        (1, "not_better"),
        (2, "not_better"),
        (3, "not_better"),
    ]


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
    await Pipeline(Script([]), Verifier(shelf, Judge())).check(Draft(text, {}), Usage(), "What of it?")
    assert shelf.batches == [
        [
            "One claim is true.",
            "One claim is true. Another claim is true.",
            "The third claim is true.",
            "One claim is true. The third claim is true.",
        ]
    ]


async def test_passages_that_both_searches_for_a_claim_find_come_first() -> None:
    class Catalogue(Shelf):
        async def search(self, queries: Sequence[str], k: int) -> Sequence[tuple[Evidence, ...]]:
            ((first, second, third),) = await super().search(["all"], 3)
            alone = (first, replace(second, score=0.5))
            return [(first, second)] + [
                alone if query.startswith("The") else (third, second) for query in queries[1:]
            ]

    text = "One claim is known. The claim is new."
    verifier = Verifier(Catalogue(), Judge(lambda _: Verdict.SUPPORTED), top_k=2)
    answer = await Pipeline(Script([]), verifier).check(Draft(text, {}), Usage(), "What of it?")
    found = [(item.passage.id, item.score) for item in answer.findings[1].evidence]
    assert found == [("p1", 0.9), ("p0", 0.9)]


async def test_claims_over_the_limit_are_unverified() -> None:
    loop, _ = pipeline("The first claim is true. The second claim is true.", verifier={"max_claims": 1})
    (outcome,) = (await loop.answer(CHAT)).outcomes
    assert [finding.verdict for finding in outcome.answer.findings] == [Verdict.SUPPORTED, Verdict.UNVERIFIED]
    assert (outcome.answer.status, outcome.answer.error) == (
        "partial",
        "only the first 1 claims of a reply are checked",
    )


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
    (outcome,) = (
        await Pipeline(Script(["This claim is true."]), Verifier(shelf, Judge())).answer(CHAT)
    ).outcomes
    assert [finding.verdict for finding in outcome.answer.findings] == [Verdict.UNVERIFIED]
    assert outcome.answer.error == "no disk"


async def test_no_passage_is_unsupported() -> None:
    loop = Pipeline(
        Script(["This claim is true."]), Verifier(Shelf(texts=()), Judge()), Options(max_rounds=0)
    )
    (outcome,) = (await loop.answer(CHAT)).outcomes
    assert [finding.verdict for finding in outcome.answer.findings] == [Verdict.UNSUPPORTED]


async def test_two_passages_that_carry_a_claim_together_are_both_cited() -> None:
    def both(pair: Pair) -> Verdict:
        held = {"All about it.", "And the rest."} <= {one.evidence for one in pair.alone()}
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


@dataclass
class Splitter:
    """Takes a sentence apart at its commas."""

    malformed: int = 0
    error: str = ""

    async def extract(self, claims: Sequence[Claim], question: str) -> Sequence[Extraction]:
        return [
            Extraction(tuple(self._parts(claim)), self.malformed, Usage(3, 0), self.error) for claim in claims
        ]

    def _parts(self, claim: Claim) -> list[Claim]:
        pieces = claim.plain.split(", ")
        return [replace(claim, plain=piece) for piece in pieces] if len(pieces) > 1 else []


def apart(**others: Any) -> dict[str, Any]:
    return {"extractor": Splitter(**others)}


async def test_a_sentence_of_which_a_part_fails_fails() -> None:
    loop, _ = pipeline("One part is true, another part is false.", max_rounds=0, verifier=apart())
    (outcome,) = (await loop.answer(CHAT)).outcomes
    (finding,) = outcome.answer.findings
    assert finding.verdict is Verdict.CONTRADICTED
    assert [part.verdict for part in finding.parts] == [Verdict.SUPPORTED, Verdict.CONTRADICTED]
    assert outcome.usage.prompt_tokens == 3 + 6  # the extractor's, and three passages for each part


async def test_a_sentence_of_which_all_parts_hold_cites_their_passages() -> None:
    loop, _ = pipeline("One part is true, another part is true.", verifier=apart())
    (outcome,) = (await loop.answer(CHAT)).outcomes
    (finding,) = outcome.answer.findings
    assert finding.verdict is Verdict.SUPPORTED
    assert [one.passage.id for one in finding.cited] == ["p0", "p1", "p2"]


async def test_what_an_extractor_says_of_itself_is_told() -> None:
    broken = apart(malformed=2, error="the extractor is gone")
    loop, _ = pipeline("This claim is true.", verifier=broken)
    (outcome,) = (await loop.answer(CHAT)).outcomes
    assert (outcome.answer.malformed, outcome.answer.error) == (2, "the extractor is gone")
    assert outcome.answer.findings[0].verdict is Verdict.SUPPORTED


REWRITE = "=== 1\nThe second claim is true.\n=== end"


async def test_only_the_sentence_that_failed_is_rewritten() -> None:
    said = "The first claim is true.  The second claim is false.\n\nThe third claim is true."
    loop, script = pipeline(said, REWRITE, mode="claims")
    answer = await loop.answer(CHAT)
    (outcome,) = answer.outcomes
    assert outcome.answer.draft.text == said.replace("second claim is false", "second claim is true")
    assert not outcome.answer.nonfactual
    assert "The first claim" not in script.asked[1]["messages"][-1]["content"]
    assert answer.writing == Usage(10, 1)


async def test_a_rewrite_that_can_not_be_read_changes_nothing() -> None:
    sorry = "I am sorry, I can't."
    loop, script = pipeline("The second claim is false.", sorry, sorry, mode="claims")
    answer = await loop.answer(CHAT)
    (outcome,) = answer.outcomes
    assert (len(outcome.attempts), outcome.answer.draft.text) == (1, "The second claim is false.")
    assert [(step.asked_for, step.result) for step in outcome.correction] == [
        ("claims", "unreadable"),
        ("sentences", "unreadable"),
    ]
    assert len(script.asked) == 3
    assert answer.verification == Usage(20 + 3, 2 + 3)  # both calls, and three passages of one claim


async def test_where_nothing_else_helped_each_sentence_is_asked_for_alone() -> None:
    draft = "The first claim is true. The second claim is false. The third claim is false."
    alone = [
        "The second claim is true. And more is true.",
        "=== 0123456789ab document: The third claim is true.",
    ]
    loop, script = pipeline(draft, "", *alone)
    (outcome,) = (await loop.answer(CHAT)).outcomes
    assert outcome.answer.draft.text == draft.replace("second claim is false", "second claim is true")
    assert [(step.round, step.asked_for, step.claims, step.result) for step in outcome.correction] == [
        (1, "whole", 2, "unreadable"),
        (1, "sentences", 2, "helped"),
    ]
    assert outcome.rounds == 1
    told = script.asked[2]["messages"][-1]["content"]
    assert "All about it." in told
    assert "is false" not in told


@pytest.mark.parametrize(
    ("error", "result"),
    [
        (UpstreamTimeoutError("too late"), "timeout"),
        (TimeoutError(), "timeout"),
        (UpstreamConnectionError("http://10.0.0.7:8000 refused"), "upstream_error"),
    ],
)
async def test_a_re_prompt_that_fails_is_told_and_logged(
    error: Exception, result: str, caplog: pytest.LogCaptureFixture
) -> None:
    loop, script = pipeline("This claim is false.", error)
    with caplog.at_level("WARNING"):
        (outcome,) = (await loop.answer(CHAT)).outcomes
    (step,) = outcome.correction
    assert (step.asked_for, step.result, outcome.rounds, len(script.asked)) == ("whole", result, 1, 2)
    assert "10.0.0.7" not in step.detail
    assert f"correction, round 1, whole, 1 claims: {result}" in caplog.text


async def test_what_the_evidence_contradicts_may_be_replaced_by_a_quotation_of_it() -> None:
    class Quoting(Judge):
        async def check(self, pairs: Sequence[Pair]) -> Sequence[Judgement]:
            return [replace(judgement, quote=(0, 13)) for judgement in await super().check(pairs)]

    def judge(pair: Pair) -> Verdict:
        return Verdict.SUPPORTED if "All about it." in pair.claim else Verdict.CONTRADICTED

    loop, _ = pipeline("This claim is false.", max_rounds=0, quote=True, judge=Quoting(judge))
    (outcome,) = (await loop.answer(CHAT)).outcomes
    assert outcome.answer.draft.text == "“All about it.”"
    assert [(step.asked_for, step.result) for step in outcome.correction] == [("quote", "helped")]
    quiet, _ = pipeline("This claim is false.", max_rounds=0, judge=Quoting(judge))
    (outcome,) = (await quiet.answer(CHAT)).outcomes
    assert outcome.answer.draft.text == "This claim is false."


async def test_what_still_fails_is_dropped_where_that_is_asked_for() -> None:
    loop, _ = pipeline(
        "The first claim is true. The second claim is false.", max_rounds=0, on_unsupported="drop"
    )
    (outcome,) = (await loop.answer(CHAT)).outcomes
    assert outcome.answer.draft.text == "The first claim is true."
    assert [finding.verdict for finding in outcome.answer.findings] == [Verdict.SUPPORTED]
    assert outcome.attempts[outcome.best].nonfactual


@pytest.mark.parametrize(
    ("draft", "said"),
    [
        ("Sure! The second claim is false.", "None of the reply's statements was found in the sources"),
        ("# The claim is false\n\nThe second claim is false.", "None of the reply's statements"),
        ("第二句话是 false 的，这座桥建于一九三七年。", "回答中的陈述均未在资料中找到依据"),
    ],
)
async def test_a_reply_of_which_nothing_would_be_left_says_so(draft: str, said: str) -> None:
    loop, _ = pipeline(draft, max_rounds=0, on_unsupported="drop")
    (outcome,) = (await loop.answer(CHAT)).outcomes
    assert outcome.answer.draft.text.startswith(said)
    assert (outcome.answer.findings, outcome.answer.status) == ((), "ok")
    assert outcome.attempts[outcome.best].nonfactual


@pytest.mark.parametrize(
    "draft", ['{"answer": "The claim is false. It is."}', '["The claim is false.", "Another is false."]\n']
)
@pytest.mark.parametrize("options", [{}, {"on_unsupported": "drop"}, {"mode": "claims"}])
async def test_json_that_nobody_asked_for_is_never_changed(draft: str, options: dict[str, Any]) -> None:
    loop, script = pipeline(draft, max_rounds=2, **options)
    (outcome,) = (await loop.answer(CHAT)).outcomes
    assert outcome.answer.draft.text == draft
    assert not outcome.answer.draft.editable
    assert outcome.answer.nonfactual
    assert len(script.asked) == 1


TITLE = Task("a title for the chat", as_json=False)


@pytest.mark.parametrize(
    "draft", ['{"title": "Claims that are false."}', 'Here: ```json\n{"tags": ["x"]}\n```', "A False Claim"]
)
async def test_what_a_task_asks_for_stays_unchecked(draft: str) -> None:
    loop, _ = pipeline(draft, task=TITLE)
    (outcome,) = (await loop.answer(CHAT)).outcomes
    assert (outcome.answer.draft.text, outcome.answer.findings) == (draft, ())
    assert (outcome.answer.status, outcome.answer.task) == ("skipped", "a title for the chat")
    assert outcome.answer.error == "not checked: the request asks for a title for the chat"


@pytest.mark.parametrize(
    ("draft", "task"), [("This claim is false. " * 20, TITLE), ("This is false.", Task("tags", as_json=True))]
)
async def test_prose_is_checked_though_a_task_was_asked_for(draft: str, task: Task) -> None:
    loop, _ = pipeline(draft, task=task, max_rounds=0)
    (outcome,) = (await loop.answer(CHAT)).outcomes
    assert outcome.answer.nonfactual


@pytest.mark.parametrize("citations", ["verify", "merge"])
async def test_what_the_upstream_cites_is_checked_though_nothing_finds_it(citations: str) -> None:
    cited = Passage("own", "theirs", "Theirs", "", "The claim is true.", "", 0, 18)
    judge = Judge(
        lambda pair: Verdict.SUPPORTED if "is true" in pair.evidence else Verdict.UNSUPPORTED,
    )
    verifier = {"citations": citations, "documents": {4: (cited,)}}
    loop, _ = pipeline("The claim is true.[4][9]", judge=judge, verifier=verifier)
    (outcome,) = (await loop.answer(CHAT)).outcomes
    (finding,) = outcome.answer.findings
    assert finding.claim.cited == (4, 9)
    assert [one.passage.id for one in finding.cited] == ["own"]


@dataclass
class Scores:
    """A checker whose score is a number in the passage. Records which passages it was asked about."""

    asked: list[str] = field(default_factory=list)

    async def check(self, pairs: Sequence[Pair]) -> Sequence[Judgement]:
        self.asked += [pair.joined().evidence for pair in pairs]
        scores = [
            max(float(number) for number in re.findall(r"0\.\d+", text)) for text in self.asked[-len(pairs) :]
        ]
        return [
            Judgement(Verdict.SUPPORTED if score >= 0.5 else Verdict.UNSUPPORTED, score) for score in scores
        ]


@pytest.mark.parametrize(
    ("passages", "asked"),
    [
        (("It is 0.95.", "It is 0.99.", "It is 0.97."), 1),
        (("It is 0.10.", "It is 0.95.", "It is 0.90.", "It is 0.97."), 3),
        (("It is 0.10.", "It is 0.60.", "It is 0.97."), 3),
        (("It is 0.10.", "It is 0.60.", "It is 0.70."), 3),
        (("It is 0.10.", "It is 0.60.", "It is 0.70.", "It is 0.20.", "It is 0.95.", "It is 0.97."), 5),
        ((), 0),
    ],
)
async def test_a_local_checker_stops_at_the_passage_that_carries_a_claim_surely(
    passages: tuple[str, ...], asked: int
) -> None:
    scores = Scores()
    verifier = Verifier(Shelf(passages), scores, early_exit=True)
    claims = [Claim(0, 13, "It is so now.", "It is so now.")]
    (finding,) = (await verifier.verify(claims, "", asyncio.get_running_loop().time() + 30)).findings
    assert scores.asked == list(passages[:asked])
    assert [item.passage.text for item in finding.evidence] == list(passages[:asked])
    assert finding.verdict is (Verdict.SUPPORTED if passages else Verdict.UNSUPPORTED)


@dataclass
class Tiring:
    """Answers so many pairs, and then nothing more."""

    left: int

    async def check(self, pairs: Sequence[Pair]) -> Sequence[Judgement]:
        self.left -= len(pairs)
        if self.left < 0:
            await asyncio.Event().wait()
        return [Judgement(Verdict.UNSUPPORTED, 0.1) for _ in pairs]


async def test_of_a_long_reply_the_first_claims_are_decided_when_the_deadline_passes() -> None:
    checker = Batching(Tiring(200), max_pairs=16)
    verifier = Verifier(Shelf(("One.", "Two.", "Three.")), checker, early_exit=True)
    claims = [Claim(5 * number, 5 * number + 4, "It is.", f"It is {number}.") for number in range(150)]
    verified = await verifier.verify(claims, "", asyncio.get_running_loop().time() + 1)
    decided = [finding.verdict is Verdict.UNSUPPORTED for finding in verified.findings]
    assert sum(decided) > 20
    assert decided == sorted(decided, reverse=True)


async def test_what_the_upstream_cites_is_checked_even_where_another_passage_carries_the_claim() -> None:
    scores = Scores()
    cited = Passage("own", "theirs", "Doc", "", "It is 0.20.", "", 0, 11)
    verifier = Verifier(
        Shelf(("It is 0.95.", "It is 0.99.")),
        scores,
        early_exit=True,
        citations="verify",
        documents={1: (cited,)},
    )
    claims = [Claim(0, 13, "It is so now.", "It is so now.", cited=(1,))]
    (finding,) = (await verifier.verify(claims, "", asyncio.get_running_loop().time() + 30)).findings
    assert scores.asked == ["It is 0.95.", "It is 0.20."]
    assert [item.passage.text for item in finding.cited] == ["It is 0.95."]
