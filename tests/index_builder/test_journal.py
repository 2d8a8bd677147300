"""A build that is killed: what it had encoded is not encoded again."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from index_builder.build import build
from proxy.retrieval import open_corpus
from proxy.retrieval.index_files import open_index
from proxy.types import Vectors
from tests.corpora import build_index, vectors_of, write_source
from tests.encoders import HashingEncoder

ROOT = Path(__file__).parents[2]
BLOCK = 512
TEXTS = [f"Number {number} of many." for number in range(4 * BLOCK)]

KILLED = """
import os, signal, sys
from pathlib import Path
from index_builder.build import build
from tests.encoders import HashingEncoder

class Killed(HashingEncoder):
    def encode(self, texts):
        if self.calls == int(sys.argv[3]):
            os.kill(os.getpid(), signal.SIGKILL)
        return super().encode(texts)

build([sys.argv[1]], Path(sys.argv[2]), encoder=Killed())
"""


class Failing(HashingEncoder):
    """Raises in the call of that number, counted from 0."""

    def __init__(self, call: int, error: BaseException) -> None:
        super().__init__()
        self.call = call
        self.error = error

    def encode(self, texts: Sequence[str]) -> Vectors:
        if self.calls == self.call:
            raise self.error
        return super().encode(texts)


def journal(out: Path) -> Path:
    return out / ".vouch-encoded"


def interrupted(tmp_path: Path, calls: int = 3) -> Path:
    """An index folder whose build was ended by Ctrl-C after so many blocks."""
    source = write_source(tmp_path / "index.jsonl", TEXTS)
    with pytest.raises(KeyboardInterrupt):
        build([str(source)], tmp_path / "index", encoder=Failing(calls, KeyboardInterrupt()))
    return tmp_path / "index"


def finished(out: Path) -> list[str]:
    """Ends the build. Returns the texts that were encoded for it; the index is right and nothing is left."""
    encoder = HashingEncoder()
    build_index(out, TEXTS, encoder=encoder)
    corpus = open_corpus(open_index(out))
    assert np.allclose(vectors_of(corpus), HashingEncoder().encode(TEXTS))
    assert not journal(out).exists()
    assert len(list(out.glob("generation-*"))) == 1
    return [text for text in TEXTS if text in encoder.encoded]


def test_a_killed_build_goes_on_where_it_was_killed(tmp_path: Path) -> None:
    source = write_source(tmp_path / "index.jsonl", TEXTS)
    out = tmp_path / "index"
    for blocks in (1, 2):  # the second goes on after the first
        command = [sys.executable, "-c", KILLED, str(source), str(out), str(blocks)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == -9, done.stderr
    assert not (out / "manifest.json").exists()
    assert finished(out) == TEXTS[3 * BLOCK :]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), RuntimeError("out of memory")])
def test_so_does_one_that_failed_or_was_interrupted(tmp_path: Path, error: BaseException) -> None:
    source = write_source(tmp_path / "index.jsonl", TEXTS)
    out = tmp_path / "index"
    with pytest.raises(type(error)):
        build([str(source)], out, encoder=Failing(2, error))
    assert sorted(path.name for path in out.iterdir()) == [".vouch-encoded", ".vouch-lock"]
    assert finished(out) == TEXTS[2 * BLOCK :]


def test_an_interrupted_update_leaves_the_old_index_and_is_taken_up(tmp_path: Path) -> None:
    out = tmp_path / "index"
    build_index(out, TEXTS[:BLOCK])
    before = open_index(out)
    assert interrupted(tmp_path, calls=2) == out
    assert open_index(out) == before
    assert finished(out) == TEXTS[3 * BLOCK :]


def test_vectors_of_another_encoder_are_not_taken_over(tmp_path: Path) -> None:
    out = interrupted(tmp_path)
    report = build_index(out, TEXTS, encoder=HashingEncoder("other", 32))
    assert (report.reused, report.encoded) == (0, len(TEXTS))
    assert not journal(out).exists()


def cut(name: str, size: int) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        with (folder / name).open("r+b") as file:
            file.truncate(size)

    return damage


def zeroed(folder: Path) -> None:
    """As after a power cut: the file is long enough, but its end was never written."""
    vectors = np.memmap(folder / "vectors.bin", "<f4", "r+").reshape(-1, 64)
    vectors[BLOCK + 7 :] = 0


def not_a_number(folder: Path) -> None:
    np.memmap(folder / "vectors.bin", "<f4", "r+").reshape(-1, 64)[5] = np.nan


@pytest.mark.parametrize(
    ("damage", "left"),
    [
        (cut("vectors.bin", 700 * 256 + 13), 700),
        (cut("digests.bin", 600 * 16 + 5), 600),
        (cut("digests.bin", 0), 0),
        (zeroed, BLOCK + 7),
        (not_a_number, 5),
        (lambda folder: (folder / "vectors.bin").unlink(), 0),
        (lambda folder: (folder / "made.json").unlink(), 0),
        (lambda folder: (folder / "made.json").write_bytes(b"\xff{"), 0),
        (lambda folder: (folder / "made.json").write_text(json.dumps([1])), 0),
    ],
)
def test_a_journal_is_taken_over_as_far_as_it_is_whole(
    tmp_path: Path, damage: Callable[[Path], None], left: int
) -> None:
    out = interrupted(tmp_path)
    damage(journal(out))
    assert finished(out) == TEXTS[left:]
