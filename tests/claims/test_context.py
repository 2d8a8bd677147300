from __future__ import annotations

import pytest

from proxy.claims.context import contexts, needs_context, queries
from proxy.claims.segment import segment
from proxy.types import Context
from tests.drafts import real_replies

TOLKIEN = "J. R. R. Tolkien wrote The Hobbit."


def read(draft: str, question: str = "What?") -> dict[str, Context]:
    found = segment(draft)
    return dict(zip((claim.plain for claim in found), contexts(found, question), strict=True))


def context_of(draft: str, question: str = "What?") -> dict[str, str]:
    return {
        plain: " ".join(filter(None, (it.before, it.topic))) for plain, it in read(draft, question).items()
    }


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


COMPARED = "Compare the Alden Bridge and the Borley Bridge."
UNDER = ("Length: 412 metres", "It is old.", "Ada Brook designed it.", "The Alden Bridge is long.")
SECTION = "{}\n\n" + "".join(f"- {plain}\n" for plain in UNDER) + "\nNew."


@pytest.mark.parametrize(
    "heading",
    ["## Alden Bridge", "**Alden Bridge**", "**Alden Bridge:**", "### 1. Alden Bridge", "Alden Bridge\n==="],
)
@pytest.mark.parametrize("question", [COMPARED, "Which bridges are old?"])
def test_what_stands_under_a_heading_is_read_with_it_and_the_question(heading: str, question: str) -> None:
    found = read(SECTION.format(heading), question)
    for plain in UNDER:
        assert found[plain] == Context(question, "Alden Bridge:")


@pytest.mark.parametrize(
    "name",
    ["Okafor v. Lindley Hospital", "J. R. R. Tolkien", "👩‍🔬 Alden Bridge", "1️⃣ Alden Bridge", "🇫🇷 Alden"],
)
def test_a_bold_line_with_an_abbreviation_or_a_picture_is_a_heading(name: str) -> None:
    assert read(SECTION.format(f"**{name}**"))[UNDER[0]].topic.endswith(f"{name.split()[-1]}:")


@pytest.mark.parametrize("statement", ["It rains. It pours", "No. He lied", "Acme is big."])
def test_a_bold_line_that_states_something_is_no_heading(statement: str) -> None:
    assert read(SECTION.format(f"**{statement}**"))[UNDER[0]].topic == ""


def test_a_pronoun_under_a_heading_leans_on_its_section_too() -> None:
    found = read("## History\n\nAda Brook designed it. She was born in 1890.", "Tell me about the bridge.")
    assert found["She was born in 1890."] == Context(
        "Tell me about the bridge. Ada Brook designed it.", "History:"
    )


@pytest.mark.parametrize("value", ["主要建筑材料：花岗岩", "海拔：2968米", "建成时间:1985年10月"])
def test_a_chinese_value_behind_its_name_is_read_with_the_question(value: str) -> None:
    assert read(value, "这座桥怎么样？")[value] == Context("这座桥怎么样？")


@pytest.mark.parametrize(
    "item", ["**Alden Bridge**: Built of iron in 1931.", "**Alden Bridge** was built of iron in 1931."]
)
def test_what_an_item_begins_with_in_bold_is_the_topic_of_the_rest_of_it(item: str) -> None:
    draft = (
        f"- {item} Ada Brook designed it.\n  - Length: 412 metres\n- __Borley Bridge__: Ada Brook painted it."
    )
    found = read(draft, COMPARED)
    assert found["Ada Brook designed it."] == Context(COMPARED, "Alden Bridge:")
    assert found["Length: 412 metres"].topic == "Alden Bridge:"
    assert found["Borley Bridge: Ada Brook painted it."] == Context()


def test_what_a_paragraph_begins_with_is_read_before_the_rest_of_it() -> None:
    vesna = "Lake Vesna formed in a crater. A hut stands there. It is closed."
    found = read(f"{vesna}\n\nLake Morrow is old. Swimming is free. It is cold.", "Describe both lakes.")
    assert found["Lake Vesna formed in a crater."] == found["Lake Morrow is old."] == Context()
    assert found["A hut stands there."] == Context("Lake Vesna formed in a crater.")
    assert found["It is closed."] == Context("Lake Vesna formed in a crater. A hut stands there.")
    assert found["Swimming is free."] == Context("Lake Morrow is old.")


