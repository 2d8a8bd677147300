"""The audit record: what is in it, what is not, and what happens where it can't be written."""

from __future__ import annotations

import json
import logging
import os
import re
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from proxy.cli.compose import Library
from proxy.config.load import validate
from proxy.errors import ConfigError
from proxy.server.audit_log import files_of
from tests import warm
from tests.corpora import ANIMALS, build_index, library_of
from tests.scripted_upstream import Reply, Status, Upstream
from tests.serving import serving, settings_for, until

ROOT = Path(__file__).parents[2]
TRUE = ANIMALS[2]
WRONG = "The capital of Atlantis has nine golden towers."
QUESTION = "How fast can a cheetah run?"
KEYS = [{"name": "team-a", "key": "key-of-team-a"}, {"name": "team-b", "key": "key-of-team-b"}]
Json = dict[str, Any]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """A small index."""
    out = tmp_path_factory.mktemp("audited") / "index"
    build_index(out)
    library = library_of(out)
    yield library
    library.close()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "audit.jsonl"


@contextmanager
def served(file: Path, corpus: Library, upstream: Upstream, **audit: Any) -> Iterator[str]:
    """The base URL, with /v1, of a server with that record."""
    chosen = settings_for(
        upstream.url,
        audit={"path": str(file), **audit},
        server={"api_keys": [*KEYS, {"name": "ops", "key": "key-of-ops", "scopes": ["metrics"]}]},
        retrieval={"threshold": -1.0},
    )
    with serving(chosen, corpus) as url:
        yield url


def post(url: str, key: str = "team-a", route: str = "chat/completions", **more: Any) -> httpx.Response:
    asked = (
        {"input": QUESTION} if route == "responses" else {"messages": [{"role": "user", "content": QUESTION}]}
    )
    body = {"model": "test", **asked, "vouch": {"max_rounds": 0}, **more}
    headers = {"authorization": f"Bearer key-of-{key}"}
    return httpx.post(f"{url}/{route}", json=body, headers=headers, timeout=60)


def records(file: Path) -> list[Json]:
    return [json.loads(line) for path in files_of(file) for line in path.read_text().splitlines()]


def metric(url: str, result: str) -> float:
    headers = {"authorization": "Bearer key-of-ops"}
    text = httpx.get(f"{url.removesuffix('/v1')}/metrics", headers=headers, timeout=60).text
    name = f'vouch_audit_records_total{{result="{result}"}} '
    return float(next(line for line in text.splitlines() if line.startswith(name)).removeprefix(name))


def test_every_checked_answer_is_recorded_without_its_text(
    file: Path, corpus: Library, upstream: Upstream
) -> None:
    with served(file, corpus, upstream) as url:
        upstream.answer = lambda _body: f"{TRUE} {WRONG}"
        whole = post(url)
        post(url, key="team-b", stream=True)
        post(url, route="responses")
        upstream.enqueue(Status(500), Reply("A raw reply."))
        assert post(url).status_code == 500
        assert post(url, model="test-raw").status_code == 200
        until(lambda: metric(url, "written") == 3)
    found = records(file)
    assert [record["key"] for record in found] == ["team-a", "team-b", "team-a"]
    assert {record["model"] for record in found} == {"test"}
    assert found[0]["request"] == whole.headers["x-request-id"]
    assert found[0]["index"] == corpus.generation
    for record in found:
        (choice,) = record["choices"]
        assert [claim["verdict"] for claim in choice["claims"]] == ["supported", "unsupported"]
        (cited,) = choice["claims"][0]["cited"]
        assert cited in choice["claims"][0]["evidence"]
        assert (choice["claims"][0]["start"], choice["claims"][0]["end"]) == (0, len(TRUE))
    assert whole.json()["references"][0]["id"] == found[0]["choices"][0]["claims"][0]["cited"][0]
    text = file.read_text()
    assert not any(words in text for words in ("cheetah", "Atlantis", "key-of"))
    assert file.stat().st_mode & 0o777 == 0o600


