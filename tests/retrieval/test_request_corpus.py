"""Documents of a request as a corpus of their own: many, large and odd ones, by hashed words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from proxy.cli.compose import Library, make_context
from proxy.config.settings import Settings
from proxy.engine.app_context import AppContext
from proxy.retrieval import open_corpus, search_thread
from proxy.retrieval.index_files import open_index
from proxy.types import Document, Evidence, RetrievalMode
from tests.corpora import build_index
from tests.encoders import HashingEncoder

MODES: list[RetrievalMode] = ["dense", "lexical", "hybrid"]
each_mode = pytest.mark.parametrize("mode", MODES)

FACT = "The lighthouse of Varnholm was finished in 1874 and is 41 metres high."


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AppContext]:
    """The application over a small index; large documents want an encoder that takes no time."""
    out = tmp_path_factory.mktemp("animals") / "index"
    build_index(out)
    library = Library(open_corpus(open_index(out)), HashingEncoder(), search_thread())
    yield make_context(Settings(), library)
    library.close()


def documents(texts: Sequence[str]) -> list[Document]:
    return [Document(f"d{number}", f"Title {number}", text) for number, text in enumerate(texts, 1)]


async def search(
    parts: AppContext, given: Sequence[Document], mode: RetrievalMode, query: str = FACT, k: int = 5
) -> tuple[Evidence, ...]:
    request_corpus = await parts.over_documents(given, mode)
    [evidence] = await request_corpus.retriever.search([query], k)
    assert {hit.passage for hit in evidence} <= set(request_corpus.passages)
    return evidence


@each_mode
@pytest.mark.parametrize("text", ["", " ", "\n\t \u3000\n"])
async def test_nothing_but_white_space_is_nothing_to_find(
    parts: AppContext, mode: RetrievalMode, text: str
) -> None:
    assert await search(parts, documents([text]), mode) == ()
    assert await search(parts, documents([text, FACT, text]), mode) != ()


@each_mode
async def test_no_documents_at_all(parts: AppContext, mode: RetrievalMode) -> None:
    assert await search(parts, [], mode) == ()


@each_mode
async def test_a_thousand_tiny_documents(parts: AppContext, mode: RetrievalMode) -> None:
    texts = [f"Lamp {number} is blue." for number in range(1, 1000)]
    evidence = await search(parts, documents([*texts, FACT]), mode)
    assert evidence[0].passage.document_id == "d1000"
    assert evidence[0].passage.text == FACT


@each_mode
async def test_one_document_of_200_000_characters(parts: AppContext, mode: RetrievalMode) -> None:
    filler = "".join(f"Boat {number} left the harbour at noon. " for number in range(6000))[:200_000]
    middle = filler.index("Boat 3000 ")
    text = f"{filler[:middle]}{FACT} {filler[middle:]}"
    evidence = await search(parts, documents([text]), mode)
    assert any(FACT in hit.passage.text for hit in evidence)
    assert all(text[hit.passage.start : hit.passage.end] == hit.passage.text for hit in evidence)


async def test_a_document_without_a_space_or_a_word(parts: AppContext) -> None:
    odd = ["x" * 5_000, "?!" * 500, "\u200b\u200b", "👩‍👩‍👧‍👦" * 50, "城" * 2_000]
    evidence = await search(parts, documents([*odd, FACT]), "hybrid", k=3)
    assert evidence[0].passage.text == FACT


async def test_the_same_text_twice_keeps_its_two_documents(parts: AppContext) -> None:
    evidence = await search(parts, documents([FACT, FACT]), "dense")
    assert {hit.passage.document_id for hit in evidence} == {"d1", "d2"}
    assert len({hit.passage.id for hit in evidence}) == 2


async def test_documents_of_one_id_are_told_apart(parts: AppContext) -> None:
    same = [Document("d", "One", FACT), Document("d", "Two", "Boats leave the harbour at noon.")]
    evidence = await search(parts, same, "lexical", "lighthouse harbour")
    assert {hit.passage.title for hit in evidence} == {"One", "Two"}


async def test_no_passage_reaches_over_two_sections(parts: AppContext) -> None:
    text = f"Boats leave at noon.\n\n{FACT}"
    document = Document("d", "Guide", text, sections=((text.index(FACT), ""),))
    evidence = await search(parts, [document], "lexical", "Varnholm noon")
    assert sorted(hit.passage.text for hit in evidence) == ["Boats leave at noon.", FACT]


async def test_searches_over_documents_do_not_change_the_corpus(parts: AppContext) -> None:
    before = len(parts.passages)
    await search(parts, documents([FACT]), "hybrid")
    assert len(parts.passages) == before
    [evidence] = await parts.retrievers["lexical"].search(["Varnholm"], 5)
    assert evidence == ()
