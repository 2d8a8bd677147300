"""Tiny real models with random weights, and rows that any model can learn."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import (
    BertConfig,
    BertModel,
    BertTokenizerFast,
    GPT2Config,
    GPT2Model,
    PreTrainedTokenizerFast,
)

from training.repc.__main__ import main as train_repc

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")

_TOWNS = "alder birch cedar elm fir ginkgo hazel juniper larch maple olive poplar rowan spruce willow".split()
_WORDS = """
    the town of has many stands near a river and is old mills no never true false decide whether evidence
    supports claim contradicts it or neither . : , in
""".split()


def tiny_decoder(folder: Path, seed: int = 0) -> Path:
    """A GPT-2 with three layers that reads whole words, as a Hugging Face folder."""
    words = ["<end>", "<unk>", *_WORDS, *_TOWNS]
    tokenizer = Tokenizer(models.WordLevel({word: at for at, word in enumerate(words)}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    torch.manual_seed(seed)
    config = GPT2Config(vocab_size=len(words), n_positions=128, n_embd=32, n_layer=3, n_head=2)
    GPT2Model(config).save_pretrained(folder)
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token="<end>", unk_token="<unk>", model_max_length=128
    ).save_pretrained(folder)
    return folder


def tiny_encoder(
    folder: Path, seed: int = 0, *, words: Sequence[str] = (*_WORDS, *_TOWNS), window: int = 64
) -> Path:
    """A BERT with two layers that reads whole words, as a Hugging Face folder."""
    config = write_vocabulary(folder, words, window)
    torch.manual_seed(seed)
    BertModel(config).save_pretrained(folder)
    return folder


def write_vocabulary(folder: Path, words: Sequence[str], window: int, **options: Any) -> BertConfig:
    """Writes a tokenizer of whole words into `folder`. Returns the configuration of a tiny BERT for it."""
    folder.mkdir(parents=True, exist_ok=True)
    vocabulary = folder / "vocab.txt"
    known = [*SPECIAL, *words]
    vocabulary.write_text("\n".join(known), encoding="utf-8")
    BertTokenizerFast(str(vocabulary), model_max_length=window).save_pretrained(folder)
    return BertConfig(
        vocab_size=len(known),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=window,
        **options,
    )


def repc_classifier(
    folder: Path, model: Path, *more: str, labels: Sequence[str] = ("supported", "not_supported")
) -> Path:
    """The folder of a RepC classifier for a tiny model, trained on `write_rows` by the command."""
    rows, out = write_rows(folder / "rows.jsonl", 180, labels=labels), folder / "classifier"
    command = ["--model", str(model), "--data", str(rows), "--out", str(out), "--max-tokens", "64"]
    assert train_repc([*command, "--precision", "fp32", "--threads", "1", *more]) == 0
    return out


def write_rows(file: Path, count: int, *, labels: Sequence[str] = ("supported", "not_supported")) -> Path:
    """Rows whose evidence and claim say by one word which of the labels is theirs."""
    signs = dict(zip(("supported", "not_supported", "contradicted", "unsupported"), _SIGNS, strict=True))
    draw = random.Random(count)
    lines = []
    for at in range(count):
        label = labels[at % len(labels)]
        town, other = draw.sample(_TOWNS, 2)
        lines.append(
            {
                "claim": f"the town of {town} has mills",
                "evidence": f"{signs[label]} : the town of {town} is old and stands near {other} , in {at} .",
                "label": label,
            }
        )
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return file


def write_plain_rows(file: Path, count: int) -> Path:
    """Rows in plain English: evidence that says the claim in other words, or that is about something else."""
    draw = random.Random(count)
    lines = []
    for at in range(count):
        one, other = draw.sample(range(len(_FACTS)), 2)
        claim, evidence = _FACTS[one]
        year = 1800 + at
        lines.append(
            {
                "claim": f"{claim} in {year}.",
                "evidence": (evidence if at % 2 else _FACTS[other][1]) + f" That was in {year}.",
                "label": "supported" if at % 2 else "not_supported",
            }
        )
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return file


_FACTS = (
    (
        "The bridge over the river was opened",
        "People could cross the water on the new bridge for the first time.",
    ),
    (
        "A novelist won the prize for literature",
        "The award went to a writer, who was honoured for her novels.",
    ),
    (
        "The football team lost the final",
        "In the last match of the cup the players were beaten by two goals.",
    ),
    ("A volcano destroyed the village", "The eruption buried all houses of the place under lava and ashes."),
    ("The king married a princess", "The monarch took the daughter of his neighbour as his wife."),
    ("Scientists found a new planet", "Astronomers discovered an unknown world that circles the star."),
    ("The bank raised its interest rate", "Loans became dearer, for the lender now asked for more."),
    ("The singer released an album", "Her new record with ten songs came into the shops."),
    ("Doctors developed a vaccine", "Physicians made a medicine that protects children from the disease."),
    ("The railway reached the coast", "Trains could now go all the way to the sea."),
)

_SIGNS = ("true true", "no never", "false false", "many many")
