"""Kills builds and updates at random moments, and looks after each whether the index is whole.

    python -m benchmarks.kills [--kills 100] [--passages 60] [--seed 1] [--folder DIR] [--serve]

Two versions of a folder are indexed in turns, by whole builds or by updates, each in a child process
that is killed (SIGKILL) at a random moment: any from its start to a little behind its end, half of them about
when it commits, so that some end. After each the index must open, with all checksums, and hold exactly
the passages of the one version or the other. Prints one JSON object, and fails at the first index that does
not. Vectors are drawn from a hash of the text: no model is needed. With `--serve` a server watches the index
all the while, and is asked without a pause (`benchmarks.kills_served`): it may fail no chat, and load no
index that is not whole.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.scale_build import Hashes
from index_builder import changes
from index_builder.build import build
from proxy.errors import BrokenIndexError
from proxy.retrieval import open_corpus
from proxy.retrieval.index_files import open_index

_UPDATES = 0.75
_MOMENTS = ((0.0, 1.1), (0.8, 1.1))
"""When a build is killed, as shares of the time that one takes: at any moment, or about when it commits."""


def versions_of(passages: int) -> list[dict[str, str]]:
    """Two folders' files of one passage each: of the second some are missing, some new and some changed."""
    versions = []
    for version in range(2):
        first = version * passages // 30
        changed = {number for number in range(first, first + passages) if version and not number % 20}
        versions.append(
            {
                f"{number}.txt": f"Document {number} is {'changed' if number in changed else 'old'}."
                for number in range(first, first + passages)
            }
        )
    return versions


def write(folder: Path, files: dict[str, str]) -> None:
    """Makes the folder one of exactly these files; those that are right already are left alone."""
    for path in set(folder.iterdir()) - {folder / name for name in files}:
        path.unlink()
    for name, text in files.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def texts_of(out: Path) -> frozenset[str]:
    """What is found in the index. Raises `BrokenIndexError`."""
    corpus = open_corpus(open_index(out))
    return frozenset(
        corpus.passages.passage(row).text for row, _ in corpus.postings.best("document", 1_000_000)
    )


def attempt(source: Path, out: Path, seconds: float, *, update: bool) -> tuple[bool, float]:
    """Builds in a child, which is killed after so many seconds. Whether it was, and how long it ran."""
    start = time.monotonic()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            build([str(source)], out, encoder=Hashes(), update=update)
            status = 0
        finally:
            os._exit(status)
    ended, status = 0, 0
    while not ended and time.monotonic() - start < seconds:
        ended, status = os.waitpid(child, os.WNOHANG)
        time.sleep(0.0005)
    if not ended:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
    if os.WIFEXITED(status) and os.WEXITSTATUS(status):
        sys.exit("python -m benchmarks.kills: a build failed that was not killed")
    return os.WIFSIGNALED(status), time.monotonic() - start


@contextlib.contextmanager
def asked(out: Path) -> Iterator[dict[str, Any]]:
    """A server over the index, asked until the block ends. Then the dictionary says what came of it."""
    figures: dict[str, Any] = {}
    command = [sys.executable, "-m", "benchmarks.kills_served", "--index", str(out)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        if server.stdout is None or server.stdout.readline() != "serving\n":
            sys.exit("python -m benchmarks.kills: the server did not start")
        try:
            yield figures
        finally:
            told, _ = server.communicate()
    figures.update(json.loads(told))


def run(kills: int, passages: int, seed: int, folder: Path, *, serve: bool = False) -> dict[str, Any]:
    """Until so many builds were killed. Returns what was counted. Exits where an index is not whole."""
    changes.SETTLED = -1.0  # nothing writes to the sources here
    versions, docs, out = versions_of(passages), folder / "docs", folder / "index"
    docs.mkdir()
    write(docs, versions[0])
    moments = random.Random(seed)
    _, reach = attempt(docs, out, 600, update=False)
    served: dict[str, Any] = {}
    with asked(out) if serve else contextlib.nullcontext(served) as served:
        counted = _turns(kills, docs, out, versions, moments, reach)
    (docs / "last.txt").write_text("The last document.", encoding="utf-8")
    build([str(docs)], out, encoder=Hashes(), update=True)
    made = open_index(out).manifest
    named = {made.generation, *(part.generation for part in made.parts)}
    left = {path.name for path in out.glob("generation-*")} - named
    return {**counted, **served, "folders left by killed builds after a whole one": len(left)}


def _turns(
    kills: int, docs: Path, out: Path, versions: list[dict[str, str]], moments: random.Random, reach: float
) -> Counter[str]:
    """Builds and updates until so many were killed. `reach`: the seconds that one takes, about."""
    whole = [frozenset(version.values()) for version in versions]
    counted: Counter[str] = Counter()
    turn = 0
    while counted["killed"] < kills:
        turn += 1
        write(docs, versions[turn % 2])
        before = open_index(out).manifest.generation
        seconds = reach * moments.uniform(*moments.choice(_MOMENTS))
        update = moments.random() < _UPDATES
        killed, took = attempt(docs, out, seconds, update=update)
        reach = 0.8 * reach + 0.2 * took if not killed else reach * 1.02
        counted["killed" if killed else "ended"] += 1
        try:
            found = texts_of(out)
        except BrokenIndexError as error:
            sys.exit(f"python -m benchmarks.kills: after turn {turn} the index is broken: {error.message}")
        if found not in whole:
            sys.exit(f"python -m benchmarks.kills: after turn {turn} the index is of neither version")
        made = open_index(out).manifest
        counted["killed after its commit"] += killed and made.generation != before
        counted["updated in place"] += bool(made.parts) and made.generation != before
    return counted


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.kills",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--kills", type=int, default=100, help="builds to be killed")
    parser.add_argument("--passages", type=int, default=60, help="of each version")
    parser.add_argument("--seed", type=int, default=1, help="of the moments")
    parser.add_argument("--folder", type=Path, help="where all is made; default: a temporary folder")
    parser.add_argument("--serve", action="store_true", help="a server watches the index meanwhile")
    given = parser.parse_args(arguments)
    if given.kills < 1 or not 10 <= given.passages <= 1_000_000:
        parser.error("--kills is at least 1, --passages from 10 to 1,000,000")
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        figures = run(given.kills, given.passages, given.seed, Path(folder), serve=given.serve)
    print(json.dumps(figures))
    sys.exit(bool(figures.get("wrong")))


if __name__ == "__main__":
    main()
