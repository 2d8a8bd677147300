"""How a whole build grows with the corpus: time, memory, and what it costs to bring an index up to date.

    python -m benchmarks.scale_build --passages 10000 100000 [--words 100] [--text examples/corpus]
        [--dense auto] [--folder DIR] [--json]

The documents are made of the sentences of a text at hand, in random order, each with a word of its own: one
sentence or more, until there are `--words` words, and a thousand documents to a file. Building, building
again with nothing changed, and `--update` after 1% of the documents have changed, in files of their own, run
in a fresh process each, with all of `vouch index` but the model: vectors are drawn from a hash of the text.
So the figures are those of everything but encoding, whose rate `python -m benchmarks.index` measures.

Figures per line: seconds of each; processor seconds of the build, and passages per each of them; `peak_mb`,
the most memory that the build had at any time, mapped pages included; `held_mb`, the part of it that the
system can't drop, as it was at its most when looked at twice a second; `disk_mb`; `open_seconds`, with all
checksums. Megabytes have 1,000,000 bytes. Needs Linux, for its /proc.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from hashlib import blake2b
from pathlib import Path
from typing import Any, get_args

import numpy as np

from benchmarks.scale_search import resident
from index_builder.build import build
from index_builder.changes import SETTLED
from index_builder.documents import Document
from index_builder.sources import documents
from proxy.errors import VouchError
from proxy.retrieval import open_corpus
from proxy.retrieval.index_files import open_index
from proxy.text.sentences import sentence_spans
from proxy.types import DenseChoice, Vectors

DIMENSION = 384
MOST = 100_000_000
_PER_FILE = 1000
_CHANGED = 0.01
_LIMIT = 24 * 3600
_CHOICES: tuple[DenseChoice, ...] = get_args(DenseChoice)


@dataclass(frozen=True, slots=True)
class Figures:
    """What was measured of one size."""

    passages: int
    build_seconds: float
    processor_seconds: float
    passages_per_second: float
    peak_mb: float
    held_mb: float
    unchanged_seconds: float
    update_seconds: float
    update_encoded: int
    disk_mb: float
    open_seconds: float


class Hashes:
    """In place of a model: clustered vectors, drawn from a hash of the text. Implements `WindowedEncoder`."""

    name = "hashes"
    dimension = DIMENSION
    max_tokens = 256

    def __init__(self) -> None:
        self._topics = np.random.default_rng(0).standard_normal((1000, DIMENSION), dtype=np.float32)

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Shape (len(texts), dimension), float32, unit rows."""
        digests = (blake2b(text.encode(), digest_size=8).digest() for text in texts)
        vectors = np.empty((len(texts), DIMENSION), np.float32)
        for row, digest in enumerate(digests):
            seed = int.from_bytes(digest, "little")
            vectors[row] = np.random.default_rng(seed).standard_normal(DIMENSION, dtype=np.float32)
            vectors[row] += self._topics[seed % len(self._topics)]
        unit: Vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return unit


def sentences_of(text: str) -> list[str]:
    """The sentences of a source, one line each."""
    found = [
        " ".join(document.text[start:end].split())
        for document in documents([text])
        if isinstance(document, Document)
        for start, end in sentence_spans(document.text)
    ]
    return [sentence for sentence in found if len(sentence.split()) > 3]


def write_corpus(
    folder: Path, sentences: Sequence[str], count: int, words: int, *, part: int = 0, seed: int = 0
) -> None:
    """Files of so many documents; other texts for another `seed`."""
    choose = random.Random(f"{count} {part} {seed}")
    for file in range(0, count, _PER_FILE):
        with (folder / f"{part}-{file}.jsonl").open("w", encoding="utf-8") as lines:
            for number in range(file, min(file + _PER_FILE, count)):
                text = _text(choose, sentences, words)
                row = {"id": f"{part}-{number}", "title": f"Document {number}", "text": text}
                lines.write(json.dumps(row) + "\n")


def _text(choose: random.Random, sentences: Sequence[str], least: int) -> str:
    words, chosen = 0, []
    while words < least:
        sentence = choose.choice(sentences)
        chosen.append(f"{sentence} It is {choose.getrandbits(64):x}.")
        words += len(sentence.split()) + 3
    return " ".join(chosen)


