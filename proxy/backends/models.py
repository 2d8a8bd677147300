"""Where a Hugging Face model lies on this machine, and the weights it holds."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import torch
from huggingface_hub import snapshot_download
from transformers import AutoModel, AutoTokenizer

from proxy.backends.encoder import DEFAULT_MODEL, Precision, dtype_of, packaged_folder, quiet
from proxy.errors import ConfigError

_PACKAGED_NAMES = frozenset({DEFAULT_MODEL, f"sentence-transformers/{DEFAULT_MODEL}"})
_SMALL_FILES = ("*.json", "*.txt", "*.model")
_SAFE_WEIGHTS = "*.safetensors"
_OTHER_WEIGHTS = "*.bin"
_DECISIVE = (
    "config.json",
    "tokenizer.json",
    "vocab.txt",
    "vocab.json",
    "merges.txt",
    "*.model",
)
"""The files beside the weights that decide what a text becomes inside the model."""


def find_model(model: str) -> Path:
    """The folder of a model: the packaged one by its name, a local folder, or the hub's, downloaded once.

    Raises:
        ConfigError: there is no such folder, or the hub does not give it.
    """
    if model in _PACKAGED_NAMES:
        return packaged_folder()
    path = Path(model).expanduser()
    if path.is_dir():
        return path.resolve()
    if path.is_absolute() or model.startswith((".", "~")) or model.count("/") > 1:
        raise ConfigError(f"No such model folder: {model}")
    try:
        with quiet():
            return _downloaded(model)
    except Exception as error:  # the hub's client lets its HTTP client's and the file system's errors through
        raise ConfigError(
            f"The model {model} can't be downloaded: {_first_line(error)} — check the name and the network, "
            "or name a local folder."
        ) from error


def model_checksum(folder: Path) -> str:
    """SHA-256 over the weights, the configuration and the tokenizer: the same wherever they lie, and whatever
    else lies beside them.

    Raises:
        ConfigError: there are no weights in the folder.
    """
    weights = sorted(folder.glob(_SAFE_WEIGHTS)) or sorted(folder.glob(_OTHER_WEIGHTS))
    if not weights:
        raise ConfigError(f"There are no model weights (*.safetensors) in {folder}.")
    others = sorted({path for pattern in _DECISIVE for path in folder.glob(pattern)})
    digest = hashlib.sha256()
    for path in (*others, *weights):
        with path.open("rb") as file:
            digest.update(path.name.encode())
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()


def load_transformer(folder: Path, precision: Precision, *, name: str) -> tuple[Any, Any]:
    """A model without its head, ready to compute (on the GPU where there is one), and its fast tokenizer.

    Raises:
        ConfigError: they can't be loaded, the model has both an encoder and a decoder, or its tokenizer does
            not tell where in a text its tokens are.
    """
    try:
        with quiet():
            tokenizer = AutoTokenizer.from_pretrained(str(folder), local_files_only=True)
            model = AutoModel.from_pretrained(str(folder), dtype=dtype_of(precision), local_files_only=True)
    except Exception as error:  # whatever the libraries raise becomes one line for the operator
        raise ConfigError(
            f"The model {name} can't be loaded: {_first_line(error)} — is it a folder with a model and its "
            "tokenizer?"
        ) from error
    if model.config.is_encoder_decoder:
        raise ConfigError(f"The model {name} has an encoder and a decoder: name a model with one of them.")
    if not tokenizer.is_fast:
        raise ConfigError(f"The model {name} has no fast tokenizer (tokenizer.json).")
    return model.to("cuda" if torch.cuda.is_available() else "cpu").eval(), tokenizer


def _downloaded(model: str) -> Path:
    """The hub's snapshot; weights in pickled form only where there are no others."""
    folder = Path(snapshot_download(model, allow_patterns=[*_SMALL_FILES, _SAFE_WEIGHTS]))
    if not any(folder.glob(_SAFE_WEIGHTS)):
        folder = Path(snapshot_download(model, allow_patterns=[*_SMALL_FILES, _OTHER_WEIGHTS]))
    return folder


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
