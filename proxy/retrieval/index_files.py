"""The index on disk: its manifest, its files and how they are verified, and the arrays in them.

An index is a folder with `manifest.json` and one folder per generation of data files; the manifest names the
current one. What the data files hold is decided by the modules that write and read them: `passages`,
`corpus`, `vector_index` and `lexical`.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

import numpy as np
from numpy.lib import format as npy
from numpy.typing import DTypeLike, NDArray
from pydantic import TypeAdapter, ValidationError

from proxy.errors import BrokenIndexError
from proxy.protocols import Encoder
from proxy.retrieval.chunks import SPLITTER
from proxy.types import DenseKind

log = logging.getLogger(__name__)

FORMAT = 2
PARTED = 3
"""The format of an index that has been updated: its passages are in parts, and some of them are removed."""

ANALYZER = "words-2"
"""Version of `lexical.tokens` and of what it is given of a passage. Change it with any change to these: the
next build makes an index of another version anew."""

MANIFEST = "manifest.json"
EncodedText = Literal["text", "title+text"]

_GENERATION = re.compile(r"generation-[0-9a-f]{16}")
_MAX_MANIFEST_BYTES = 1_000_000
_ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class DataFile:
    """What a data file must be: its length and its SHA-256 in hexadecimal."""

    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class DenseIndex:
    """How an index is searched by cosine (see `vector_index`).

    `effort` is how many lists of an `ivf` are probed, or how many nodes a search of an `hnsw` keeps;
    `candidates` are how many of the found are ranked again by their exact cosines. Both are 0 for an exact
    scan. `recall` is the share of the exact scan's first ten passages that were found so,
    measured when the index was built. `dimensions` is how many of a vector's first are searched; 0: all.
    """

    kind: DenseKind = "exact"
    effort: int = 0
    candidates: int = 0
    recall: float = 1.0
    dimensions: int = 0


EXACT = DenseIndex()
"""A scan of all vectors."""


@dataclass(frozen=True, slots=True)
class Part:
    """Passages that were indexed together: the folder that they are in, its files, how many passages there
    are, removed ones included, and how their vectors are searched."""

    generation: str
    passages: int
    files: Mapping[str, DataFile]
    dense: DenseIndex = EXACT


@dataclass(frozen=True, slots=True)
class Made:
    """How the passages of an index were made, and how many there are, wherever they are kept. The precision
    that the encoder computed in is no part of that.

    `splitter` (see `chunks.SPLITTER`), `words` and `max_tokens` decide where passages end, and with
    the documents what their ids are. `encoder` and `encoded` (which fields of a passage the encoder saw)
    decide what the vectors are; they have `dimension` numbers and Euclidean norm 1.
    `threshold` is the cosine that 99% of random pairs of passages of different documents stay under.
    `tokens` are those of all passages by cl100k_base. `broken` documents were skipped. `created` is ISO
    8601 in UTC.
    """

    generation: str
    created: str
    encoder: str
    dimension: int
    encoded: EncodedText
    splitter: str
    words: int
    max_tokens: int
    threshold: float
    documents: int
    passages: int
    broken: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Manifest(Made):
    """What an index in a folder is.

    `files` are named relative to the folder `generation`. A manifest without `dense` is of an exact scan.
    `sources` tells whether the files that were indexed have changed (`index_builder.changes`); empty where
    that is not known.

    `parts` are those of an index that has been updated, the largest first; then `files` are only those that
    all parts share, `passages` are those that are not removed, and `dense` is that of the first part.
    `analyzer` (see `ANALYZER`) decides what the words of a passage are; older versions did not put it down.
    """

    format: int
    normalised: bool
    files: Mapping[str, DataFile]
    dense: DenseIndex = EXACT
    sources: str = ""
    parts: tuple[Part, ...] = ()
    analyzer: str = ""


@dataclass(frozen=True, slots=True)
class Index:
    """An index whose files are all there and unchanged."""

    path: Path
    manifest: Manifest

    def parts(self) -> tuple[Index, ...]:
        """Its parts, each as an index of its own; one that was never updated is its only part."""
        made = self.manifest
        return tuple(
            Index(
                self.path,
                replace(
                    made,
                    generation=part.generation,
                    passages=part.passages,
                    files=part.files,
                    dense=part.dense,
                    parts=(),
                ),
            )
            for part in made.parts
        ) or (self,)

    def file(self, name: str) -> Path:
        """Where a data file is. Raises `errors.BrokenIndexError` if the manifest does not name it."""
        if name not in self.manifest.files:
            raise BrokenIndexError(f"The index at {self.path} has no {name}. {_rebuild(self.path)}")
        return self.path / self.manifest.generation / name

    def require(self, encoder: Encoder) -> None:
        """Raises `errors.BrokenIndexError` unless `encoder` is the one that the index was made with."""
        made = self.manifest
        if (made.encoder, made.dimension) != (encoder.name, encoder.dimension):
            raise BrokenIndexError(
                f"The index at {self.path} was made with the encoder {made.encoder} ({made.dimension} "
                f"dimensions), but {encoder.name} ({encoder.dimension} dimensions) is configured: "
                f"set encoder.model to {made.encoder}, or rebuild it: vouch index SOURCE --out {self.path}",
                param="encoder.model",
            )


def open_index(path: Path | str) -> Index:
    """The index at `path`, each of its files compared with the manifest's checksum.

    Raises:
        BrokenIndexError: there is none, or a file of it is missing or is not what was written; the message
            is one sentence that names the file, and one that says what to do.
    """
    path = Path(path)
    for _ in range(_ATTEMPTS):
        manifest = read_manifest(path)
        try:
            for folder in folders_of(manifest):
                for name, file in folder.files.items():
                    _verify(path, folder.generation, name, file)
        except BrokenIndexError:
            # A build that ended in between has removed the generation we were reading.
            if read_manifest(path).generation == manifest.generation:
                raise
        else:
            _warn_of_an_older_index(path, manifest)
            return Index(path, manifest)
    raise BrokenIndexError(f"The index at {path} is being replaced all the time. Try again.")


def folders_of(manifest: Manifest) -> list[Manifest | Part]:
    """All that names a folder with files: the manifest itself, and its parts."""
    return [manifest, *manifest.parts]


def _warn_of_an_older_index(path: Path, manifest: Manifest) -> None:
    if manifest.analyzer != ANALYZER:
        log.warning(
            "The index at %s was made by a version of Vouch that read the words of passages otherwise. It "
            "can be searched as it is; rebuilt, more is found by words.",
            path,
        )
    if manifest.splitter != SPLITTER:
        log.warning(
            "The index at %s was made with the sentence splitter %s, and this version of Vouch has %s. It "
            "can be searched as it is; rebuilt, its passages may end elsewhere and have other ids.",
            path,
            manifest.splitter,
            SPLITTER,
        )


def read_manifest(path: Path) -> Manifest:
    """The manifest alone, its data files not looked at. Raises `errors.BrokenIndexError`."""
    try:
        with (path / MANIFEST).open("rb") as file:
            raw = file.read(_MAX_MANIFEST_BYTES)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise BrokenIndexError(
            f"No index at {path}. Build one with: vouch index SOURCE --out {path}", param="index.path"
        ) from error
    except OSError as error:
        raise BrokenIndexError(
            f"The index at {path} can't be read: {error.strerror}.", param="index.path"
        ) from error
    manifest = _parse(path, raw)
    folders = folders_of(manifest)
    named = all(_GENERATION.fullmatch(folder.generation) for folder in folders)
    parted = (manifest.format == PARTED) == bool(manifest.parts)
    if not (manifest.normalised and named and parted and all(folder.passages > 0 for folder in folders)):
        raise BrokenIndexError(f"{path / MANIFEST} describes no index that can be used. {_rebuild(path)}")
    return manifest


def _parse(path: Path, raw: bytes) -> Manifest:
    try:
        loaded = json.loads(raw)
        version = loaded["format"]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise BrokenIndexError(f"{path / MANIFEST} is not an index's manifest. {_rebuild(path)}") from error
    if version not in (FORMAT, PARTED):
        raise BrokenIndexError(
            f"The index at {path} has format {str(version)[:20]}, and this version of Vouch reads {FORMAT}. "
            f"{_rebuild(path)}"
        )
    try:
        return TypeAdapter(Manifest).validate_json(raw, strict=True)
    except ValidationError as error:
        where = ".".join(str(part) for part in error.errors()[0]["loc"])
        raise BrokenIndexError(f"{path / MANIFEST} is damaged at {where}. {_rebuild(path)}") from error


def _verify(path: Path, generation: str, name: str, expected: DataFile) -> None:
    file = path / generation / name
    try:
        size = file.stat().st_size
        digest = checksum(file) if size == expected.bytes else None
    except FileNotFoundError as error:
        raise BrokenIndexError(f"The index at {path} lacks its {name}. {_rebuild(path)}") from error
    except OSError as error:
        raise BrokenIndexError(f"{file} can't be read: {error.strerror}.") from error
    if digest is None:
        raise BrokenIndexError(
            f"{file} has {size:,} bytes instead of {expected.bytes:,}. {_rebuild(path)}", param="index.path"
        )
    if digest != expected.sha256:
        raise BrokenIndexError(
            f"{file} is damaged: its checksum is not the manifest's. {_rebuild(path)}", param="index.path"
        )


def checksum(file: Path) -> str:
    """SHA-256 in hexadecimal. Raises OSError."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def _rebuild(path: Path) -> str:
    return f"Rebuild it with: vouch index SOURCE --out {path}"


