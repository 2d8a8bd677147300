"""Tiny real sequence-classification models, made on the spot. Every word of theirs is one token."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch
from transformers import BertForSequenceClassification

from tests.tiny_models import write_vocabulary

NUMBERS = [f"w{n}" for n in range(200)]
WORDS = [".", "the", "claim", "title", *NUMBERS]
WINDOW = 64


def make_classifier(
    folder: Path, labels: Sequence[str], *, seed: int = 0, bias: Sequence[float] = ()
) -> Path:
    """A BERT with a class per label. Its outputs differ widely; with `bias` they are that for any input."""
    config = write_vocabulary(
        folder,
        WORDS,
        WINDOW,
        initializer_range=1.0,
        id2label=dict(enumerate(labels)),
        label2id={label: index for index, label in enumerate(labels)},
    )
    torch.manual_seed(seed)
    model = BertForSequenceClassification(config)
    if bias:
        torch.nn.init.zeros_(model.classifier.weight)
        model.classifier.bias.data = torch.tensor(list(bias), dtype=torch.float32)
    model.save_pretrained(folder)
    return folder
