"""Builds an index: reads sources, cuts documents into passages, encodes them and replaces the old index."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Literal, Protocol

from index_builder.changes import expand_outside, fingerprint, settled, unchanged
from index_builder.documents import BrokenDocument
from index_builder.sources import Sources, documents
from index_builder.unfinished import Journal
from index_builder.vectors import (
    old_vectors,
    sample_claims,
    sample_rows,
    threshold_of,
    write_vectors,
)
from proxy.errors import SourceError
from proxy.protocols import Encoder
from proxy.retrieval.chunks import WindowedEncoder, chunk, count_tokens, passage_tokens
from proxy.retrieval.corpus import ENCODED, VECTOR, VECTORS
from proxy.retrieval.generation import Generation, new_generation
from proxy.retrieval.index_files import FORMAT, DenseIndex, Manifest, map_array
from proxy.retrieval.lexical import postings_of, write_postings
from proxy.retrieval.passages import PASSAGES, read_passages, write_passages
from proxy.retrieval.vector_index import kind_for, write_vector_index
from proxy.text.sentences import SPLITTER
from proxy.types import DenseChoice, Passage

Stage = Literal["reading", "encoding", "dense", "indexing"]

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


@dataclass(slots=True)
class _Tally:
    """What a build counts while it reads."""

    documents: int = 0
    tokens: int = 0
    broken_count: int = 0
    broken: list[BrokenDocument] = field(default_factory=list)


def silent(stage: Stage, done: int, total: int | None) -> None:
    """A `Progress` that shows nothing."""


def build(
    sources: Sequence[str],
    out: Path,
    *,
    encoder: WindowedEncoder,
    words: int = 100,
    dense: DenseChoice = "auto",
    strict: bool = False,
    progress: Progress = silent,
) -> Report:
    """Makes the index at `out`, or brings it up to date: a text in the old index is not encoded again, and an
    index of the same files, none of which has changed, stays as it is.

    The old index stays in place, whole, until the new one is complete and on disk. An error, Ctrl-C or a
    power cut leaves it as it was; what had been encoded by then, the next build takes over. In memory are one
    document, one block of passages, 16 bytes per passage, and the ids of all words.

    Args:
        sources: as in `index_builder.sources.expand`. Files inside `out` are left out.
        out: the index's folder.
        encoder: the one that will encode the queries.
        words: words per passage, about.
        dense: how vectors will be searched; `auto` decides by their number (see `retrieval.vector_index`).
        strict: whether a document that can't be read ends the build.
        progress: called for every document and every block of passages.

    Raises:
        SourceError: a source does not exist, there is no text in any, or `strict` and a document is broken.
        ConfigError: `out` can't be written to, or another build does.
    """
    start = time.monotonic()
    expanded = expand_outside(sources, out)
    # Before they are read, so that what is written meanwhile is read by the next build.
    state = fingerprint(expanded) if settled(expanded) else ""
    tally = _Tally()
    with new_generation(out) as generation:
        max_tokens = passage_tokens(encoder)
        if same := unchanged(out, state, encoder, words, max_tokens, dense):
            return _report_of(same.manifest, expanded, start)
        passages = _passages(expanded, tally, words, max_tokens, strict, progress)
        count = write_passages(generation, passages)
        if not count:
            raise SourceError(_nothing(sources, tally))
        reused, threshold, searched = _write_searchable(generation, count, encoder, dense, progress)
        generation.commit(
            Manifest(
                format=FORMAT,
                generation=generation.folder.name,
                created=datetime.now(UTC).isoformat(timespec="seconds"),
                encoder=encoder.name,
                dimension=encoder.dimension,
                normalised=True,
                encoded=ENCODED,
                splitter=SPLITTER,
                words=words,
                max_tokens=max_tokens,
                threshold=threshold,
                documents=tally.documents,
                passages=count,
                broken=tally.broken_count,
                tokens=tally.tokens,
                files=generation.seal(),
                dense=searched,
                sources=state,
            )
        )
    return Report(
        documents=tally.documents,
        passages=count,
        reused=reused,
        encoded=count - reused,
        tokens=tally.tokens,
        ignored=expanded.ignored,
        broken=tuple(tally.broken),
        broken_count=tally.broken_count,
        threshold=threshold,
        dense=searched,
        seconds=time.monotonic() - start,
    )


def _report_of(made: Manifest, sources: Sources, start: float) -> Report:
    """Of an index that a build would only make again."""
    return Report(
        documents=made.documents,
        passages=made.passages,
        reused=made.passages,
        encoded=0,
        tokens=made.tokens,
        ignored=sources.ignored,
        broken=(),
        broken_count=0,
        threshold=made.threshold,
        dense=made.dense,
        seconds=time.monotonic() - start,
    )


def _passages(
    sources: Sources, tally: _Tally, words: int, max_tokens: int, strict: bool, progress: Progress
) -> Iterator[Passage]:
    for document in documents(sources):
        if isinstance(document, BrokenDocument):
            if strict:
                raise SourceError(f"{document.source} can't be read: {document.reason} (--strict)")
            tally.broken_count += 1
            if len(tally.broken) < _KEPT_REPORTS:
                tally.broken.append(document)
            continue
        for passage in chunk(document, words=words, max_tokens=max_tokens):
            tally.tokens += count_tokens(passage.text)
            yield passage
        tally.documents += 1
        progress("reading", tally.documents, None)


def _nothing(sources: Sequence[str], tally: _Tally) -> str:
    message = f"There is no text to index in {', '.join(sources)}."
    if tally.broken:
        first = tally.broken[0]
        message += f" {tally.broken_count} could not be read; {first.source}: {first.reason}"
    return message


def _write_searchable(
    generation: Generation, count: int, encoder: Encoder, dense: DenseChoice, progress: Progress
) -> tuple[int, float, DenseIndex]:
    """Writes vectors, their index and postings. Returns how many vectors were taken over, the threshold, and
    how vectors are searched."""
    old = old_vectors(generation.index, encoder)
    advance = partial(progress, "encoding", total=count)
    with Journal(generation.index, encoder) as journal:
        known = (old, journal.old)
        reused = write_vectors(generation, _stored(generation), encoder, known, advance, journal)
    vectors = map_array(generation.file(VECTORS), VECTOR, (count, encoder.dimension))
    rows = sample_rows(count)
    sample = _sample(generation, rows)
    claims = sample_claims(sample, encoder)
    threshold = threshold_of(sample, vectors[rows], claims)
    advance = partial(progress, "dense", total=count)
    searched = write_vector_index(generation, vectors, claims, kind_for(dense, count), advance)
    write_postings(generation, postings_of(_with_progress(generation, count, progress)))
    return reused, threshold, searched


def _stored(generation: Generation) -> Iterator[Passage]:
    return read_passages(generation.file(PASSAGES))


def _sample(generation: Generation, rows: Sequence[int]) -> list[Passage]:
    wanted = set(rows)
    return [passage for row, passage in enumerate(_stored(generation)) if row in wanted]


def _with_progress(generation: Generation, count: int, progress: Progress) -> Iterator[Passage]:
    for done, passage in enumerate(_stored(generation), 1):
        yield passage
        progress("indexing", done, count)
