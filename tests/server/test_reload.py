"""The index is rebuilt under a running server."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import re
import signal
import subprocess
import sys
import threading
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from aiohttp import web

from proxy.cli.compose import Library, make_context
from proxy.config.settings import Settings
from proxy.retrieval import Corpus
from proxy.retrieval.index_files import read_manifest
from proxy.server.app import create_app
from tests import warm
from tests.corpora import ANIMALS, build_index, library_of, write_source
from tests.encoders import HashingEncoder
from tests.scripted_upstream import Reply, Upstream
from tests.serving import running, serving, settings_for, until

OLD = "The lighthouse of Varnholm was finished in 1874 and is 41 metres high."
NEW = "The harbour of Tessalund was dredged in 1932 and has room for 60 ships."
ADMIN, CLIENT = "key-of-an-admin", "key-of-a-client"
KEYS = [{"name": "ops", "key": ADMIN, "scopes": ["admin"]}, {"name": "app", "key": CLIENT}]


def settings(upstream: Upstream, *, watch: float = 0.0, **sections: Any) -> Settings:
    return settings_for(upstream.url, index={"watch": watch}, retrieval={"threshold": -1.0}, **sections)


@pytest.fixture
def index(tmp_path: Path) -> Path:
    build_index(tmp_path / "index", [*ANIMALS, OLD])
    return tmp_path / "index"


@contextmanager
def served(settings: Settings, index: Path) -> Iterator[str]:
    """The address, without /v1, of a server over the index."""
    with serving(settings, library_of(index)) as url:
        yield url.removesuffix("/v1")


def rebuild(index: Path, texts: Sequence[str] = (*ANIMALS, NEW)) -> str:
    """Replaces the index. Returns the new generation."""
    build_index(index, texts)
    return read_manifest(index).generation


def damage(index: Path) -> None:
    """Replaces the index by one whose vectors are cut off: at no time is it whole."""
    other = index.with_name("other")
    generation = rebuild(other)
    vectors = other / generation / "vectors.npy"
    vectors.write_bytes(vectors.read_bytes()[:-7])
    (other / generation).rename(index / generation)
    (other / "manifest.json").replace(index / "manifest.json")


def ready(url: str) -> Any:
    return httpx.get(f"{url}/readyz", timeout=60).json()


def generation(url: str) -> str:
    told: str = ready(url)["index"]["generation"]
    return told


def reload(url: str, key: str = "") -> httpx.Response:
    headers = {"authorization": f"Bearer {key}"} if key else {}
    return httpx.post(f"{url}/admin/reload", headers=headers, timeout=60)


def best(url: str, query: str) -> str:
    body = {"query": query, "top_k": 1, "retrieval": "lexical"}
    found = httpx.post(f"{url}/v1/search", json=body, timeout=60).json()["data"]
    return found[0]["text"] if found else ""


def metric(url: str, name: str) -> str:
    (line,) = re.findall(rf"^{re.escape(name)}.*$", httpx.get(f"{url}/metrics", timeout=60).text, re.M)
    return str(line)


def test_a_rebuilt_index_is_served_on_request(index: Path, upstream: Upstream) -> None:
    with served(settings(upstream), index) as url:
        before = generation(url)
        assert best(url, NEW) != NEW
        assert reload(url).json() | {"seconds": 0} == {
            "object": "index.reload",
            "status": "unchanged",
            "generation": before,
            "before": before,
            "passages": len(ANIMALS) + 1,
            "seconds": 0,
        }
        after = rebuild(index, [*ANIMALS, OLD, NEW])
        assert generation(url) == before
        told = reload(url).json()
        assert (told["status"], told["before"], told["generation"]) == ("reloaded", before, after)
        assert told["passages"] == ready(url)["passages"] == len(ANIMALS) + 2
        assert best(url, NEW) == NEW
        assert metric(url, "vouch_index_info") == f'vouch_index_info{{generation="{after}"}} 1.0'
        assert metric(url, "vouch_index_passages").endswith(f" {len(ANIMALS) + 2}.0")
        assert metric(url, 'vouch_index_reloads_total{result="reloaded"}').endswith(" 1.0")
        body = {"model": "vouch/extractive", "messages": [{"role": "user", "content": NEW}]}
        answer = httpx.post(f"{url}/v1/chat/completions", json=body, timeout=60).json()
        assert NEW in [reference["text"] for reference in answer["references"]]


def test_a_rebuilt_index_is_noticed(index: Path, upstream: Upstream) -> None:
    with served(settings(upstream, watch=0.05), index) as url:
        for texts in ([*ANIMALS, NEW], ANIMALS, [*ANIMALS, OLD]):
            after = rebuild(index, texts)
            until(lambda wanted=after: generation(url) == wanted)  # type: ignore[misc]
        assert best(url, OLD) == OLD
        assert ready(url)["index"]["stale"] is False


class Held:
    """An answer that begins when it is let go."""

    def __init__(self, text: str) -> None:
        self.go = threading.Event()
        self._text = text

    async def respond(self, request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        await asyncio.to_thread(self.go.wait, 60)
        return await Reply(self._text).respond(request, body)


def test_a_chat_under_way_ends_on_the_index_that_it_began_with(index: Path, upstream: Upstream) -> None:
    library, chosen = library_of(index), settings(upstream)
    assert isinstance(library.corpus, Corpus)
    vectors = weakref.ref(library.corpus.vectors)
    app = create_app(make_context(chosen, library), chosen)
    del library
    held, answers = Held(OLD), []
    upstream.enqueue(held)
    messages = [{"role": "user", "content": "Tell me."}]
    body = {"model": "test", "messages": messages, "vouch": {"max_rounds": 0}}
    with running(uvicorn.Server(uvicorn.Config(app, log_config=None))) as base:
        url = base.removesuffix("/v1")

        def ask() -> None:
            answers.append(httpx.post(f"{url}/v1/chat/completions", json=body, timeout=60).json())

        asking = threading.Thread(target=ask)
        asking.start()
        upstream.wait_for_request()
        rebuild(index)
        assert reload(url).json()["status"] == "reloaded"
        assert vectors() is not None
        held.go.set()
        asking.join(60)
        assert [reference["text"] for reference in answers[0]["references"]] == [OLD]
        upstream.enqueue(OLD)
        ask()
        assert answers[1]["references"] == []

        def let_go() -> bool:
            gc.collect()
            return vectors() is None

        until(let_go)


def test_a_broken_index_leaves_the_old_one_serving(
    index: Path, upstream: Upstream, caplog: pytest.LogCaptureFixture
) -> None:
    with served(settings(upstream, watch=0.05), index) as url, caplog.at_level(logging.ERROR, "proxy"):
        before = generation(url)
        damage(index)
        until(lambda: ready(url)["index"]["stale"])
        refused = reload(url)
        assert refused.status_code == 409
        error = refused.json()["error"]
        assert error["code"] == "index_not_reloaded"
        assert "vectors.npy has" in error["message"]
        assert "Rebuild it" in error["message"]
        assert generation(url) == before
        until(lambda: ready(url)["status"] == "ready")
        assert str(index) not in httpx.get(f"{url}/readyz", timeout=60).text
        assert metric(url, "vouch_index_stale ") == "vouch_index_stale 1.0"
        assert best(url, OLD) == OLD
        assert len([record for record in caplog.records if "vectors.npy has" in record.message]) == 1
        after = rebuild(index)
        until(lambda: generation(url) == after)
        assert ready(url)["index"]["stale"] is False
        assert metric(url, "vouch_index_stale ") == "vouch_index_stale 0.0"


@pytest.mark.parametrize("how", ["gone", "no manifest", "another encoder", "no JSON"])
def test_what_is_no_index_leaves_the_old_one_serving(index: Path, upstream: Upstream, how: str) -> None:
    with served(settings(upstream), index) as url:
        if how == "gone":
            index.rename(index.with_name("elsewhere"))
        elif how == "no manifest":
            (index / "manifest.json").unlink()
        elif how == "another encoder":
            build_index(index.with_name("other"), [NEW], encoder=HashingEncoder("other"))
            index.rename(index.with_name("elsewhere"))
            index.with_name("other").rename(index)
        else:
            (index / "manifest.json").write_text("{")
        assert reload(url).status_code == 409
        assert best(url, OLD) == OLD
        until(lambda: ready(url)["status"] == "ready")


def test_many_reloads_at_once_are_one(index: Path, upstream: Upstream) -> None:
    with served(settings(upstream), index) as url:
        rebuild(index)
        answers: list[str] = []

        def ask() -> None:
            answers.append(reload(url).json()["status"])

        asking = [threading.Thread(target=ask) for _ in range(8)]
        for thread in asking:
            thread.start()
        for thread in asking:
            thread.join(60)
        assert sorted(answers) == ["reloaded", *["unchanged"] * 7]


def test_a_reload_needs_a_key_with_the_scope_admin(index: Path, upstream: Upstream) -> None:
    with served(settings(upstream, server={"api_keys": KEYS}), index) as url:
        asked = [reload(url, key).status_code for key in ("", "wrong", CLIENT, ADMIN)]
        assert asked == [401, 401, 403, 200]
        assert httpx.get(f"{url}/admin/reload", timeout=60).status_code in (401, 405)


@pytest.mark.parametrize(("address", "status"), [("192.0.2.7", 403), ("127.0.0.1", 200), ("::1", 200)])
async def test_without_keys_only_this_machine_may_reload(
    index: Path, upstream: Upstream, address: str, status: int
) -> None:
    library = library_of(index)
    chosen = settings(upstream, server={"keyless": True, "host": "0.0.0.0"})
    parts = make_context(chosen, library)
    transport = httpx.ASGITransport(create_app(parts, chosen), client=(address, 4321))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        assert (await client.post("/admin/reload")).status_code == status
    await parts.close()
    library.close()


def test_a_server_over_no_folder_has_nothing_to_reload(index: Path, upstream: Upstream) -> None:
    whole = library_of(index)
    bare = Library(whole.corpus, whole.encoder, whole.thread)
    with serving(settings_for(upstream.url), bare) as base:
        assert reload(base.removesuffix("/v1")).json()["error"]["code"] == "index_not_reloaded"


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="needs /proc to see what a process maps")
def test_sighup_reloads_and_the_old_files_are_let_go(tmp_path: Path) -> None:
    def index_of(texts: Sequence[str]) -> None:
        source = write_source(tmp_path / "source.jsonl", texts)
        done = warm.run("proxy", "index", str(source), "--out", "index", folder=tmp_path, env=os.environ)
        assert done.returncode == 0, done.stderr

    index_of([*ANIMALS, OLD])
    command = [sys.executable, "-m", "proxy", "serve", "--index", "index", "--port", "0"]
    environ = {**os.environ, "VOUCH_INDEX__WATCH": "0", "COLUMNS": "200", "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, cwd=tmp_path, env=environ, stdout=subprocess.PIPE, text=True) as server:
        try:
            said = (re.search(r"http://\S+(?=/v1)", line) for line in server.stdout or ())
            url = next(filter(None, said)).group()
            until(lambda: _answers(url))
            before = generation(url)
            assert before in _mapped(server.pid)
            index_of([*ANIMALS, NEW])
            server.send_signal(signal.SIGHUP)
            until(lambda: generation(url) != before)
            assert best(url, NEW) == NEW
            until(lambda: before not in _mapped(server.pid) + _opened(server.pid))
            assert generation(url) in _mapped(server.pid)
        finally:
            server.terminate()
            server.wait(60)


def _answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/readyz", timeout=60).status_code == 200
    except httpx.HTTPError:
        return False


def _mapped(process: int) -> str:
    return Path(f"/proc/{process}/maps").read_text()


def _opened(process: int) -> str:
    names = []
    for link in Path(f"/proc/{process}/fd").iterdir():
        try:
            names.append(str(link.readlink()))
        except OSError:
            continue
    return " ".join(names)
