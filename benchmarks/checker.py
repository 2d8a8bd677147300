"""What the built-in checker costs: ten claims against five passages of 100 words, and one very long pair.

    python -m benchmarks.checker --corpus FILE.jsonl [--rounds 5]

The claims are sentences of the corpus. Times are in milliseconds, the best of the rounds.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections.abc import Sequence
from pathlib import Path

from proxy.backends.checkers.builtin.checker import BuiltinChecker
from proxy.steps.sentences import sentence_spans
from proxy.types import Pair

CLAIMS, PASSAGES, WORDS = 10, 5, 100
LONG_CLAIM_WORDS, LONG_EVIDENCE_WORDS = 12_000, 200_000


async def best(checker: BuiltinChecker, pairs: Sequence[Pair], rounds: int) -> float:
    """Milliseconds of the fastest round."""
    times = []
    for _ in range(rounds):
        begun = time.perf_counter()
        await checker.check(pairs)
        times.append(1000 * (time.perf_counter() - begun))
    return min(times)


async def measure(texts: Sequence[str], rounds: int) -> dict[str, float]:
    """The three figures."""
    claims = [text[slice(*sentence_spans(text)[0])] for text in texts[:CLAIMS]]
    words = " ".join(texts).split()
    passages = [" ".join(words[n * WORDS : (n + 1) * WORDS]) for n in range(CLAIMS * PASSAGES)]
    shared = [Pair(claim, passage) for claim in claims for passage in passages[:PASSAGES]]
    distinct = [Pair(claims[n // PASSAGES], passage) for n, passage in enumerate(passages)]
    long = Pair(" ".join(words[:LONG_CLAIM_WORDS]), " ".join(words[:LONG_EVIDENCE_WORDS]))
    checker = BuiltinChecker()
    try:
        return {
            "shared passages": await best(checker, shared, rounds),
            "distinct passages": await best(checker, distinct, rounds),
            "long pair": await best(checker, [long], rounds),
        }
    finally:
        checker.close()


def main() -> None:
    """Prints the figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.checker")
    parser.add_argument("--corpus", type=Path, required=True, help="a .jsonl with text")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    lines = options.corpus.read_text(encoding="utf-8").splitlines()
    texts = [json.loads(line)["text"] for line in lines]
    for name, milliseconds in asyncio.run(measure(texts, options.rounds)).items():
        print(f"{name:20} {milliseconds:8.1f} ms")


if __name__ == "__main__":
    main()
