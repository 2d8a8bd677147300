"""Replies checked while they are written: what they cost, and that nothing outlives them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from proxy.aio import Ending
from proxy.engine.delivery import Answer, DeliveryPolicy, StreamEvent, TextEvent
from proxy.engine.pipeline import Pipeline
from proxy.engine.reprompter import Options
from proxy.engine.verifier import Verifier
from proxy.server.streaming import event_stream
from proxy.types import (
    Chat,
    Evidence,
    Json,
    Judgement,
    Pair,
    Passage,
    Reply,
    ReplyChunk,
    UpstreamCitations,
    Usage,
    Verdict,
)
from proxy.upstream.completion import read_chunk, to_reply

PASSAGE = Passage("p", "d", "Title", "", "Rome is a city.", "https://example.org", 0, 15)


class Shelf:
    """Finds one passage for everything."""

    async def search(self, queries: Sequence[str], k: int) -> Sequence[tuple[Evidence, ...]]:
        return [(Evidence(PASSAGE, 0.9),) for _ in queries]


class Judge:
    """Believes all but what is `wrong`; every judgement costs a token."""

    def __init__(self) -> None:
        self.asked = 0

    async def check(self, pairs: Sequence[Pair]) -> Sequence[Judgement]:
        self.asked += len(pairs)
        wrong = [Verdict.UNSUPPORTED if "wrong" in pair.claim else Verdict.SUPPORTED for pair in pairs]
        return [Judgement(verdict, 1.0, usage=Usage(1, 0)) for verdict in wrong]


class Script:
    """Streams the first text sentence by sentence, and answers what corrects it with one of the others."""

    def __init__(self, *texts: str) -> None:
        self.texts = list(texts)

    async def complete(self, chat: Chat) -> Reply:
        message = {"role": "assistant", "content": self.texts.pop(0)}
        return to_reply({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})

    async def stream(self, chat: Chat) -> AsyncIterator[ReplyChunk]:
        for sentence in self.texts.pop(0).split("|"):
            await asyncio.sleep(0)
            yield read_chunk({"choices": [{"index": 0, "delta": {"content": sentence}}]})
        yield read_chunk({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})


class Silent:
    """A serializer that writes nothing but a beginning."""

    def whole(self, answer: Answer) -> Json:
        return {}

    def start(self) -> Iterable[bytes]:
        return [b"begin"]

    def event(self, happened: StreamEvent) -> Iterable[bytes]:
        return []

    def heartbeat(self) -> Iterable[bytes]:
        return []

    def failed(self, error: Exception) -> Iterator[bytes]:
        return iter([])

    def end(self) -> Iterator[bytes]:
        return iter([])


async def test_a_judgement_is_paid_for_once_however_often_a_stream_is_corrected() -> None:
    judge = Judge()
    script = Script(
        "Rome is a city here. |Paris is wrong here.\n\n|London is wrong now.",
        *("Paris is still wrong here.", "Paris is old now.", "London is old now."),
    )
    policy = DeliveryPolicy("sentence", corrections=2)
    pipeline = Pipeline(script, Verifier(Shelf(), judge), Options(), policy)
    (outcome,) = (await pipeline.answer(Chat({"messages": []}))).outcomes
    assert outcome.answer.draft.text == "Rome is a city here. Paris is old now.\n\nLondon is old now."
    assert (len(outcome.attempts), outcome.best, outcome.rounds) == (2, 1, 2)
    assert outcome.usage == Usage(judge.asked, 0)


class Strict(Judge):
    """Contradicts what is `wrong`, with the passage as its quote, and believes what the passage says."""

    async def check(self, pairs: Sequence[Pair]) -> Sequence[Judgement]:
        judgements = await super().check(pairs)
        return [
            replace(each, verdict=Verdict.CONTRADICTED, quote=(0, 15))
            if each.verdict is Verdict.UNSUPPORTED
            else each
            for each in judgements
        ]


@pytest.mark.parametrize("corrections", [0, 1])
async def test_what_the_evidence_contradicts_is_quoted_in_a_stream_too(corrections: int) -> None:
    """Also where the model was asked for another sentence, and it was no better."""
    draft = "Here is more. |Rome is wrong now. |Paris is old now. |Bern is wrong too.\n\n"
    script = Script(draft, *["Rome is still wrong."] * 4)
    policy = DeliveryPolicy("sentence", corrections=corrections)
    pipeline = Pipeline(script, Verifier(Shelf(), Strict()), Options(quote=True), policy)
    events = [event async for event in pipeline.events(Chat({"messages": []}))]
    sent = "".join(event.text for event in events if isinstance(event, TextEvent))
    answer = events[-1]
    assert isinstance(answer, Answer)
    (outcome,) = answer.outcomes
    quoted = "“Rome is a city.”"
    draft = outcome.answer.draft.text.strip()
    assert draft == f"Here is more. {quoted} Paris is old now. Bern is wrong too.", "no quotation comes twice"
    shown = answer.rendering.annotated(outcome.answer.draft.text, outcome.answer.findings)
    assert shown.content.startswith(sent)
    assert sent.strip() == f"Here is more. {quoted}[1] Paris is old now.[1] Bern is wrong too."
    for finding in outcome.answer.findings:
        claim = finding.claim
        assert outcome.answer.draft.text[claim.start : claim.end] == claim.text
    quotes = [step.result for step in outcome.correction if step.asked_for == "quote"]
    assert quotes == ["helped"]


async def test_what_a_model_thinks_of_a_correction_reaches_nobody() -> None:
    llm = Script("- Rome is old.\n- |Rome is wrong.\n", "<think>of our prompt</think>\nRome is big.")
    policy = DeliveryPolicy(mode="sentence", corrections=1)
    chat = Chat({"messages": [{"role": "user", "content": "Rome?"}]}, question="Rome?")
    pipeline = Pipeline(llm, Verifier(Shelf(), Judge()), policy=policy)
    (outcome,) = (await pipeline.answer(chat)).outcomes
    assert outcome.answer.draft.text == "- Rome is old.\n- Rome is big.\n"


async def test_a_stream_that_is_cancelled_before_its_first_event_ends_what_is_under_way() -> None:
    ended, started = asyncio.Event(), asyncio.Event()
    started.set()

    async def events() -> AsyncIterator[StreamEvent]:
        try:
            await asyncio.sleep(30)
            for never in list[StreamEvent]():
                yield never
        finally:
            ended.set()

    async def silent(*_: Any) -> Any:
        await asyncio.sleep(30)

    response = await event_stream(events(), started, Silent(), 10, Ending())
    scope = {"type": "http", "asgi": {"spec_version": "2.3"}}
    sending = asyncio.create_task(response(scope, silent, silent))
    await asyncio.sleep(0.01)
    sending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await sending
    await asyncio.wait_for(ended.wait(), 5)


@pytest.mark.parametrize("citations", ["replace", "verify", "merge"])
async def test_a_link_definition_of_the_upstream_never_leaves_for_a_marker_of_ours(
    citations: UpstreamCitations,
) -> None:
    script = Script("Rome is a city.[1] |It is old.\n\n[1]: |https://wrong.example/|rome\n")
    verifier = Verifier(Shelf(), Judge(), citations=citations)
    events = Pipeline(script, verifier, Options(), DeliveryPolicy("sentence")).events(Chat({"messages": []}))
    sent = "".join([event.text async for event in events if isinstance(event, TextEvent)])
    assert sent == "Rome is a city.[1] It is old.[1]\n\n[¹]: https://wrong.example/rome\n"
