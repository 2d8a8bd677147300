"""Retrieval, over real indexes: with the packaged encoder where meaning counts, else with hashed words."""

from __future__ import annotations

import asyncio
import json
import re
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import faiss
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.aio import ASKER, Asker
from proxy.errors import RetrievalError
from proxy.retrieval import Corpus, hold_corpus, open_corpus, retriever, search_thread
from proxy.retrieval.corpus import CachedRetriever
from proxy.retrieval.index_files import open_index
from proxy.retrieval.lexical import postings_of, tokens
from proxy.retrieval.rankings import DenseRanking, Hit, HybridRanking, LexicalRanking
from proxy.types import Passage, RetrievalMode, Vectors
from tests.corpora import ANIMALS, build_index, vectors_of
from tests.encoders import HashingEncoder
from tests.packaged import packaged_encoder

MODES: list[RetrievalMode] = ["dense", "lexical", "hybrid"]
DATA = Path(__file__).parents[2] / "../shared/data"
CHINESE = ["蓝鲸是已知存在过的最大动物。", "企鹅几乎只生活在南半球。", "猎豹的时速可达104公里。"]


def passages_of(texts: Sequence[str]) -> list[Passage]:
    return [
        Passage(str(row), f"d{row}", f"T{row}", "", text, "", 0, len(text)) for row, text in enumerate(texts)
    ]


@pytest.fixture(scope="module")
def thread() -> Iterator[Executor]:
    with search_thread() as pool:
        yield pool


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """The animals, on disk, by the packaged encoder."""
    out = tmp_path_factory.mktemp("animals") / "index"
    build_index(out, ANIMALS, encoder=packaged_encoder())
    return open_corpus(open_index(out))


@pytest.fixture(scope="module")
def held() -> Corpus:
    """The animals, in memory, by hashed words."""
    return hold_corpus(passages_of(ANIMALS), HashingEncoder(), 0.0)


@pytest.mark.parametrize("mode", MODES)
async def test_the_passage_that_says_it_comes_first(
    corpus: Corpus, thread: Executor, mode: RetrievalMode
) -> None:
    search = retriever(corpus, packaged_encoder(), mode, thread=thread).search
    evidence = await search(["The octopus has three hearts.", "A cheetah runs 104 kilometres per hour."], 2)
    assert [hits[0].passage.document_id for hits in evidence] == ["d3", "d2"]
    assert all(1 <= len(hits) <= 2 for hits in evidence)
    assert all((each.score > 0.5) == (mode != "lexical") for each in (evidence[0][0], evidence[1][0]))


async def test_what_was_found_lately_is_kept_within_a_bound(corpus: Corpus, thread: Executor) -> None:
    encoder = HashingEncoder(dimension=packaged_encoder().dimension)
    search = corpus.retriever(encoder, "dense", thread=thread, threshold=-1)
    first = await search.search(["a whale", "a giraffe", "a whale"], 2)
    assert first[0] == first[2] != first[1]
    assert list(await search.search(["a giraffe", "a whale"], 2)) == [first[1], first[0]]
    assert encoder.encoded == ["a whale", "a giraffe"], "each was searched once"
    await search.search(["a whale"], 3)
    long = "a whale " * 1000
    await search.search([long], 2)
    await search.search([long], 2)
    assert encoder.encoded[2:] == ["a whale", long, long]
    bounded = CachedRetriever(retriever(corpus, encoder, "dense", thread=thread, threshold=-1), most=4)
    asked = len(encoder.encoded)
    for query in ("one", "two", "one", "three", "one", "two"):  # two passages each
        await bounded.search([query], 2)
    assert encoder.encoded[asked:] == ["one", "two", "three", "two"], "the one asked for last stays"


async def test_a_search_that_failed_is_not_kept(corpus: Corpus, thread: Executor) -> None:
    inner = retriever(corpus, packaged_encoder(), "dense", thread=thread, threshold=-1)
    broken = retriever(corpus, HashingEncoder(), "dense", thread=thread)  # of another dimension
    search = CachedRetriever(broken)
    with pytest.raises(RetrievalError):
        await search.search(["a whale"], 2)
    search._inner = inner
    assert await search.search(["a whale"], 2) == await inner.search(["a whale"], 2)


