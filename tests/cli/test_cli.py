"""The `vouch` command, as a user runs it."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest
import yaml

from tests import warm
from tests.server.facts import FALSE, TRUE, TRUE_ZH

COMMANDS = ["serve", "index", "watch", "check", "demo", "open", "config"]
VOUCH = [sys.executable, "-m", "proxy"]
FULL = Path("/dev/full")
HOLDS = "The Eiffel Tower was completed in March 1889 and inaugurated on 31 March 1889."


def vouch(*arguments: str, folder: Path, stdin: str = "", **environ: str) -> subprocess.CompletedProcess[str]:
    env = {key: value for key, value in os.environ.items() if key != "OPENAI_API_KEY"}
    env |= {"COLUMNS": "160", "NO_COLOR": "1", "VOUCH_CHECKER__NLI__SIZE": "small", **environ}
    return warm.run("proxy", *arguments, folder=folder, env=env, stdin=stdin, timeout=100)


def on_a_terminal(*arguments: str, folder: Path) -> str:
    """What a command prints on a terminal."""
    ours, theirs = pty.openpty()
    env = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "FORCE_COLOR")}
    with subprocess.Popen(
        [*VOUCH, *arguments], stdout=theirs, stderr=subprocess.PIPE, cwd=folder, env={**env, "TERM": "xterm"}
    ):
        os.close(theirs)
        printed = b""
        with contextlib.suppress(OSError):  # EIO: the command has ended
            while piece := os.read(ours, 65536):
                printed += piece
    os.close(ours)
    return printed.decode().replace("\r\n", "\n")


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
    assert all(f" {name} " in helped.stdout for name in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
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


def test_check_says_of_each_claim_what_became_of_it_and_why(example_index: Path, tmp_path: Path) -> None:
    text = f"{HOLDS} {FALSE}"
    done = vouch("check", "-", "--index", str(example_index), folder=tmp_path, stdin=text, NO_COLOR="")
    assert done.returncode == 3, done.stderr
    assert "\x1b" not in done.stdout
    holds, fails, *_ = done.stdout.splitlines()
    assert holds == f"supported: {HOLDS}[1]"
    assert re.fullmatch(rf"(contradicted|unsupported): {re.escape(FALSE)} \(.+ says “.+”\)", fails)
    assert "[1] Eiffel Tower" in done.stdout
    assert "1 supported" in done.stdout


def test_check_on_a_terminal_shows_the_text_in_colours_and_why_claims_failed(
    example_index: Path, tmp_path: Path
) -> None:
    arguments = ["check", f"{TRUE} {FALSE}", "--index", str(example_index)]
    shown = on_a_terminal(*arguments, folder=tmp_path)
    assert "\x1b[32m" in shown  # green
    plain = re.sub(r"\x1b\[[0-9;]*m", "", shown)
    assert plain.startswith(f"{TRUE}[1] {FALSE}")
    assert re.search(rf"^(contradicted|unsupported): {re.escape(FALSE)} \(.+\)$", plain, re.M)


def test_check_prints_json_as_on_the_wire(example_index: Path, tmp_path: Path) -> None:
    done = vouch("check", TRUE_ZH, "--index", str(example_index), "--json", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    wire = json.loads(done.stdout)
    assert set(wire) == {"content", "references", "verification"}
    assert wire["content"].startswith(f"{TRUE_ZH}[1]")
    (claim,) = wire["verification"]["claims"]
    assert (claim["verdict"], "reason" in claim) == ("supported", False)


def test_check_reads_standard_input_in_any_encoding(example_index: Path, tmp_path: Path) -> None:
    def check(given: bytes) -> subprocess.CompletedProcess[str]:
        env = {**os.environ, "COLUMNS": "160", "NO_COLOR": "1", "VOUCH_CHECKER__NLI__SIZE": "small"}
        command = [*VOUCH, "check", "-", "--index", str(example_index)]
        done = subprocess.run(command, input=given, capture_output=True, cwd=tmp_path, env=env)
        return subprocess.CompletedProcess(
            command, done.returncode, done.stdout.decode(), done.stderr.decode()
        )

    assert (
        "The café Größe stands in Zürich."
        in check("The café Größe stands in Zürich.".encode("cp1252")).stdout
    )
    assert "standard input is a binary file, not text" in one_line(check(b"\xff\0\1"))


def test_index_reports_and_the_next_run_reuses(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "one.txt").write_text("The Zorblax reactor was switched on by Mira Quill in 2041.")
    (docs / "broken.pdf").write_bytes(b"%PDF-1.4 nonsense")
    (docs / "photo.png").write_bytes(b"no picture")
    first = vouch("index", "docs", "--out", "idx", folder=tmp_path)
    assert first.returncode == 0, first.stderr
    assert "broken.pdf" in first.stdout + first.stderr
    assert "1 file of another kind was left out: photo.png." in first.stdout
    (docs / "two.txt").write_text("Mira Quill lives in Novgorod.")
    (docs / "prices.md").write_text(
        "| Model | Price |\n|---|---|\n| HR-10 | EUR 31,500 |\n| HR-20 | EUR 47,900 |\n"
    )
    second = vouch("index", "docs", "--out", "idx", folder=tmp_path)
    assert second.returncode == 0
    assert re.search(r"1\b.*\breused", second.stdout)
    assert "broken.pdf" in one_line(vouch("index", "docs", "--out", "idx", "--strict", folder=tmp_path))
    said = "Mira Quill lives in Novgorod. The HR-10 costs EUR 31,500."
    checked = vouch("check", said, "--index", "idx", folder=tmp_path)
    assert "supported: Mira Quill lives in Novgorod.[1]" in checked.stdout, checked.stderr
    assert "HR-10 | Price: EUR 31,500" in checked.stdout  # as its evidence, or the nearest there is


def test_wrong_paths_are_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert "nowhere" in one_line(vouch("index", "nowhere", folder=tmp_path))
    assert "no documents" in one_line(vouch("index", "empty", folder=tmp_path))
    assert "vouch index" in one_line(vouch("check", "x is y.", "--index", "nowhere", folder=tmp_path))
    assert "vouch index" in one_line(vouch("serve", "--index", "nowhere", "--port", "0", folder=tmp_path))
    assert "No such file: no.yaml" in one_line(vouch("config", "--config", "no.yaml", folder=tmp_path))


@pytest.mark.skipif(not FULL.exists(), reason="a device of Linux")
@pytest.mark.parametrize("command", [("--version",), ("config",)])
def test_output_that_can_not_be_written_is_one_clear_line(command: tuple[str, ...], tmp_path: Path) -> None:
    with FULL.open("wb") as full:
        pipe = subprocess.PIPE
        done = subprocess.run([*VOUCH, *command], stdout=full, stderr=pipe, text=True, cwd=tmp_path)
    assert one_line(done) == "vouch: No space left on device."
    assert done.returncode == 2


@pytest.mark.skipif(not FULL.exists(), reason="a device of Linux")
def test_a_key_that_nobody_was_shown_is_not_kept(tmp_path: Path) -> None:
    keys = tmp_path / "keys.jsonl"
    command = [*VOUCH, "keys", "add", "team-a", "--file", str(keys)]
    with FULL.open("wb") as full:
        failed = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, cwd=tmp_path)
    assert (one_line(failed), failed.returncode) == ("vouch: No space left on device.", 2)
    assert "team-a" not in keys.read_text()
    assert subprocess.run(command, capture_output=True, cwd=tmp_path).returncode == 0


def test_output_that_nobody_reads_ends_a_command_without_a_word(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as broken:
        done = subprocess.run([*VOUCH, "config"], stdout=broken, stderr=subprocess.PIPE, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (1, b"")


def test_a_closed_standard_input_is_an_empty_one(example_index: Path, tmp_path: Path) -> None:
    for command in (["check", "-", "--index", str(example_index)], ["index", "-", "--out", "i"]):
        closed = ["sh", "-c", 'exec "$@" <&-', "sh", *VOUCH, *command]
        line = one_line(subprocess.run(closed, capture_output=True, text=True, cwd=tmp_path))
        assert "There is no text to" in line
        assert "AttributeError" not in line


def test_an_unknown_setting_is_one_clear_line(tmp_path: Path) -> None:
    done = vouch("config", folder=tmp_path, VOUCH_SERVER__PROT="1")
    assert "VOUCH_SERVER__PROT (server.prot) is an unknown key; did you mean VOUCH_SERVER__PORT?" in one_line(
        done
    )


def test_modes_that_contradict_each_other_refuse_to_start(tmp_path: Path, example_index: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("streaming: {mode: sentence}\nregeneration: {on_unsupported: drop}\n", encoding="utf-8")
    done = vouch("serve", "--config", str(config), "--index", str(example_index), folder=tmp_path)
    assert "contradict each other" in one_line(done)


def test_config_prints_what_serve_would_refuse_and_says_so(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("streaming: {mode: sentence}\nregeneration: {on_unsupported: drop}\n", encoding="utf-8")
    done = vouch("config", "--config", str(config), folder=tmp_path)
    assert done.returncode == 2
    assert yaml.safe_load(done.stdout)["streaming"]["mode"] == "sentence"
    assert "contradict each other" in done.stderr
    config.unlink()
    keyless = vouch("config", folder=tmp_path, VOUCH_UPSTREAMS__0__MODEL="openai/gpt-4o-mini")
    assert keyless.returncode == 2
    assert "OPENAI_API_KEY" in keyless.stderr


def test_a_port_in_use_is_one_clear_line(tmp_path: Path, example_index: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        line = one_line(vouch("serve", "--index", str(example_index), "--port", port, folder=tmp_path))
    assert f"127.0.0.1:{port}" in line


def test_a_missing_key_is_one_clear_line(tmp_path: Path, example_index: Path) -> None:
    serve = ["serve", "--index", str(example_index), "--port", "0", "--model"]
    assert "OPENAI_API_KEY" in one_line(vouch(*serve, "openai/gpt-4o-mini", folder=tmp_path))
    assert "OPENAI_API_KEY" in one_line(vouch(*serve, "gpt-4o-mini", folder=tmp_path))
    assert "OPENAI_API_KEY" in one_line(vouch(*serve, "gpt-4o-mini", folder=tmp_path, OPENAI_API_KEY=""))
    assert "ANTHROPIC_API_KEY" in one_line(vouch(*serve, "anthropic/claude-sonnet-4-5", folder=tmp_path))
    assert "--model" in one_line(vouch("serve", "--api-base", "http://127.0.0.1:1/v1", folder=tmp_path))
    line = one_line(vouch(*serve, "openai/llama3.2", "--api-base", "localhost:11434/v1", folder=tmp_path))
    assert "api_base must be an address that begins with http:// or https://" in line


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


def test_serve_says_what_it_loads_and_does_and_says_goodbye(tmp_path: Path, example_index: Path) -> None:
    command = [*VOUCH, "serve", "--index", str(example_index), "--model", "vouch/extractive", "--port", "0"]
    env = {**os.environ, "VOUCH_REGENERATION__MAX_ROUNDS": "2", "VOUCH_CHECKER__NLI__SIZE": "small"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=tmp_path, env=env) as process:
        assert process.stdout is not None
        said = []
        for line in process.stdout:
            said.append(line.strip())
            if address := re.search(r"^Listening on (http://\S+)/v1", line):
                break
        opening, counts, encoder, checker, serves, model, preset, but, *_ = said
        assert opening == f"Opening the index {example_index} ..."
        assert re.fullmatch(r"\d+ documents, \d+ passages, of 20\d\d-\d\d-\d\d", counts)
        assert encoder == "Loading the encoder all-MiniLM-L6-v2 ..."
        assert checker.startswith("Loading the checker ")
        assert serves.startswith("Vouch serves over ")
        assert (model, but) == ("model vouch/extractive", "but regeneration.max_rounds: 2")
        assert preset.startswith("preset reader: sentences are sent once they are checked")
        assert "checker nli: small for English and Chinese" in said
        assert any(re.fullmatch(r"base makes fewer errors in English, but takes .+", line) for line in said)
        assert "clients need no key; only this machine can reach the server" in said
        assert address
        until = time.monotonic() + 60
        while time.monotonic() < until:
            try:
                ready = httpx.get(f"{address.group(1)}/readyz").json()
                break
            except httpx.ConnectError:
                time.sleep(0.05)
        assert ready["models"] == ["vouch/extractive"]
        process.send_signal(signal.SIGINT)
        assert process.stdout.read().strip().splitlines()[-1] == "Goodbye."
        assert process.wait(timeout=60) == 130
