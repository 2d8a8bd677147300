"""An index in Milvus: found as in its files, through the server too; unverified where Milvus is gone."""

from __future__ import annotations

import socket
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from index_builder.build import silent
from index_builder.sending import send
from proxy.__main__ import app
from proxy.cli.compose import Library
from proxy.config.load import validate
from proxy.config.settings import Settings
from proxy.config.store_settings import Milvus
from proxy.errors import BrokenIndexError, ConfigError, SourceError, StoreUnavailableError
from proxy.retrieval import open_corpus, search_thread
from proxy.retrieval.index_files import open_index
from proxy.retrieval.lexical import tokens
from proxy.retrieval.milvus import collection
from proxy.retrieval.milvus.collection import StoredIndex
from proxy.retrieval.milvus.connection import Breaker, Connection
from proxy.retrieval.milvus.milvus_search import MilvusPlace, milvus_place
from proxy.types import Passage, RetrievalMode
from tests.corpora import ANIMALS, build_index
from tests.encoders import HashingEncoder
from tests.light import light_server_over
from tests.milvus_server import LITE, STANDALONE, MilvusServer, require
from tests.scripted_upstream import Upstream
from tests.serving import settings_for

pytestmark = [
    pytest.mark.filterwarnings("ignore"),  # the client's own
    pytest.mark.timeout(300),
]

SECRET = "The lighthouse of Varnholm was finished in 1874 and is 41 metres high."
CHINESE = "埃菲尔铁塔于1889年3月完工，塔高330米。"
TEXTS = [*ANIMALS, SECRET, CHINESE]
QUERIES = [*TEXTS, "three hearts", "铁塔有多高", "a", "the of and", "whale \"'\\"]


@pytest.fixture(scope="module", params=[LITE, STANDALONE])
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[MilvusServer]:
    require(request.param)
    server = MilvusServer(request.param, tmp_path_factory.mktemp(request.param) / "data")
    try:
        server.start()
        yield server
    finally:
        server.kill()


@pytest.fixture
def milvus(server: MilvusServer, request: pytest.FixtureRequest) -> Milvus:
    name = "".join(c if c.isalnum() else "_" for c in request.node.name)[:60]
    return Milvus.model_validate(
        {
            "uri": server.uri,
            "collection": name,
            "grace": 0,
            "timeout": 10,
            "open_for": 0.5,
            "index_type": "FLAT",
            "index_params": {},
            "search_params": {},
        }
    )


@pytest.fixture
def place(milvus: Milvus, tmp_path: Path) -> Iterator[MilvusPlace]:
    """The index of `TEXTS`, in a folder and in Milvus."""
    build_index(tmp_path / "index", TEXTS)
    place = milvus_place(milvus, tmp_path / "index")
    send(tmp_path / "index", place, silent)
    yield place
    place.close()


def library(place: MilvusPlace) -> Library:
    stored = place.find()
    thread = search_thread()
    return Library(place.open(stored), HashingEncoder(), thread, stored.generation, place.folder, place)


def settings(upstream: Upstream, of: Milvus, **sections: Any) -> Settings:
    given = of.model_dump() | sections.pop("milvus", {})
    return settings_for(
        upstream.url,
        retrieval={"store": "milvus", "threshold": -1.0, "milvus": given},
        index={"watch": 0.2},
        **sections,
    )


@pytest.mark.parametrize("mode", ["dense", "lexical", "hybrid"])
async def test_milvus_finds_what_the_files_find(place: MilvusPlace, mode: RetrievalMode) -> None:
    assert place.folder is not None
    files, thread = open_corpus(open_index(place.folder)), search_thread()
    stored = place.open(place.find())
    expected, found = [
        await corpus.retriever(HashingEncoder(), mode, thread=thread).search(QUERIES, 3)
        for corpus in (files, stored)
    ]
    for query, ours, theirs in zip(QUERIES, expected, found, strict=True):
        assert [round(hit.score, 4) for hit in ours] == [round(hit.score, 4) for hit in theirs], query
        if mode != "dense":  # equal cosines come in any order
            assert {hit.passage.id for hit in ours[:1]} == {hit.passage.id for hit in theirs[:1]}, query
    for text, hits in zip(TEXTS, found, strict=False):
        assert hits[0].passage.text == text
        (same,) = [each[0].passage for each in expected if each and each[0].passage.text == text][:1]
        assert hits[0].passage == same
    thread.shutdown()


async def test_many_queries_go_at_once(place: MilvusPlace) -> None:
    search = place.open(place.find()).retriever(HashingEncoder(), "hybrid", thread=search_thread())
    found = await search.search(TEXTS * 30, 2)
    assert [hits[0].passage.text for hits in found] == TEXTS * 30
    assert await search.search([], 3) == []


