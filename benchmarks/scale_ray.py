"""How fast passages are encoded by workers of a Ray cluster, beside this process alone.

    python -m benchmarks.scale_ray --corpus FILE.jsonl [--passages 1500] [--workers 1 2] [--address HOST:PORT]
        [--json]

Encodes the first passages of a corpus by `vouch index`'s own code: in this process (`workers` 0), with the
threads that torch takes, and then with so many Ray workers of one core each. Without `--address` all of them
are on this machine, so two workers stand for two machines that share their memory's bandwidth. Figures per
line: `seconds` of all, and of them `start_seconds` until each worker has given its first block, which is
starting Ray and loading the models; `passages_per_second` after that; `same`, the share of passages whose
vectors are those of this process to the last bit; `least_cosine` between the two. Needs the extra `ray`.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import islice
from pathlib import Path

import numpy as np

from index_builder.build import build
from index_builder.documents import Document
from index_builder.ray_engine import Cluster, encode_with_ray
from index_builder.sources import documents
from proxy.errors import VouchError
from proxy.retrieval.chunks import chunk
from proxy.retrieval.encoder import SentenceTransformerEncoder
from proxy.retrieval.index_files import open_index
from proxy.retrieval.vector_table import open_vectors
from proxy.types import Vectors

_FILES = 8


@dataclass(frozen=True, slots=True)
class Figures:
    """What was measured of one number of workers."""

    workers: int
    passages: int
    seconds: float
    start_seconds: float
    passages_per_second: float
    same: float
    least_cosine: float


class _Watch:
    """The times at which a number of passages was done. A `build.Progress`."""

    def __init__(self) -> None:
        self.start = time.perf_counter()
        self.times: list[tuple[float, int]] = []

    def __call__(self, stage: str, done: int, total: int | None) -> None:
        if stage == "encoding":
            self.times.append((time.perf_counter() - self.start, done))

    def figures(self, workers: int) -> tuple[float, float, float]:
        """Seconds of all, seconds of starting, and passages per second after that."""
        began, before = self.times[min(workers, len(self.times) - 1) - 1] if workers else (0.0, 0)
        ended, done = self.times[-1]
        return ended, began, (done - before) / max(ended - began, 1e-9)


def write_corpus(corpus: str, passages: int, folder: Path) -> int:
    """The first documents of a corpus that have so many passages, in eight files. Returns the passages."""
    found: list[Document] = []
    count = 0
    for document in documents([corpus]):
        if count >= passages:
            break
        if isinstance(document, Document):
            found.append(document)
            count += sum(1 for _ in chunk(document))
    for file in range(_FILES):
        rows = (
            json.dumps({"id": document.id, "title": document.title, "text": document.text})
            for document in islice(found, file, None, _FILES)
        )
        (folder / f"{file}.jsonl").write_text("\n".join(rows), encoding="utf-8")
    return count


def measure(
    corpus: str, passages: int, workers: Sequence[int], address: str | None, folder: Path
) -> Iterator[Figures]:
    """The figures of this process, and of each number of workers."""
    docs = folder / "docs"
    docs.mkdir()
    write_corpus(corpus, passages, docs)
    encoder = SentenceTransformerEncoder()
    encoder.encode(["The first call pays for what the others use."])
    local: Vectors | None = None
    for number in (0, *workers):
        watch, index = _Watch(), folder / f"index-{number}"
        if number:
            encode_with_ray(
                [str(docs)],
                index,
                encoder,
                SentenceTransformerEncoder,
                Cluster(number, address),
                words=100,
                progress=watch,
            )
        seconds = watch.figures(number) if number else None
        build([str(docs)], index, encoder=encoder, progress=watch)
        whole, start, rate = seconds or watch.figures(0)
        vectors = np.array(open_vectors(open_index(index)).array)
        local = vectors if local is None else local
        yield Figures(
            workers=number,
            passages=len(vectors),
            seconds=round(whole, 1),
            start_seconds=round(start, 1),
            passages_per_second=round(rate, 1),
            same=round(float(np.mean((vectors == local).all(axis=1))), 4),
            least_cosine=round(float(np.sum(vectors * local, axis=1).min()), 6),
        )


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.scale_ray",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--corpus", required=True, help="a .jsonl with id, title, text")
    parser.add_argument("--passages", type=int, default=1500, help="about how many")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2], help="how many encode")
    parser.add_argument("--address", help="of a cluster; default: one on this machine")
    parser.add_argument("--json", action="store_true", help="one JSON object per line")
    given = parser.parse_args(arguments)
    if not 1 <= given.passages <= 10_000_000:
        parser.error(f"--passages: {given.passages} is not from 1 to 10,000,000")
    for number in given.workers:
        if not 1 <= number <= 10_000:
            parser.error(f"--workers: {number} is not from 1 to 10,000")
    names = [field.name for field in fields(Figures)]
    if not given.json:
        print(" ".join(f"{name:>19}" for name in names), flush=True)
    try:
        with tempfile.TemporaryDirectory() as folder:
            for figures in measure(given.corpus, given.passages, given.workers, given.address, Path(folder)):
                row = asdict(figures)
                line = " ".join(f"{row[name]:>19}" for name in names)
                print(json.dumps(row) if given.json else line, flush=True)
    except (VouchError, OSError) as error:
        sys.exit(f"{parser.prog}: {error}")


if __name__ == "__main__":
    main()
