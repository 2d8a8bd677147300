"""Searches an index of `benchmarks.scale` in a fresh process, and says how long it took and what it holds.

    python -m benchmarks.scale_search INDEX QUERIES.npy K

Prints one JSON object: the figures of `benchmarks.scale.Figures` that only this process can know, and the
`cosines` found, of shape (queries, K).
"""

from __future__ import annotations

import json
import re
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from proxy.retrieval import search_thread
from proxy.retrieval.index_files import open_index
from proxy.retrieval.vector_index import VectorIndex, open_vector_index
from proxy.retrieval.vector_table import open_vectors
from proxy.types import Vectors

_WARM = 20


def resident() -> tuple[float, float]:
    """This process's memory in megabytes: all of it, mapped pages included, and what can't be dropped."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    kilobytes = {name: int(value) for name, value in re.findall(r"^(\w+):\s+(\d+) kB$", status, re.M)}
    return kilobytes["VmRSS"] * 1024 / 1e6, kilobytes["RssAnon"] * 1024 / 1e6


def search(path: Path, queries: Vectors, k: int) -> dict[str, Any]:
    """Opens the index and searches it for one query at a time, on one thread."""
    before = resident()
    start = time.perf_counter()
    index = open_index(path)
    nearest = open_vector_index(index, open_vectors(index))
    opened = time.perf_counter() - start
    with search_thread() as thread:
        cosines, milliseconds, processor = thread.submit(_timed, nearest, queries, k).result()
    after = resident()
    return {
        "p50_ms": round(float(np.percentile(milliseconds, 50)), 3),
        "p99_ms": round(float(np.percentile(milliseconds, 99)), 3),
        "p50_cpu_ms": round(float(np.percentile(processor, 50)), 3),
        "p99_cpu_ms": round(float(np.percentile(processor, 99)), 3),
        "resident_mb": round(max(0.0, after[0] - before[0]), 1),
        "held_mb": round(max(0.0, after[1] - before[1]), 1),
        "open_seconds": round(opened, 3),
        "effort": index.manifest.dense.effort,
        "candidates": index.manifest.dense.candidates,
        "cosines": cosines,
    }


def _timed(
    nearest: VectorIndex, queries: Vectors, k: int
) -> tuple[list[list[float]], list[float], list[float]]:
    for query in queries[:_WARM]:
        nearest.nearest(query[np.newaxis], k)
    cosines, milliseconds, processor = [], [], []
    for query in queries:
        start, used = time.perf_counter(), time.thread_time()
        found, _ = nearest.nearest(query[np.newaxis], k)
        processor.append(1000 * (time.thread_time() - used))
        milliseconds.append(1000 * (time.perf_counter() - start))
        cosines.append(found[0].tolist())
    return cosines, milliseconds, processor


if __name__ == "__main__":
    print(json.dumps(search(Path(sys.argv[1]), np.load(sys.argv[2]), int(sys.argv[3]))))
