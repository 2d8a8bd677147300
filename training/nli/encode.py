"""Pairs of texts as padded batches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from tokenizers import Tokenizer

from nli.model import Batch


@dataclass(frozen=True, slots=True)
class Pair:
    """Token ids of one window and one claim, without special tokens."""

    evidence: tuple[int, ...]
    claim: tuple[int, ...]

    @property
    def size(self) -> int:
        """Tokens with the special ones."""
        return len(self.evidence) + len(self.claim) + 4


class Encoder:
    """The base's tokenizer: `<s> evidence </s></s> claim </s>`."""

    def __init__(self, base: Path, evidence_limit: int, claim_limit: int) -> None:
        self._tokenizer = Tokenizer.from_file(str(base / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._start = self._tokenizer.token_to_id("<s>")
        self._end = self._tokenizer.token_to_id("</s>")
        self._pad = self._tokenizer.token_to_id("<pad>")
        self._evidence_limit = evidence_limit
        self._claim_limit = claim_limit

    def count(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text."""
        return [
            len(found.ids) for found in self._tokenizer.encode_batch(list(texts), add_special_tokens=False)
        ]

    def pairs(self, texts: Sequence[tuple[str, str]]) -> list[Pair]:
        """Of each (window, claim) the token ids, cut at the limits."""
        flat = [text for pair in texts for text in pair]
        found = self._tokenizer.encode_batch(flat, add_special_tokens=False)
        return [
            Pair(
                tuple(found[at].ids[: self._evidence_limit]),
                tuple(found[at + 1].ids[: self._claim_limit]),
            )
            for at in range(0, len(found), 2)
        ]

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """The pieces of text that the ids stand for."""
        return [self._tokenizer.id_to_token(one) for one in ids]

    def batch(self, pairs: Sequence[Pair]) -> Batch:
        """The pairs padded to the longest."""
        length = max(pair.size for pair in pairs)
        ids = torch.full((len(pairs), length), self._pad)
        mask, evidence, claim = (torch.zeros(len(pairs), length, dtype=torch.long) for _ in range(3))
        for row, pair in enumerate(pairs):
            split = len(pair.evidence)
            values = [self._start, *pair.evidence, self._end, self._end, *pair.claim, self._end]
            ids[row, : pair.size] = torch.tensor(values)
            mask[row, : pair.size] = 1
            evidence[row, 1 : split + 1] = 1
            claim[row, split + 3 : pair.size - 1] = 1
        return Batch(ids, mask, evidence, claim)
