"""What the checker `nli` costs: a reply of ten claims against five passages of 100 words each.

    python -m benchmarks.checker --corpus FILE.jsonl [--replies 20] [--size small]

The claims are sentences of the corpus, the passages the one that a claim is from and four beside it: what
retrieval brings. A Chinese corpus is cut into passages of 170 characters. Each reply has other claims. The
memory is that of the whole process; the last figure is one very long pair. Processor time is that of all
cores together: two cores without other work take about half of it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from proxy.checkers.cascade import LocalChecker
from proxy.checkers.nli import packaged_checker
from proxy.checkers.nli_sizes import default_size
from proxy.text.scripts import language_of
from proxy.text.sentences import sentence_spans
from proxy.types import Language, Pair, Size

CLAIMS, PASSAGES = 10, 5
WORDS: Mapping[Language, int] = {"en": 100, "zh": 170}
"""Of a passage; in Chinese characters, which say as much."""
LONG_CLAIM_WORDS, LONG_EVIDENCE_WORDS = 12_000, 200_000


@dataclass(frozen=True, slots=True)
class Text:
    """The beginning of a corpus as one text, in words, or in characters of a Chinese one."""

    words: Sequence[str]
    language: Language

    def piece(self, start: int, end: int) -> str:
        """The words from `start` to `end` as text."""
        return (" " if self.language == "en" else "").join(self.words[start:end])


def read(corpus: Path, count: int) -> Text:
    """The first `count` words of a .jsonl file, or a few more: more would add to the memory measured."""
    words: list[str] = []
    language: Language = "en"
    with corpus.open(encoding="utf-8") as lines:
        for line in lines:
            text = json.loads(line)["text"]
            language = language_of(text) if not words else language
            words += text.split() if language == "en" else text
            if len(words) >= count:
                break
    return Text(words, language)


def replies(text: Text, count: int) -> list[list[Pair]]:
    """The pairs of each reply."""
    size = WORDS[text.language]
    passages = [text.piece(index, index + size) for index in range(0, len(text.words) - size, size)]
    claims = [(index, passage[slice(*sentence_spans(passage)[1])]) for index, passage in enumerate(passages)
              if len(sentence_spans(passage)) > 2]  # fmt: skip
    return [
        [
            Pair(claim, passages[(index + shift) % len(passages)])
            for index, claim in claims[reply * CLAIMS : (reply + 1) * CLAIMS]
            for shift in range(PASSAGES)
        ]
        for reply in range(count)
    ]


async def measure(checker: LocalChecker, corpus: Path, count: int) -> dict[str, float]:
    """The figures by name."""
    seconds: list[float] = []
    *asked, first = replies(read(corpus, 2 * WORDS["zh"] * CLAIMS * (count + 1)), count + 1)
    await checker.check(first)
    computed = time.process_time()
    for pairs in asked:
        begun = time.perf_counter()
        await checker.check(pairs)
        seconds.append(time.perf_counter() - begun)
    computed = (time.process_time() - computed) / count
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    text = read(corpus, LONG_EVIDENCE_WORDS)
    long = Pair(text.piece(0, LONG_CLAIM_WORDS), text.piece(0, LONG_EVIDENCE_WORDS))
    begun = time.perf_counter()
    await checker.check([long])
    return {
        "reply, p50 (ms)": 1000 * statistics.median(seconds),
        "reply, p95 (ms)": 1000 * statistics.quantiles(seconds, n=20)[-1],
        "processor, a reply (ms)": 1000 * computed,
        "pairs a second": CLAIMS * PASSAGES / statistics.median(seconds),
        "memory, at most (MB)": memory,
        "long pair (ms)": 1000 * (time.perf_counter() - begun),
    }


def main() -> None:
    """Prints the figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.checker")
    parser.add_argument("--corpus", type=Path, required=True, help="a .jsonl with text")
    parser.add_argument("--replies", type=int, default=20)
    parser.add_argument("--size", choices=get_args(Size), help="default: base where it is installed")
    options = parser.parse_args()
    size: Size = options.size or default_size()
    checker = packaged_checker(size)
    try:
        figures = asyncio.run(measure(checker, options.corpus, options.replies))
    finally:
        checker.close()
    for name, figure in figures.items():
        print(f"{name:24} {figure:8.1f}")


if __name__ == "__main__":
    main()
