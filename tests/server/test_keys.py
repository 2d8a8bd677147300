"""The key file: what `vouch keys` writes, and a server that reads it again without a restart."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from proxy.cli.compose import Library
from proxy.cli.serve import plans, require_keys
from proxy.config.key_file import StoredKey, add_key, read_keys, revoke_key
from proxy.config.load import validate
from proxy.errors import ConfigError
from tests import warm
from tests.corpora import build_index, library_of
from tests.scripted_upstream import Upstream
from tests.serving import serving, settings_for, until

ROOT = Path(__file__).parents[2]


def vouch(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "COLUMNS": "160", "NO_COLOR": "1"}
    return warm.run("proxy", "keys", *arguments, folder=folder, env=env)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "keys.jsonl"


@pytest.fixture
def corpus(tmp_path: Path) -> Iterator[Library]:
    """A small index."""
    build_index(tmp_path / "index")
    library = library_of(tmp_path / "index")
    yield library
    library.close()


@contextmanager
def served(file: Path, corpus: Library, upstream: Upstream, **server: Any) -> Iterator[str]:
    """The address, without /v1, of a server with that key file."""
    chosen = settings_for(upstream.url, server={"key_file": str(file), **server})
    with serving(chosen, corpus) as url:
        yield url.removesuffix("/v1")


def status(url: str, key: str, path: str = "/v1/models") -> int:
    headers = {"authorization": f"Bearer {key}"} if key else {}
    return httpx.get(f"{url}{path}", headers=headers, timeout=60).status_code


def test_the_commands_make_list_and_revoke_keys(file: Path, tmp_path: Path) -> None:
    made = vouch("add", "team-a", "--file", file.name, folder=tmp_path)
    assert made.returncode == 0, made.stderr
    (key,) = made.stdout.split()
    assert key.startswith("vouch-")
    assert len(key) > 40
    assert key not in made.stderr
    assert key not in file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    more = ("--scope", "metrics", "--scope", "admin")
    assert vouch("add", "ops", *more, "--file", file.name, folder=tmp_path).returncode == 0
    (tmp_path / "config.yaml").write_text(f"server: {{key_file: {file.name}}}")
    listed = [line.split("\t") for line in vouch("list", folder=tmp_path).stdout.splitlines()]
    assert [line[:2] for line in listed] == [["team-a", "models"], ["ops", "metrics,admin"]]
    assert [len(line) for line in listed] == [4, 4]
    assert vouch("revoke", "team-a", folder=tmp_path).returncode == 0
    assert [key.name for key in read_keys(file)] == ["ops"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["add", "twice", "--file", "keys.jsonl"], "There is a key named 'twice' already"),
        (["add", "no name", "--file", "keys.jsonl"], "'no name' is no name for a key"),
        (["add", "x", "--scope", "all", "--file", "keys.jsonl"], "'all' is not one of"),
        (["add", "x"], "There is no key file: set server.key_file"),
        (["add", "x", "--file", "/proc/keys.jsonl"], "can't be written"),
        (["revoke", "other", "--file", "keys.jsonl"], "There are: twice."),
        (["list", "--file", "none.jsonl"], "There is no key file none.jsonl. Make one with"),
    ],
)
def test_what_is_wrong_is_said_with_what_to_do(
    arguments: list[str], told: str, file: Path, tmp_path: Path
) -> None:
    add_key(file, "twice", ["models"])
    done = vouch(*arguments, folder=tmp_path)
    assert done.returncode == 2
    assert told in " ".join(done.stderr.replace("│", " ").split())
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("{", "line 2 of the key file"),
        ('{"name": "a"}', "sha256"),
        ('{"name": "a", "sha256": "short"}', "sha256"),
        ('{"name": "a b", "sha256": "' + "0" * 64 + '"}', "name"),
        ('{"name": "a", "sha256": "' + "0" * 64 + '", "scopes": ["x"]}', "scopes"),
        ('{"name": "a", "sha256": "' + "0" * 64 + '", "key": "plain"}', "key"),
        ('{"name": "first", "sha256": "' + "0" * 64 + '"}', "two keys named 'first'"),
        ("\ud800".encode("utf-8", "surrogatepass").decode("latin-1"), "line 2"),
    ],
)
def test_a_line_that_is_no_key_is_named(file: Path, line: str, told: str) -> None:
    add_key(file, "first", ["models"])
    file.write_text(file.read_text() + line, encoding="latin-1")
    with pytest.raises(ConfigError, match=r"the key file|The key file") as wrong:
        read_keys(file)
    assert told in wrong.value.message
    assert "plain" not in wrong.value.message


@pytest.mark.skipif(os.getuid() != 0, reason="only root gives files away")
def test_changes_by_root_leave_the_file_to_its_owner(file: Path) -> None:
    add_key(file, "first", ["models"])
    os.chown(file, 10001, 10002)
    elsewhere = file.with_name("elsewhere")
    elsewhere.write_text("as it was")
    file.with_name(f"{file.name}.tmp").symlink_to(elsewhere)
    revoke_key(file, "first")
    there = file.lstat()
    assert (there.st_uid, there.st_gid, stat.S_IMODE(there.st_mode)) == (10001, 10002, 0o600)
    assert stat.S_ISREG(there.st_mode)
    assert elsewhere.read_text() == "as it was"


def test_a_key_is_taken_and_refused_without_a_restart(
    file: Path, corpus: Library, upstream: Upstream
) -> None:
    first = add_key(file, "first", ["models"])
    with served(file, corpus, upstream) as url:
        assert [status(url, key) for key in (first, "wrong", "")] == [200, 401, 401]
        second = add_key(file, "second", ["models", "metrics"])
        until(lambda: status(url, second) == 200)
        assert [status(url, key, "/metrics") for key in (first, second)] == [403, 200]
        revoke_key(file, "first")
        until(lambda: status(url, first) == 401)
        assert status(url, second) == 200
        metrics = httpx.get(f"{url}/metrics", headers={"x-vouch-key": second}, timeout=60).text
        assert 'key="first"' in metrics
        assert first not in metrics


def test_a_file_that_can_not_be_read_leaves_the_keys_before(
    file: Path, corpus: Library, upstream: Upstream, caplog: pytest.LogCaptureFixture
) -> None:
    key = add_key(file, "first", ["models"])
    with served(file, corpus, upstream) as url, caplog.at_level(logging.ERROR, "proxy"):
        before = file.read_text()
        file.write_text("{")

        def complained() -> bool:
            assert status(url, key) == 200
            return any("the keys before hold on" in record.message for record in caplog.records)

        until(complained)
        file.write_text(before + json.dumps(_stored("second", "key-of-second")) + "\n")
        until(lambda: status(url, "key-of-second") == 200)
        file.unlink()
        assert status(url, key) == 200


def _stored(name: str, key: str) -> dict[str, Any]:
    return StoredKey(name=name, sha256=hashlib.sha256(key.encode()).hexdigest()).model_dump(mode="json")


def test_an_empty_key_file_lets_nobody_in(file: Path, corpus: Library, upstream: Upstream) -> None:
    only = add_key(file, "only", ["models"])
    revoke_key(file, "only")
    with served(file, corpus, upstream) as url:
        assert [status(url, key) for key in (only, "")] == [401, 401]
        assert httpx.post(f"{url}/admin/reload", timeout=60).status_code == 401


def test_keys_of_the_settings_count_too(file: Path, corpus: Library, upstream: Upstream) -> None:
    stored = add_key(file, "stored", ["models"])
    with served(file, corpus, upstream, api_keys=["key-of-the-settings"]) as url:
        assert [status(url, key) for key in (stored, "key-of-the-settings", "x")] == [200, 200, 401]


def test_a_server_with_a_key_file_is_one_with_keys(file: Path) -> None:
    chosen = validate({"server": {"key_file": str(file), "host": "0.0.0.0"}})
    require_keys(chosen.server)
    assert any(f"one of those in {file}" in line for line in plans(chosen))


def test_a_server_does_not_start_without_its_key_file(
    file: Path, corpus: Library, upstream: Upstream
) -> None:
    with pytest.raises(ConfigError, match="vouch keys add"), served(file, corpus, upstream):
        pass


def test_keys_that_are_made_at_once_are_all_kept(file: Path, tmp_path: Path) -> None:
    code = "import sys; from pathlib import Path; from proxy.config.key_file import add_key; "
    code += "[add_key(Path(sys.argv[1]), f'{sys.argv[2]}-{n}', ['models']) for n in range(10)]"
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    running = [
        subprocess.Popen([sys.executable, "-c", code, str(file), name], env=environ) for name in ("a", "b")
    ]
    assert [each.wait(100) for each in running] == [0, 0]
    assert len(read_keys(file)) == 20
