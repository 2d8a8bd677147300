"""The other commands that say how an index grows, as a user runs them."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks import kills, scale_build, scale_chat
from tests import warm

ROOT = Path(__file__).parent.parent

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="the commands read a process's memory from /proc"
)


def run(module: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return warm.run(f"benchmarks.{module}", *arguments, folder=ROOT, env=os.environ)


@pytest.mark.timeout(300)
def test_a_build_its_repetition_and_its_update(tmp_path: Path) -> None:
    done = run("scale_build", "--passages", "300", "--words", "8", "--json", "--folder", str(tmp_path))
    assert done.returncode == 0, done.stderr
    row = json.loads(done.stdout)
    assert (row["passages"], row["update_encoded"]) == (300, 3)
    assert row["unchanged_seconds"] < row["build_seconds"]
    assert row["peak_mb"] >= row["held_mb"] >= 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.timeout(300)
def test_a_chats_search_as_figures_and_as_a_plot(tmp_path: Path) -> None:
    arguments = ["--sizes", "100", "400", "--chats", "3", "--json", "--plot", str(tmp_path / "chat.svg")]
    done = run("scale_chat", *arguments)
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["size"] for row in rows] == [100, 400]
    assert all(row["hybrid_ms"] > row["dense_ms"] > 0 for row in rows)
    assert all(row["hybrid_ms"] > row["known_ms"] > 0 for row in rows)
    assert "<svg" in (tmp_path / "chat.svg").read_text(encoding="utf-8")


@pytest.mark.timeout(300)
def test_a_few_kills() -> None:
    done = run("kills", "--kills", "5", "--passages", "30")
    assert done.returncode == 0, done.stderr
    counted = json.loads(done.stdout)
    assert counted["killed"] == 5
    assert counted["folders left by killed builds after a whole one"] == 0


@pytest.mark.parametrize(
    ("main", "arguments", "said"),
    [
        (scale_build.main, ["--passages", "5"], "--passages: 5 is not from 100"),
        (scale_build.main, ["--folder", "/no/such/folder"], "/no/such/folder is no folder"),
        (scale_chat.main, ["--sizes", "0"], "--sizes: not from 1"),
        (kills.main, ["--kills", "0"], "--kills is at least 1"),
    ],
)
def test_wrong_arguments_are_said(
    main: Callable[[list[str]], None], arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(arguments)
    assert said in capsys.readouterr().err