@pytest.mark.parametrize(
    "claim",
    ["The hut on Lake Vesna is closed.", "In 1931 “Ada Brook” opened it."],
)
def test_a_claim_that_may_name_its_subject_is_read_without_what_the_paragraph_begins_with(claim: str) -> None:
    assert read(f"Lake Morrow formed in a crater. {claim}")[claim] == Context()


@pytest.mark.parametrize("claim", ["湖边有一座小屋可供住宿。", "湖边的 Vesna 小屋可供住宿。"])
def test_a_chinese_claim_is_read_with_what_its_paragraph_begins_with(claim: str) -> None:
    found = read(f"维斯纳湖形成于火山口。{claim}\n\n湖水很深，不能游泳。")
    assert found[claim] == Context("维斯纳湖形成于火山口。")
    assert found["湖水很深，不能游泳。"] == Context()


def test_what_a_paragraph_begins_with_keeps_its_own_context() -> None:
    found = read("The former is brown. It swims. The young are brown too.", COMPARED)
    assert found["The young are brown too."] == Context(f"{COMPARED} The former is brown.")
    assert found["It swims."] == Context(f"{COMPARED} The former is brown.")


@pytest.mark.parametrize(
    ("first", "repeated"),
    [("Lake Vesna is old.", "A hut stands there."), ("维斯纳湖形成于火山口。", "湖边有一座小屋可供住宿。")],
)
def test_a_claim_that_was_said_before_is_no_context_of_itself(first: str, repeated: str) -> None:
    claims = segment(f"{repeated} {first} {repeated}")
    assert repeated not in contexts(claims, "What?")[-1].before
    again = segment(f"{first} {repeated} {repeated}")
    assert contexts(again, "What?")[-1].before == first


def test_the_beginning_of_another_sentence_is_no_repetition() -> None:
    first = "A hut is older than the lake."
    assert contexts(segment(f"{first}\nA hut is old"), "What?")[-1].before == first


def test_the_nearest_words_of_a_long_context_are_kept() -> None:
    found = read(f"Lewis {'often ' * 60}wrote letters. He wrote Narnia.")
    before = found["He wrote Narnia."].before
    assert len(before) <= 300
    assert before.startswith("often ")
    assert before.endswith("wrote letters.")


def test_an_item_leans_on_none_before_it() -> None:
    found = read("Some are dead.\n\n- Ada Brook was born in 1890.\n- She died in 1950.", "Who was she?")
    assert found["She died in 1950."] == Context("Some are dead.")


def test_items_are_read_with_the_item_that_they_stand_under() -> None:
    draft = (
        "1. **Alden Bridge**\n   - Length: 412 metres\n\n     It is old.\n   - Opened: 1931\n"
        "2. **Borley Bridge**\n   - Length: 887 metres\n\nAges: 9"
    )
    found = read(draft, COMPARED)
    assert found["Length: 412 metres"] == found["Opened: 1931"] == Context(COMPARED, "Alden Bridge:")
    assert found["It is old."] == Context(f"{COMPARED} Length: 412 metres:", "Alden Bridge:")
    assert found["Length: 887 metres"] == Context(COMPARED, "Borley Bridge:")
    assert found["Ages: 9"].topic == ""


def test_a_section_hides_what_was_said_in_the_one_before() -> None:
    lewis, milne = (
        "## Lewis\n\nNarnia is a country.",
        "## Milne\n\nHe was born in 1882.\n\n### Works\n\n- Pooh",
    )
    draft = f"{TOLKIEN}\n\n{lewis}\n\n{milne}"
    found = read(draft, "Who wrote for children?")
    assert found["He was born in 1882."] == Context(f"Who wrote for children? {TOLKIEN}", "Milne:")
    assert found["Pooh"].topic == "Milne: Works:"


def test_a_lead_in_that_is_a_name_is_a_topic() -> None:
    found = read("Alden Bridge:\n- Length: 412 metres\n\nBorley Bridge:\n- Length: 887 metres", COMPARED)
    assert found["Length: 412 metres"] == Context(COMPARED, "Alden Bridge:")
    assert found["Length: 887 metres"] == Context(COMPARED, "Borley Bridge:")
    found = read("## Alden Bridge\n\nNumbers:\n- Height: 3 metres", "Tell me about it.")
    assert found["Height: 3 metres"] == Context("Tell me about it.", "Alden Bridge: Numbers:")


