"""Inference: pairs in, (entailed, contradicted, neither) out; long evidence in windows, the best counts."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import torch

from nli.config import Config
from nli.encode import Encoder, Pair
from nli.model import NliModel
from nli.windows import windows

Logits = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Item:
    """What is judged: a claim against an evidence, with the title it stands under."""

    claim: str
    evidence: str
    title: str = ""


@dataclass(frozen=True, slots=True)
class Calibration:
    """Logits are divided by `temperature`; `bias` is added to entailed. At or over 0.5 is supported."""

    temperature: float = 1.0
    bias: float = 0.0

    def probabilities(self, logits: Sequence[Logits]) -> tuple[float, float, float]:
        """The best window's entailment; the rest split as the most contradicting window has it."""
        found = [
            _softmax(((e + self.bias) / self.temperature, c / self.temperature, n / self.temperature))
            for e, c, n in logits
        ]
        best = max(one[0] for one in found)
        worst = max(found, key=lambda one: one[1])
        share = worst[1] / max(1e-9, worst[1] + worst[2])
        return best, (1 - best) * share, (1 - best) * (1 - share)


def _softmax(logits: Logits) -> tuple[float, float, float]:
    top = max(logits)
    e, c, n = (math.exp(value - top) for value in logits)
    total = e + c + n
    return e / total, c / total, n / total


class Checker:
    """The checker of one language."""

    def __init__(
        self, base: Path, weights: Path, config: Config, calibration: Calibration = Calibration()
    ) -> None:
        torch.set_num_threads(1)
        self._config = config
        self._calibration = calibration
        self._encoder = Encoder(base, config.window_tokens + 32, 480 - config.window_tokens)
        self._model = NliModel(base, config).eval()
        self._model.load_trained(weights)
        self._device = torch.device(config.device)
        self._model.to(self._device)

    @classmethod
    def load(cls, folder: Path, base: Path) -> Checker:
        """Reads what `nli.export` wrote."""
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        return cls(
            base,
            folder / manifest["weights"],
            Config(**manifest["config"]),
            Calibration(**manifest["calibration"]),
        )

    def score(self, items: Sequence[Item]) -> list[tuple[float, float, float]]:
        """(entailed, contradicted, neither) for every item; they add up to one."""
        return [self._calibration.probabilities(logits) for logits in self.logits(items)]

    def logits(self, items: Sequence[Item]) -> list[list[Logits]]:
        """The raw logits of every item's windows."""
        config = self._config
        texts: list[tuple[str, str]] = []
        owners: list[int] = []
        for at, item in enumerate(items):
            for window in windows(
                item.evidence,
                item.claim,
                self._encoder.count,
                config.window_tokens,
                item.title,
                config.eval_windows,
            ):
                texts.append((window, item.claim))
                owners.append(at)
        pairs = self._encoder.pairs(texts)
        order = sorted(range(len(pairs)), key=lambda at: -pairs[at].size)
        pieces = _pieces(order, pairs, config.micro_tokens * 2)
        found: list[list[Logits]] = [[] for _ in items]
        with ThreadPoolExecutor(config.workers) as pool:
            for piece, rows in zip(
                pieces, pool.map(lambda piece: self._read([pairs[at] for at in piece]), pieces), strict=False
            ):
                for at, row in zip(piece, rows, strict=False):
                    found[owners[at]].append(row)
        return found

    def _read(self, pairs: Sequence[Pair]) -> list[Logits]:
        torch.set_num_threads(1)
        with torch.inference_mode():
            logits, _ = self._model(self._encoder.batch(pairs).to(self._device))
        return [(row[0], row[1], row[2]) for row in logits.tolist()]

    def doubts(self, item: Item) -> list[tuple[str, float]]:
        """The claim's pieces with the doubt (contradicted or neither) at each, by the first window."""
        window = windows(
            item.evidence, item.claim, self._encoder.count, self._config.window_tokens, item.title, 1
        )[0]
        pair = self._encoder.pairs([(window, item.claim)])[0]
        batch = self._encoder.batch([pair])
        with torch.inference_mode():
            _, doubts = self._model(batch.to(self._device))
        values = doubts[0].cpu().logsumexp(-1)[batch.claim[0] == 1].tolist()
        return list(zip(self._encoder.pieces(pair.claim), values, strict=False))


def _pieces(order: Sequence[int], pairs: Sequence[Pair], tokens: int) -> list[list[int]]:
    """Runs of like length of at most so many padded tokens."""
    pieces: list[list[int]] = []
    for at in order:
        if pieces and (len(pieces[-1]) + 1) * pairs[pieces[-1][0]].size <= tokens:
            pieces[-1].append(at)
        else:
            pieces.append([at])
    return pieces


os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