async def test_hybrid_gives_the_cosine_of_what_only_words_found(corpus: Corpus, thread: Executor) -> None:
    claims = ["Giraffes stand up."]
    hybrid = retriever(corpus, packaged_encoder(), "hybrid", thread=thread, threshold=-1)
    [evidence] = await hybrid.search(claims, 5)
    for each in evidence:
        vectors = packaged_encoder().encode([claims[0], each.passage.text])
        assert each.score == pytest.approx(float(vectors[0] @ vectors[1]), abs=0.01)


@pytest.mark.parametrize("mode", ["dense", "hybrid"])
async def test_what_is_under_the_threshold_goes_but_for_the_first(
    corpus: Corpus, thread: Executor, mode: RetrievalMode
) -> None:
    async def scores(threshold: float) -> list[float]:
        search = retriever(corpus, packaged_encoder(), mode, thread=thread, threshold=threshold).search
        return [evidence.score for evidence in (await search(["Penguins can't fly."], 5))[0]]

    everything = await scores(-1)
    assert len(everything) == 5
    limit = sorted(everything)[2]
    assert await scores(limit) == [score for score in everything if score >= limit]
    assert await scores(1) == everything[:1]


async def test_a_lexical_hit_shares_a_word(held: Corpus, thread: Executor) -> None:
    search = retriever(held, HashingEncoder(), "lexical", thread=thread).search
    evidence = await search(["zebra quagga", "the of and", "", "whale"], 5)
    assert [len(hits) for hits in evidence] == [0, 0, 0, 1]
    assert evidence[3][0].score == 0


@pytest.mark.parametrize("mode", MODES)
async def test_queries_are_searched_few_at_a_time(thread: Executor, mode: RetrievalMode) -> None:
    encoder = HashingEncoder()
    corpus = hold_corpus(passages_of(ANIMALS), encoder, 0.0)
    encoder.calls = 0
    evidence = await retriever(corpus, encoder, mode, thread=thread).search(ANIMALS * 10, 3)
    assert len(evidence) == 50
    assert [hits[0].passage.text for hits in evidence] == ANIMALS * 10
    assert encoder.calls == 4 * (mode != "lexical")


@pytest.mark.parametrize("mode", MODES)
async def test_edges(held: Corpus, thread: Executor, mode: RetrievalMode) -> None:
    search = retriever(held, HashingEncoder(), mode, thread=thread, threshold=-1).search
    assert list(await search([], 5)) == []
    assert list(await search(["whale"], 0)) == [()]
    assert len((await search(["whale penguins cheetah octopus giraffes"], 1000))[0]) == 5
    [evidence] = await search([f"{ANIMALS[3]} " * 1_000], 5)
    assert evidence[0].passage.document_id == "d3"


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("texts", [[], ["!!! ???"]])
async def test_a_request_without_words_or_documents(
    thread: Executor, mode: RetrievalMode, texts: list[str]
) -> None:
    corpus = hold_corpus(passages_of(texts), HashingEncoder(), 0.0)
    [evidence] = await retriever(corpus, HashingEncoder(), mode, thread=thread).search(["..."], 5)
    assert len(evidence) <= len(texts)


@pytest.mark.parametrize("mode", ["lexical", "hybrid"])
async def test_chinese_is_found_by_its_bigrams(thread: Executor, mode: RetrievalMode) -> None:
    corpus = hold_corpus(passages_of(CHINESE), HashingEncoder(), -1.0)
    search = retriever(corpus, HashingEncoder(), mode, thread=thread).search
    evidence = await search(["最大的动物是蓝鲸", "企鹅生活在哪里？", "猎豹跑得多快？"], 1)
    assert [hits[0].passage.text for hits in evidence] == CHINESE


def test_tokens() -> None:
    assert list(tokens("The U.S. GDP grew 2.5% in snake_case, naïve Über!")) == (
        ["u", "s", "gdp", "grew", "2", "5", "snake", "case", "naïve", "über"]
    )
    assert list(tokens("在2023年，AI很火")) == ["在", "2023", "年", "ai", "很火"]
    assert list(tokens("企鹅生活")) == ["企鹅", "鹅生", "生活"]


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ("ＡＢＣ-１２０７", "abc-1207"),
        ("Donau\u00addampf\u00adschiff", "donaudampfschiff"),
        ("zero\u200bwidth\ufeff", "zerowidth"),
        ("浦东新\n区", "浦东新区"),
        ("浦东新 \r\n  区", "浦东新区"),
    ],
)
def test_a_word_is_the_same_however_it_is_typeset(written: str, plain: str) -> None:
    assert list(tokens(written)) == list(tokens(plain))


