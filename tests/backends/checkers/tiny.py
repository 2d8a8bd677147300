"""Tiny real sequence-classification models, made on the spot. Every word of theirs is one token."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch
from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

NUMBERS = [f"w{n}" for n in range(200)]
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ".", "the", "claim", "title", *NUMBERS]
WINDOW = 64


def make_classifier(
    folder: Path, labels: Sequence[str], *, seed: int = 0, bias: Sequence[float] = ()
) -> Path:
    """A BERT with a class per label. Its outputs differ widely; with `bias` they are that for any input."""
    folder.mkdir(parents=True)
    vocabulary = folder / "vocab.txt"
    vocabulary.write_text("\n".join(WORDS), encoding="utf-8")
    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=len(WORDS),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=WINDOW,
        initializer_range=1.0,
        id2label=dict(enumerate(labels)),
        label2id={label: index for index, label in enumerate(labels)},
    )
    model = BertForSequenceClassification(config)
    if bias:
        torch.nn.init.zeros_(model.classifier.weight)
        model.classifier.bias.data = torch.tensor(list(bias), dtype=torch.float32)
    model.save_pretrained(folder)
    BertTokenizerFast(str(vocabulary), model_max_length=WINDOW).save_pretrained(folder)
    return folder
