"""How the search by vectors grows with the corpus, for each kind of dense index.

    python -m benchmarks.scale --sizes 1000 100000 1000000 [--kinds exact ivf hnsw] [--dimension 384]
        [--queries 200] [--folder DIR] [--json]

For each size and kind it builds an index by `vouch index`'s own code out of synthetic unit vectors, and
searches it in a fresh process, one query at a time, on one thread. Figures per line: `recall_at_10` against
the exact scan, `p50_ms` and `p99_ms` of a search, `p50_cpu_ms` and `p99_cpu_ms` of it without what other
programs took, `build_seconds` of the index alone (the vectors are there), in processor seconds,
`disk_mb` of vectors and index, `open_seconds` with all checksums, `resident_mb` after the searches, mapped
pages included, and `held_mb`, the part of it that the system can't drop. Needs Linux, for its /proc.

The vectors are clustered, and no query is among them. They stand for no text: how much of a real corpus is
found, `vouch index` measures on its passages whenever it builds such an index.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args

import numpy as np

from proxy.errors import VouchError
from proxy.retrieval.chunks import SPLITTER
from proxy.retrieval.corpus import ENCODED
from proxy.retrieval.generation import Generation, new_generation
from proxy.retrieval.index_files import ANALYZER, FORMAT, ArrayWriter, Manifest, map_array
from proxy.retrieval.vector_index import ExactScan, recall_of, write_vector_index
from proxy.retrieval.vector_table import VECTOR, VECTORS, HeldVectors
from proxy.types import DenseKind, Vectors

KINDS: tuple[DenseKind, ...] = get_args(DenseKind)
AT = 10
MOST = 100_000_000

_BLOCK = 16_384
_LATENT = 48
_PER_TOPIC = 200
_TOPICS = 5000
_SPREAD = 0.8
_NOISE = 0.4
_TUNING = 256
_SPACE = 2.2
"""Times the vectors' own size: they, the largest index, and some room."""
_SEARCH_LIMIT = 3600


@dataclass(frozen=True, slots=True)
class Figures:
    """What was measured of one size and kind; megabytes of 1,000,000 bytes."""

    size: int
    kind: DenseKind
    dimension: int
    recall_at_10: float
    p50_ms: float
    p99_ms: float
    p50_cpu_ms: float
    p99_cpu_ms: float
    build_seconds: float
    disk_mb: float
    resident_mb: float
    held_mb: float
    open_seconds: float
    effort: int
    candidates: int


