"""Sends an index that was built into a folder to Milvus."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from index_builder.build import Progress
from proxy.retrieval.corpus import Corpus, open_corpus
from proxy.retrieval.index_files import Index, open_index
from proxy.retrieval.milvus.collection import drop, find, leftovers, publish, stored_as
from proxy.retrieval.milvus.milvus_search import MilvusPlace
from proxy.retrieval.parts import removed_rows
from proxy.types import Passage

log = logging.getLogger(__name__)


def send(out: Path, place: MilvusPlace, progress: Progress) -> bool:
    """Makes the index at `out` the one of that name in Milvus. Returns whether it was not there already.

    Servers find the old one until the new one is whole, and for `grace` seconds more, until they have seen
    it. What was sent before an interruption is not sent again.

    Args:
        out: the index's folder.
        place: where it goes.
        progress: called with the number of passages that are there.

    Raises:
        RetrievalError: the server can't be used; what was sent stays for the next try.
        SourceError: a passage has a field that Milvus does not take.
        BrokenIndexError: there is no index at `out`, or the server holds damaged ones.
    """
    index = open_index(out)
    made, connection = index.manifest, place.connection
    stored = stored_as(made, place.name, ranks_words=connection.ranks_words())
    if find(connection, place.name) == stored and connection.call("has_collection", stored.collection):
        return False
    corpus = open_corpus(index)
    advance = partial(progress, "sending", total=made.passages)
    replaced = publish(connection, place.name, stored, _rows(index, corpus), corpus.vectors, advance)
    for leftover in leftovers(connection, place.name, (stored.collection, replaced)):
        drop(connection, leftover)
    if replaced:
        log.info("%s is dropped in %g s", replaced, connection.settings.grace)
        time.sleep(connection.settings.grace)
        drop(connection, replaced)
    return True


def _rows(index: Index, corpus: Corpus) -> Iterator[tuple[int, Passage]]:
    """The passages with their rows, without those that an update has removed."""
    start = 0
    for part, removed in zip(index.parts(), removed_rows(index), strict=True):
        gone = set(removed.tolist())
        for row in range(part.manifest.passages):
            if row not in gone:
                yield start + row, corpus.passages.passage(start + row)
        start += part.manifest.passages
