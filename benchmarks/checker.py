"""What the built-in checker costs: a reply of ten claims against five passages of 100 words each.

    python -m benchmarks.checker --corpus FILE.jsonl [--replies 20]

The claims are sentences of the corpus, the passages the one that a claim is from and four beside it: what
retrieval brings. A Chinese corpus is cut into passages of 170 characters. Each reply has other claims. In
turns with it, the same cross-encoder called naively: in fp32, on whole passages, padded to the longest, one
reply at a time. The last figure is one very long pair.
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
from importlib import resources
from pathlib import Path

import torch
from safetensors.torch import load as load_tensors
from transformers import AutoTokenizer

from proxy.checkers.builtin import nli
from proxy.checkers.builtin.alignment import AlignedEncoder, load_base
from proxy.checkers.builtin.builtin_checker import BuiltinChecker
from proxy.checkers.builtin.tensors import join, stacked
from proxy.text.language import language_of
from proxy.text.sentences import sentence_spans
from proxy.types import Language, Pair

CLAIMS, PASSAGES = 10, 5
WORDS: Mapping[Language, int] = {"en": 100, "zh": 170}
"""Of a passage; in Chinese characters, which say as much."""
LONG_CLAIM_WORDS, LONG_EVIDENCE_WORDS = 12_000, 200_000


@dataclass(frozen=True, slots=True)
class Text:
    """A corpus as one text, in words, or in characters of a Chinese one."""

    words: Sequence[str]
    language: Language

    def piece(self, start: int, end: int) -> str:
        """The words from `start` to `end` as text."""
        return (" " if self.language == "en" else "").join(self.words[start:end])


def read(corpus: Path) -> Text:
    """The text of a .jsonl file."""
    texts = [json.loads(line)["text"] for line in corpus.read_text(encoding="utf-8").splitlines()]
    language = language_of(texts[0])
    return Text(" ".join(texts).split() if language == "en" else "".join(texts), language)


class Naive:
    """The cross-encoder without anything around it: every pair whole, all padded to the longest."""

    def __init__(self, language: Language) -> None:
        adapter = resources.files(nli.__package__).joinpath(nli.ADAPTERS[language]).read_bytes()
        base = nli.base_folder(language)
        self.model: AlignedEncoder = load_base(base).eval()
        nli.merge(self.model, load_tensors(adapter))
        self.tokenizer = AutoTokenizer.from_pretrained(base)

    def check(self, pairs: Sequence[Pair]) -> list[list[float]]:
        """Probabilities of the classes, in one batch."""
        first, end = self.tokenizer.cls_token_id, self.tokenizer.sep_token_id
        ids = [
            self.tokenizer([pair.evidence, pair.claim], add_special_tokens=False)["input_ids"]
            for pair in pairs
        ]
        with torch.inference_mode():
            logits = self.model(**stacked([join(text, claim, first, end, 512) for text, claim in ids]))
        judgements: list[list[float]] = logits.classes.softmax(-1).tolist()
        return judgements


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


async def measure(text: Text, count: int) -> dict[str, float]:
    """The figures by name."""
    checker, naive = BuiltinChecker(), Naive(text.language)
    long = Pair(text.piece(0, LONG_CLAIM_WORDS), text.piece(0, LONG_EVIDENCE_WORDS))
    ours: list[float] = []
    theirs: list[float] = []
    try:
        await checker.check(replies(text, count + 1)[-1])
        for pairs in replies(text, count):
            begun = time.perf_counter()
            await checker.check(pairs)
            ours.append(time.perf_counter() - begun)
            begun = time.perf_counter()
            naive.check(pairs)
            theirs.append(time.perf_counter() - begun)
        begun = time.perf_counter()
        await checker.check([long])
        whole = time.perf_counter() - begun
    finally:
        checker.close()
    pairs_of_reply = CLAIMS * PASSAGES
    return {
        "reply, p50 (ms)": 1000 * statistics.median(ours),
        "reply, p95 (ms)": 1000 * statistics.quantiles(ours, n=20)[-1],
        "pairs a second": pairs_of_reply / statistics.median(ours),
        "naive, pairs a second": pairs_of_reply / statistics.median(theirs),
        "ratio of medians": statistics.median(theirs) / statistics.median(ours),
        "long pair (ms)": 1000 * whole,
    }


async def memory(pairs: Sequence[Pair]) -> float:
    """MB that the process has held at most, after one reply and nothing else."""
    checker = BuiltinChecker()
    await checker.check(pairs)
    checker.close()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Prints the figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.checker")
    parser.add_argument("--corpus", type=Path, required=True, help="a .jsonl with text")
    parser.add_argument("--replies", type=int, default=20)
    options = parser.parse_args()
    print(f"{'memory (MB)':24} {asyncio.run(memory(replies(read(options.corpus), 1)[0])):8.1f}")
    for name, figure in asyncio.run(measure(read(options.corpus), options.replies)).items():
        print(f"{name:24} {figure:8.1f}")


if __name__ == "__main__":
    main()