def measure(sizes: Sequence[int], words: int, text: str, dense: str, folder: Path) -> Iterator[Figures]:
    """The figures of each size. Each corpus and index is removed before the next."""
    sentences = sentences_of(text)
    for size in sizes:
        with tempfile.TemporaryDirectory(dir=folder) as place:
            docs, index = Path(place, "docs"), Path(place, "index")
            docs.mkdir()
            few = max(1, round(size * _CHANGED))
            write_corpus(docs, sentences, size - few, words)
            write_corpus(docs, sentences, few, words, part=1)
            _settle()
            built = _run("build", docs, index, dense)
            same = _run("build", docs, index, dense)
            write_corpus(docs, sentences, few, words, part=1, seed=1)
            _settle()
            updated = _run("update", docs, index, dense)
            disk = sum(file.stat().st_size for file in index.rglob("*") if file.is_file())
            opened = _run("open", docs, index, dense)
            yield Figures(
                passages=built["passages"],
                build_seconds=built["seconds"],
                processor_seconds=built["processor_seconds"],
                passages_per_second=round(built["passages"] / built["processor_seconds"], 1),
                peak_mb=built["peak_mb"],
                held_mb=built["held_mb"],
                unchanged_seconds=same["seconds"],
                update_seconds=updated["seconds"],
                update_encoded=updated["encoded"],
                disk_mb=round(disk / 1e6, 1),
                open_seconds=opened["seconds"],
            )


def _settle() -> None:
    time.sleep(SETTLED + 0.1)


def _run(what: str, docs: Path, index: Path, dense: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.scale_build", "--step", what, str(docs), str(index), dense]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=_LIMIT)
    return dict(json.loads(done.stdout))


def step(what: str, docs: str, index: str, dense: DenseChoice) -> dict[str, Any]:
    """One step, in this process."""
    if what == "open":
        start = time.perf_counter()
        open_corpus(open_index(index))
        return {"seconds": round(time.perf_counter() - start, 2)}
    most = [0.0]
    ended = threading.Event()

    def look() -> None:
        while not ended.wait(0.5):
            most[0] = max(most[0], resident()[1])

    looking = threading.Thread(target=look)
    looking.start()
    try:
        before = time.process_time()
        report = build([docs], Path(index), encoder=Hashes(), dense=dense, update=what == "update")
    finally:
        ended.set()
        looking.join()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
    return {
        "seconds": round(report.seconds, 2),
        "processor_seconds": round(max(0.01, time.process_time() - before), 2),
        "passages": report.passages,
        "encoded": report.encoded,
        "peak_mb": round(peak, 1),
        "held_mb": round(most[0], 1),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.scale_build",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--passages", type=int, nargs="+", default=[10_000], help="about how many")
    parser.add_argument("--words", type=int, default=100, help="of a document, at least")
    parser.add_argument("--text", default="examples/corpus", help="where sentences are taken from")
    parser.add_argument("--dense", choices=_CHOICES, default="auto", help="as for `vouch index`")
    parser.add_argument("--folder", type=Path, help="where all is made; default: a temporary folder")
    parser.add_argument("--json", action="store_true", help="one JSON object per line")
    parser.add_argument("--step", nargs=4, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.step:
        what, docs, index, dense = given.step
        print(json.dumps(step(what, docs, index, dense)))
        return
    for size in given.passages:
        if not 100 <= size <= MOST:
            parser.error(f"--passages: {size} is not from 100 to {MOST:,}")
    if not 1 <= given.words <= 100_000:
        parser.error(f"--words: {given.words} is not from 1 to 100,000")
    if given.folder and not given.folder.is_dir():
        parser.error(f"--folder: {given.folder} is no folder")
    names = [field.name for field in fields(Figures)]
    if not given.json:
        print(" ".join(f"{name:>19}" for name in names), flush=True)
    try:
        place = given.folder or Path(tempfile.gettempdir())
        for figures in measure(given.passages, given.words, given.text, given.dense, place):
            row = asdict(figures)
            line = " ".join(f"{row[name]:>19}" for name in names)
            print(json.dumps(row) if given.json else line, flush=True)
    except (VouchError, OSError, subprocess.SubprocessError) as error:
        sys.exit(f"{parser.prog}: {error}")


if __name__ == "__main__":
    main()