@pytest.mark.parametrize("text", ["steel\nworks", "新\n\n区", "新 区"])
def test_words_and_paragraphs_are_not_joined(text: str) -> None:
    assert len(list(tokens(text))) == 2


def test_headings_of_a_section_are_searched_and_places_in_a_file_are_not() -> None:
    sections = ["Holidays > France", "page 7", "leave.csv, row 7"]
    passages = [
        replace(passage, title="Handbook", section=section)
        for passage, section in zip(passages_of(["Every employee gets 25 days."] * 3), sections, strict=True)
    ]
    postings = postings_of(passages)
    assert [row for row, _ in postings.best("France", 3)] == [0]
    assert postings.best("page row csv 7", 3) == []


async def test_an_encoder_that_fails_is_a_retrieval_error(held: Corpus, thread: Executor) -> None:
    class Failing(HashingEncoder):
        def encode(self, texts: Sequence[str]) -> Vectors:
            raise RuntimeError("out of memory")

    for mode in ("dense", "hybrid"):
        with pytest.raises(RetrievalError, match="can't be searched: RuntimeError: out of memory"):
            await retriever(held, Failing(), mode, thread=thread).search(["whale"], 5)


class Slow(HashingEncoder):
    """Encodes when it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.go = threading.Event()

    def encode(self, texts: Sequence[str]) -> Vectors:
        assert self.go.wait(10)
        return super().encode(texts)


async def test_the_event_loop_runs_on_and_a_cancelled_search_never_starts(held: Corpus) -> None:
    encoder = Slow()
    with search_thread() as thread:
        search = retriever(held, encoder, "dense", thread=thread).search
        running, waiting = asyncio.create_task(search(["one"], 1)), asyncio.create_task(search(["two"], 1))
        start = time.monotonic()
        await asyncio.sleep(0.05)
        assert time.monotonic() - start < 1
        waiting.cancel()
        running.cancel()
        for task in (waiting, running):
            with pytest.raises(asyncio.CancelledError):
                await task
        encoder.go.set()
        [evidence] = await search(["three"], 1)
        assert len(evidence) == 1
    assert encoder.encoded == ["one", "three"]


async def test_who_searches_little_does_not_wait_for_who_searches_much(held: Corpus) -> None:
    encoder = Slow()

    async def asked(key: str, queries: list[str]) -> int:
        ASKER.set(Asker(key))
        return len(await search(queries, 1))

    with search_thread() as thread:
        search = retriever(held, encoder, "dense", thread=thread).search
        long = ["much " * 400] * 3
        tasks = [asyncio.create_task(asked(*given)) for given in (("hostile", long), ("polite", ["little"]))]
        await asyncio.sleep(0.01)
        encoder.go.set()
        assert await asyncio.gather(*tasks) == [3, 1]
    assert [text[:6] for text in encoder.encoded] == ["much m", "little", "much m", "much m"]


def test_a_thread_that_has_ended_takes_nothing_and_drops_what_waits() -> None:
    thread, begun, go = search_thread(), threading.Event(), threading.Event()

    def work() -> bool:
        begun.set()
        return go.wait(10)

    running, waiting = thread.submit(work), thread.submit(int)
    assert begun.wait(10)
    thread.shutdown(wait=False, cancel_futures=True)
    go.set()
    assert running.result(10)
    assert waiting.cancelled()
    with pytest.raises(RuntimeError, match="has ended"):
        thread.submit(int)


def test_faiss_searches_with_one_thread_and_leaves_other_threads_theirs(thread: Executor) -> None:
    def threads() -> tuple[int, int]:
        with ThreadPoolExecutor(1) as plain:
            return plain.submit(torch.get_num_threads).result(), plain.submit(
                faiss.omp_get_max_threads
            ).result()

    before = threads()
    assert thread.submit(faiss.omp_get_max_threads).result() == 1
    assert threads() == before


words = st.lists(st.sampled_from("whale penguin cheetah octopus giraffe sea land fast".split()), max_size=8)


@settings(max_examples=60, deadline=None)
@given(st.lists(words.map(" ".join), min_size=1, max_size=15), words.map(" ".join), st.integers(1, 20))
def test_rankings_agree_with_their_formulas(texts: list[str], query: str, k: int) -> None:
    encoder = HashingEncoder()
    passages = passages_of(texts)
    corpus = hold_corpus(passages, encoder, -1.0)
    dense = DenseRanking(corpus.vectors, encoder, -1.0, corpus.nearest)
    lexical = LexicalRanking(corpus.postings)
    [near], [worded] = dense.rank([query], k), lexical.rank([query], k)

    cosines = vectors_of(corpus) @ encoder.encode([query])[0]
    assert [hit.cosine for hit in near] == pytest.approx(sorted(cosines, reverse=True)[:k], abs=1e-5)
    scores = [_bm25(query, passage, passages) for passage in passages]
    ranked = [scores[hit.row] for hit in worded]
    assert ranked == pytest.approx(sorted((score for score in scores if score), reverse=True)[:k], rel=1e-4)

    [fused] = HybridRanking(dense, lexical, k=60, weight=1).rank([query], k)
    ranks = [{hit.row: rank for rank, hit in enumerate(hits[0], 1)} for hits in _both(dense, lexical, query)]
    expected = [
        sum(1 / (60 + ranking[row]) for ranking in ranks if row in ranking) for row in range(len(texts))
    ]
    assert [expected[hit.row] for hit in fused] == pytest.approx(sorted(expected, reverse=True)[:k])
    assert len({hit.row for hit in fused}) == len(fused)


def _both(dense: DenseRanking, lexical: LexicalRanking, query: str) -> list[list[tuple[Hit, ...]]]:
    return [dense.rank([query], 100), lexical.rank([query], 100)]


def _bm25(query: str, passage: Passage, passages: Sequence[Passage]) -> float:
    """Lucene's variant: ln(1 + (N - df + 0.5) / (df + 0.5)) * tf / (tf + k1 (1 - b + b length / mean))."""
    all_words = [list(tokens(f"{each.title} {each.text}")) for each in passages]
    mean = float(np.mean([len(each) for each in all_words]))
    mine = list(tokens(f"{passage.title} {passage.text}"))
    score = 0.0
    for word in set(tokens(query)):
        df = sum(word in each for each in all_words)
        tf = mine.count(word)
        idf = float(np.log(1 + (len(passages) - df + 0.5) / (df + 0.5)))
        score += idf * tf / (tf + 0.9 * (1 - 0.4 + 0.4 * len(mine) / mean))
    return score