def test_a_chat_is_checked_against_milvus_and_its_references_open(
    place: MilvusPlace, milvus: Milvus, upstream: Upstream
) -> None:
    with light_server_over(settings(upstream, milvus), library(place)) as url:
        upstream.enqueue(f"{SECRET} Giraffes can fly.")
        answer = post(url, "/chat/completions", model="test", messages=[{"role": "user", "content": "?"}])
        assert [claim["verdict"] for claim in answer["verification"]["claims"]] == [
            "supported",
            "unsupported",
        ]
        (reference,) = answer["references"]
        assert reference["text"] == SECRET
        opened = httpx.get(f"{reference['url']}?around=1".replace("??", "?")).json()
        assert opened["text"] == SECRET
        assert httpx.get(f"{url}/references/nothing%22or%22").status_code == 404


def test_a_server_that_is_gone_leaves_claims_unverified_until_it_is_back(
    place: MilvusPlace, milvus: Milvus, upstream: Upstream, server: MilvusServer
) -> None:
    hasty = milvus.model_copy(update={"timeout": 1.0, "retries": 0})
    other = milvus_place(hasty, place.folder)
    with light_server_over(settings(upstream, hasty), library(other)) as url:
        assert verdict(url, SECRET) == "supported"
        server.kill()
        try:
            for _ in range(4):
                assert verdict(url, ANIMALS[0]) == "unverified"
            begun = time.monotonic()
            assert verdict(url, ANIMALS[1]) == "unverified"
            assert time.monotonic() - begun < 0.9, "the breaker is open"
            upstream.enqueue(ANIMALS[2])
            asked = [{"role": "user", "content": "?"}]
            answer = post(url, "/chat/completions", model="test", messages=asked)
            assert answer["verification"]["status"] == "skipped"
            assert answer["references"] == []
        finally:
            server.start()
        until = time.monotonic() + 45
        while verdict(url, ANIMALS[3]) != "supported":
            assert time.monotonic() < until
            time.sleep(0.5)


