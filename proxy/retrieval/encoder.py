"""Texts to unit vectors with sentence-transformers."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from huggingface_hub import hf_hub_download
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer
from sentence_transformers.util import is_sentence_transformer_model

from proxy.errors import ConfigError, RetrievalError
from proxy.model_files import DEFAULT_MODEL, device, dtype_of, first_line, is_packaged, local_folder, quiet
from proxy.retrieval.chunks import WindowedEncoder
from proxy.types import Precision, Vectors

PoolingName = Literal["auto", "mean", "cls"]

_KEY = "encoder.model"
_LONGEST_KEPT = 4_000
_IDENTITY_SUFFIXES = frozenset({".json", ".txt", ".model", ".safetensors", ".bin"})
_FALLBACK_WINDOW = 512
_CHARACTERS_PER_TOKEN = 64
"""Text beyond this many times the window is not even tokenized: a claim may be megabytes long."""


class SentenceTransformerEncoder:
    """Any model that sentence-transformers loads, and any plain BERT.

    Implements `chunks.WindowedEncoder`. Blocking. Threads may share it; they take turns.

    Args:
        model: `all-MiniLM-L6-v2` (also by its hub id) comes out of the installed package, weights
            verified, without a network. Any other name is a local folder or a hub id.
        precision: `auto` computes in bfloat16 where the processor has instructions for it: about twice
            as fast, cosine to float32 above 0.9998. What comes out is float32 either way, so an index
            does not depend on it.
        batch_size: texts that are computed at once. On a CPU few are faster, because of its caches: 8 took
            0.72 times the time of 64 on one with AVX-512. On a GPU more are.
        pooling: for a model without a sentence-transformers configuration. `auto` is the first token's
            vector for SimCSE (Gao et al. 2021; the CEG paper's encoder), without the pooler layer that its
            supervised models were trained with, and else the mean of all tokens.

    Raises:
        ConfigError: the model can't be found, downloaded or loaded, or is not the one it should be.
    """

    def __init__(
        self,
        model: str = DEFAULT_MODEL,
        *,
        precision: Precision = "auto",
        batch_size: int = 8,
        pooling: PoolingName = "auto",
    ) -> None:
        folder = local_folder(model, kind="encoder", key=_KEY)
        self._name = DEFAULT_MODEL if is_packaged(model) else _identity(model, folder)
        self._model = _load(model, folder, dtype_of(precision), pooling)
        self._batch_size = batch_size
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """The hub id, or of a local folder its name and a checksum of what it holds."""
        return self._name

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return int(self._model.get_embedding_dimension() or 0)

    @property
    def max_tokens(self) -> int:
        """The model's window, in its own tokens with its special ones. Longer text is cut off."""
        return int(self._model.max_seq_length or _FALLBACK_WINDOW)

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Shape (len(texts), dimension), float32, each row of Euclidean length 1.

        Raises:
            RetrievalError: the model gave no finite vector for some text.
        """
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        limit = self.max_tokens * _CHARACTERS_PER_TOKEN
        with self._lock:
            tensor = self._model.encode(
                [text[:limit] for text in texts],
                batch_size=self._batch_size,
                convert_to_tensor=True,
                show_progress_bar=False,
            )
        vectors: Vectors = tensor.float().cpu().numpy()
        # Normalised again in float32, because the length of a bfloat16 vector is off by up to 0.4%.
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not np.all(np.isfinite(lengths) & (lengths > 0)):
            raise RetrievalError(f"The encoder {self._name} gave a vector that is not finite or is zero.")
        vectors /= lengths
        return vectors


class CachedEncoder:
    """Keeps the vectors of the texts that were encoded last: claims, and documents that a client sends again
    with every turn of a chat. Implements `chunks.WindowedEncoder`. Threads may share it.

    Args:
        inner: encodes what is not kept.
        most: vectors that are kept. Those of texts over `_LONGEST_KEPT` characters are not.
    """

    def __init__(self, inner: WindowedEncoder, most: int = 16_384) -> None:
        self._inner = inner
        self._most = most
        self._kept: OrderedDict[str, Vectors] = OrderedDict()
        self._lock = threading.Lock()

    def apart(self) -> CachedEncoder:
        """The same encoder, keeping vectors of its own."""
        return CachedEncoder(self._inner, self._most)

    @property
    def name(self) -> str:
        """As that of the encoder itself."""
        return self._inner.name

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return self._inner.dimension

    @property
    def max_tokens(self) -> int:
        """The encoder's window."""
        return self._inner.max_tokens

    def encode(self, texts: Sequence[str]) -> Vectors:
        """What the encoder itself gives. Raises what it raises."""
        found: dict[str, Vectors] = {}
        with self._lock:
            for text in texts:
                if text in self._kept:
                    self._kept.move_to_end(text)
                    found[text] = self._kept[text]
        missing = [text for text in dict.fromkeys(texts) if text not in found]
        found |= zip(missing, self._inner.encode(missing), strict=True)
        with self._lock:
            for text in missing:
                if len(text) <= _LONGEST_KEPT:
                    self._kept[text] = found[text].copy()
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)
        return np.stack([found[text] for text in texts]) if texts else self._inner.encode(texts)


def _identity(model: str, folder: Path | None) -> str:
    """The hub id, or the folder's name with a checksum of its files: a model may move but not change."""
    if folder is None:
        return model
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.suffix in _IDENTITY_SUFFIXES and path.is_file():
            with path.open("rb") as file:
                digest.update(path.relative_to(folder).as_posix().encode())
                digest.update(hashlib.file_digest(file, "sha256").digest())
    return f"{folder.name}@{digest.hexdigest()[:12]}"


def _load(model: str, folder: Path | None, dtype: torch.dtype, pooling: PoolingName) -> SentenceTransformer:
    """Loads the model. Whatever the libraries and the hub raise becomes a `ConfigError` of one line."""
    source, offline = (model, False) if folder is None else (str(folder), True)
    try:
        with quiet():
            if not offline:  # fails at once for a model that does not exist, not once per file
                hf_hub_download(model, "config.json")
            return _modules(source, offline, dtype, pooling)
    except Exception as error:
        advice = (
            "is it a folder with a model and its tokenizer?"
            if offline
            else f"check the name and the network, or name a local folder in {_KEY}."
        )
        raise ConfigError(
            f"The encoder {model} can't be loaded: {first_line(error)} — {advice}", param=_KEY
        ) from error


def _modules(source: str, offline: bool, dtype: torch.dtype, pooling: PoolingName) -> SentenceTransformer:
    options = {"dtype": dtype}
    if is_sentence_transformer_model(source, local_files_only=offline):
        return SentenceTransformer(
            source, local_files_only=offline, model_kwargs=options, device=str(device())
        )
    # sentence-transformers would pool such a model by the mean, whatever it was trained for.
    cls = pooling == "cls" or (pooling == "auto" and "simcse" in source.lower())
    files = {"local_files_only": offline}
    transformer = Transformer(
        source, model_kwargs=options | files, processor_kwargs=files, config_kwargs=files
    )
    pooled = Pooling(transformer.get_embedding_dimension(), pooling_mode="cls" if cls else "mean")
    return SentenceTransformer(modules=[transformer, pooled, Normalize()], device=str(device()))
