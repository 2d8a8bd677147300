"""How fast passages are encoded, and how well they are found.

    python -m benchmarks.index --corpus FILE.jsonl [--passages 2000] [--rounds 3] [--json]
    python -m benchmarks.index --corpus FILE.jsonl --recall wikiretr-gpt3.json wikiretr-gpt4.json [--json]

The first encodes passages of the corpus as `vouch index` does, and with plain `SentenceTransformer.encode`
in float32, in turns, and prints passages per second and their ratio. The second prints, for every retrieval
mode, the recall at 1 and at 10 of the passages that the claims of CEG's WikiRetr were made from; each passage
of the corpus is indexed as it is.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from sentence_transformers import SentenceTransformer

from index_builder.chunks import chunk
from index_builder.documents import Document
from index_builder.sources import documents
from index_builder.threshold import measure_threshold, sample_rows
from index_builder.vectors import OldVectors, write_vectors
from proxy.backends.encoder import SentenceTransformerEncoder, packaged_folder
from proxy.backends.retriever import Corpus, hold_corpus, retriever, search_thread
from proxy.generation import new_generation
from proxy.types import Passage, RetrievalMode

MODES: tuple[RetrievalMode, ...] = ("dense", "lexical", "hybrid")
NOT_LETTERS = re.compile(r"[\W_]+")


def speed(corpus: str, passages: int, rounds: int) -> dict[str, Any]:
    """Passages per second of both, the median of their rounds, and the ratio of the two."""
    stream = (found for found in documents([corpus]) if isinstance(found, Document))
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
    nothing = OldVectors({}, np.empty((0, encoder.dimension), np.float32))
    with tempfile.TemporaryDirectory() as folder, new_generation(Path(folder) / "index") as generation:
        write_vectors(generation, passages, encoder, nothing, lambda done: None)


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def recall(corpus: str, papers: Sequence[Path]) -> dict[str, Any]:
    """Per file and mode, recall at 1 and 10 in percent, no passage dropped and with the index's threshold."""
    encoder = SentenceTransformerEncoder()
    passages = [
        Passage(found.id, found.id, found.title, "", found.text, "", 0, len(found.text))
        for found in documents([corpus])
        if isinstance(found, Document)
    ]
    held = hold_corpus(passages, encoder, -1.0)
    rows = {_letters(passage.text): passage.id for passage in passages}
    sample = sample_rows(len(passages))
    threshold = measure_threshold([passages[row] for row in sample], held.vectors[sample], encoder)
    results: dict[str, Any] = {"passages": len(passages), "threshold": round(threshold, 3)}
    for path in papers:
        pairs = json.loads(path.read_text(encoding="utf-8"))
        gold = [rows[_letters(pair["content"])] for pair in pairs]
        claims = [pair["claim"] for pair in pairs]
        results[path.stem] = asyncio.run(_recall(held, encoder, claims, gold, threshold))
    return results


async def _recall(
    corpus: Corpus,
    encoder: SentenceTransformerEncoder,
    claims: Sequence[str],
    gold: Sequence[str],
    threshold: float,
) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    with search_thread() as thread:
        for mode in MODES:
            for name, limit in ((mode, -1.0), (f"{mode}, threshold", threshold)):
                search = retriever(corpus, encoder, mode, thread=thread, threshold=limit).search
                ids = [[each.passage.id for each in evidence] for evidence in await search(claims, 10)]
                hits = [
                    (right in ranked[:1], right in ranked) for right, ranked in zip(gold, ids, strict=True)
                ]
                at_1, at_10 = (round(100 * float(share), 1) for share in np.mean(hits, axis=0))
                kept = round(float(np.mean([len(ranked) for ranked in ids])), 1)
                found[name] = {"recall@1": at_1, "recall@10": at_10, "passages kept": kept}
    return found


def _letters(text: str) -> str:
    """WikiRetr's passages have wiki markup that the corpus has not."""
    return NOT_LETTERS.sub("", text.lower())


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.index", description=__doc__)
    parser.add_argument("--corpus", required=True, help="a .jsonl with id, title, text")
    parser.add_argument("--passages", type=int, default=2000, help="how many passages to encode")
    parser.add_argument("--rounds", type=int, default=3, help="how often each way")
    parser.add_argument("--recall", type=Path, nargs="+", help="WikiRetr files: measure recall instead")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    given = parser.parse_args()
    if given.recall:
        results = recall(given.corpus, given.recall)
    else:
        results = speed(given.corpus, given.passages, given.rounds)
    print(json.dumps(results, indent=None if given.json else 2))


if __name__ == "__main__":
    main()
