"""Rows as the NLI model learns them: token ids, batches in shuffled order, the loss."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedTokenizerBase

from proxy.checkers.builtin.alignment import LABELS, Logits
from proxy.checkers.builtin.tensors import STEP, TokenPair, join, stacked

NOT_SUPPORTED = len(LABELS)
"""The label of rows that don't tell contradicted from unsupported."""
_NUMBERS = {**{label: index for index, label in enumerate(LABELS)}, "not_supported": NOT_SUPPORTED}
_UNKNOWN = -1
_WORDS = 0.3
"""What the loss over words counts beside that over classes."""
_ROWS = 8
_CHUNK = 4000
"""Rows among which those of one length are looked for, so that batches differ from epoch to epoch."""


@dataclass(frozen=True, slots=True)
class Encoded:
    """A row as tokens, the number of its label, and per token of the claim whether it is wrong (1), right (0)
    or not known (-1). One with an `epoch` is learnt in that alone."""

    pair: TokenPair
    label: int
    words: tuple[int, ...]
    epoch: int | None = None


def encode(
    rows: Sequence[Mapping[str, Any]], tokenizer: PreTrainedTokenizerBase, longest: int
) -> list[Encoded]:
    """The rows (`excerpt`, `claim`, `label`, `changed`) as at most `longest` tokens each.

    The excerpt is cut, the claim never: a row that has not half of the room for its excerpt is left out.
    """
    claims = tokenizer([row["claim"] for row in rows], add_special_tokens=False, return_offsets_mapping=True)
    excerpts = tokenizer([row["excerpt"] for row in rows], add_special_tokens=False)["input_ids"]
    first, end = tokenizer.cls_token_id, tokenizer.sep_token_id
    return [
        Encoded(
            join(excerpt, claim, first, end, longest),
            _NUMBERS[row["label"]],
            _words(row, offsets),
            row.get("epoch"),
        )
        for row, claim, offsets, excerpt in zip(
            rows, claims["input_ids"], claims["offset_mapping"], excerpts, strict=True
        )
        if len(claim) + 3 <= longest // 2
    ]


def _words(row: Mapping[str, Any], offsets: Sequence[tuple[int, int]]) -> tuple[int, ...]:
    """All are right in a supported row; where it is known what was changed, that alone is wrong."""
    if row["label"] == "supported":
        return (0,) * len(offsets)
    at = row["claim"].find(row["changed"]) if row.get("changed") else -1
    if at < 0:
        return (_UNKNOWN,) * len(offsets)
    end = at + len(row["changed"])
    return tuple(int(start < end and stop > at) for start, stop in offsets)


def shuffled(data: Sequence[Encoded], tokens: int, seed: int, epoch: int = 0) -> list[list[int]]:
    """All rows of an epoch once, in batches of about `tokens` padded tokens. The same for the same
    arguments."""
    chance = random.Random(seed + epoch)
    order = [index for index, row in enumerate(data) if row.epoch in (None, epoch)]
    chance.shuffle(order)
    batches: list[list[int]] = []
    for start in range(0, len(order), _CHUNK):
        chunk = order[start : start + _CHUNK]
        grouped = _alike([len(data[index].pair.ids) for index in chunk], tokens)
        batches += [[chunk[index] for index in batch] for batch in grouped]
    chance.shuffle(batches)
    return batches


def _alike(lengths: Sequence[int], tokens: int) -> list[list[int]]:
    """Indexes of rows whose lengths are padded alike, in batches of few shapes: a training step costs most
    where the shape is new."""
    groups: defaultdict[int, list[int]] = defaultdict(list)
    for index, length in enumerate(lengths):
        groups[-(-length // STEP) * STEP].append(index)
    return [
        group[start : start + size]
        for length, group in sorted(groups.items(), reverse=True)
        for size in [max(_ROWS, tokens // length // _ROWS * _ROWS)]
        for start in range(0, len(group), size)
    ]


def tensors(rows: Sequence[Encoded]) -> tuple[dict[str, Tensor], Tensor, Tensor]:
    """What the model takes, the labels of shape (n,), and those of the words of shape (n, length)."""
    inputs = stacked([row.pair for row in rows])
    words = torch.full((len(rows), inputs["ids"].shape[1]), _UNKNOWN, dtype=torch.long)
    for index, row in enumerate(rows):
        words[index, row.pair.start : row.pair.start + len(row.words)] = torch.tensor(row.words)
    return inputs, torch.tensor([row.label for row in rows]), words


def loss(logits: Logits, labels: Tensor, words: Tensor) -> Tensor:
    """Mean cross entropy of the classes, of a `NOT_SUPPORTED` row the marginal likelihood of all but the
    first; to it a share of that of the words, where they are known."""
    count = len(labels)
    log_probabilities = torch.log_softmax(logits.classes[:count], -1)
    other = torch.logsumexp(log_probabilities[:, 1:], -1)
    known = log_probabilities.gather(1, labels.clamp(max=NOT_SUPPORTED - 1)[:, None])[:, 0]
    value = -torch.where(labels == NOT_SUPPORTED, other, known).mean()
    told = words != _UNKNOWN
    if told.any():
        wrong = torch.nn.functional.binary_cross_entropy_with_logits(
            logits.words[:count][told], words[told].float()
        )
        value = value + _WORDS * wrong
    return value
