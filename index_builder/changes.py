"""Whether sources have changed since an index was built of them, told without reading them."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Sequence
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path

from index_builder.sources import File, Sources, expand
from proxy import __version__
from proxy.errors import BrokenIndexError
from proxy.protocols import Encoder
from proxy.retrieval.chunks import SPLITTER
from proxy.retrieval.corpus import ENCODED
from proxy.retrieval.index_files import ANALYZER, MANIFEST, Index, open_index
from proxy.retrieval.vector_index import cut_for, kind_for
from proxy.types import DenseChoice

log = logging.getLogger(__name__)

SETTLED = 2.0
"""Seconds since its last change after which a file is taken for finished. File systems' clocks are coarse: a
file that is written twice within one tick looks as if it were written once."""


def expand_outside(sources: Sequence[str], out: Path) -> Sources:
    """What the sources hold, without the files in `out`: `vouch index . --out index`, run again, must not
    read the passages of the first run. Raises `errors.SourceError` as `sources.expand` does."""
    inside = out.resolve()
    expanded = expand(sources)
    parents: dict[Path, bool] = {}

    def is_inside(path: Path) -> bool:
        if path.is_symlink():
            return path.resolve().is_relative_to(inside)
        if path.parent not in parents:
            parents[path.parent] = path.parent.resolve().is_relative_to(inside)
        return parents[path.parent]

    kept = tuple(file for file in expanded.files if not (file.path and is_inside(file.path)))
    return replace(expanded, files=kept)


def fingerprint(sources: Sources) -> str:
    """Of names, sizes and times of change of all files, and of this version of Vouch.

    The time of change (ctime) is the file system's own: a copy that keeps the old modification time changes
    it too. Empty where that tells nothing: standard input, a file that can't be looked at.
    """
    digest = blake2b(__version__.encode(), digest_size=16)
    for file in sources.files:
        if file.path is None:
            return ""
        try:
            found = file.path.stat()
        except OSError:
            return ""
        state = _state(file, found)
        digest.update(f"{len(state)}\0{state}".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def _state(file: File, found: os.stat_result) -> str:
    path = os.path.realpath(file.path or "")
    return f"{file.id}\0{path}\0{found.st_size}\0{found.st_mtime_ns}\0{found.st_ctime_ns}"


def file_key(file: File) -> int:
    """Of a file's real path, in 64 bits; 0 for standard input."""
    return hashed(os.path.realpath(file.path)) if file.path else 0


def file_state(file: File) -> int:
    """Of its name, size and times of change, and of this version of Vouch, in 64 bits. 0 where that tells
    nothing, as in `fingerprint` and `settled`: the file is to be read again by the next build."""
    if file.path is None:
        return 0
    try:
        found = file.path.stat()
    except OSError:
        return 0
    now = time.time()
    if any(abs(now - moment) <= SETTLED for moment in (found.st_mtime, found.st_ctime)):
        return 0
    return hashed(f"{__version__}\0{_state(file, found)}")


def hashed(text: str) -> int:
    """64 bits of it, never 0."""
    digest = blake2b(text.encode("utf-8", "surrogateescape"), digest_size=8).digest()
    return int.from_bytes(digest, "little") or 1


def settled(sources: Sources) -> bool:
    """Whether no file has changed in the last `SETTLED` seconds; a time ahead is a wrong clock's."""
    now = time.time()
    try:
        return not any(
            abs(now - moment) <= SETTLED
            for found in (file.path.stat() for file in sources.files if file.path)
            for moment in (found.st_mtime, found.st_ctime)
        )
    except OSError:
        return False


def old_index(out: Path) -> Index | None:
    """The index at `out`; None where there is none, or, with a warning, where it is damaged."""
    if not (out / MANIFEST).exists():
        return None
    try:
        return open_index(out)
    except BrokenIndexError as error:
        log.warning("All passages are encoded again, because of the old index: %s", error.message)
        return None


def made_alike(
    index: Index, encoder: Encoder, words: int, max_tokens: int, dense: DenseChoice, dimensions: int | None
) -> bool:
    """Whether an index was made with these settings, as a build would use them."""
    made = index.manifest
    kind = kind_for(dense, index.parts()[0].manifest.passages)
    return (
        (made.encoder, made.dimension, made.encoded) == (encoder.name, encoder.dimension, ENCODED)
        and (made.splitter, made.words, made.max_tokens) == (SPLITTER, words, max_tokens)
        and made.analyzer == ANALYZER
        and (made.dense.kind, made.dense.dimensions) == (kind, cut_for(kind, dimensions, encoder.dimension))
    )


def unchanged(index: Index, sources: str) -> bool:
    """Whether a build of sources of this `fingerprint` would make the same index again. Not if that is not
    known, nor if documents could not be read: what they lacked may be there now."""
    return bool(sources) and index.manifest.sources == sources and index.manifest.broken == 0
