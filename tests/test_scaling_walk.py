"""The walk of docs/scaling.md: ten commands from a folder to Milvus, each run as it is shown.

Those that need no Milvus are run by `test_docs` too, on every machine.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.milvus_server import LITE, free_port, require

ROOT = Path(__file__).parent.parent

pytestmark = pytest.mark.timeout(600)

_LITE = "-c 'from milvus_lite.cmdline import main; main()'"


def walk() -> list[str]:
    """The commands of the walk, without their comments."""
    page = (ROOT / "docs" / "scaling.md").read_text(encoding="utf-8")
    section = re.split(r"^## ", page.split("\n## A walk\n")[1], maxsplit=1, flags=re.M)[0]
    code = re.findall(r"^```(?:sh)?\n(.*?)^```", section, re.M | re.S)
    return [line.split("  #")[0].strip() for block in code for line in block.splitlines()]


class Walker:
    """A user's shell: a folder, what was exported, and what was started."""

    def __init__(self, folder: Path) -> None:
        commands = folder / "bin"
        commands.mkdir()
        for name, module in (("vouch", "-m proxy"), ("milvus-lite", _LITE)):
            script = commands / name
            script.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {module} "$@"\n', "ascii")
            script.chmod(0o755)
        (folder / "examples").symlink_to(ROOT / "examples")
        self._folder = folder
        self._environ = {**os.environ, "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}"}
        self._started: list[subprocess.Popen[bytes]] = []

    def run(self, command: str) -> str:
        """What it printed. It must end well."""
        done = subprocess.run(
            command,
            shell=True,
            cwd=self._folder,
            env=self._environ,
            capture_output=True,
            text=True,
            timeout=280,
        )
        assert done.returncode == 0, f"{command}: {done.stderr}"
        return done.stdout

    def export(self, command: str) -> None:
        """Sets what an `export` sets."""
        self._environ |= dict(pair.split("=", 1) for pair in shlex.split(command)[1:])

    def start(self, command: str) -> None:
        """Lets it run on."""
        with (self._folder / "log").open("ab") as log:
            started = subprocess.Popen(
                f"exec {command}",
                shell=True,
                cwd=self._folder,
                env=self._environ,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._started.append(started)

    def end(self) -> None:
        """All that was started."""
        for process in self._started:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@pytest.fixture
def walker(tmp_path: Path) -> Iterator[Walker]:
    walker = Walker(tmp_path)
    yield walker
    walker.end()


def test_the_walk_has_ten_commands_of_which_four_need_no_milvus() -> None:
    commands = walk()
    assert len(commands) == 10
    assert all(command.startswith("vouch index examples/corpus --out index") for command in commands[:4])


def test_the_walk_leads_to_milvus(walker: Walker) -> None:
    require(LITE)
    milvus, vouch = free_port(), free_port()
    printed = ""
    for command in walk():
        shown = command.replace("19530", str(milvus))
        if shown.startswith("pip "):
            continue  # what it installs is what `require` looked for
        if shown.startswith("export "):
            walker.export(shown)
        elif shown.startswith("milvus-lite "):
            walker.start(shown)
            wait_for(milvus)
        elif shown.startswith("vouch serve"):
            walker.start(f"{shown} --port {vouch}")
            wait_for(vouch)
        else:
            printed = walker.run(shown)
    assert "supported: The Eiffel Tower was completed in 1889.[1]" in printed
    body = {"text": "The Eiffel Tower was completed in 1889."}
    answer = httpx.post(f"http://127.0.0.1:{vouch}/v1/check", json=body, timeout=60)
    assert [claim["verdict"] for claim in answer.json()["verification"]["claims"]] == ["supported"]


def wait_for(port: int) -> None:
    """Until somebody listens there."""
    until = time.monotonic() + 120
    while time.monotonic() < until:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    pytest.fail(f"nobody listens on the port {port}")
