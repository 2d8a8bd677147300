"""`python -m benchmarks.scale`, as a user runs it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

from benchmarks.scale import Synthetic
from tests import warm

ROOT = Path(__file__).parent.parent

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="the command reads a process's memory from /proc"
)


def scale(*arguments: str) -> subprocess.CompletedProcess[str]:
    return warm.run("benchmarks.scale", *arguments, folder=ROOT, env=os.environ)


@pytest.mark.timeout(300)
def test_every_size_and_kind_has_its_line(tmp_path: Path) -> None:
    done = scale("--sizes", "1000", "300", "--queries", "40", "--json", "--folder", str(tmp_path))
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    expected = [(size, kind) for size in (1000, 300) for kind in ("exact", "ivf", "hnsw", "sq8", "fp16")]
    assert [(row["size"], row["kind"]) for row in rows] == expected
    for row in rows:
        assert row["recall_at_10"] == 1 if row["kind"] == "exact" else row["recall_at_10"] >= 0.95
        assert 0 < row["p50_ms"] <= row["p99_ms"]
        assert row["build_seconds"] >= 0
        assert row["disk_mb"] >= row["size"] * 384 * 4 / 1e6 - 0.1
        assert row["resident_mb"] >= row["held_mb"] >= 0
        assert (row["effort"] > 0) == (row["kind"] != "exact")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.timeout(300)
def test_a_table_for_people() -> None:
    done = scale("--sizes", "200", "--kinds", "exact", "--dimension", "32", "--queries", "5")
    assert done.returncode == 0, done.stderr
    header, row = (line.split() for line in done.stdout.splitlines())
    assert dict(zip(header, row, strict=True))["recall_at_10"] == "1.0"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--sizes", "0"], "--sizes: 0 is not from 1 to 100,000,000"),
        (["--sizes", "1000", "-5"], "--sizes: -5 is not from"),
        (["--sizes", "many"], "invalid int value"),
        ([], "required: --sizes"),
        (["--sizes", "10", "--kinds", "quantum"], "invalid choice: 'quantum'"),
        (["--sizes", "10", "--queries", "0"], "--queries: 0 is not from"),
        (["--sizes", "10", "--dimension", "3"], "--dimension: 3 is not from"),
        (["--sizes", "10", "--folder", "/no/such/folder"], "/no/such/folder is no folder"),
        (["--sizes", "100000000", "--dimension", "8192"], "GB of disk"),
    ],
)
def test_wrong_arguments_are_said(arguments: list[str], said: str) -> None:
    done = scale(*arguments)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_synthetic_vectors_are_unit_the_same_again_and_clustered() -> None:
    synthetic = Synthetic(1000, 64)
    block = synthetic.block(3, 500)
    assert np.allclose(np.linalg.norm(block, axis=1), 1, atol=1e-5)
    assert np.array_equal(block, Synthetic(1000, 64).block(3, 500))
    assert not np.array_equal(block, synthetic.block(4, 500))
    cosines = block @ block.T
    np.fill_diagonal(cosines, 0)
    assert np.median(cosines.max(axis=1)) > 0.5 > abs(np.median(cosines)) + 0.3