def test_a_heading_that_names_nothing_is_no_topic() -> None:
    assert read("## Summary\n\n- Paris", "Cities?")["Paris"] == Context("Cities?")


def test_rows_are_read_with_the_heading_above_their_table() -> None:
    found = read("## Alden Bridge\n\n| Property | Value |\n|-|-|\n| Length | 412 m |", COMPARED)
    assert found["Length: 412 m"] == Context(COMPARED, "Alden Bridge:")


def test_topics_are_bounded() -> None:
    draft = "".join(f"{'  ' * n}- {'Name ' * 50}{n}\n" for n in range(40)) + f"{'  ' * 40}- Last"
    *_, last = read(draft).values()
    assert len(last.topic) <= 120


TABLE = "| City | People |\n|---|---|\n| Paris | 2 million |\n| Rome | 3 million |"


def test_rows_are_read_with_what_introduces_their_table() -> None:
    for before, context in {"": "What?", "Cities of Europe:\n\n": "What? Cities of Europe:"}.items():
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
    (asked,) = queries(found[0], context)
    assert context.before == ("word " * 60).strip()
    assert context.topic == ""
    assert len(asked) <= 2000
    assert asked.startswith("word word")
    assert asked.endswith("very")


def test_every_real_claim_is_searched_by_its_text() -> None:
    for reply in real_replies():
        found = segment(reply)
        for claim, context in zip(found, contexts(found, "What is it?"), strict=True):
            for asked in queries(claim, context):
                assert asked.endswith(claim.plain) or len(claim.plain) > 1000


@pytest.mark.parametrize("stands_alone", ["A hut stands there.", "湖边有一座小屋可供住宿。"])
def test_a_claim_that_stands_alone_is_searched_alone_too(stands_alone: str) -> None:
    claims = segment(f"Lake Vesna formed in a crater. {stands_alone} It is closed.")
    first, second, third = map(queries, claims, contexts(claims, ""))
    assert first == ("Lake Vesna formed in a crater.",)
    assert second == (stands_alone, f"Lake Vesna formed in a crater. {stands_alone}")
    assert third == (f"Lake Vesna formed in a crater. {stands_alone} It is closed.",)


def test_a_claim_under_a_heading_is_searched_with_it() -> None:
    claims = segment("## Alden Bridge\n\nThe toll is free.")
    assert queries(claims[-1], contexts(claims, "Which?")[-1]) == ("Which? Alden Bridge: The toll is free.",)


def test_an_item_with_a_wider_number_stands_beside_the_others() -> None:
    found = read("Ten films:\n\n8. Alpha\n9. Beta\n10. Gamma\n    - Made in 1950\n11. Delta", "Which?")
    assert {plain: it.topic for plain, it in found.items()} == {
        "Ten films:": "",
        "Alpha": "Ten films:",
        "Beta": "Ten films:",
        "Gamma": "Ten films:",
        "Made in 1950": "Ten films: Gamma:",
        "Delta": "Ten films:",
    }


@pytest.mark.parametrize(
    "draft",
    [
        "1. **Paris**:\n   - Mayor: Ada\n2. **Lyon**:\n   - River: Saône",
        "- Paris:\n\n  Mayor: Ada\n- Lyon:\n\n  River: Saône",
        "1. **Paris**\n- Mayor: Ada\n2. **Lyon**\n- River: Saône",
        "1. Paris:\n- Mayor: Ada\n\n2. Lyon:\n- River: Saône",
        "1. **Paris** is big. It has:\n   - Mayor: Ada\n2. **Lyon** is old. It has:\n   - River: Saône",
    ],
)
def test_an_item_introduces_what_stands_below_it_and_no_other_item(draft: str) -> None:
    found = read(draft, COMPARED)
    assert found["Mayor: Ada"].topic == "Paris:"
    assert found["River: Saône"].topic == "Lyon:"


@pytest.mark.parametrize("gap", ["\n\n", "  \n\n", "\n \t\n\n\n"])
def test_white_space_between_paragraphs_makes_no_item_of_a_paragraph(gap: str) -> None:
    found = read(
        f"The Su-57 has three variants:{gap}The prototype was built in 2010.{gap}- T-50{gap}It is new."
    )
    assert found["The prototype was built in 2010."] == Context()
    assert found["T-50"].before == "The Su-57 has three variants:"
    assert found["It is new."].before == "The prototype was built in 2010."
