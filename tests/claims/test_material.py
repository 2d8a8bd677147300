from __future__ import annotations

import pytest

from proxy.claims.checkable import is_checkable
from proxy.claims.context import rendered
from proxy.claims.decompose.clauses import clauses
from proxy.claims.segment import segment


@pytest.mark.parametrize(
    "draft",
    [
        "Passage 4 states that Rome is old.",
        "However, passages 3 and 4 also mention that Rome is old.",
        "Based on the provided passages, it can be inferred that Rome is old.",
        "According to the documents, Rome is old.",
        "According to the information in Document 2, Rome is old (Passages 3, 4).",
        "Passage 5: Rome is old.",
        "(Passage 4) Rome is old, according to the context provided.",
        "Rome [Document 2, Document 3] is old.",
        "Rome is old [doc1].",
        "Rome is *old* (**Source: Passage 4**).",
    ],
)
def test_a_fact_is_read_without_where_in_the_material_it_is(draft: str) -> None:
    (claim,) = segment(draft)
    assert (claim.text, claim.plain, claim.checkable) == (draft, "Rome is old.", True)
    shown = rendered(claim)
    assert shown is not None
    assert shown.text == "Rome is old."


@pytest.mark.parametrize(
    "draft",
    [
        "文档2提到，罗马很古老。",
        "此外，文档2、3都指出：罗马很古老。",
        "根据提供的资料，罗马很古老。",
        "基于上述信息，罗马很古老（文档2）。",
        "罗马很古老【文档2】。",
        "罗马很古老（来源：文档2、文档3）。",
        "从文中可以看出，罗马很古老。",
    ],
)
def test_a_chinese_fact_is_read_without_where_in_the_material_it_is(draft: str) -> None:
    (claim,) = segment(draft)
    assert (claim.text, claim.plain, claim.checkable) == (draft, "罗马很古老。", True)


@pytest.mark.parametrize(
    "draft",
    [
        "According to NASA, it is old.",
        "The right to life (Article 2) is old.",
        "Sources say that Rome is old.",
        "Document 2 was signed in 1950.",
        "Based on his documents, he won.",
        "Passage 4 does not state that Rome is old.",
        "She wrote it based on the document.",
        "The source of the river states its age.",
        "根据《史记》，罗马很古老。",
        "研究资料显示，罗马很古老。",
        "来源2的水位很高。",
    ],
)
def test_what_names_another_source_or_has_no_fact_behind_it_stays(draft: str) -> None:
    assert [claim.plain for claim in segment(draft)] == [draft]


def test_a_row_is_read_without_the_material_in_brackets() -> None:
    draft = "| City | Age |\n|-|-|\n| Rome (Passage 2) | old [Document 3] |"
    assert segment(draft)[1].plain == "Rome, Age: old"


def test_clauses_of_an_attributed_fact_are_spans_of_the_draft() -> None:
    (claim,) = segment(
        "Passage 4 states that Rome was founded in 753 BC (Passage 4), and Paris was built later."
    )
    parts = clauses(claim)
    assert [part.plain for part in parts] == ["Rome was founded in 753 BC", "Paris was built later."]
    assert all(claim.text[part.start : part.end] == part.text for part in parts)


@pytest.mark.parametrize(
    "plain",
    [
        "The provided documents do not mention the population of Rome.",
        "Unfortunately, the passages provided do not offer a clear answer to the question.",
        "No information about Rome is given in the context.",
        "There is no direct mention of Rome in any of the passages.",
        "It is not stated in the provided context.",
        "Therefore, based on the provided passages, it is unclear whether Rome is old.",
        "None of the other passages address the question.",
        "Therefore, the answer cannot be determined from the given passages.",
        "Passages 3, 4",
        "(Source: Document 2).",
        "关于罗马的人口，文档没有提到。",
        "As for the population of Rome, the documents don't say.",
        "文档中没有提到罗马的人口。",
        "根据提供的资料，无法确定罗马的人口。",
        "抱歉，根据已有信息无法给出准确的评价。",
        "提供的资料中未提及该信息。",
        "（来源：文档2）",
        "The handbook says nothing about dogs.",
        "The travel policy does not list parking fees.",
        "There is no information about this in the handbook.",
        "No information on parking was found.",
        "Nothing in the documents covers this.",
        "这份文件没有提及停车位。",
        "手册没有说明审批需要多长时间。",
    ],
)
def test_that_the_material_does_not_say_is_no_fact(plain: str) -> None:
    assert not is_checkable(plain)


@pytest.mark.parametrize(
    "plain",
    [
        "The sources don't say when it was built, but they state that it is 330 metres tall.",
        "The origin of the song is unclear.",
        "It is not stated.",
        "The Constitution does not mention God.",
        "The document does not bind the king.",
        "Based on the passages, Rex is not a dog.",
        "He was not given the documents.",
        "文档2没有提到罗马的人口，但指出它建于1950年。",
        "这首歌的来源不得而知。",
        "水源中没有细菌。",
        "The policy does not apply to contractors.",
        "The files have not been deleted since 2019.",
        "公司规定没有例外。",
    ],
)
def test_a_fact_beside_the_material_is_checkable(plain: str) -> None:
    assert is_checkable(plain)