def test_a_build_that_stops_goes_on_and_the_old_one_serves_meanwhile(
    place: MilvusPlace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = place.find()
    build_index(tmp_path / "index", [*TEXTS, "A new text about wombats."])
    monkeypatch.setattr(collection, "BATCH", 2)
    sent: list[int] = []
    real = collection.insert

    def counted(connection: Connection, stored: StoredIndex, rows: Any, vectors: Any) -> None:
        if most and len(sent) == most[0]:
            raise StoreUnavailableError("the line is cut")
        sent.append(len(rows))
        real(connection, stored, rows, vectors)

    monkeypatch.setattr(collection, "insert", counted)
    most = [2]
    with pytest.raises(StoreUnavailableError):
        send(tmp_path / "index", place, silent)
    assert place.find() == before
    sent.clear()
    most.clear()
    assert send(tmp_path / "index", place, silent)
    assert sent == [2, 2], "what was sent is not sent again"
    assert place.find().passages == len(TEXTS) + 1
    assert not place.connection.call("has_collection", before.collection)
    assert not send(tmp_path / "index", place, silent), "the same again is nothing to do"


def test_a_server_serves_the_new_build_without_a_restart(
    place: MilvusPlace, milvus: Milvus, upstream: Upstream, tmp_path: Path
) -> None:
    with light_server_over(settings(upstream, milvus), library(place)) as url:
        assert verdict(url, "A new text about wombats.") == "unsupported"
        build_index(tmp_path / "index", [*TEXTS, "A new text about wombats."])
        send(tmp_path / "index", place, silent)
        until = time.monotonic() + 10
        while verdict(url, "A new text about wombats.") != "supported":
            assert time.monotonic() < until
            time.sleep(0.2)


def test_a_key_finds_and_reads_only_what_its_filter_lets_through(
    place: MilvusPlace, milvus: Milvus, upstream: Upstream
) -> None:
    secret = f"d{TEXTS.index(SECRET)}"
    chosen = settings(
        upstream,
        milvus,
        milvus={"filter": f'document_id != "{secret}"', "filters": {"all": ""}},
        indexes={"all": milvus.collection},
        server={"api_keys": [{"name": "some", "key": "some"}, {"name": "all", "key": "all", "index": "all"}]},
    )
    public = replace(place, filter=chosen.retrieval.milvus.filter)
    if not place.find().ranks_words:
        with pytest.raises(ConfigError, match=r"Use Milvus 2\.5 or newer"):
            public.open(public.find())
        return
    with light_server_over(chosen, library(public)) as url:
        assert verdict(url, SECRET, "all") == "supported"
        assert verdict(url, SECRET, "some") == "unsupported"
        assert verdict(url, ANIMALS[0], "some") == "supported"
        found = post(url, "/search", "all", query=SECRET)["data"][0]
        assert found["text"] == SECRET
        for mode in ("dense", "lexical", "hybrid"):
            data = post(url, "/search", "some", query=SECRET, top_k=20, retrieval=mode)["data"]
            assert data or mode == "lexical"
            assert SECRET not in {each["text"] for each in data}
        opened = {
            key: httpx.get(f"{url}/references/{found['id']}", headers=bearer(key)).status_code
            for key in ("all", "some")
        }
        assert opened == {"all": 200, "some": 404}


def test_what_is_wrong_with_the_index_or_a_filter_is_said(place: MilvusPlace, tmp_path: Path) -> None:
    nowhere = replace(place, name="nothing_of_that_name")
    with pytest.raises(
        BrokenIndexError, match="vouch index SOURCE --store milvus --collection nothing_of_that"
    ):
        nowhere.find()
    with pytest.raises(BrokenIndexError, match="made with the encoder hashing"):
        place.find().require(HashingEncoder("another"))
    if place.find().ranks_words:
        wrong = replace(place, filter="nonsense ==")
        with pytest.raises(ConfigError, match="The filter 'nonsense ==' can't be used"):
            wrong.open(wrong.find())
        assert place.open(place.find()).passages.get("d'\"0") is None
    else:
        build_index(tmp_path / "index", ["another build"])
        with pytest.raises(BrokenIndexError, match="are of different builds"):
            place.open(place.find())


def test_a_passage_that_milvus_does_not_take_is_named(place: MilvusPlace) -> None:
    long = Passage("p1", "d1", "t" * 70_000, "", "text", "", 0, 4)
    stored = place.find()
    with pytest.raises(SourceError, match="p1 has a title of more than 65,535 bytes"):
        collection.insert(place.connection, stored, [(0, long)], np.zeros((1, 64), np.float32))


def test_an_address_where_nobody_answers_is_given_up_in_time() -> None:
    require("pymilvus")
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        uri = f"http://127.0.0.1:{silent.getsockname()[1]}"
        connection = Connection(Milvus(uri=uri, timeout=0.5, retries=0, open_after=2))
        begun = time.monotonic()
        for _ in range(2):
            with pytest.raises(StoreUnavailableError, match="can't be used"):
                connection.call("list_collections")
        assert time.monotonic() - begun < 20
        begun = time.monotonic()
        with pytest.raises(StoreUnavailableError, match="is not asked for a while"):
            connection.call("list_collections")
        assert time.monotonic() - begun < 0.1
        with pytest.raises(BrokenIndexError, match="does not answer"):
            MilvusPlace(connection, milvus_place(Milvus(uri=uri)).calls, "vouch").find()


def test_without_the_client_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pymilvus", None)
    with pytest.raises(ConfigError, match=r"pip install 'vouch\[milvus\]'"):
        milvus_place(Milvus())


def test_the_breaker_lets_one_call_try_after_its_pause() -> None:
    now = [0.0]
    breaker = Breaker(2, 10.0, lambda: now[0])
    breaker.note(well=False)
    assert breaker.admits()
    breaker.note(well=False)
    assert not breaker.admits()
    now[0] = 10.0
    assert breaker.admits()
    assert not breaker.admits(), "only one tries"
    breaker.note(well=True)
    assert breaker.admits()


def test_words_are_what_any_analyser_keeps() -> None:
    text = f"{CHINESE} Café Zürich 3.5 don't {'x' * 50} {'é' * 60}"
    words = collection.words_of(text).split()
    assert len(words) == len(list(tokens(text)))
    assert len(set(words)) == len(set(tokens(text)))
    assert all(word.isascii() and word.isalnum() and word == word.lower() for word in words)
    assert max(map(len, words)) <= 40
    assert collection.query_words("whale whale the") == "whale"
    assert collection.query_words("the") == collection.NO_WORD


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"milvus": {"uri": "localhost:19530"}}, "must be an address"),
        ({"milvus": {"collection": "a-b"}}, "collection"),
        ({"store": "qdrant"}, "store"),
        ({"milvus": {"filters": {"legal": "x"}}}, "retrieval.milvus.filters has one for the index 'legal'"),
    ],
)
def test_wrong_settings_are_named(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        validate({"retrieval": given})


def bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"} if key else {}


def post(url: str, route: str, key: str = "", **body: Any) -> Any:
    answer = httpx.post(f"{url}{route}", json=body, headers=bearer(key), timeout=60)
    assert answer.status_code == 200, answer.text
    return answer.json()


def verdict(url: str, said: str, key: str = "") -> str:
    (claim,) = post(url, "/check", key, text=said)["verification"]["claims"]
    told: str = claim["verdict"]
    return told


def test_the_command_line_goes_from_a_folder_to_milvus_and_back(
    server: MilvusServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "docs"
    source.mkdir()
    (source / "animals.txt").write_text("\n\n".join(ANIMALS), encoding="utf-8")
    monkeypatch.setenv("VOUCH_RETRIEVAL__MILVUS__URI", server.uri)
    monkeypatch.setenv("VOUCH_RETRIEVAL__MILVUS__GRACE", "0")
    monkeypatch.chdir(tmp_path)
    app(["index", "docs", "--store", "milvus", "--collection", "walk"], standalone_mode=False)
    assert "by the name walk" in capsys.readouterr().out
    monkeypatch.setenv("VOUCH_RETRIEVAL__STORE", "milvus")
    monkeypatch.setenv("VOUCH_RETRIEVAL__MILVUS__COLLECTION", "walk")
    app(["check", "An octopus has three hearts."], standalone_mode=False)
    assert "supported: An octopus has three hearts.[1]" in capsys.readouterr().out
