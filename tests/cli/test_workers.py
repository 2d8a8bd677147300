"""`vouch serve --workers 2`: one port, one set of limits and metrics, and no chat lost that need not be."""

from __future__ import annotations

import contextlib
import os
import re
import resource
import shutil
import signal
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from proxy.cli import index as index_command
from proxy.cli.workers import shared_settings
from proxy.config.load import validate
from proxy.errors import ConfigError
from proxy.server.rates import BUCKETS, Bucket, SharedLevels
from tests.cli.test_cli import VOUCH, one_line, vouch
from tests.scripted_upstream import Reply, Upstream
from tests.serving import until

pytestmark = pytest.mark.timeout(300)

ADMIN, APP, FEW = "key-of-an-admin", "key-of-an-app", "key-of-few"
KEYS = [
    {"name": "ops", "key": ADMIN, "scopes": ["admin", "models"]},
    {"name": "app", "key": APP},
    {"name": "few", "key": FEW, "limits": {"key": {"requests_per_minute": 3}}},
]


@dataclass
class Group:
    """A server with two workers."""

    process: subprocess.Popen[str]
    url: str
    index: Path
    log: Path

    def workers(self) -> list[int]:
        """The processes that serve."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return [pid for pid in map(int, children) if b"spawn_main" in _command(pid)]

    @contextlib.contextmanager
    def only(self, worker: int) -> Iterator[None]:
        """Only this worker takes connections in the block."""
        others = [pid for pid in self.workers() if pid != worker]
        for pid in others:
            os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            for pid in others:
                os.kill(pid, signal.SIGCONT)

    def ask(self, path: str, key: str = APP, **body: Any) -> httpx.Response:
        """One request on a connection of its own."""
        headers = {"authorization": f"Bearer {key}"}
        method = "POST" if body or path.startswith("/admin") else "GET"
        return httpx.request(method, self.url + path, headers=headers, json=body or None, timeout=60)

    def metric(self, name: str) -> float:
        """The sum of a metric's rows."""
        rows = re.findall(rf"^{name}(?:{{.*}})? (\S+)$", self.ask("/metrics", ADMIN).text, re.MULTILINE)
        return sum(map(float, rows))


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


CHECK = {"text": "The Eiffel Tower is in Paris."}
CHAT = {"messages": [{"role": "user", "content": "Where is the Eiffel Tower?"}]}


@pytest.fixture(scope="module")
def group(
    tmp_path_factory: pytest.TempPathFactory, example_index: Path, session_upstream: Upstream
) -> Iterator[Group]:
    folder = tmp_path_factory.mktemp("workers")
    shutil.copytree(example_index, folder / "index")
    settings = {
        "server": {"port": 0, "workers": 2, "api_keys": KEYS, "drain": 20},
        "index": {"path": str(folder / "index"), "watch": 0},
        "checker": {"nli": {"size": "small"}},
        "upstreams": [{"model": "openai/test", "api_base": session_upstream.url, "api_key": "k"}],
    }
    (folder / "config.yaml").write_text(yaml.safe_dump(settings))
    log = (folder / "log").open("w")
    with subprocess.Popen(
        [*VOUCH, "serve"], stdout=subprocess.PIPE, stderr=log, text=True, cwd=folder
    ) as process:
        assert process.stdout is not None
        said = ""
        for line in process.stdout:
            said += line
            if address := re.search(r"^Listening on (http://\S+)/v1", line):
                break
        assert address, (folder / "log").read_text()
        assert "passages, by 2 workers:" in said
        assert said.count("Loading the checker") == 1
        group = Group(process, address[1], folder / "index", folder / "log")
        yield group
        process.kill()
    log.close()


def test_metrics_are_of_all_workers(group: Group) -> None:
    first, second = group.workers()
    before = group.metric("vouch_requests_total"), group.metric("vouch_cache_total")
    for count, worker in enumerate((first, second), start=1):
        with group.only(worker):
            assert group.ask("/v1/check", **CHECK).status_code == 200
            until(lambda wanted=before[0] + count: group.metric("vouch_requests_total") == wanted)  # type: ignore[misc]
    for worker in (first, second):
        with group.only(worker):
            assert group.metric("vouch_requests_total") == before[0] + 2
            until(lambda: group.metric("vouch_cache_total") > before[1])
            assert group.metric("vouch_index_info") == 1
            assert group.metric("process_resident_memory_bytes") > 2 * 50_000_000