def test_text_is_recorded_where_it_is_asked_for(file: Path, corpus: Library, upstream: Upstream) -> None:
    with served(file, corpus, upstream, text=True) as url:
        upstream.enqueue(TRUE)
        post(url)
        until(lambda: metric(url, "written") == 1)
    (record,) = records(file)
    assert record["question"] == QUESTION
    assert record["choices"][0]["text"] == record["choices"][0]["claims"][0]["text"] == TRUE


def test_a_full_disk_breaks_no_chat_and_is_said_once(
    corpus: Library, upstream: Upstream, caplog: pytest.LogCaptureFixture
) -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("there is no /dev/full here, a disk that is always full")
    with served(full, corpus, upstream) as url, caplog.at_level(logging.ERROR, "proxy"):
        upstream.answer = lambda _body: TRUE
        assert [post(url).status_code for _ in range(3)] == [200, 200, 200]
        until(lambda: metric(url, "lost") == 3)
        assert metric(url, "written") == 0
    said = [record.message for record in caplog.records if "audit" in record.message]
    assert said == ["audit records are lost (/dev/full): No space left on device"]


def test_a_folder_that_goes_away_and_comes_back(
    file: Path, corpus: Library, upstream: Upstream, caplog: pytest.LogCaptureFixture
) -> None:
    inner = file.parent / "inner" / "audit.jsonl"
    inner.parent.mkdir()
    with served(inner, corpus, upstream) as url, caplog.at_level(logging.WARNING, "proxy"):
        upstream.answer = lambda _body: TRUE
        post(url)
        until(lambda: metric(url, "written") == 1)
        inner.parent.rename(file.parent / "moved")
        assert [post(url).status_code for _ in range(2)] == [200, 200]
        until(lambda: metric(url, "lost") == 2)
        (file.parent / "moved").rename(inner.parent)
        post(url)
        until(lambda: metric(url, "written") == 2)
    assert len(records(inner)) == 2
    assert any("2 were lost" in record.message for record in caplog.records)


def test_a_line_that_was_cut_off_spoils_no_other(file: Path, corpus: Library, upstream: Upstream) -> None:
    file.write_text('{"time": "20')
    with served(file, corpus, upstream) as url:
        upstream.enqueue(TRUE)
        post(url)
        until(lambda: metric(url, "written") == 1)
    cut, whole = file.read_text().splitlines()
    assert cut == '{"time": "20'
    assert json.loads(whole)["model"] == "test"
    done = vouch("--path", file.name, folder=file.parent)
    assert len(done.stdout.splitlines()) == 1
    assert "1 lines are no records" in done.stderr


def test_a_file_that_grows_too_large_is_renamed(file: Path, corpus: Library, upstream: Upstream) -> None:
    with served(file, corpus, upstream, max_bytes=10_000, keep=2, text=True) as url:
        upstream.answer = lambda _body: " ".join([TRUE] * 20)
        for count in range(1, 11):
            post(url)
            until(lambda wanted=count: metric(url, "written") == wanted)  # type: ignore[misc]
    files = files_of(file)
    assert files[-1] == file
    assert len(files) == 3
    assert all(path.stat().st_size <= 10_000 for path in files)
    found = [record["time"] for record in records(file)]
    assert found == sorted(found)
    assert 0 < len(found) < 10


def test_two_processes_may_write_to_one_file_while_it_is_renamed(
    file: Path, corpus: Library, upstream: Upstream
) -> None:
    upstream.answer = lambda _body: " ".join([TRUE] * 20)
    audit = {"max_bytes": 10_000, "keep": 0, "text": True}
    with served(file, corpus, upstream, **audit) as one, served(file, corpus, upstream, **audit) as other:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(post, [one, other] * 8))
        until(lambda: metric(one, "written") == metric(other, "written") == 8)
    assert len(records(file)) == 16
    assert len(files_of(file)) > 3
    assert all(path.stat().st_size <= 10_000 for path in files_of(file))


