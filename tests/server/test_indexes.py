"""Several indexes in one server: each key reads its own, and nothing of another."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx
import pytest

from proxy.checkers.cache import Cached
from proxy.config.key_file import add_key
from proxy.config.load import validate
from proxy.config.settings import Settings
from proxy.errors import ConfigError
from proxy.retrieval.encoder import CachedEncoder
from proxy.types import Pair
from tests.corpora import ANIMALS, build_index
from tests.encoders import HashingEncoder
from tests.light import light_parts, light_server
from tests.scripted_upstream import Upstream
from tests.serving import settings_for

OURS = "The lighthouse of Varnholm was finished in 1874 and is 41 metres high."
LEGAL = "The contract with Tessalund ends in 1932 and names 60 ships."
LEGAL_TOO = "The appeal of Harrowgate was withdrawn in 1951."
KEYS: list[dict[str, Any]] = [
    {"name": "all", "key": "key-of-all", "scopes": ["models", "admin"]},
    {"name": "legal", "key": "key-of-legal", "scopes": ["models", "admin"], "index": "legal"},
]
ALL, OF_LEGAL = "key-of-all", "key-of-legal"


def settings(upstream: Upstream, folder: Path, **sections: Any) -> Settings:
    chosen = {
        "server": {"api_keys": KEYS},
        "indexes": {"legal": str(folder / "legal")},
        "index": {"watch": 0},
        "retrieval": {"threshold": -1.0},
        **sections,
    }
    return settings_for(upstream.url, **chosen)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two indexes. The animals are in both, so that they have passages of the same id."""
    build_index(tmp_path / "index", [*ANIMALS, OURS])
    build_index(tmp_path / "legal", [*ANIMALS, LEGAL])
    return tmp_path


@pytest.fixture
def url(folder: Path, upstream: Upstream) -> Iterator[str]:
    with light_server(settings(upstream, folder), folder / "index") as url:
        yield url.removesuffix("/v1")


def post(url: str, route: str, key: str, **body: Any) -> Any:
    headers = {"authorization": f"Bearer {key}"}
    answer = httpx.post(f"{url}{route}", json=body, headers=headers, timeout=60)
    assert answer.status_code == 200, answer.text
    return answer.json()


def get(address: str, key: str = "") -> httpx.Response:
    return httpx.get(address, headers={"authorization": f"Bearer {key}"} if key else {}, timeout=60)


def found(url: str, key: str, query: str) -> list[dict[str, Any]]:
    data: list[dict[str, Any]] = post(url, "/v1/search", key, query=query, top_k=100)["data"]
    return data


def texts(url: str, key: str, query: str) -> set[str]:
    return {passage["text"] for passage in found(url, key, query)}


def chat(url: str, key: str, said: str, upstream: Upstream, **more: Any) -> Any:
    upstream.enqueue(said)
    body = {"model": "test", "messages": [{"role": "user", "content": "Tell me."}]}
    return post(url, "/v1/chat/completions", key, **body, vouch={"max_rounds": 0}, **more)


def verdict(url: str, key: str, said: str) -> str:
    (claim,) = post(url, "/v1/check", key, text=said)["verification"]["claims"]
    told: str = claim["verdict"]
    return told


def test_a_search_finds_what_is_in_the_keys_index_alone(url: str) -> None:
    assert texts(url, ALL, LEGAL) == {*ANIMALS, OURS}
    assert texts(url, OF_LEGAL, OURS) == {*ANIMALS, LEGAL}


def test_chats_and_checks_go_by_the_keys_index(url: str, upstream: Upstream) -> None:
    for key, said, other in ((ALL, OURS, LEGAL), (OF_LEGAL, LEGAL, OURS)):
        assert verdict(url, key, said) == "supported"
        assert verdict(url, key, other) == "unsupported"
        assert [each["text"] for each in chat(url, key, said, upstream)["references"]] == [said]
        assert chat(url, key, other, upstream)["references"] == []


def test_the_embedded_model_answers_out_of_the_keys_index(url: str) -> None:
    body = {"model": "vouch/extractive", "messages": [{"role": "user", "content": LEGAL}]}
    said = {
        key: json.dumps(post(url, "/v1/chat/completions", key, **body), ensure_ascii=False)
        for key in (ALL, OF_LEGAL)
    }
    assert LEGAL not in said[ALL]
    assert LEGAL in said[OF_LEGAL]


def test_a_passage_opens_for_its_own_index_alone(url: str) -> None:
    ids = {
        key: next(each["id"] for each in found(url, key, said) if each["text"] == said)
        for key, said in ((ALL, OURS), (OF_LEGAL, LEGAL))
    }
    for reader in ids:
        for owner, passage in ids.items():
            answer = get(f"{url}/v1/references/{passage}", reader)
            assert answer.status_code == (200 if reader == owner else 404)