class ArrayWriter:
    """Appends rows to a `.npy` file whose number of rows is known only at the end.

    The header is written twice: NumPy pads it so that it keeps its size while the first axis grows.
    """

    def __init__(self, path: Path, dtype: DTypeLike, row: tuple[int, ...] = ()) -> None:
        self._dtype = np.dtype(dtype)
        self._row = row
        self._rows = 0
        self._file = path.open("wb")
        self._header()
        self._start = self._file.tell()

    def append(self, rows: NDArray[Any]) -> None:
        """Adds `rows`, of shape (any, *row)."""
        if rows.shape[1:] != self._row:
            raise ValueError(f"rows of shape {rows.shape[1:]} in an array of {self._row}")
        self._file.write(np.ascontiguousarray(rows, dtype=self._dtype).data)
        self._rows += len(rows)

    def _header(self) -> None:
        shape = (self._rows, *self._row)
        npy.write_array_header_1_0(
            self._file,
            {"descr": npy.dtype_to_descr(self._dtype), "fortran_order": False, "shape": shape},
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._file:
            if kind is None:
                self._file.seek(0, os.SEEK_SET)
                self._header()
                if self._file.tell() != self._start:
                    raise RuntimeError("the array's header outgrew its room")


def map_array(path: Path, dtype: DTypeLike, shape: tuple[int | None, ...]) -> NDArray[Any]:
    """The array in a `.npy` file, mapped into memory read-only. None in `shape` is any length.

    Raises:
        BrokenIndexError: the file is no array of that type and shape.
    """
    try:
        array = np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))
    except (OSError, ValueError) as error:
        raise BrokenIndexError(f"{path} can't be read: {error}") from error
    fits = len(array.shape) == len(shape) and all(
        wanted in (None, length) for wanted, length in zip(shape, array.shape, strict=True)
    )
    if array.dtype != np.dtype(dtype) or not fits:
        raise BrokenIndexError(
            f"{path} holds {array.dtype} of shape {array.shape}, not {np.dtype(dtype)} of {shape}."
        )
    return array
