"""The `vouch` command, as a user runs it."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest
import yaml

from tests.server.facts import FALSE, TRUE, TRUE_ZH

VOUCH = [sys.executable, "-m", "proxy"]


def vouch(*arguments: str, folder: Path, stdin: str = "", **environ: str) -> subprocess.CompletedProcess[str]:
    env = {key: value for key, value in os.environ.items() if key != "OPENAI_API_KEY"}
    return subprocess.run(
        [*VOUCH, *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        cwd=folder,
        env={**env, "COLUMNS": "160", "NO_COLOR": "1", **environ},
        timeout=100,
    )


def one_line(done: subprocess.CompletedProcess[str]) -> str:
    """What a failing command said: one line on standard error, no traceback, a non-zero exit."""
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    (line,) = done.stderr.strip().splitlines()
    return line


def test_help_is_instant_and_names_every_command(tmp_path: Path) -> None:
    code = "import sys, proxy.__main__; print([name for name in sys.argv[1].split() if name in sys.modules])"
    heavy = "torch litellm nltk sentence_transformers faiss starlette uvicorn pydantic"
    loaded = subprocess.run(
        [sys.executable, "-c", code, heavy], capture_output=True, text=True, check=True
    ).stdout.strip()
    assert loaded == "[]"
    helped = vouch("--help", folder=tmp_path)
    assert helped.returncode == 0
    assert all(f" {name} " in helped.stdout for name in ("serve", "index", "check", "demo", "open", "config"))


@pytest.mark.parametrize("command", ["serve", "index", "check", "demo", "open", "config"])
def test_each_command_explains_itself(command: str, tmp_path: Path) -> None:
    helped = vouch(command, "--help", folder=tmp_path)
    assert helped.returncode == 0
    assert f"vouch {command}" in helped.stdout or "Usage:" in helped.stdout
    assert len(helped.stdout) > 300


def test_config_prints_the_effective_settings_with_secrets_masked(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("upstreams: [{model: openai/x, api_key: '${K}'}]")
    done = vouch("config", folder=tmp_path, K="sk-secret", VOUCH_SERVER__PORT="9000")
    assert done.returncode == 0
    assert "sk-secret" not in done.stdout
    settings = yaml.safe_load(done.stdout)
    assert (settings["server"]["port"], settings["upstreams"][0]["name"]) == (9000, "x")


def test_check_marks_a_text_and_says_with_its_exit_that_a_claim_failed(
    example_index: Path, tmp_path: Path
) -> None:
    done = vouch("check", "-", "--index", str(example_index), folder=tmp_path, stdin=f"{TRUE} {FALSE}")
    assert done.returncode == 3, done.stderr
    assert f"{TRUE}[1]" in done.stdout
    assert "[1] Eiffel Tower" in done.stdout
    assert "1 supported" in done.stdout


def test_check_prints_json_as_on_the_wire(example_index: Path, tmp_path: Path) -> None:
    done = vouch("check", TRUE_ZH, "--index", str(example_index), "--json", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    wire = json.loads(done.stdout)
    assert set(wire) == {"content", "references", "verification"}
    assert wire["content"].startswith(f"{TRUE_ZH}[1]")
    assert wire["verification"]["claims"][0]["verdict"] == "supported"


def test_index_reports_and_the_next_run_reuses(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "one.txt").write_text("The Zorblax reactor was switched on by Mira Quill in 2041.")
    (docs / "broken.pdf").write_bytes(b"%PDF-1.4 nonsense")
    first = vouch("index", "docs", "--out", "idx", folder=tmp_path)
    assert first.returncode == 0, first.stderr
    assert "broken.pdf" in first.stdout + first.stderr
    (docs / "two.txt").write_text("Mira Quill lives in Novgorod.")
    second = vouch("index", "docs", "--out", "idx", folder=tmp_path)
    assert second.returncode == 0
    assert re.search(r"1\b.*\breused", second.stdout)
    assert "broken.pdf" in one_line(vouch("index", "docs", "--out", "idx", "--strict", folder=tmp_path))
    checked = vouch("check", "Mira Quill lives in Novgorod.", "--index", "idx", folder=tmp_path)
    assert checked.returncode == 0, checked.stderr


def test_wrong_paths_are_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert "nowhere" in one_line(vouch("index", "nowhere", folder=tmp_path))
    assert "no documents" in one_line(vouch("index", "empty", folder=tmp_path))
    assert "vouch index" in one_line(vouch("check", "x is y.", "--index", "nowhere", folder=tmp_path))
    assert "vouch index" in one_line(vouch("serve", "--index", "nowhere", "--port", "0", folder=tmp_path))
    assert "No such file: no.yaml" in one_line(vouch("config", "--config", "no.yaml", folder=tmp_path))


def test_an_unknown_setting_is_one_clear_line(tmp_path: Path) -> None:
    done = vouch("serve", folder=tmp_path, VOUCH_SERVER__PROT="1")
    assert "VOUCH_SERVER__PROT (server.prot) is an unknown key; did you mean 'port'?" in one_line(done)


def test_modes_that_contradict_each_other_refuse_to_start(tmp_path: Path, example_index: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("streaming: {mode: sentence}\nregeneration: {on_unsupported: drop}\n", encoding="utf-8")
    done = vouch("serve", "--config", str(config), "--index", str(example_index), folder=tmp_path)
    assert "contradict each other" in one_line(done)


def test_a_port_in_use_is_one_clear_line(tmp_path: Path, example_index: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        line = one_line(vouch("serve", "--index", str(example_index), "--port", port, folder=tmp_path))
    assert f"127.0.0.1:{port}" in line


def test_a_missing_key_is_one_clear_line(tmp_path: Path, example_index: Path) -> None:
    serve = ["serve", "--index", str(example_index), "--port", "0", "--model"]
    assert "OPENAI_API_KEY" in one_line(vouch(*serve, "openai/gpt-4o-mini", folder=tmp_path))
    assert "ANTHROPIC_API_KEY" in one_line(vouch(*serve, "anthropic/claude-sonnet-4-5", folder=tmp_path))
    assert "--model" in one_line(vouch("serve", "--api-base", "http://127.0.0.1:1/v1", folder=tmp_path))


def test_a_corrupt_index_is_one_clear_line(tmp_path: Path, example_index: Path) -> None:
    broken = tmp_path / "broken"
    shutil.copytree(example_index, broken)
    victim = max((path for path in broken.rglob("*") if path.is_file()), key=lambda path: path.stat().st_size)
    victim.write_bytes(victim.read_bytes()[:-10])
    assert victim.name in one_line(vouch("serve", "--index", str(broken), "--port", "0", folder=tmp_path))


def test_another_encoder_than_the_indexs_refuses_to_start(tmp_path: Path, example_index: Path) -> None:
    manifest = tmp_path / "other"
    shutil.copytree(example_index, manifest)
    path = manifest / "manifest.json"
    path.write_text(path.read_text().replace("all-MiniLM-L6-v2", "some-other-model"))
    line = one_line(vouch("check", "x is y.", "--index", str(manifest), folder=tmp_path))
    assert "some-other-model" in line
    assert "all-MiniLM-L6-v2" in line


def test_serve_is_ready_says_where_and_stops_on_a_signal(tmp_path: Path, example_index: Path) -> None:
    command = [*VOUCH, "serve", "--index", str(example_index), "--model", "vouch/extractive", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=tmp_path) as process:
        assert process.stdout is not None
        address = next(found for line in process.stdout if (found := re.search(r"http://\S+", line)))
        root = address.group().removesuffix("/v1")
        until = time.monotonic() + 10
        while time.monotonic() < until:
            try:
                ready = httpx.get(f"{root}/readyz").json()
                break
            except httpx.ConnectError:
                time.sleep(0.05)
        assert ready["models"] == ["vouch/extractive"]
        process.terminate()
        assert process.wait(timeout=15) in (0, -15)