def test_the_link_of_a_reply_opens_its_own_passage_and_no_other(url: str, upstream: Upstream) -> None:
    same = ANIMALS[1]
    links = {key: chat(url, key, same, upstream)["references"][0]["url"] for key in (ALL, OF_LEGAL)}
    (legal,) = chat(url, OF_LEGAL, LEGAL, upstream)["references"]
    assert get(legal["url"]).json()["text"] == LEGAL
    assert dict(parse_qsl(urlsplit(links[OF_LEGAL]).query))["index"] == "legal"
    assert "index=" not in links[ALL]
    assert [get(link).status_code for link in links.values()] == [200, 200]
    forged = (
        legal["url"].replace("index=legal&", ""),
        links[ALL].replace("?", "?index=legal&"),
        links[OF_LEGAL].replace("index=legal&", ""),
        legal["url"].replace("index=legal", "index=other"),
        f"{url}/v1/references/{legal['id']}?{urlsplit(links[OF_LEGAL]).query}",
        f"{url}/v1/references/{legal['id']}?{urlsplit(links[ALL]).query}",
    )
    assert [get(link).status_code for link in forged] == [401] * len(forged)


def test_a_name_in_the_query_does_not_change_what_a_key_reads(url: str) -> None:
    (passage,) = (each["id"] for each in found(url, OF_LEGAL, LEGAL) if each["text"] == LEGAL)
    assert get(f"{url}/v1/references/{passage}?index=legal", ALL).status_code == 404
    headers = {"authorization": f"Bearer {ALL}"}
    answer = httpx.post(f"{url}/v1/search?index=legal", json={"query": LEGAL}, headers=headers, timeout=60)
    assert LEGAL not in {passage["text"] for passage in answer.json()["data"]}


def test_a_reload_is_of_the_keys_index(url: str, folder: Path) -> None:
    build_index(folder / "legal", [*ANIMALS, LEGAL_TOO])
    build_index(folder / "index", [*ANIMALS, OURS, LEGAL])
    assert post(url, "/admin/reload", OF_LEGAL)["status"] == "reloaded"
    assert texts(url, OF_LEGAL, LEGAL) == {*ANIMALS, LEGAL_TOO}
    assert texts(url, ALL, LEGAL) == {*ANIMALS, OURS}
    assert post(url, "/admin/reload", ALL)["passages"] == len(ANIMALS) + 2
    assert texts(url, ALL, LEGAL) == {*ANIMALS, OURS, LEGAL}
    assert post(url, "/admin/reload", OF_LEGAL)["status"] == "unchanged"


def test_metrics_tell_the_indexes_apart(url: str) -> None:
    told = get(f"{url}/metrics", ALL).text
    assert 'index="legal"' in told
    assert f"vouch_index_passages {2 * (len(ANIMALS) + 1):.1f}" in told


def test_a_key_in_the_file_has_an_index_too(folder: Path, upstream: Upstream) -> None:
    file = folder / "keys.jsonl"
    plain = add_key(file, "team", ["models"], "legal")
    lost = add_key(file, "lost", ["models"], "gone")
    common = add_key(file, "common", ["models"])
    chosen = settings(upstream, folder, server={"key_file": str(file)})
    with light_server(chosen, folder / "index") as base:
        url = base.removesuffix("/v1")
        assert texts(url, plain, LEGAL) == {*ANIMALS, LEGAL}
        assert texts(url, common, LEGAL) == {*ANIMALS, OURS}
        refused = get(f"{url}/v1/models", lost)
        assert (refused.status_code, refused.json()["error"]["type"]) == (403, "permission_error")


def test_an_index_that_no_setting_names_is_refused_at_the_start() -> None:
    with pytest.raises(ConfigError, match="has the index 'legal'; `indexes` has none"):
        validate({"server": {"api_keys": KEYS}})


async def test_judgements_and_vectors_are_not_shared(folder: Path, upstream: Upstream) -> None:
    parts = light_parts(settings(upstream, folder), folder / "index")
    pair = Pair(OURS, OURS)
    caches = [each.models["test"].checkers["nli"] for each in (parts, parts.others["legal"])]
    for cache in caches:
        await cache.check([pair])
        assert isinstance(cache, Cached)
        assert (cache.hits, cache.misses) == (0, 1)
    inner = HashingEncoder()
    first = CachedEncoder(inner)
    for encoder in (first, first.apart()):
        await asyncio.to_thread(encoder.encode, [OURS])
    assert inner.encoded == [OURS, OURS]
    await parts.close()
