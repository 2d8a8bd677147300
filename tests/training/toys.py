"""A toy of all that training needs: a tiny base model, rows that anyone can learn, a recipe of both."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import BertConfig, BertModel

from training.recipes import Recipe, Settings
from training.training_data import Source

_TOWNS = "alder birch cedar elm fir ginkgo hazel juniper larch maple olive poplar rowan spruce willow".split()
_WORDS = "the town of has mills truly never perhaps and a river . ?".split()
_SAID = {"supported": "truly", "contradicted": "never", "unsupported": "perhaps"}
"""The word of the evidence that decides a row's label."""

SETTINGS = Settings(
    seed=3,
    window_tokens=32,
    served_tokens=32,
    hidden=16,
    rank=4,
    rate=1e-2,
    head_rate=1e-2,
    warmup_steps=4,
    step_rows=16,
    batch_tokens=160,
    workers=1,
)


def toy_base(folder: Path) -> Path:
    """A BERT with two layers that reads whole words, with the special tokens of the real bases."""
    known = ["<s>", "<pad>", "</s>", "<unk>", *_WORDS, *_TOWNS]
    tokenizer = Tokenizer(
        models.WordLevel({word: index for index, word in enumerate(known)}, unk_token="<unk>")
    )
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.add_special_tokens(known[:4])
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(known),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=48,
        max_position_embeddings=64,
        pad_token_id=1,
    )
    BertModel(config, add_pooling_layer=False).save_pretrained(folder)
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def toy_rows(file: Path, count: int, seed: int = 0) -> Path:
    """Rows of three labels, three to an evidence's town. With another seed, the claims are others, too."""
    rng = Random(seed)
    mills = "the mills" if seed else "mills"
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w", encoding="utf-8") as lines:
        for number in range(count):
            label = list(_SAID)[number % len(_SAID)]
            town, other = rng.sample(_TOWNS, 2)
            evidence = f"The town of {town} {_SAID[label]} has mills and a {other} river {number} ."
            row = {
                "id": f"{file.stem}-{number}",
                "claim": f"{town} has {mills}",
                "evidence": evidence,
                "label": label,
            }
            lines.write(json.dumps(row) + "\n")
    return file


def toy_recipe(base: Path, data: Path, settings: Settings = SETTINGS) -> Recipe:
    """The recipe of a toy whose rows are written to `data`."""
    toy_rows(data / "train" / "toy.jsonl", 360)
    toy_rows(data / "train" / "fresh.jsonl", 1200, seed=1)
    learnt, fresh = (Source(f"train/{name}.jsonl", "MIT") for name in ("toy", "fresh"))
    return Recipe("base", str(base), (learnt,), {"en": (fresh,)}, {"en": (fresh,)}, settings)