class Synthetic:
    """Clustered unit vectors: topics, and passages around them, in a space of fewer dimensions than the
    vectors have, as those of encoders are.

    Args:
        size: how many there will be; decides how many topics there are.
        dimension: of the vectors.
    """

    def __init__(self, size: int, dimension: int) -> None:
        random = np.random.default_rng([size, dimension])
        latent = min(_LATENT, dimension)
        topics = min(_TOPICS, max(8, size // _PER_TOPIC))
        self._dimension = dimension
        self._topics = random.standard_normal((topics, latent), dtype=np.float32)
        self._spread = random.standard_normal((latent, dimension), dtype=np.float32)

    def block(self, seed: int, count: int) -> Vectors:
        """Vectors of that seed, shape (count, dimension), the same ones again for the same seed."""
        random = np.random.default_rng(seed)
        latent = self._topics[random.integers(len(self._topics), size=count)]
        latent = latent + _SPREAD * random.standard_normal(latent.shape, dtype=np.float32)
        noise = random.standard_normal((count, self._dimension), dtype=np.float32)
        vectors = latent @ self._spread + _NOISE * latent.shape[1] ** 0.5 * noise
        unit: Vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return unit


def measure(
    sizes: Sequence[int], kinds: Sequence[DenseKind], dimension: int, queries: int, folder: Path
) -> Iterator[Figures]:
    """The figures of each size and kind, as soon as they are known. `folder` is where the indexes are made;
    each is removed before the next."""
    for size in sizes:
        synthetic = Synthetic(size, dimension)
        made = folder / f"vectors-{size}.npy"
        with ArrayWriter(made, VECTOR, (dimension,)) as writer:
            for seed, start in enumerate(range(0, size, _BLOCK)):
                writer.append(synthetic.block(seed, min(_BLOCK, size - start)))
        vectors = map_array(made, VECTOR, (size, dimension))
        held_out = synthetic.block(MOST, queries)
        tuning = synthetic.block(MOST + 1, _TUNING)
        exact, _ = ExactScan(vectors).nearest(held_out, AT)
        for kind in kinds:
            index = folder / f"index-{size}-{kind}"
            seconds = _build(index, made, vectors, tuning, kind)
            disk = sum(file.stat().st_size for file in index.rglob("*") if file.is_file())
            found = _search(index, held_out, folder)
            yield Figures(
                size=size,
                kind=kind,
                dimension=dimension,
                recall_at_10=round(recall_of(np.array(found.pop("cosines"), np.float32), exact), 4),
                build_seconds=round(seconds, 2),
                disk_mb=round(disk / 1e6, 1),
                **found,
            )
            shutil.rmtree(index)
        made.unlink()


def _build(out: Path, made: Path, vectors: Vectors, tuning: Vectors, kind: DenseKind) -> float:
    """An index without passages and words. Returns the processor seconds of its dense half."""
    with new_generation(out) as generation:
        generation.file(VECTORS).hardlink_to(made)
        start = time.process_time()
        dense = write_vector_index(generation, HeldVectors(vectors), tuning, kind, lambda done: None)
        seconds = time.process_time() - start
        generation.commit(_manifest(generation, vectors, dense))
    return seconds


def _manifest(generation: Generation, vectors: Vectors, dense: Any) -> Manifest:
    return Manifest(
        format=FORMAT,
        generation=generation.folder.name,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        encoder="synthetic",
        dimension=vectors.shape[1],
        normalised=True,
        encoded=ENCODED,
        splitter=SPLITTER,
        words=100,
        max_tokens=256,
        threshold=-1.0,
        documents=len(vectors),
        passages=len(vectors),
        broken=0,
        tokens=0,
        files=generation.seal(),
        dense=dense,
        analyzer=ANALYZER,
    )


def _search(index: Path, queries: Vectors, folder: Path) -> dict[str, Any]:
    """What `benchmarks.scale_search` says of the index, in a process of its own."""
    asked = folder / "queries.npy"
    np.save(asked, queries)
    command = [sys.executable, "-m", "benchmarks.scale_search", str(index), str(asked), str(AT)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=_SEARCH_LIMIT)
    return dict(json.loads(done.stdout))


def _arguments(parser: argparse.ArgumentParser, arguments: Sequence[str] | None) -> argparse.Namespace:
    """The arguments, or one line that says what is wrong with them, and exit status 2."""
    parser.add_argument("--sizes", type=int, nargs="+", required=True, help="how many vectors")
    parser.add_argument(
        "--kinds", nargs="+", choices=KINDS, default=list(KINDS), help="default: all; hnsw takes longest"
    )
    parser.add_argument("--dimension", type=int, default=384, help="of the vectors")
    parser.add_argument("--queries", type=int, default=200, help="how many are searched for")
    parser.add_argument("--folder", type=Path, help="where the indexes are made; default: a temporary one")
    parser.add_argument("--json", action="store_true", help="one JSON object per line")
    given = parser.parse_args(arguments)
    for name, values, least, most in (
        ("--sizes", given.sizes, 1, MOST),
        ("--dimension", [given.dimension], 8, 8192),
        ("--queries", [given.queries], 1, 100_000),
    ):
        for value in values:
            if not least <= value <= most:
                parser.error(f"{name}: {value} is not from {least:,} to {most:,}")
    if given.folder and not given.folder.is_dir():
        parser.error(f"--folder: {given.folder} is no folder")
    if not Path("/proc/self/status").exists():
        parser.error("the memory of a process is read from /proc, which this system does not have")
    needed = int(max(given.sizes) * given.dimension * 4 * _SPACE)
    free = shutil.disk_usage(given.folder or tempfile.gettempdir()).free
    if needed > free:
        parser.error(
            f"--sizes: {max(given.sizes):,} needs {needed / 1e9:,.1f} GB of disk, and "
            f"{given.folder or tempfile.gettempdir()} has {free / 1e9:,.1f} GB free; choose another --folder"
        )
    return given


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.scale",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    given = _arguments(parser, arguments)
    names = [field.name for field in fields(Figures)]
    if not given.json:
        print(" ".join(f"{name:>13}" for name in names), flush=True)
    sizes, kinds = list(dict.fromkeys(given.sizes)), list(dict.fromkeys(given.kinds))
    try:
        with tempfile.TemporaryDirectory(dir=given.folder) as folder:
            for figures in measure(sizes, kinds, given.dimension, given.queries, Path(folder)):
                row = asdict(figures)
                line = " ".join(f"{row[name]:>13}" for name in names)
                print(json.dumps(row) if given.json else line, flush=True)
    except (VouchError, OSError, subprocess.SubprocessError) as error:
        sys.exit(f"{parser.prog}: {error}")


if __name__ == "__main__":
    main()
