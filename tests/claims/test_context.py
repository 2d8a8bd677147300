from __future__ import annotations

import pytest

from proxy.claims.context import contexts, needs_context, query
from proxy.claims.segment import segment
from tests.drafts import real_replies

TOLKIEN = "J. R. R. Tolkien wrote The Hobbit."


def context_of(draft: str, question: str = "What?") -> dict[str, str]:
    found = segment(draft)
    return dict(zip((claim.plain for claim in found), contexts(found, question), strict=True))


def test_a_claim_that_stands_alone_needs_nothing() -> None:
    assert context_of(TOLKIEN) == {TOLKIEN: ""}


def test_a_pronoun_leans_on_the_nearest_claim_that_stands() -> None:
    found = context_of(f"{TOLKIEN} He was born in 1892. His wife was Edith.")
    assert found["He was born in 1892."] == found["His wife was Edith."] == TOLKIEN
    assert (
        context_of("鲁迅是中国作家，生于绍兴。他写了《狂人日记》。")["他写了《狂人日记》。"]
        == "鲁迅是中国作家，生于绍兴。"
    )


def test_a_one_word_answer_leans_on_the_question() -> None:
    assert context_of("Paris.", "What is the capital of France?") == {
        "Paris.": "What is the capital of France?"
    }


def test_items_of_a_list_lean_on_its_lead_in() -> None:
    found = context_of(
        "The Su-57 has three variants:\n- T-50: the prototype\n- Su-57E. It is for export.\n\nRome is old."
    )
    assert found["T-50: the prototype"] == found["Su-57E."] == "The Su-57 has three variants:"
    assert found["It is for export."] == "The Su-57 has three variants: Su-57E."
    assert found["Rome is old."] == ""


def test_a_lead_in_that_names_nothing_gives_way_to_the_question() -> None:
    found = context_of("Here are the main points:\n\n1. Paris\n2. Rome is big.", "Cities?")
    assert found["Paris"] == "Cities?"


@pytest.mark.parametrize(
    "draft",
    ["The tower is 330 metres tall.", "Here are the main points:\n\n1. The tower is 330 metres tall."],
)
@pytest.mark.parametrize("question", ["When did it open?", "Tell me about the tower.", "多高？"])
def test_a_full_sentence_is_not_read_with_the_question(draft: str, question: str) -> None:
    assert context_of(draft, question)["The tower is 330 metres tall."] == ""


@pytest.mark.parametrize(
    "answer", ["330 metres.", "About 330 metres tall.", "Built in 1889.", "1889", "Gustave Eiffel", "330米。"]
)
def test_a_short_answer_is_read_with_the_question(answer: str) -> None:
    assert context_of(answer, "How tall is it?") == {answer: "How tall is it?"}


TABLE = "| City | People |\n|---|---|\n| Paris | 2 million |\n| Rome | 3 million |"


def test_rows_are_read_with_what_introduces_their_table() -> None:
    for before, context in {"": "What?", "Cities of Europe:\n\n": "Cities of Europe:"}.items():
        found = context_of(before + TABLE)
        assert found["Paris, People: 2 million"] == found["Rome, People: 3 million"] == context


@pytest.mark.parametrize(
    "plain",
    ["It is big.", "These are old.", "However, he was there.", "The city is old.", "该书很长。", "Lyon"],
)
def test_claims_that_lean(plain: str) -> None:
    assert needs_context(plain)


@pytest.mark.parametrize(
    "plain", ["Italy is a state.", "The city of Paris is old.", "Theseus was a king.", "北京是中国的首都。"]
)
def test_claims_that_stand(plain: str) -> None:
    assert not needs_context(plain)


def test_contexts_and_queries_are_bounded_in_whole_words() -> None:
    found = segment("It is " + "very " * 2000 + "big.")
    (context,) = contexts(found[:1], "word " * 1000)
    asked = query(found[0], context)
    assert context == ("word " * 60).strip()
    assert len(asked) <= 2000
    assert asked.startswith("word word")
    assert asked.endswith("very")


def test_every_real_claim_gets_one_query_that_ends_with_it() -> None:
    for reply in real_replies():
        found = segment(reply)
        for claim, context in zip(found, contexts(found, "What is it?"), strict=True):
            assert query(claim, context).endswith(claim.plain) or len(claim.plain) > 1000
