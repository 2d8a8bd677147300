"""Retrievers asked at once, their hits merged."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import Executor

import pytest

from proxy.errors import RetrievalError
from proxy.protocols import Retriever
from proxy.retrieval import hold_corpus, retriever, search_thread
from proxy.retrieval.request_corpus import MergedRetriever
from proxy.types import Evidence, Passage, RetrievalMode
from tests.corpora import ANIMALS
from tests.encoders import HashingEncoder

MODES: list[RetrievalMode] = ["dense", "lexical", "hybrid"]


def hits(name: str, *scores: float) -> tuple[Evidence, ...]:
    return tuple(
        Evidence(Passage(f"{name}{number}", name, name, "", f"{name} {number}", "", 0, 3), score)
        for number, score in enumerate(scores)
    )


class Known:
    """Finds what it is told to, for every query."""

    def __init__(self, *evidence: Evidence) -> None:
        self.evidence = evidence
        self.asked: list[tuple[list[str], int]] = []

    async def search(self, queries: Sequence[str], k: int) -> Sequence[tuple[Evidence, ...]]:
        self.asked.append((list(queries), k))
        return [self.evidence[:k] for _ in queries]


class Failing:
    async def search(self, queries: Sequence[str], k: int) -> Sequence[tuple[Evidence, ...]]:
        await asyncio.sleep(0)
        raise RetrievalError("the disk is gone")


class Waiting:
    """Never finds anything, and remembers that it was stopped."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.cancelled = False

    async def search(self, queries: Sequence[str], k: int) -> Sequence[tuple[Evidence, ...]]:
        self.begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled = True
            raise
        return []


async def merged(*rankings: tuple[Evidence, ...], k: int = 10, threshold: float | None = None) -> list[str]:
    search = MergedRetriever([Known(*evidence) for evidence in rankings], threshold).search
    [best] = await search(["q"], k)
    return [evidence.passage.id for evidence in best]


async def test_the_best_scores_win_whoever_found_them() -> None:
    own, corpus = hits("own", 0.9, 0.4, 0.35), hits("corpus", 0.8, 0.7, 0.3)
    assert await merged(own, corpus, k=4) == ["own0", "corpus0", "corpus1", "own1"]
    assert await merged(own, corpus) == ["own0", "corpus0", "corpus1", "own1", "own2", "corpus2"]


async def test_at_equal_score_the_request_goes_first() -> None:
    assert await merged(hits("own", 0.9, 0.8), hits("corpus", 0.9, 0.8), k=3) == ["own0", "corpus0", "own1"]
    assert await merged(hits("own", 0.9, 0.8), hits("corpus", 0.8)) == ["own0", "own1", "corpus0"]


async def test_a_hybrid_order_stays_within_its_retriever() -> None:
    own, corpus = hits("own", 0.3, 0.9), hits("corpus", 0.5, 0.4)
    assert await merged(own, corpus) == ["own0", "own1", "corpus0", "corpus1"]


async def test_hits_without_a_cosine_take_turns() -> None:
    ids = await merged(hits("own", 0, 0, 0), hits("corpus", 0, 0), k=4, threshold=0.5)
    assert ids == ["own0", "corpus0", "own1", "corpus1"]


async def test_the_first_of_all_stays_under_the_threshold_and_no_other() -> None:
    assert await merged(hits("own", 0.2), hits("corpus", 0.7), threshold=0.5) == ["corpus0"]
    assert await merged(hits("own", 0.2), hits("corpus", 0.1), threshold=0.5) == ["own0"]
    assert await merged(hits("own", 0.2), hits("corpus", 0.7)) == ["corpus0", "own0"]


async def test_a_passage_that_both_found_is_there_once() -> None:
    assert await merged(hits("same", 0.9, 0.5), hits("same", 0.8, 0.5)) == ["same0", "same1"]


async def test_one_that_finds_nothing_leaves_the_others() -> None:
    assert await merged((), hits("corpus", 0.7)) == ["corpus0"]
    assert await merged((), ()) == []
    assert list(await MergedRetriever([]).search(["a", "b"], 3)) == [(), ()]


async def test_every_retriever_is_asked_everything_once() -> None:
    retrievers = [Known(*hits("own", 0.5)), Known(*hits("corpus", 0.4))]
    evidence = await MergedRetriever(retrievers).search(["a", "b"], 1)
    assert [[evidence.passage.id for evidence in each] for each in evidence] == [["own0"], ["own0"]]
    assert [each.asked for each in retrievers] == [[(["a", "b"], 1)]] * 2


async def test_one_that_fails_fails_the_search_and_stops_the_others() -> None:
    waiting = Waiting()
    with pytest.raises(RetrievalError, match="the disk is gone"):
        await MergedRetriever([waiting, Failing()]).search(["q"], 3)
    assert waiting.cancelled


async def test_a_cancelled_search_cancels_all_of_them() -> None:
    both = [Waiting(), Waiting()]
    search = asyncio.create_task(MergedRetriever(both).search(["q"], 3))
    for waiting in both:
        await waiting.begun.wait()
    search.cancel()
    with pytest.raises(asyncio.CancelledError):
        await search
    assert [waiting.cancelled for waiting in both] == [True, True]


@pytest.fixture
def thread() -> Executor:
    return search_thread()


@pytest.mark.parametrize("mode", MODES)
async def test_two_real_corpora_answer_as_one(thread: Executor, mode: RetrievalMode) -> None:
    encoder = HashingEncoder()

    def over(name: str, texts: Sequence[str]) -> Retriever:
        passages = [
            Passage(f"{name}{number}", name, name, "", text, "", 0, len(text))
            for number, text in enumerate(texts)
        ]
        return retriever(hold_corpus(passages, encoder, -1.0), encoder, mode, thread=thread)

    with thread:
        both = MergedRetriever([over("own", ANIMALS[:2]), over("corpus", ANIMALS[2:])])
        evidence = await both.search(ANIMALS, 1)
    texts = [each[0].passage.text for each in evidence]
    # By words alone there is no telling which corpus knows more: the request's goes first.
    assert texts[:2] == ANIMALS[:2]
    assert mode == "lexical" or texts == ANIMALS
