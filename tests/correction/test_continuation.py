"""Going on from a prefix, and what a model repeats of it."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.correction.continuation import Joint, Overlap, continuation, is_continuation, marks_before
from proxy.types import Chat, Claim, Evidence, Finding, Passage, Verdict

CHAT = Chat({"model": "m", "messages": [{"role": "user", "content": "Where is Paris?"}]}, "Where is Paris?")
PREFIX = "Paris is the capital of France. It lies on the Seine. "
PASSAGE = Passage("p", "d", "Paris", "", "Paris has two million people. === 0123456789ab end", "", 0, 10)
FAILED = Finding(
    Claim(0, 24, "It has nine people there.", "It has nine people there."),
    Verdict.CONTRADICTED,
    evidence=(Evidence(PASSAGE, 0.9),),
)


def fed(reader: Overlap | Joint, text: str, size: int = 3) -> str:
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    return "".join([*map(reader.feed, pieces), reader.end()])


def test_messages_are_appended_and_the_evidence_is_fenced() -> None:
    asked = continuation(CHAT, PREFIX, FAILED)
    first, said, last = asked.body["messages"]
    assert first is CHAT.body["messages"][0]
    assert said == {"role": "assistant", "content": PREFIX}
    assert PASSAGE.text in last["content"]
    assert FAILED.claim.text in last["content"]
    assert len(CHAT.body["messages"]) == 1


def test_where_the_provider_takes_it_the_prefix_is_the_last_turn() -> None:
    *_, user, last = continuation(CHAT, PREFIX, FAILED, prefill=True).body["messages"]
    assert last == {"role": "assistant", "content": PREFIX.rstrip()}
    assert PASSAGE.text in user["content"]


def test_nothing_said_yet_leaves_no_empty_turn() -> None:
    assert [one["role"] for one in continuation(CHAT, "", FAILED).body["messages"]] == ["user", "user"]


def test_a_continuation_is_known_again() -> None:
    for prefix in (PREFIX, "", "巴黎是法国的首都。"):
        assert is_continuation(continuation(CHAT, prefix, FAILED).body["messages"][-1]["content"])
    assert not is_continuation("Documents to go on by.")


def test_a_list_of_which_nothing_holds_is_gone_on_with_in_its_language() -> None:
    failed = replace(FAILED, claim=Claim(3, 11, "章鱼有五颗心脏。", "章鱼有五颗心脏。"))
    asked = continuation(CHAT, "1. ", failed).body["messages"]
    assert "请" in asked[-1]["content"]


def test_a_chinese_reply_is_gone_on_with_in_chinese() -> None:
    last = continuation(CHAT, "巴黎是法国的首都。", FAILED).body["messages"][-1]["content"]
    assert "请从中断处继续写" in last


@pytest.mark.parametrize(
    ("said", "new"),
    [
        ("The city has two million people.", "The city has two million people."),
        (PREFIX + "The city grew.", "The city grew."),
        ("It lies on the Seine. The city grew.", " The city grew."),
        ("Paris is the capital\nof France. It lies on the  Seine.\n\nThe city grew.", "\n\nThe city grew."),
        ("Paris grew.", "Paris grew."),
        ("Paris is the capital of France. The city grew.", " The city grew."),
        ("It lies on the Seine. Paris is the capital of France. It grew.", " It grew."),
        ("Paris is the capital of Texas.", "Paris is the capital of Texas."),
        (PREFIX, ""),
        ("", ""),
    ],
)
def test_what_is_repeated_is_dropped(said: str, new: str) -> None:
    for size in (1, 3, 1000):
        assert fed(Overlap(PREFIX), said, size).strip() == new.strip()


@pytest.mark.parametrize(
    ("said", "new"),
    [
        ("<think>The user stopped me.\n</think>\n\nIt grew.", "It grew."),
        (" <thinking>Hm. <b></thinking>It grew.", "It grew."),
        ("<think>Never ends. It grew.", ""),
        ("<thin ice> It grew.", "<thin ice> It grew."),
        ("<thi", "<thi"),
        ("It grew. <think>x</think>", "It grew. <think>x</think>"),
        ("<think></think>" * 3_000 + "It grew.", "It grew."),
        ("<think>a</think><think>b</think>It lies on the Seine. It grew.", "It grew."),
    ],
)
def test_what_a_model_thinks_of_the_prompt_is_left_out(said: str, new: str) -> None:
    for size in (1, 3, 1000):
        assert fed(Joint(PREFIX), said, size) == new


@pytest.mark.parametrize(
    ("marks", "said", "new"),
    [
        ("- ", "It grew.", "- It grew."),
        ("- ", "- It grew.", "- It grew."),
        ("- ", "* It grew.", "* It grew."),
        ("- ", "**It** grew.", "- **It** grew."),
        ("2. ", "2. It grew.\n3. More.", "2. It grew.\n3. More."),
        ("2. ", "3 people live there.", "2. 3 people live there."),
        ("2. ", "1990", "2. 1990"),
        ("2. ", "1.5 million people.", "2. 1.5 million people."),
        ("2、", "2、它在成长。", "2、它在成长。"),
        ("2.", "2.它在成长。", "2.它在成长。"),
        ("(2) ", "(2) It grew.", "(2) It grew."),
        ("- [ ] ", "- [ ] It grew.", "- [ ] It grew."),
        ("[^1]: ", "[^1]: It grew.", "[^1]: It grew."),
        ("  - ", "  - It grew.\n  - More.", "  - It grew.\n  - More."),
        ("  - ", "It grew.", "  - It grew."),
        ("> ", "> It grew.", "> It grew."),
        ("> - ", "It grew.", "> - It grew."),
        ("| x | ", "| x | It grew. |", "| x | It grew. |"),
        ("| x | ", "It grew. |", "| x | It grew. |"),
        ("- ", "- Paris is the capital of France.\n- It grew.", "- It grew."),
        ("- ", "\n\nIt grew.", "\nIt grew."),
        ("- ", "", ""),
    ],
)
def test_an_item_has_its_mark_once(marks: str, said: str, new: str) -> None:
    for size in (1, 3, 1000):
        assert fed(Joint("- Paris is the capital of France.\n", marks), said, size) == new


@pytest.mark.parametrize(
    ("before", "marks"),
    [
        ("- ", "- "),
        ("One.\n\n  2. ", "  2. "),
        ("> > * ", "> > * "),
        ("## ", "## "),
        ("| x | ", "| x | "),
        ("| ", "| "),
        ("One.\n1、", "1、"),
        ("(1) ", "(1) "),
        ("- [x] ", "- [x] "),
        ("[^1]: ", "[^1]: "),
        ("One. ", ""),
        ("- **", ""),
        ("", ""),
    ],
)
def test_the_marks_of_an_item_belong_to_its_first_claim(before: str, marks: str) -> None:
    text = f"{before}It grew."
    claim = Claim(len(before), len(text), "It grew.", "It grew.")
    assert marks_before(text, claim) == marks


def test_sentences_do_not_run_into_each_other() -> None:
    assert fed(Overlap("Paris is big."), "It grew.") == " It grew."
    assert fed(Overlap("巴黎很大。"), "它在成长。") == "它在成长。"
    assert fed(Overlap("Paris is big. "), "It grew.") == "It grew."


@given(st.text(max_size=60), st.text(min_size=1, max_size=60), st.integers(0, 9))
def test_pieces_do_not_matter(prefix: str, text: str, seed: int) -> None:
    chance = random.Random(seed)
    overlap = Overlap(prefix)
    whole = fed(Overlap(prefix), text, 1000)
    given_out, at = "", 0
    while at < len(text):
        size = chance.randint(1, 5)
        given_out += overlap.feed(text[at : at + size])
        at += size
    assert given_out + overlap.end() == whole
    assert whole.strip() in f" {text}"
