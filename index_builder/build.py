"""Sources to an index: read, cut into passages, encoded, written beside the old index, put in its place."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Literal, Protocol

from index_builder.documents import BrokenDocument
from index_builder.sources import Sources, documents, expand
from index_builder.vectors import measure_threshold, old_vectors, sample_rows, write_vectors
from proxy.errors import SourceError
from proxy.protocols import Encoder
from proxy.retrieval.chunks import WindowedEncoder, chunk, count_tokens, passage_tokens
from proxy.retrieval.corpus import ENCODED, VECTOR, VECTORS
from proxy.retrieval.generation import Generation, new_generation
from proxy.retrieval.index_files import FORMAT, Manifest, map_array
from proxy.retrieval.lexical import postings_of, write_postings
from proxy.retrieval.passages import PASSAGES, read_passages, write_passages
from proxy.text.sentences import SPLITTER
from proxy.types import Passage

Stage = Literal["reading", "encoding", "indexing"]

_KEPT_REPORTS = 1000


class Progress(Protocol):
    """Hears how far a build has come."""

    def __call__(self, stage: Stage, done: int, total: int | None) -> None:
        """`reading` counts documents, of unknown number; `encoding` and `indexing` count passages."""
        ...


@dataclass(frozen=True, slots=True)
class Report:
    """What a build did. `broken` are the first thousand of `broken_count` documents that were skipped;
    `ignored` counts files of unknown type in folders. `passages` is `reused` plus `encoded`."""

    documents: int
    passages: int
    reused: int
    encoded: int
    tokens: int
    ignored: int
    broken: tuple[BrokenDocument, ...]
    broken_count: int
    threshold: float
    seconds: float


@dataclass(slots=True)
class _Tally:
    """Counts, while documents stream by."""

    documents: int = 0
    tokens: int = 0
    broken_count: int = 0
    broken: list[BrokenDocument] = field(default_factory=list)


def silent(stage: Stage, done: int, total: int | None) -> None:
    """The `Progress` of nobody watching."""


def build(
    sources: Sequence[str],
    out: Path,
    *,
    encoder: WindowedEncoder,
    words: int = 100,
    strict: bool = False,
    progress: Progress = silent,
) -> Report:
    """Makes the index at `out`, or brings it up to date: a text that it has is not encoded again.

    The index that stands stays whole, and is the index, until the new one is complete and safely on disk;
    an error, Ctrl-C or a power cut leaves it as it was. One document, one block of passages and the words'
    numbers are in memory at a time. `sources` are as in `index_builder.sources`, without what lies in `out`;
    `encoder` has to be the one that searches; `words` a passage are about; with `strict` a document that
    can't be read ends the build; `progress` hears of every document and every block of passages.

    Raises:
        SourceError: a source does not exist, there is no text in any, or `strict` and a document is broken.
        ConfigError: `out` can't be written to, or another build does.
    """
    start = time.monotonic()
    expanded = _without(expand(sources), out)
    tally = _Tally()
    with new_generation(out) as generation:
        max_tokens = passage_tokens(encoder)
        passages = _passages(expanded, tally, words, max_tokens, strict, progress)
        count = write_passages(generation, passages)
        if not count:
            raise SourceError(_nothing(sources, tally))
        reused, threshold = _write_searchable(generation, count, encoder, progress)
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
        seconds=time.monotonic() - start,
    )


def _without(sources: Sources, out: Path) -> Sources:
    """`vouch index . --out index` must not find its own passages the second time."""
    inside = out.resolve()
    kept = tuple(
        file for file in sources.files if not (file.path and file.path.resolve().is_relative_to(inside))
    )
    return replace(sources, files=kept)


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
    generation: Generation, count: int, encoder: Encoder, progress: Progress
) -> tuple[int, float]:
    """Vectors and words of the passages written: how many vectors were taken over, and the threshold."""
    old = old_vectors(generation.index, encoder)
    told = partial(progress, "encoding", total=count)
    reused = write_vectors(generation, _stored(generation), encoder, old, told)
    threshold = _threshold(generation, count, encoder)
    write_postings(generation, postings_of(_watched(generation, count, progress)))
    return reused, threshold


def _stored(generation: Generation) -> Iterator[Passage]:
    return read_passages(generation.file(PASSAGES))


def _threshold(generation: Generation, count: int, encoder: Encoder) -> float:
    rows = sample_rows(count)
    wanted = set(rows)
    sample = [passage for row, passage in enumerate(_stored(generation)) if row in wanted]
    vectors = map_array(generation.file(VECTORS), VECTOR, (count, encoder.dimension))
    return measure_threshold(sample, vectors[rows], encoder)


def _watched(generation: Generation, count: int, progress: Progress) -> Iterator[Passage]:
    for done, passage in enumerate(_stored(generation), 1):
        yield passage
        progress("indexing", done, count)
