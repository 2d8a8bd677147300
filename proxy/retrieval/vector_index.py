"""The dense half of an index: which passages' vectors are nearest to a query's, by an exact scan or by FAISS.

Up to `EXACT_MOST` passages every vector is read for every query: exact, and quick enough. Above it a scan
grows too slow, and FAISS narrows the corpus down: an inverted file over one-bit codes (IVF with RaBitQ; Gao
and Long, SIGMOD 2024), or a graph over one-byte codes (HNSW; Malkov and Yashunin, 2018). Two kinds scan all
passages too, but as codes of one or two bytes per dimension (SQ8, fp16). What any of them finds is ranked
again by the exact cosines from the mapped file of vectors, so that scores and thresholds mean the same for
every kind. So they do if only the first dimensions are searched, which models that were trained for it put
most into (Matryoshka representation learning; Kusupati et al., NeurIPS 2022).
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any, Protocol

import faiss
import numpy as np

from proxy.errors import BrokenIndexError, ConfigError
from proxy.retrieval.generation import Generation
from proxy.retrieval.index_files import DenseIndex, Index
from proxy.retrieval.vector_table import Rows, VectorTable
from proxy.types import DenseChoice, DenseKind, Vectors

log = logging.getLogger(__name__)

DENSE = "dense.faiss"
"""What FAISS's file is called in an index. An exact scan has none."""

EXACT_MOST = 100_000
"""Passages above which `auto` is no exact scan: 6 ms of one core per query at 384 dimensions, and linear."""

RECALL = 0.98
"""Share of the exact scan's first ten passages that a search is set to find."""

_MARGIN = 0.005
"""So much more is wanted of the queries that a search is set by, because those to come differ."""

_AT = 10
_CANDIDATES = (100, 200, 400, 800)
_FACTOR = 4
"""At least so many times as many candidates as hits are ranked again."""

_SAME = 1e-5
"""Cosines that differ by less are the same: two ways of adding up differ as much."""

_LISTS_PER_ROOT = 4
_SAMPLES_PER_LIST = 40
_MOST_SAMPLES = 200_000
_BLOCK = 16_384
_LINKS = 32
_CONSTRUCTION = 200
_MOST = 1 << 20
"""The greatest effort and number of candidates that a manifest may ask for."""


class VectorIndex(Protocol):
    """Finds the nearest vectors. Blocking, one thread at a time."""

    def nearest(self, queries: Vectors, k: int) -> tuple[Vectors, Rows]:
        """Cosines and rows, each of shape (queries, at most k), best first."""
        ...


class ExactScan:
    """Every vector, straight from the mapped file: pages are read when they are needed, and shared by the
    processes of a machine.

    Args:
        vectors: shape (passages, dimension), float32, unit rows.
    """

    def __init__(self, vectors: Vectors) -> None:
        self._vectors = vectors

    def nearest(self, queries: Vectors, k: int) -> tuple[Vectors, Rows]:
        """Cosines and rows, each of shape (queries, at most k), best first."""
        k = min(k, len(self._vectors))
        if k == 0:
            return np.empty((len(queries), 0), np.float32), np.empty((len(queries), 0), np.int64)
        # The same scan as IndexFlatIP's, without its copy of the vectors.
        cosines, rows = faiss.knn(queries, self._vectors, k, metric=faiss.METRIC_INNER_PRODUCT)
        return np.clip(cosines, -1.0, 1.0), rows


class RefinedSearch:
    """FAISS's candidates, ranked again by their exact cosines.

    A query for which FAISS finds fewer than k is scanned exactly: a small corpus, or a very large k.

    Args:
        index: as `make_index` makes it, or the same read from a file.
        vectors: what the index holds, exact.
        candidates: how many are ranked again, at least.
    """

    def __init__(self, index: Any, vectors: VectorTable, candidates: int = _CANDIDATES[0]) -> None:
        self._index = index
        self._vectors = vectors
        self._candidates = candidates
        self._count = len(vectors.array)
        self._exact = ExactScan(vectors.array)

    def nearest(self, queries: Vectors, k: int) -> tuple[Vectors, Rows]:
        """Cosines and rows, each of shape (queries, at most k), best first."""
        k = min(k, self._count)
        depth = min(self._count, max(self._candidates, _FACTOR * k))
        if k == 0 or not len(queries):
            return self._exact.nearest(queries, k)
        _, candidates = self._index.search(np.ascontiguousarray(queries, np.float32), depth)
        cosines = np.empty((len(queries), k), np.float32)
        rows = np.empty((len(queries), k), np.int64)
        for place, query in enumerate(queries):
            found = candidates[place][candidates[place] >= 0]
            if len(found) < k:
                exact_cosines, exact_rows = self._exact.nearest(query[np.newaxis], k)
                cosines[place], rows[place] = exact_cosines[0], exact_rows[0]
                continue
            similar = self._vectors.take(found) @ query
            order = np.argsort(-similar, kind="stable")[:k]
            cosines[place], rows[place] = similar[order], found[order]
        return np.clip(cosines, -1.0, 1.0), rows


