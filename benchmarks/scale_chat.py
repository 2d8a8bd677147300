"""How the cost of one checked chat grows with the corpus: the search for its claims.

    python -m benchmarks.scale_chat --sizes 1000 10000 100000 [--claims 8] [--chats 30] [--text FILE]
        [--plot FILE.svg] [--folder DIR] [--json]

Of what a checked chat does, only the search depends on the corpus: encoding and checking its claims cost the
same over any. For each size this makes an index (synthetic vectors, and passages made of the sentences of a
text at hand, each with a word of its own), searched as `vouch index` sets it up. A chat has `--claims`
claims, sentences of that text, that are searched in one batch on one thread, as a reply that is checked as a
whole is. Figures per line, in processor milliseconds per chat, the median over the chats: `dense_ms` by
vectors, `lexical_ms` by words, `hybrid_ms` both with fusion and the passages read, `known_ms` what the same
chat costs when it comes again. `p99_ms` is of the hybrid search by the clock, and so with what other programs
took meanwhile.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import faiss
import numpy as np

from benchmarks.scale import MOST, Synthetic
from benchmarks.scale_build import DIMENSION, sentences_of
from index_builder.postings import write_postings
from proxy.errors import VouchError
from proxy.retrieval import Corpus, open_corpus, search_thread
from proxy.retrieval.chunks import SPLITTER
from proxy.retrieval.corpus import ENCODED, CachedRetriever, RankingRetriever
from proxy.retrieval.generation import new_generation
from proxy.retrieval.index_files import ANALYZER, FORMAT, ArrayWriter, Manifest, open_index
from proxy.retrieval.passages import PASSAGES, read_passages, write_passages
from proxy.retrieval.rankings import DenseRanking, HybridRanking, LexicalRanking
from proxy.retrieval.vector_index import kind_for, write_vector_index
from proxy.retrieval.vector_table import VECTOR, VECTORS, StoredVectors
from proxy.types import DenseKind, Passage, Vectors

_BLOCK = 16_384
_TUNING = 256
_PER_PASSAGE = 5
_K = 10


@dataclass(frozen=True, slots=True)
class Figures:
    """What was measured of one size."""

    size: int
    kind: DenseKind
    dense_ms: float
    lexical_ms: float
    hybrid_ms: float
    known_ms: float
    p99_ms: float


class _Drawn:
    """In place of a model: the next of some vectors for each text."""

    name = "synthetic"
    dimension = DIMENSION

    def __init__(self, vectors: Vectors) -> None:
        self._vectors = vectors
        self._next = 0

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Shape (len(texts), dimension), float32, unit rows."""
        rows = np.arange(self._next, self._next + len(texts)) % len(self._vectors)
        self._next += len(texts)
        drawn: Vectors = self._vectors[rows]
        return drawn


def make_index(out: Path, size: int, synthetic: Synthetic, sentences: Sequence[str]) -> None:
    """An index of so many passages."""
    choose = random.Random(size)
    with new_generation(out) as generation:
        with ArrayWriter(generation.file(VECTORS), VECTOR, (DIMENSION,)) as writer:
            for seed, start in enumerate(range(0, size, _BLOCK)):
                writer.append(synthetic.block(seed, min(_BLOCK, size - start)))
        write_passages(generation, (_passage(row, choose, sentences) for row in range(size)))
        vectors = StoredVectors(generation.file(VECTORS), size, DIMENSION)
        tuning = synthetic.block(MOST + 1, _TUNING)
        dense = write_vector_index(generation, vectors, tuning, kind_for("auto", size), lambda done: None)
        write_postings(generation, read_passages(generation.file(PASSAGES)))
        generation.commit(
            Manifest(
                format=FORMAT,
                generation=generation.folder.name,
                created=datetime.now(UTC).isoformat(timespec="seconds"),
                encoder="synthetic",
                dimension=DIMENSION,
                normalised=True,
                encoded=ENCODED,
                splitter=SPLITTER,
                words=100,
                max_tokens=256,
                threshold=-1.0,
                documents=size,
                passages=size,
                broken=0,
                tokens=0,
                files=generation.seal(),
                dense=dense,
                analyzer=ANALYZER,
            )
        )


def _passage(row: int, choose: random.Random, sentences: Sequence[str]) -> Passage:
    text = " ".join(choose.choices(sentences, k=_PER_PASSAGE)) + f" It is {choose.getrandbits(64):x}."
    return Passage(f"p{row}", f"d{row}", f"Document {row}", "", text, "", 0, len(text))


