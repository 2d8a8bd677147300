"""How fast passages are encoded. How well they are found is `python -m evaluation wikiretr`'s to say.

    python -m benchmarks.index --corpus FILE.jsonl [--passages 2000] [--rounds 3] [--json]

Encodes passages of the corpus as `vouch index` does, and with plain `SentenceTransformer.encode` in float32,
in turns, and prints passages per second and their ratio.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from sentence_transformers import SentenceTransformer

from index_builder.documents import Document
from index_builder.sources import documents
from index_builder.vectors import write_vectors
from proxy.model_files import packaged_folder
from proxy.retrieval.chunks import chunk
from proxy.retrieval.encoder import SentenceTransformerEncoder
from proxy.retrieval.generation import new_generation
from proxy.types import Passage


def speed(corpus: str, passages: int, rounds: int) -> dict[str, Any]:
    """Passages per second of both, the median of their rounds, and the ratio of the two."""
    stream = (item for item in documents([corpus]) if isinstance(item, Document))
    sample = list(islice((passage for document in stream for passage in chunk(document)), passages))
    encoder = SentenceTransformerEncoder()
    plain = SentenceTransformer(str(packaged_folder()), device="cpu", local_files_only=True)
    encoder.encode([passage.text for passage in sample[:64]])  # the first call of each pays for set-up
    plain.encode([passage.text for passage in sample[:64]])
    ours, theirs = [], []
    for _ in range(rounds):
        ours.append(len(sample) / _seconds(lambda: _build_vectors(sample, encoder)))
        theirs.append(len(sample) / _seconds(lambda: plain.encode([passage.text for passage in sample])))
    return {
        "passages": len(sample),
        "vouch": [round(rate, 1) for rate in ours],
        "sentence_transformers_fp32": [round(rate, 1) for rate in theirs],
        "ratio": round(statistics.median(ours) / statistics.median(theirs), 2),
    }


def _build_vectors(passages: Sequence[Passage], encoder: SentenceTransformerEncoder) -> None:
    with tempfile.TemporaryDirectory() as folder, new_generation(Path(folder) / "index") as generation:
        write_vectors(generation, passages, encoder, (), lambda done: None)


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.index", description=__doc__)
    parser.add_argument("--corpus", required=True, help="a .jsonl with id, title, text")
    parser.add_argument("--passages", type=int, default=2000, help="how many passages to encode")
    parser.add_argument("--rounds", type=int, default=3, help="how often each way")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    given = parser.parse_args()
    results = speed(given.corpus, given.passages, given.rounds)
    print(json.dumps(results, indent=None if given.json else 2))


if __name__ == "__main__":
    main()