@pytest.mark.parametrize(("file", "at_1", "at_10"), [("gpt3", 98.2, 98.9), ("gpt4", 96.1, 98.5)])
def test_words_alone_find_wikiretrs_passages(file: str, at_1: float, at_10: float) -> None:
    """Recall at 1 and 10, in percent. `python -m evaluation wikiretr` measures all three modes."""
    source = DATA / "corpora" / "wikipedia_en.jsonl"
    if not source.exists():
        pytest.skip("the measuring data are not beside the repository")
    rows = [json.loads(line) for line in source.read_text(encoding="utf-8").splitlines()]
    letters = {re.sub(r"[\W_]+", "", row["text"].lower()): place for place, row in enumerate(rows)}
    passages = [Passage("", "", row["title"], "", row["text"], "", 0, 0) for row in rows]
    pairs = json.loads((DATA / "papers" / f"wikiretr-{file}.json").read_text(encoding="utf-8"))
    hits = LexicalRanking(postings_of(passages)).rank([pair["claim"] for pair in pairs], 10)
    gold = [letters[re.sub(r"[\W_]+", "", pair["content"].lower())] for pair in pairs]
    ranked = [[hit.row for hit in query_hits] for query_hits in hits]
    assert 100 * np.mean([row in rows[:1] for row, rows in zip(gold, ranked, strict=True)]) >= at_1
    assert 100 * np.mean([row in rows for row, rows in zip(gold, ranked, strict=True)]) >= at_10
