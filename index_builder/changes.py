"""Whether sources have changed since an index was built of them, told without reading them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path

from index_builder.sources import Sources, expand
from proxy import __version__
from proxy.errors import BrokenIndexError
from proxy.protocols import Encoder
from proxy.retrieval.corpus import ENCODED
from proxy.retrieval.index_files import Index, open_index
from proxy.retrieval.vector_index import kind_for
from proxy.text.sentences import SPLITTER
from proxy.types import DenseChoice

SETTLED = 2.0
"""Seconds since its last change after which a file is taken for finished. File systems' clocks are coarse: a
file that is written twice within one tick looks as if it were written once."""


def expand_outside(sources: Sequence[str], out: Path) -> Sources:
    """What the sources hold, without the files in `out`: `vouch index . --out index`, run again, must not
    read the passages of the first run. Raises `errors.SourceError` as `sources.expand` does."""
    inside = out.resolve()
    expanded = expand(sources)
    kept = tuple(
        file for file in expanded.files if not (file.path and file.path.resolve().is_relative_to(inside))
    )
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
        state = f"{file.id}\0{file.path.resolve()}\0{found.st_size}\0{found.st_mtime_ns}\0{found.st_ctime_ns}"
        digest.update(f"{len(state)}\0{state}".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


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


def unchanged(
    out: Path, sources: str, encoder: Encoder, words: int, max_tokens: int, dense: DenseChoice
) -> Index | None:
    """The index at `out` if a build would make the same again; None if not, or if that is not known.

    One that is damaged is not, nor one of which documents could not be read: what they lacked may be there
    now.

    Args:
        out: the index's folder.
        sources: their `fingerprint`.
        encoder, words, max_tokens, dense: as the build would use them.
    """
    if not sources:
        return None
    try:
        index = open_index(out)
    except BrokenIndexError:
        return None
    made = index.manifest
    same = (
        made.sources == sources
        and made.broken == 0
        and (made.encoder, made.dimension, made.encoded) == (encoder.name, encoder.dimension, ENCODED)
        and (made.splitter, made.words, made.max_tokens) == (SPLITTER, words, max_tokens)
        and made.dense.kind == kind_for(dense, made.passages)
    )
    return index if same else None