def test_what_matches_is_not_recorded_but_answered(file: Path, corpus: Library, upstream: Upstream) -> None:
    patterns = [r"\bcheetah\w*", r"[\w.]+@[\w.]+"]
    with served(file, corpus, upstream, text=True, redact=patterns) as url:
        upstream.enqueue(f"{TRUE} Ask eve@example.com about the cheetah.")
        answer = post(url)
        until(lambda: metric(url, "written") == 1)
    assert "eve@example.com" in answer.text
    (record,) = records(file)
    assert record["question"] == "How fast can a [redacted] run?"
    assert not re.search("cheetah|eve|example", file.read_text())
    assert record["choices"][0]["claims"][0]["text"].startswith("The [redacted] can run")


@pytest.mark.parametrize("pattern", ["[", "a*"])
def test_a_pattern_that_is_none_is_refused_at_start(pattern: str) -> None:
    with pytest.raises(ConfigError, match=r"audit\.redact"):
        validate({"audit": {"redact": [pattern]}})


def test_a_record_that_can_not_be_written_at_all_is_refused_at_start(
    corpus: Library, upstream: Upstream, tmp_path: Path
) -> None:
    for path in (tmp_path, tmp_path / "no" / "such" / "folder.jsonl"):
        with pytest.raises(ConfigError, match=r"audit\.path"), served(path, corpus, upstream):
            pass


def vouch(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "COLUMNS": "160", "NO_COLOR": "1"}
    return warm.run("proxy", "audit", *arguments, folder=folder, env=env)


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    """A folder with a record in two files."""

    def line(number: int, key: str, verdict: str, text: str = "") -> str:
        claim = {"verdict": verdict, "evidence": [f"p{number}"], "cited": []}
        choice = {"status": "ok", "claims": [claim], "text": text}
        record = {"time": f"2026-11-2{number}T10:00:00.000+00:00", "request": f"r{number}", "key": key}
        return json.dumps({**record, "model": "m", "index": "generation-1", "choices": [choice]}) + "\n"

    first, second = line(1, "a", "supported"), line(2, "b", "contradicted", "Paris is large.")
    (tmp_path / "audit.20261122T000000000000.jsonl").write_text(first + second)
    (tmp_path / "audit.jsonl").write_text(
        line(3, "a", "unverified") + "[1, 2]\n" + line(4, "a", "contradicted")
    )
    (tmp_path / "config.yaml").write_text("audit: {path: audit.jsonl}")
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        ([], ["r1", "r2", "r3", "r4"]),
        (["--verdict", "contradicted"], ["r2", "r4"]),
        (["--key", "a", "--last", "2"], ["r3", "r4"]),
        (["--request", "r2"], ["r2"]),
        (["--evidence", "p3"], ["r3"]),
        (["--text", "paris"], ["r2"]),
        (["--since", "2026-11-22", "--until", "2026-11-23T11:00"], ["r2", "r3"]),
        (["--since", "2026-11-24T12:00+02:00"], ["r4"]),
        (["--model", "other"], []),
        (["--index", "generation-1", "--verdict", "supported"], ["r1"]),
    ],
)
def test_the_record_is_searched(recorded: Path, arguments: list[str], wanted: list[str]) -> None:
    done = vouch(*arguments, "--json", folder=recorded)
    assert done.returncode == 0, done.stderr
    assert [json.loads(line)["request"] for line in done.stdout.splitlines()] == wanted
    assert "audit.jsonl: 1 lines are no records" in done.stderr


def test_a_record_is_shown_as_a_line(recorded: Path) -> None:
    done = vouch("--request", "r2", folder=recorded)
    assert done.stdout == (
        "2026-11-22T10:00:00.000+00:00 r2 key=b model=m index=generation-1 status=ok contradicted=1\n"
    )


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--verdict", "wrong"], "There is no verdict 'wrong'; there are supported"),
        (["--since", "yesterday"], "'yesterday' is no time: write 2026-11-23"),
        (["--path", "none.jsonl"], "There is no audit record none.jsonl."),
    ],
)
def test_a_search_that_can_not_be_done_says_why(recorded: Path, arguments: list[str], told: str) -> None:
    done = vouch(*arguments, folder=recorded)
    assert done.returncode == 2
    assert told in done.stderr


def test_without_a_record_the_command_says_how_to_keep_one(tmp_path: Path) -> None:
    assert "No audit record is kept: set audit.path" in vouch(folder=tmp_path).stderr