@dataclass(frozen=True, slots=True)
class _Kind:
    """A kind of FAISS index: how an empty one is made for a number of vectors of a dimension, how it is told
    how hard to search, the efforts that are tried, and what one unit takes in the time of ranking one
    candidate again."""

    make: Callable[[int, int], Any]
    set_effort: Callable[[Any, int], None]
    efforts: tuple[int, ...]
    cost: float


def _make_ivf(passages: int, dimension: int) -> Any:
    lists = max(1, min(int(_LISTS_PER_ROOT * passages**0.5), passages // 32))
    # The codes are of the signs of the dimensions, so these must be alike. Turned at random (RR), they are.
    index = faiss.index_factory(dimension, f"RR{dimension},IVF{lists},RaBitQ", faiss.METRIC_L2)
    clustering = faiss.extract_index_ivf(index).cp
    clustering.max_points_per_centroid = _SAMPLES_PER_LIST
    clustering.min_points_per_centroid = 1  # fewer is only a warning on standard error
    return index


def _make_hnsw(_passages: int, dimension: int) -> Any:
    graph: Any = faiss.index_factory(dimension, f"HNSW{_LINKS}_SQ8", faiss.METRIC_L2)
    graph.hnsw.efConstruction = _CONSTRUCTION
    return graph


def _make_sq8(_passages: int, dimension: int) -> Any:
    return faiss.IndexScalarQuantizer(dimension, faiss.ScalarQuantizer.QT_8bit, faiss.METRIC_L2)


def _make_fp16(_passages: int, dimension: int) -> Any:
    return faiss.IndexScalarQuantizer(dimension, faiss.ScalarQuantizer.QT_fp16, faiss.METRIC_L2)


def _inner(index: Any, kind: type[Any]) -> Any:
    """The index behind what turns or cuts vectors. Raises `TypeError` if it is of another kind."""
    found = faiss.downcast_index(index.index) if isinstance(index, faiss.IndexPreTransform) else index
    if not isinstance(found, kind):
        raise TypeError(f"{type(found).__name__} instead of {kind.__name__}")
    return found


def _probe(index: Any, effort: int) -> None:
    _inner(index, faiss.IndexIVFRaBitQ).nprobe = effort


def _explore(index: Any, effort: int) -> None:
    _inner(index, faiss.IndexHNSW).hnsw.efSearch = effort


def _scan(index: Any, _effort: int) -> None:
    _inner(index, faiss.IndexScalarQuantizer)


_KINDS: dict[DenseKind, _Kind] = {
    "ivf": _Kind(_make_ivf, _probe, (8, 16, 32, 64, 128, 256, 512, 1024), 2),
    "hnsw": _Kind(_make_hnsw, _explore, (128, 256, 512, 1024), 5),
    "sq8": _Kind(_make_sq8, _scan, (1,), 1),
    "fp16": _Kind(_make_fp16, _scan, (1,), 1),
}


def kind_for(choice: DenseChoice, passages: int) -> DenseKind:
    """What is built for so many passages where the setting says `choice`."""
    if choice != "auto":
        return choice
    return "exact" if passages <= EXACT_MOST else "ivf"


def cut_for(kind: DenseKind, dimensions: int | None, dimension: int) -> int:
    """How many dimensions are searched where so many of `dimension` are wanted; 0: all, as by an exact scan.

    Raises:
        ConfigError: vectors have fewer.
    """
    if dimensions is None or kind == "exact" or dimensions == dimension:
        return 0
    if dimensions > dimension:
        raise ConfigError(
            f"index.dimensions is {dimensions}, and the encoder's vectors have {dimension}.",
            param="index.dimensions",
        )
    return dimensions


def make_index(
    kind: DenseKind, vectors: Vectors, progress: Callable[[int], None], dimensions: int = 0
) -> Any:
    """A FAISS index over `vectors`, or over their first `dimensions`, trained on a sample of them, block by
    block. In memory are the sample, one block and the codes: at 384 dimensions 70 bytes per passage for
    `ivf`, 670 for `hnsw`, 384 for `sq8`, 768 for `fp16`.

    Squared Euclidean distance ranks unit vectors as the cosine does; what is cut is made unit again.
    """
    passages, dimension = vectors.shape
    index = _KINDS[kind].make(passages, dimensions or dimension)
    if dimensions:
        index = _cutting(index, dimension, dimensions)
    index.train(_sample(vectors))
    for start in range(0, passages, _BLOCK):
        block = np.ascontiguousarray(vectors[start : start + _BLOCK])
        index.add(block)
        progress(start + len(block))
    return index


def _cutting(index: Any, dimension: int, dimensions: int) -> Any:
    """An index of vectors of `dimensions` as one of whole vectors, of which it sees the first, unit again."""
    if not isinstance(index, faiss.IndexPreTransform):
        inner, index = index, faiss.IndexPreTransform(index)
        inner.this.disown()
        index.own_fields = True
    remap: Any = faiss.RemapDimensionsTransform
    steps: list[Any] = [faiss.NormalizationTransform(dimensions, 2.0), remap(dimension, dimensions, False)]
    for step in steps:
        index.prepend_transform(step)
        step.this.disown()  # the index frees it, as all that it is made of
    return index


def _sample(vectors: Vectors) -> Vectors:
    """As many as the training can use, the same ones for the same number of vectors."""
    lists = int(_LISTS_PER_ROOT * len(vectors) ** 0.5)
    size = min(len(vectors), max(_SAMPLES_PER_LIST * lists, 10_000), _MOST_SAMPLES)
    rows = np.random.default_rng(len(vectors)).choice(len(vectors), size, replace=False)
    rows.sort()
    return np.ascontiguousarray(vectors[rows])


def write_vector_index(
    generation: Generation,
    vectors: VectorTable,
    queries: Vectors,
    kind: DenseKind,
    progress: Callable[[int], None],
    dimensions: int = 0,
) -> DenseIndex:
    """Writes the dense half of an index that is being built, and measures how hard it must search.

    Args:
        generation: where `DENSE` is written; an exact scan needs no file.
        vectors: of all passages.
        queries: shape (queries, dimension), alike those that will be searched for.
        kind: what is built.
        progress: called with the number of vectors that are done.
        dimensions: how many of the vectors' first are searched; 0: all.

    Raises:
        OSError: the file can't be written.
    """
    if kind == "exact":
        return DenseIndex()
    index = make_index(kind, vectors.array, progress, dimensions)
    searched = replace(_tune(kind, index, vectors, queries), dimensions=dimensions)
    if searched.recall < RECALL:
        log.warning(
            "A search with the dense index %s finds %.1f%% of what an exact scan finds, and %.0f%% were "
            "wanted. Another kind%s may find more: --dense hnsw, --dense ivf, or --dense exact.",
            kind,
            100 * searched.recall,
            100 * RECALL,
            " or more --dimensions" if dimensions else "",
        )
    path = generation.file(DENSE)
    try:
        faiss.write_index(index, str(path))
    except RuntimeError as error:  # a full disk, as FAISS says it
        raise OSError(f"{path.name}: {error}") from error
    return searched


def _tune(kind: DenseKind, index: Any, vectors: VectorTable, queries: Vectors) -> DenseIndex:
    """The cheapest search whose recall at ten is `RECALL` and a margin; else the best that was tried."""
    exact, _ = ExactScan(vectors.array).nearest(queries, _AT)
    best = DenseIndex(kind, 1, _CANDIDATES[0], -1.0)
    chosen = _KINDS[kind]
    for effort, candidates in sorted(
        product(chosen.efforts, _CANDIDATES), key=lambda pair: chosen.cost * pair[0] + pair[1]
    ):
        chosen.set_effort(index, effort)
        found, _ = RefinedSearch(index, vectors, candidates).nearest(queries, _AT)
        recall = round(recall_of(found, exact), 4)
        if recall > best.recall:
            best = DenseIndex(kind, effort, candidates, recall)
        if recall >= RECALL + _MARGIN:
            break
    return best


def recall_of(found: Vectors, exact: Vectors) -> float:
    """The share of the exact scan's hits that were found.

    Told by cosines, each of shape (queries, k): a passage as near as the last of the exact scan's is as good,
    and corpora have passages that are there twice.
    """
    if not exact.size:
        return 1.0
    return float(np.mean(found >= exact[:, -1:] - _SAME))


def open_vector_index(index: Index, vectors: VectorTable) -> VectorIndex:
    """The dense half of an index, its file mapped: only what a search touches is read.

    Raises:
        BrokenIndexError: its file is not what `write_vector_index` wrote.
    """
    dense = index.manifest.dense
    if dense.kind == "exact":
        return ExactScan(vectors.array)
    path = index.file(DENSE)
    if not (0 < dense.effort <= _MOST and 0 < dense.candidates <= _MOST):
        raise BrokenIndexError(
            f"{path} can't be searched with the effort {dense.effort} and {dense.candidates} candidates."
        )
    searchable = _read(path)
    if (searchable.ntotal, searchable.d) != vectors.array.shape or not searchable.is_trained:
        raise BrokenIndexError(f"{path} is of other vectors than those of this index.")
    try:
        _KINDS[dense.kind].set_effort(searchable, dense.effort)
    except TypeError as error:
        raise BrokenIndexError(f"{path} holds no dense index of the kind {dense.kind}.") from error
    return RefinedSearch(searchable, vectors, dense.candidates)


def _read(path: Path) -> Any:
    try:
        return faiss.read_index(str(path), faiss.IO_FLAG_MMAP_IFC)
    except (RuntimeError, MemoryError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise BrokenIndexError(f"{path} can't be read: {reason}") from error
