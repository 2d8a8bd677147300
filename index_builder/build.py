"""Builds an index: reads sources, cuts documents into passages, encodes them and replaces the old index."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Literal, Protocol

import numpy as np

from index_builder.catalog import Documents, digest_of, id_key, write_files
from index_builder.changes import (
    expand_outside,
    file_key,
    file_state,
    fingerprint,
    made_alike,
    old_index,
    settled,
    unchanged,
)
from index_builder.documents import BrokenDocument
from index_builder.postings import Earlier, write_postings
from index_builder.sources import File, Sources, with_files
from index_builder.unfinished import Journal
from index_builder.update import Left, Update, kept_parts, updatable, write_removed
from index_builder.vectors import (
    old_vectors,
    sample_claims,
    sample_rows,
    threshold_of,
    write_vectors,
)
from proxy.errors import SourceError
from proxy.protocols import Encoder
from proxy.retrieval.chunks import SPLITTER, WindowedEncoder, chunk, count_tokens, passage_tokens
from proxy.retrieval.corpus import ENCODED
from proxy.retrieval.generation import Generation, new_generation
from proxy.retrieval.index_files import (
    ANALYZER,
    EXACT,
    FORMAT,
    PARTED,
    DataFile,
    DenseIndex,
    Index,
    Manifest,
    Part,
)
from proxy.retrieval.passages import PASSAGES, read_passages, write_passages
from proxy.retrieval.vector_index import cut_for, kind_for, write_vector_index
from proxy.retrieval.vector_table import VECTOR, VECTORS, StoredVectors
from proxy.types import DenseChoice, Document, Passage

log = logging.getLogger(__name__)

Stage = Literal["reading", "encoding", "dense", "indexing", "sending"]

_KEPT_REPORTS = 1000


class Progress(Protocol):
    """Is called as a build advances."""

    def __call__(self, stage: Stage, done: int, total: int | None) -> None:
        """`reading` counts documents, of unknown number; the other stages count passages."""
        ...


@dataclass(frozen=True, slots=True)
class Report:
    """What a build did.

    `broken` are the first thousand of the `broken_count` documents that were skipped. `ignored` are the
    files of unknown type in folders. `passages` is `reused` plus `encoded`.
    """

    documents: int
    passages: int
    reused: int
    encoded: int
    tokens: int
    ignored: tuple[str, ...]
    broken: tuple[BrokenDocument, ...]
    broken_count: int
    threshold: float
    dense: DenseIndex
    seconds: float
    read: int = 0
    """Documents that were read: fewer than all in an update, none where nothing has changed."""


class _Reading:
    """The passages of a build, as they are read, and what is counted meanwhile.

    Set `update` before they are read where an index is updated: then only files that have changed are read.
    """

    def __init__(
        self, sources: Sources, words: int, max_tokens: int, strict: bool, progress: Progress
    ) -> None:
        self._sources = sources
        self.words = words
        self.max_tokens = max_tokens
        self._strict = strict
        self._progress = progress
        self._keys: dict[File, int] = {}
        self.states: dict[int, int] = {}
        self.update: Update | None = None
        self.table = Documents()
        self.read = 0
        self.without_passages = 0
        self.broken: list[BrokenDocument] = []
        self.broken_count = 0

    def look_at_files(self) -> None:
        """Notes the state of every file, before any is read."""
        self._keys = {file: file_key(file) for file in self._sources.files}
        self.states = {key: file_state(file) for file, key in self._keys.items()}

    def passages(self) -> Iterator[Passage]:
        """All that are to be written. Raises `SourceError` for a broken document where that is wanted."""
        update = self.update
        sources = self._sources
        taken: Callable[[str], bool] = _nobody
        if update:
            files = tuple(file for file in sources.files if update.reads(self._keys[file]))
            sources, taken = replace(sources, files=files), update.taken
        for file, document in with_files(sources, taken=taken):
            key = self._keys[file] if file else 0
            if isinstance(document, BrokenDocument):
                self._note(document, key)
                continue
            self.read += 1
            self._progress("reading", self.read, None)
            digest = digest_of(document)
            if not (update and update.stays(key, document.id, digest)):
                yield from self._cut(document, key, digest)
        if update:
            yield from update.rest(self.table)

    def _cut(self, document: Document, key: int, digest: tuple[int, int]) -> Iterator[Passage]:
        count = tokens = 0
        for passage in chunk(document, words=self.words, max_tokens=self.max_tokens):
            tokens += count_tokens(passage.text)
            count += 1
            yield passage
        self.without_passages += not count
        self.table.add(key, id_key(document.id), digest, count, tokens)

    def _note(self, document: BrokenDocument, key: int) -> None:
        if self._strict:
            raise SourceError(f"{document.source} can't be read: {document.reason} (--strict)")
        self.states[key] = 0  # to be read again
        self.broken_count += 1
        if len(self.broken) < _KEPT_REPORTS:
            self.broken.append(document)


def _nobody(_document_id: str) -> bool:
    return False


def silent(stage: Stage, done: int, total: int | None) -> None:
    """A `Progress` that shows nothing."""


def build(
    sources: Sequence[str],
    out: Path,
    *,
    encoder: WindowedEncoder,
    words: int = 100,
    dense: DenseChoice = "auto",
    dimensions: int | None = None,
    update: bool = False,
    strict: bool = False,
    progress: Progress = silent,
) -> Report:
    """Makes the index at `out`, or brings it up to date: a text in the old index is not encoded again, and an
    index of the same files, none of which has changed, stays as it is.

    The old index stays in place, whole, until the new one is complete and on disk. An error, Ctrl-C or a
    power cut leaves it as it was; what had been encoded by then, the next build takes over. In memory are one
    document, one block of passages, 16 bytes per passage, 56 per document, and all words.

    Args:
        sources: as in `index_builder.sources.expand`. Files inside `out` are left out.
        out: the index's folder.
        encoder: the one that will encode the queries.
        words: words per passage, about.
        dense: how vectors will be searched; `auto` decides by their number (see `retrieval.vector_index`).
        dimensions: how many of a vector's first an index of FAISS searches; None: all.
        update: whether only files that have changed are read, and only what has changed is written
            (see `index_builder.update`).
        strict: whether a document that can't be read ends the build.
        progress: called for every document and every block of passages.

    Raises:
        SourceError: a source does not exist, there is no text in any, or `strict` and a document is broken.
        ConfigError: `out` can't be written to, or another build does; or vectors have fewer `dimensions`.
    """
    start = time.monotonic()
    cut_for("ivf", dimensions, encoder.dimension)  # a wrong number is known before hours of encoding
    expanded = expand_outside(sources, out)
    # Before they are read, so that what is written meanwhile is read by the next build.
    state = fingerprint(expanded) if settled(expanded) else ""
    reading = _Reading(expanded, words, passage_tokens(encoder), strict, progress)
    with new_generation(out) as generation:
        old = old_index(out)
        same = old and made_alike(old, encoder, words, reading.max_tokens, dense, dimensions)
        alike = old if same else None
        if alike and unchanged(alike, state):
            return _report(alike.manifest, expanded, start)
        reading.look_at_files()
        standing = updatable(alike, out) if update else None
        if standing:
            reading.update = Update(standing, reading.states)
        count = write_passages(generation, reading.passages())
        left = reading.update.left() if reading.update else Left()
        if not count + left.passages:
            raise SourceError(_nothing(sources, reading))
        written = _Written()
        if count:
            reading.table.write(generation)
            asked = _Asked(dense, dimensions)
            written = _write_searchable(generation, count, encoder, asked, progress, old, left.parts)
        own = generation.seal() if count else {}
        write_files(generation, reading.states)
        if left.parts:
            write_removed(generation, left)
        written = replace(written, files=own, shared=generation.seal(own))
        manifest = _manifest(generation, encoder, reading, left, written, state)
        generation.commit(manifest)
    return _report(manifest, expanded, start, reading, count - written.reused)


def _manifest(
    generation: Generation,
    encoder: Encoder,
    reading: _Reading,
    left: Left,
    written: _Written,
    state: str,
) -> Manifest:
    """What a build of sources in that `state` wrote, with the part that an update left as it was."""
    first = left.parts[0].manifest if left.parts else None
    name, count = generation.folder.name, reading.table.rows
    added = (Part(name, count, written.files, written.dense),) if count else ()
    return Manifest(
        format=PARTED if first else FORMAT,
        generation=name,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        encoder=encoder.name,
        dimension=encoder.dimension,
        normalised=True,
        encoded=ENCODED,
        splitter=SPLITTER,
        words=reading.words,
        max_tokens=reading.max_tokens,
        threshold=first.threshold if first else written.threshold,
        documents=left.documents + len(reading.table) + reading.without_passages,
        passages=left.passages + count,
        broken=reading.broken_count,
        tokens=left.tokens + reading.table.tokens,
        files=written.shared if first else {**written.files, **written.shared},
        dense=first.dense if first else written.dense,
        sources=state,
        parts=kept_parts(left.parts) + added if first else (),
        analyzer=ANALYZER,
    )


def _report(
    made: Manifest, sources: Sources, start: float, reading: _Reading | None = None, encoded: int = 0
) -> Report:
    """Of the index that is there now; without `reading` it was not built, but is as a build would make it."""
    return Report(
        documents=made.documents,
        passages=made.passages,
        reused=made.passages - encoded,
        encoded=encoded,
        tokens=made.tokens,
        ignored=sources.ignored,
        broken=tuple(reading.broken) if reading else (),
        broken_count=made.broken,
        threshold=made.threshold,
        dense=made.dense,
        seconds=time.monotonic() - start,
        read=reading.read if reading else 0,
    )


def _nothing(sources: Sequence[str], reading: _Reading) -> str:
    message = f"There is no text to index in {', '.join(sources)}."
    if reading.broken:
        first = reading.broken[0]
        message += f" {reading.broken_count} could not be read; {first.source}: {first.reason}"
    return message


@dataclass(frozen=True, slots=True)
class _Asked:
    """How vectors shall be searched."""

    dense: DenseChoice
    dimensions: int | None


@dataclass(frozen=True, slots=True)
class _Written:
    """Of the passages that a build wrote: how many vectors were taken over, the threshold, how they are
    searched, and in which files they are. `shared` are the files of all parts."""

    reused: int = 0
    threshold: float = 0.0
    dense: DenseIndex = EXACT
    files: Mapping[str, DataFile] = field(default_factory=dict)
    shared: Mapping[str, DataFile] = field(default_factory=dict)


def _write_searchable(
    generation: Generation,
    count: int,
    encoder: Encoder,
    asked: _Asked,
    progress: Progress,
    old: Index | None,
    others: Sequence[Index] = (),
) -> _Written:
    """Writes vectors, their index and postings of the passages in `generation`. `others` are the other parts
    of the index; the small part beside them is scanned unless it is large itself."""
    advance = partial(progress, "encoding", total=count)
    with Journal(generation.index, encoder) as journal:
        known = [*(old_vectors(old, encoder) if old else ()), journal.old]
        reused = write_vectors(generation, _stored(generation), encoder, known, advance, journal)
    vectors = StoredVectors(generation.file(VECTORS), count, encoder.dimension)
    kind = kind_for("auto" if others else asked.dense, count)
    cut = cut_for(kind, asked.dimensions, encoder.dimension)
    if kind == "exact" and asked.dimensions and not others:
        log.warning("All vectors are scanned whole, and index.dimensions is not used: see --dense")
    threshold, claims = 0.0, np.empty((0, encoder.dimension), VECTOR)
    if kind != "exact" or not others:
        rows = sample_rows(count)
        sample = _sample(generation, rows)
        claims = sample_claims(sample, encoder)
        threshold = threshold_of(sample, vectors.take(np.array(rows)), claims)
    advance = partial(progress, "dense", total=count)
    searched = write_vector_index(generation, vectors, claims, kind, advance, cut)
    earlier = [Earlier.of(part) for part in others]
    write_postings(generation, _with_progress(generation, count, progress), earlier)
    return _Written(reused, threshold, searched)


def _stored(generation: Generation) -> Iterator[Passage]:
    return read_passages(generation.file(PASSAGES))


def _sample(generation: Generation, rows: Sequence[int]) -> list[Passage]:
    wanted = set(rows)
    return [passage for row, passage in enumerate(_stored(generation)) if row in wanted]


def _with_progress(generation: Generation, count: int, progress: Progress) -> Iterator[Passage]:
    for done, passage in enumerate(_stored(generation), 1):
        yield passage
        progress("indexing", done, count)