def test_a_keys_requests_a_minute_count_whoever_answers_them(group: Group) -> None:
    first, second = group.workers()
    with group.only(first):
        answers = [group.ask("/v1/check", FEW, **CHECK) for _ in range(2)]
    with group.only(second):
        answers += [group.ask("/v1/check", FEW, **CHECK) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
    assert [answer.headers["x-ratelimit-remaining-requests"] for answer in answers] == ["2", "1", "0", "0"]


def test_all_workers_load_a_rebuilt_index(group: Group, tmp_path: Path) -> None:
    (tmp_path / "new.txt").write_text("The harbour of Tessalund was dredged in 1932.")
    index_command.run([str(tmp_path / "new.txt")], None, {"index": {"path": str(group.index)}}, strict=True)
    told = group.ask("/admin/reload", ADMIN).json()
    assert (told["status"], told["passages"]) == ("reloaded", 1)
    for worker in group.workers():
        with group.only(worker):
            until(lambda: group.ask("/readyz").json()["index"]["generation"] == told["generation"])


def test_a_worker_that_dies_is_replaced_and_its_counts_stay(group: Group) -> None:
    first, second = group.workers()
    before = group.metric("vouch_requests_total")
    os.kill(first, signal.SIGKILL)
    assert group.ask("/v1/check", **CHECK).status_code == 200
    until(lambda: len(group.workers()) == 2)
    (new,) = set(group.workers()) - {first, second}
    with group.only(new):
        assert group.ask("/v1/check", **CHECK).status_code == 200
        until(lambda: group.metric("vouch_requests_total") >= before + 2)


def test_a_worker_that_can_not_be_started_is_tried_again_while_the_others_serve(group: Group) -> None:
    first, second = group.workers()
    before = resource.prlimit(group.process.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(group.process.pid, resource.RLIMIT_NOFILE, (8, before[1]))
    os.kill(first, signal.SIGKILL)
    until(lambda: group.workers() == [second])
    until(lambda: "could not be started: Too many open files" in group.log.read_text())
    assert group.ask("/v1/check", **CHECK).status_code == 200
    resource.prlimit(group.process.pid, resource.RLIMIT_NOFILE, before)
    until(lambda: len(group.workers()) == 2)


def test_on_sigterm_streams_come_to_their_end(group: Group, upstream: Upstream) -> None:
    upstream.enqueue(*(Reply("One sentence is here. " * 3, pace=0.2, size=8) for _ in range(4)))
    ends: list[str] = []

    def chat() -> None:
        body = {**CHAT, "model": "test", "stream": True}
        headers = {"authorization": f"Bearer {APP}"}
        url = f"{group.url}/v1/chat/completions"
        with httpx.stream("POST", url, json=body, headers=headers, timeout=60) as answer:
            ends.append([line for line in answer.iter_lines() if line][-1])

    asking = [threading.Thread(target=chat) for _ in range(4)]
    for thread in asking:
        thread.start()
    until(lambda: len(upstream.requests) == 4)
    workers = group.workers()
    group.process.send_signal(signal.SIGTERM)
    for thread in asking:
        thread.join(60)
    assert ends == ["data: [DONE]"] * 4
    assert group.process.wait(timeout=60) == -signal.SIGTERM
    assert not any(_command(pid) for pid in workers)
    with pytest.raises(httpx.ConnectError):
        group.ask("/healthz")


def test_what_keeps_a_worker_from_starting_is_one_clear_line(tmp_path: Path) -> None:
    done = vouch("serve", "--index", "nowhere", "--workers", "2", "--port", "0", folder=tmp_path)
    assert "nowhere" in one_line(done)
    assert done.returncode == 2


def test_no_workers_at_all_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"server\.workers"):
        validate({"server": {"workers": 0}})


def test_threads_and_connections_are_divided_and_links_are_signed_alike() -> None:
    whole = validate({"server": {"workers": 3, "max_connections": 1000}, "runtime": {"threads": 8}})
    one = shared_settings(whole)
    assert (one.runtime.threads, one.server.max_connections) == (2, 334)
    assert one.server.link_secret is not None
    assert shared_settings(validate({"server": {"workers": 64}})).runtime.threads == 1


def test_a_shared_bucket_is_the_same_in_each_worker_and_a_full_file_breaks_nothing(tmp_path: Path) -> None:
    mine, theirs = SharedLevels(tmp_path / "levels"), SharedLevels(tmp_path / "levels")
    ours = [Bucket(10, levels.of("requests 10 app", 10.0)) for levels in (mine, theirs)]
    ours[0].take(4)
    ours[1].take(4)
    assert 2 <= ours[0].left() < 2.5
    for number in range(BUCKETS):
        mine.of(f"requests 10 {number}", 10.0)
    alone = Bucket(10, mine.of("one more", 10.0))
    alone.take(10)
    assert alone.left() < 1
    mine.close()
    theirs.close()
