"""Answers that are none: 50 and more leaks of our prompts and refusals, and what must not be taken for
one."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from proxy.correction import reprompt, rewrite, single
from proxy.correction.leaks import Asked, fault, without_preamble, without_thoughts
from proxy.engine.delivery import Answer, DeliveryPolicy, TextEvent
from proxy.engine.pipeline import Pipeline
from proxy.engine.reprompter import Options
from proxy.engine.verifier import Verifier
from proxy.types import Chat, Judgement, Language, Pair, RegenerationMode, ReplyChunk, Verdict
from proxy.upstream.completion import read_chunk
from tests.engine.test_pipeline import Script, Shelf

ROWS = [json.loads(line) for line in Path(__file__).with_name("leaks.jsonl").read_text("utf-8").splitlines()]
LEAKS = [row["text"] for row in ROWS if row["kind"] == "leak"]
REFUSALS = [row["text"] for row in ROWS if row["kind"] == "refusal"]

QUESTIONS: dict[Language, str] = {
    "en": "How tall is the Eiffel Tower, and when was it completed?",
    "zh": "埃菲尔铁塔有多高？何时建成？",
}
DRAFTS: dict[Language, str] = {
    "en": "The Eiffel Tower was completed in 1889. It is 400 metres high.",
    "zh": "埃菲尔铁塔于1889年建成。塔高400米。",
}
PASSAGES = (
    max((text for text in LEAKS if "wrought-iron" in text), key=len),
    max(LEAKS, key=lambda text: "锻铁" in text),
)


@dataclass
class Believer:
    """Believes everything but the error of the draft. Records what it is asked."""

    seen: list[str] = field(default_factory=list)

    async def check(self, pairs: Sequence[Pair]) -> Sequence[Judgement]:
        self.seen += [pair.claim for pair in pairs]
        wrong = ("400 metres", "400米")
        return [
            Judgement(
                Verdict.CONTRADICTED if any(text in pair.claim for text in wrong) else Verdict.SUPPORTED, 1
            )
            for pair in pairs
        ]


class Stream(Script):
    """A script that is streamed in pieces."""

    async def stream(self, chat: Chat) -> AsyncIterator[ReplyChunk]:
        text = (await self.complete(chat)).drafts[0].text
        for start in range(0, len(text), 20):
            yield read_chunk({"choices": [{"index": 0, "delta": {"content": text[start : start + 20]}}]})
        yield read_chunk({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})


def test_there_are_fifty() -> None:
    assert len(ROWS) >= 50
    assert len({row["text"] for row in ROWS}) == len(ROWS)


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("mode", ["whole", "claims"])
@pytest.mark.parametrize("text", LEAKS + REFUSALS)
async def test_none_is_checked_or_reaches_a_reader(
    text: str, mode: RegenerationMode, language: Language
) -> None:
    draft, judge = DRAFTS[language], Believer()
    messages = [{"role": "user", "content": QUESTIONS[language]}]
    loop = Pipeline(
        Script([draft, *[text] * 9]), Verifier(Shelf(PASSAGES), judge), Options(mode=mode, deadline=600)
    )
    (outcome,) = (await loop.answer(Chat({"messages": messages}, QUESTIONS[language]))).outcomes
    assert outcome.answer.draft.text == draft
    assert len(outcome.attempts) == 1
    assert set(judge.seen) == {finding.claim.plain for finding in outcome.attempts[0].findings}
    assert {step.result for step in outcome.correction} <= {"leaked", "unreadable"}
    assert [step.asked_for for step in outcome.correction] == [mode, "sentences"]


@pytest.mark.parametrize("text", LEAKS + REFUSALS)
async def test_none_reaches_the_reader_of_a_stream(text: str) -> None:
    draft = DRAFTS["en"]
    loop = Pipeline(
        Stream([draft, *[text] * 9]),
        Verifier(Shelf(PASSAGES), Believer()),
        Options(deadline=600),
        DeliveryPolicy("sentence", corrections=1),
    )
    chat = Chat({"messages": [{"role": "user", "content": QUESTIONS["en"]}]}, QUESTIONS["en"])
    events = [event async for event in loop.events(chat)]
    said = "".join(event.text for event in events if isinstance(event, TextEvent))
    assert re.sub(r"\[\d+\]", "", said).strip() == draft
    answer = events[-1]
    assert isinstance(answer, Answer)
    (outcome,) = answer.outcomes
    assert outcome.answer.draft.text == draft
    assert {step.result for step in outcome.correction} <= {"leaked", "unreadable"}
    assert {step.asked_for for step in outcome.correction} == {"claims", "sentences"}


def asked(instructions: Sequence[str], draft: str = DRAFTS["en"], messages: str = "") -> Asked:
    return Asked(instructions, PASSAGES, draft, messages)


INSTRUCTIONS = (
    *reprompt.INSTRUCTIONS,
    *rewrite.INSTRUCTIONS,
    *single.INSTRUCTIONS,
)


@pytest.mark.parametrize(
    "text",
    [
        "The Eiffel Tower was completed in 1889. It is 330 metres high.",
        "It was completed in March 1889 as the entrance to the 1889 World's Fair, and is 330 metres tall.",
        "The tower was designed by the company of Gustave Eiffel. Its base is square, measuring 125 "
        "metres on "
        "each side.",
        "# The Eiffel Tower\n\n| Fact | Value |\n|---|---|\n| Height | 330 metres |\n\n- Completed: 1889",
        "Height\n===\n\nThe tower is 330 metres high.",
        "Sorry is a village in Japan; the Eiffel Tower is 330 metres high.",
        "No tower in Paris is taller: it has 330 metres.",
        "The documents of the Magna Carta are kept in Lincoln, Salisbury and London.",
        "I think the tower is 330 metres high.",
        "埃菲尔铁塔于1889年建成，高330米。",
        "以下是几项数据：塔高330米，塔基每边长125米。",
    ],
)
def test_answers_are_not_taken_for_leaks(text: str) -> None:
    assert fault(text, asked(INSTRUCTIONS)) is None


def test_what_the_user_or_the_draft_has_too_is_no_leak() -> None:
    text = "Your previous answer is not supported by any of the documents, I am told."
    assert fault(text, asked(INSTRUCTIONS)) == "leaked"
    assert fault(text, asked(INSTRUCTIONS, messages=f"Translate: {text}")) is None
    assert fault(PASSAGES[0], asked((), draft=PASSAGES[0])) is None
    assert fault(REFUSALS[0], asked((), draft=REFUSALS[0])) is None


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Here is the corrected answer:\n\nIt is 330 metres high.", "It is 330 metres high."),
        ("Sure! Here's the revised text: It is high.", "It is high."),
        ("Here are its figures:\n\nIt is 330 metres high.", "It is 330 metres high."),
        ("Here is how high it is: 330 metres.", "Here is how high it is: 330 metres."),
        ("以下是更正后的回答：\n塔高330米。", "塔高330米。"),
        ("The tower: it is high.", "The tower: it is high."),
        ("以下是几项数据：塔高330米。", "以下是几项数据：塔高330米。"),
    ],
)
def test_a_preamble_is_left_out(text: str, left: str) -> None:
    assert without_preamble(text) == left


def test_a_long_answer_is_read_in_time() -> None:
    assert fault("It is high. " * 20_000, asked(INSTRUCTIONS)) is None
    assert fault("I " * 100_000, asked(INSTRUCTIONS)) is None
    assert fault("=" * 200_000, asked(INSTRUCTIONS)) is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<think>It is wrong.\n</think>\n\nIt is high.", "It is high."),
        ("No opening tag.</thinking>It is high.", "It is high."),
        ("<think>never closed", ""),
        ("<think>a</think>\n<thinking>b</thinking>It is high.", "It is high."),
        ("Between `<think>` and `</think>` it reasons.", "Between `<think>` and `</think>` it reasons."),
        ("The model writes `<think>` first.", "The model writes `<think>` first."),
        ("<think></think>" * 50_000 + "It is high.", "It is high."),
        ("  It is high.", "  It is high."),
        ("<think>" * 140_000, ""),
        (" " * 500_000, " " * 500_000),
    ],
)
def test_thoughts_are_left_out(text: str, said: str) -> None:
    assert without_thoughts(text) == said
