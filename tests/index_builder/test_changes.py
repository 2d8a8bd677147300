"""An index whose sources have not changed is not built again, and `vouch watch` builds when they have."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from index_builder.build import Report, build
from index_builder.changes import expand_outside, fingerprint, settled
from index_builder.sources import File, Sources, expand
from proxy.cli.watch import watch
from proxy.errors import VouchError
from proxy.retrieval.index_files import open_index
from tests import warm
from tests.corpora import ANIMALS, write_source
from tests.encoders import HashingEncoder


def wait_until_settled(source: Path) -> None:
    until = time.monotonic() + 60
    while not settled(expand([str(source)])):
        assert time.monotonic() < until
        time.sleep(0.05)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = write_source(tmp_path / "animals.jsonl")
    wait_until_settled(path)
    return path


def built(source: Path, encoder: HashingEncoder | None = None, words: int = 100) -> tuple[Report, str]:
    """The report, and the generation that is in place after it."""
    out = source.parent / "index"
    report = build([str(source)], out, encoder=encoder or HashingEncoder(), words=words)
    return report, open_index(out).manifest.generation


def test_what_has_not_changed_is_not_read_again(source: Path) -> None:
    first, before = built(source)
    encoder = HashingEncoder()
    again, after = built(source, encoder)
    assert (after, encoder.calls) == (before, 0)
    assert (again.documents, again.passages, again.tokens) == (first.documents, 5, first.tokens)
    assert (again.reused, again.encoded, again.threshold) == (5, 0, first.threshold)
    assert len(list((source.parent / "index").glob("generation-*"))) == 1


def test_another_setting_encoder_or_a_damaged_index_is_built_again(source: Path) -> None:
    _, before = built(source)
    _, with_words = built(source, words=50)
    report, with_encoder = built(source, HashingEncoder("other"))
    assert len({before, with_words, with_encoder}) == 3
    assert report.encoded == 5
    next(source.parent.glob("index/*/vectors.npy")).write_bytes(b"garbage")
    assert built(source, HashingEncoder("other"))[0].encoded == 5


def test_a_change_is_noticed_though_size_and_time_are_the_same(source: Path) -> None:
    built(source)
    times = source.stat()
    source.write_text(source.read_text().replace("octopus", "octobus"), encoding="utf-8")
    os.utime(source, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert (source.stat().st_size, source.stat().st_mtime_ns) == (times.st_size, times.st_mtime_ns)
    assert built(source)[0].encoded == 1


def test_a_file_that_was_only_just_written_is_read_by_the_next_build_too(tmp_path: Path) -> None:
    source = write_source(tmp_path / "animals.jsonl")
    os.utime(source)
    _, before = built(source)
    assert open_index(tmp_path / "index").manifest.sources == ""
    wait_until_settled(source)
    _, after = built(source)
    assert before != after
    assert built(source)[1] == after


def test_a_document_that_could_not_be_read_is_tried_again(tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    write_source(folder / "a.jsonl")
    (folder / "b.pdf").write_bytes(b"%PDF-1.7 no more than that")
    wait_until_settled(folder)
    for _ in range(2):
        assert built(folder)[0].broken_count == 1


def test_names_and_new_files_count_and_the_index_itself_does_not(tmp_path: Path) -> None:
    def state() -> str:
        return fingerprint(expand_outside([str(tmp_path)], tmp_path / "index"))

    write_source(tmp_path / "a.jsonl")
    first = state()
    (tmp_path / "index").mkdir()
    write_source(tmp_path / "index" / "b.jsonl")
    assert state() == first
    write_source(tmp_path / "c.jsonl")
    second = state()
    (tmp_path / "c.jsonl").rename(tmp_path / "d.jsonl")
    assert len({first, second, state()}) == 3


def test_nothing_is_known_of_standard_input_or_of_a_file_that_is_gone(tmp_path: Path) -> None:
    assert fingerprint(expand(["-"])) == ""
    gone = Sources((File(tmp_path / "gone.txt", "gone.txt"),))
    assert fingerprint(gone) == ""
    assert not settled(gone)


def test_a_clock_that_is_ahead_does_not_keep_a_file_from_being_read(source: Path) -> None:
    os.utime(source, (time.time() + 10_000, time.time() + 10_000))
    wait_until_settled(source)


def test_watching_goes_on_after_an_error_which_is_said_once(tmp_path: Path) -> None:
    """The folder is empty, then holds a document, then two; each look is a step."""
    folder = tmp_path / "docs"
    folder.mkdir()
    said: list[str] = []
    documents: list[int] = []

    def rebuild() -> None:
        documents.append(build([str(folder)], tmp_path / "index", encoder=HashingEncoder()).documents)

    def say(error: VouchError) -> None:
        said.append(error.message)

    def looks() -> Iterator[bool]:
        until = time.monotonic() + 90
        for _ in range(5):
            yield True
        assert (len(said), documents) == (1, [])
        for number in (1, 2):
            (folder / f"{number}.txt").write_text(ANIMALS[number], encoding="utf-8")
            while len(documents) < number:
                assert time.monotonic() < until
                yield True
        for _ in range(5):
            yield True
        yield False

    look = looks()
    watch([str(folder)], tmp_path / "index", rebuild, say, every=0.05, going_on=lambda: next(look))
    assert documents == [1, 2]
    assert len(said) == 1
    assert "holds no documents" in said[0]


def test_watching_does_not_wait_for_ever_for_a_file_that_is_always_written_to(tmp_path: Path) -> None:
    log, out = tmp_path / "log.txt", tmp_path / "index"
    log.write_text(ANIMALS[0], encoding="utf-8")
    encoded: list[int] = []

    def rebuild() -> None:
        encoded.append(build([str(log)], out, encoder=HashingEncoder(), update=out.exists()).encoded)

    def looks() -> Iterator[bool]:
        until = time.monotonic() + 90
        while len(encoded) < 2 and time.monotonic() < until:
            with log.open("a", encoding="utf-8") as file:
                file.write(f" It is {time.time_ns()}.")
            yield True
        yield False

    look = looks()
    said: list[VouchError] = []
    watch([str(log)], out, rebuild, said.append, every=0.05, patience=0.5, going_on=lambda: next(look))
    assert (len(encoded), said) == (2, [])
    assert all(encoded)


def test_a_user_watches_a_folder(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "one.txt").write_text(ANIMALS[0], encoding="utf-8")
    command = [sys.executable, "-m", "proxy", "watch", "docs", "--out", "index", "--every", "0.1"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        counts = []
        for line in process.stdout:
            if found := re.match(r"(\d+) documents?, .* (\d+) encoded, (\d+) reused", line):
                counts.append(found.groups())
                if len(counts) == 1:
                    (docs / "two.txt").write_text(ANIMALS[1], encoding="utf-8")
                else:
                    process.send_signal(signal.SIGINT)
                    break
        process.stdout.read()
        assert process.wait(timeout=60) == 130
    assert counts == [("1", "1", "0"), ("2", "1", "1")]
    assert open_index(tmp_path / "index").manifest.documents == 2


def test_standard_input_can_not_be_watched(tmp_path: Path) -> None:
    done = warm.run("proxy", "watch", "-", folder=tmp_path, env=os.environ)
    assert done.returncode == 2
    assert "Standard input can't be watched" in done.stderr