def measure(
    sizes: Sequence[int], claims: int, chats: int, sentences: Sequence[str], folder: Path
) -> Iterator[Figures]:
    """The figures of each size. `folder` is where the indexes are made."""
    faiss.omp_set_num_threads(1)
    for size in sizes:
        synthetic = Synthetic(size, DIMENSION)
        with tempfile.TemporaryDirectory(dir=folder) as place:
            make_index(Path(place, "index"), size, synthetic, sentences)
            index = open_index(Path(place, "index"))
            encoder = _Drawn(synthetic.block(MOST, claims * chats))
            yield _figures(
                open_corpus(index), encoder, size, index.manifest.dense.kind, claims, chats, sentences
            )


def _figures(
    corpus: Corpus,
    encoder: _Drawn,
    size: int,
    kind: DenseKind,
    claims: int,
    chats: int,
    sentences: Sequence[str],
) -> Figures:
    dense = DenseRanking(corpus.vectors, encoder, -1.0, corpus.nearest)
    lexical = LexicalRanking(corpus.postings)
    hybrid = HybridRanking(dense, lexical)
    choose = random.Random(1)
    asked = [choose.choices(sentences, k=claims) for _ in range(chats)]

    def search(queries: Sequence[str]) -> None:
        for hits in hybrid.rank(queries, _K):
            for hit in hits:
                corpus.passages.passage(hit.row)

    by_vectors, _ = _timed(lambda queries: dense.rank(queries, _K), asked)
    by_words, _ = _timed(lambda queries: lexical.rank(queries, _K), asked)
    both, clock = _timed(search, asked)
    with search_thread() as thread:
        known = asyncio.run(_again(CachedRetriever(RankingRetriever(hybrid, corpus.passages, thread)), asked))
    return Figures(size, kind, by_vectors, by_words, both, known, clock)


async def _again(retriever: CachedRetriever, chats: Sequence[Sequence[str]]) -> float:
    """Median processor milliseconds of chats that were searched once before."""
    processor = []
    for queries in chats:
        await retriever.search(queries, _K)
        used = time.thread_time()
        await retriever.search(queries, _K)
        processor.append(1000 * (time.thread_time() - used))
    return round(float(np.median(processor)), 3)


def _timed(work: Callable[[Sequence[str]], Any], chats: Sequence[Sequence[str]]) -> tuple[float, float]:
    """Median processor milliseconds, and the 99th percentile by the clock."""
    work(chats[0])
    processor, clock = [], []
    for queries in chats:
        start, used = time.perf_counter(), time.thread_time()
        work(queries)
        processor.append(1000 * (time.thread_time() - used))
        clock.append(1000 * (time.perf_counter() - start))
    return round(float(np.median(processor)), 2), round(float(np.percentile(clock, 99)), 2)


def plot(rows: Sequence[Figures], path: Path) -> None:
    """The figures by size, both axes logarithmic. Needs the extra `evaluation`."""
    try:
        import matplotlib
    except ModuleNotFoundError:
        sys.exit("python -m benchmarks.scale_chat: --plot needs matplotlib: pip install 'vouch[evaluation]'")
    matplotlib.use("svg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8, 4))
    sizes = [row.size for row in rows]
    for name, label in (
        ("hybrid_ms", "both, with fusion and passages"),
        ("lexical_ms", "by words"),
        ("dense_ms", "by vectors"),
    ):
        axes.loglog(sizes, [getattr(row, name) for row in rows], marker="o", label=label)
    axes.set_xlabel("passages")
    axes.set_ylabel("processor milliseconds per chat")
    axes.grid(visible=True, which="both", alpha=0.3)
    axes.legend()
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.scale_chat",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--sizes", type=int, nargs="+", required=True, help="how many passages")
    parser.add_argument("--claims", type=int, default=8, help="of a chat")
    parser.add_argument("--chats", type=int, default=30, help="how many")
    parser.add_argument("--text", default="examples/corpus", help="where sentences are taken from")
    parser.add_argument("--plot", type=Path, help="an .svg file to draw the figures to")
    parser.add_argument("--folder", type=Path, help="where the indexes are made; default: a temporary folder")
    parser.add_argument("--json", action="store_true", help="one JSON object per line")
    given = parser.parse_args(arguments)
    for name, values in (("--sizes", given.sizes), ("--claims", [given.claims]), ("--chats", [given.chats])):
        if not all(1 <= value <= MOST for value in values):
            parser.error(f"{name}: not from 1 to {MOST:,}")
    names = [field.name for field in fields(Figures)]
    if not given.json:
        print(" ".join(f"{name:>10}" for name in names), flush=True)
    rows = []
    try:
        place = given.folder or Path(tempfile.gettempdir())
        for row in measure(given.sizes, given.claims, given.chats, sentences_of(given.text), place):
            rows.append(row)
            line = " ".join(f"{value:>10}" for value in asdict(row).values())
            print(json.dumps(asdict(row)) if given.json else line, flush=True)
    except (VouchError, OSError) as error:
        sys.exit(f"{parser.prog}: {error}")
    if given.plot:
        plot(rows, given.plot)


if __name__ == "__main__":
    main()
