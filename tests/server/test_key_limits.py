"""Limits that a single key has in place of those of all."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx
import pytest

from proxy.aio import ASKER, Asker, Gate
from proxy.config.key_file import add_key, read_keys
from proxy.config.limit_settings import Limits
from proxy.config.settings import Settings
from tests.corpora import ANIMALS, build_index
from tests.light import light_server
from tests.scripted_upstream import Upstream
from tests.serving import settings_for, until

KEYS: list[dict[str, Any]] = [
    {"name": "many", "key": "key-of-many"},
    {"name": "trusted", "key": "key-of-trusted", "limits": {"options": {"top_k": 50}, "upstream_calls": 7}},
    {"name": "guest", "key": "key-of-guest", "limits": {"key": {"requests_per_minute": 1}}},
]


@pytest.fixture
def index(tmp_path: Path) -> Path:
    build_index(tmp_path / "index")
    return tmp_path / "index"


@pytest.fixture
def url(index: Path, upstream: Upstream) -> Iterator[str]:
    limits = {"options": {"top_k": 10, "checker": "fixed"}, "key": {"requests_per_minute": 1000}}
    chosen = settings_for(
        upstream.url, server={"api_keys": KEYS}, limits=limits, retrieval={"threshold": -1.0}
    )
    with light_server(chosen, index) as url:
        yield url


def check(url: str, key: str, **options: Any) -> httpx.Response:
    headers = {"authorization": f"Bearer {key}"}
    return httpx.post(
        f"{url}/check", json={"text": ANIMALS[0], "vouch": options}, headers=headers, timeout=60
    )


def test_a_key_may_choose_more_or_less_than_others(url: str) -> None:
    asked = {key: check(url, key, top_k=40) for key in ("key-of-many", "key-of-trusted")}
    assert [answer.status_code for answer in asked.values()] == [400, 200]
    assert "at most 10" in asked["key-of-many"].json()["error"]["message"]
    refused = check(url, "key-of-trusted", checker="nli")
    assert (refused.status_code, refused.json()["error"]["param"]) == (400, "vouch.checker")


def test_a_key_has_a_rate_of_its_own(url: str) -> None:
    told = [check(url, "key-of-guest") for _ in range(2)]
    assert [answer.status_code for answer in told] == [200, 429]
    assert told[0].headers["x-ratelimit-limit-requests"] == "1"
    assert check(url, "key-of-many").headers["x-ratelimit-limit-requests"] == "1000"


def test_what_a_key_gets_unasked_is_no_more_than_it_may_ask_for() -> None:
    settings = Settings.model_validate({"retrieval": {"top_k": 8}, "verification": {"deadline": 900}})
    key = Limits.model_validate({"options": {"top_k": 3, "max_rounds": 0}})
    own = settings.within(settings.limits.overridden(key))
    assert (own.retrieval.top_k, own.regeneration.max_rounds, own.verification.deadline) == (3, 0, 900)
    assert settings.within(settings.limits) == settings


def test_a_key_with_a_lower_limit_is_refused_more(index: Path, upstream: Upstream) -> None:
    keys = [{"name": "small", "key": "key-of-small", "limits": {"options": {"top_k": 1}}}]
    chosen = settings_for(upstream.url, server={"api_keys": keys}, retrieval={"threshold": -1.0})
    with light_server(chosen, index) as url:
        assert "at most 1" in check(url, "key-of-small", top_k=2).json()["error"]["message"]
        assert check(url, "key-of-small").status_code == 200


def test_limits_in_the_key_file_hold_and_change_without_a_restart(index: Path, upstream: Upstream) -> None:
    file = index.parent / "keys.jsonl"
    key = add_key(file, "team", ["models"])
    assert "limits" not in file.read_text()

    def write(limits: dict[str, Any]) -> None:
        row = {"name": "team", "sha256": sha256(key.encode()).hexdigest(), "limits": limits}
        temporary = file.with_suffix(".new")
        temporary.write_text(json.dumps(row) + "\n")
        temporary.replace(file)

    write({"key": {"requests_per_minute": 500}})
    add_key(file, "other", ["models"])
    stored = read_keys(file)[0].limits
    assert stored is not None
    assert stored.model_fields_set == {"key"}
    chosen = settings_for(upstream.url, server={"key_file": str(file)}, retrieval={"threshold": -1.0})
    with light_server(chosen, index) as url:
        assert check(url, key).headers["x-ratelimit-limit-requests"] == "500"
        write({"key": {"requests_per_minute": 600}})
        until(lambda: check(url, key).headers["x-ratelimit-limit-requests"] == "600")


def test_only_what_is_set_is_other() -> None:
    base = Limits.model_validate({"upstream_calls": 5, "key": {"concurrency": 3, "requests_per_minute": 9}})
    own = Limits.model_validate({"upstream_tokens": 100, "key": {"concurrency": 1}, "options": {"top_k": 2}})
    limits = base.overridden(own)
    assert (limits.upstream_calls, limits.upstream_tokens) == (5, 100)
    assert (limits.key.concurrency, limits.key.requests_per_minute) == (1, 9)
    assert (limits.options.top_k, limits.options.max_rounds) == (2, base.options.max_rounds)
    assert base.overridden(None) is base


async def test_a_key_has_as_many_places_as_it_may_have() -> None:
    gate = Gate(10, 10, 2)
    leave = asyncio.Event()

    async def hold(asker: Asker) -> None:
        ASKER.set(asker)
        async with gate.place():
            await leave.wait()

    async with asyncio.TaskGroup() as group:
        for key, most in (("few", 1), ("many", 4), ("usual", None)):
            for _ in range(5):
                group.create_task(hold(Asker(key, most_places=most)))
        for _ in range(20):
            await asyncio.sleep(0)
        assert (gate.running, gate.waiting) == (1 + 4 + 2, 8)
        leave.set()
