"""What Vouch keeps in Milvus: a collection for each build of an index, and one that says which is current.

A row is a passage with its vector and, where the server ranks by words, its words. The words are Vouch's own
(`lexical.tokens`), so that BM25 counts the same in Milvus as in an index's files.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from hashlib import blake2b
from itertools import islice
from typing import Any

import numpy as np
from pydantic import TypeAdapter, ValidationError

from proxy.errors import BrokenIndexError, RetrievalError, SourceError
from proxy.protocols import Encoder
from proxy.retrieval.index_files import Made, Manifest
from proxy.retrieval.lexical import tokens
from proxy.retrieval.milvus.connection import ADMIN_TIMEOUT, Connection, RefusedError
from proxy.retrieval.vector_table import VectorRows
from proxy.types import Passage, Vectors

MANIFESTS = "vouch_manifests"
"""The collection that says, by name of an index, in which collection it is, and what it is."""

BATCH = 500
"""Passages that are sent at once."""

PASSAGE_FIELDS = tuple(field.name for field in fields(Passage))
K1, B = 0.9, 0.4
"""As in `lexical`."""

_MOST_BYTES = 65_535
_LONGEST_WORD = 40
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyz0123456789")
NO_WORD = "-"
"""A query without words: any analyser drops it."""


@dataclass(frozen=True, slots=True)
class StoredIndex(Made):
    """What Milvus holds of an index. `ranks_words`: with words, and so with BM25 in the server; without them
    the folder of the index is needed beside it."""

    collection: str
    ranks_words: bool

    def require(self, encoder: Encoder) -> None:
        """Raises `errors.BrokenIndexError` unless `encoder` is the one that the vectors were made with."""
        if (self.encoder, self.dimension) != (encoder.name, encoder.dimension):
            raise BrokenIndexError(
                f"The collection {self.collection} was made with the encoder {self.encoder} "
                f"({self.dimension} dimensions), and encoder.model is {encoder.name} ({encoder.dimension}). "
                "Set encoder.model to it, or build the index again.",
                param="encoder.model",
            )


def stored_as(manifest: Manifest, name: str, *, ranks_words: bool) -> StoredIndex:
    """What is put down of an index that was built into a folder, under the name `name`."""
    known = asdict(manifest)
    own = {field.name: known[field.name] for field in fields(StoredIndex) if field.name in known}
    collection = f"{name}_{manifest.generation.removeprefix('generation-')}"
    return StoredIndex(collection=collection, ranks_words=ranks_words, **own)


def find(connection: Connection, name: str) -> StoredIndex | None:
    """What Milvus holds of the index of that name now; None where there is none.

    Raises:
        RetrievalError: it can't be asked.
        BrokenIndexError: what it holds is not what `commit` writes.
    """
    if not connection.call("has_collection", MANIFESTS):
        return None
    rows = connection.read(
        "query",
        MANIFESTS,
        filter=f"id == {quoted(name)}",
        output_fields=["manifest"],
        consistency_level="Strong",
    )
    if not rows:
        return None
    try:
        return TypeAdapter(StoredIndex).validate_json(rows[0]["manifest"])
    except ValidationError as error:
        where = ".".join(str(part) for part in error.errors()[0]["loc"])
        raise BrokenIndexError(
            f"What Milvus says of the index {name} is damaged at {where}. Build it again: vouch index SOURCE "
            f"--store milvus --collection {name}"
        ) from error


def publish(
    connection: Connection,
    name: str,
    stored: StoredIndex,
    passages: Iterable[tuple[int, Passage]],
    vectors: VectorRows,
    progress: Callable[[int], None] = lambda _done: None,
) -> str:
    """Writes an index to Milvus, and makes it the one of that name when it is whole. Returns the collection
    that it replaces, empty if none: `drop` it when servers have let it go.

    One that was interrupted goes on where it was.

    Args:
        connection: the server.
        name: of the index.
        stored: what is put down of it.
        passages: all of them with their rows, in that order.
        vectors: those of the rows.
        progress: called with the number of passages that are there.

    Raises:
        RetrievalError: the server fails; what was sent stays for the next try.
        SourceError: a passage has a field that Milvus does not take.
    """
    before = find(connection, name)
    done = prepare(connection, stored)
    stream = islice(passages, done, None)
    while batch := list(islice(stream, BATCH)):
        insert(connection, stored, batch, vectors.take(np.array([row for row, _ in batch])))
        done += len(batch)
        progress(done)
    commit(connection, name, stored)
    return before.collection if before and before.collection != stored.collection else ""


def prepare(connection: Connection, stored: StoredIndex) -> int:
    """Makes the collection, or finds the one that an interrupted build has begun. Returns how many passages
    are in it already, in the order of their rows."""
    if connection.call("has_collection", stored.collection):
        done = _count(connection, stored.collection)
        if done % BATCH == 0 or done == stored.passages:
            return done
        connection.call("drop_collection", stored.collection)  # a batch that is half there
    _create(connection, stored)
    return 0


def insert(
    connection: Connection, stored: StoredIndex, rows: Sequence[tuple[int, Passage]], vectors: Vectors
) -> None:
    """Adds passages with their row numbers, and their vectors of shape (passages, dimension)."""
    data = [
        _row(number, passage, vector, stored.ranks_words)
        for (number, passage), vector in zip(rows, vectors, strict=True)
    ]
    connection.call("insert", stored.collection, data, timeout=ADMIN_TIMEOUT)


def commit(connection: Connection, name: str, stored: StoredIndex) -> None:
    """Makes a collection the index of that name, if all its passages are there. Raises `RetrievalError`."""
    connection.call("flush", stored.collection, timeout=ADMIN_TIMEOUT)
    count = _count(connection, stored.collection)
    if count != stored.passages:
        connection.call("drop_collection", stored.collection)
        raise RetrievalError(
            f"Milvus holds {count:,} of the {stored.passages:,} passages that it was sent. Send them again: "
            "run the same command."
        )
    _require_manifests(connection)
    row = {"id": name, "manifest": json.dumps(asdict(stored)), "vector": [0.0, 1.0]}
    connection.call("upsert", MANIFESTS, [row], timeout=ADMIN_TIMEOUT)


def leftovers(connection: Connection, name: str, keep: Sequence[str]) -> list[str]:
    """The collections of that index that builds left behind which did not end."""
    generation = re.compile(rf"{re.escape(name)}_[0-9a-f]{{16}}")
    there = connection.call("list_collections")
    return [each for each in there if generation.fullmatch(each) and each not in keep]


def drop(connection: Connection, collection: str) -> None:
    """Removes a collection that was replaced."""
    connection.call("drop_collection", collection, timeout=ADMIN_TIMEOUT)


def remove(connection: Connection, name: str) -> None:
    """Removes an index with its collection. There may be none."""
    if stored := find(connection, name):
        connection.call("delete", MANIFESTS, ids=[name])
        drop(connection, stored.collection)


def words_of(text: str) -> str:
    """The words of a text as Milvus's standard analyser keeps them: small Latin letters and digits.

    Any other word is written as the hexadecimal digits of its UTF-8, or of a hash if it is long, because
    analysers cut Chinese where Vouch does not.
    """
    return " ".join(map(_plain, tokens(text)))


def query_words(text: str, most: int = 512) -> str:
    """The same of a query, each word once."""
    words = islice(dict.fromkeys(map(_plain, tokens(text[:20_000]))), most)
    return " ".join(words) or NO_WORD


def quoted(text: str) -> str:
    """A string in an expression of Milvus."""
    return json.dumps(text, ensure_ascii=False)


def passage_of(entity: Any) -> Passage:
    """The passage in a row that Milvus gave."""
    return Passage(**{name: entity[name] for name in PASSAGE_FIELDS})


def _plain(word: str) -> str:
    if len(word) <= _LONGEST_WORD and _PLAIN.issuperset(word):
        return word
    raw = word.encode("utf-8", "surrogatepass")
    hexadecimal = (
        raw.hex() if len(raw) <= _LONGEST_WORD // 2 - 1 else blake2b(raw, digest_size=16).hexdigest()
    )
    return f"x{hexadecimal}"


def _row(number: int, passage: Passage, vector: Any, ranks_words: bool) -> dict[str, Any]:
    row = {**asdict(passage), "row": number, "vector": vector}
    if ranks_words:
        words = words_of(passage.searched)
        row["words"] = words if len(words) <= _MOST_BYTES else words[:_MOST_BYTES].rpartition(" ")[0]
    for name, value in row.items():
        if isinstance(value, str) and len(value) > _MOST_BYTES // 4 and len(value.encode()) > _MOST_BYTES:
            raise SourceError(
                f"The passage {passage.id[:100]} has a {name} of more than {_MOST_BYTES:,} bytes, which "
                "Milvus does not take. Shorten it in the source."
            )
    return row


def _count(connection: Connection, collection: str) -> int:
    rows = connection.read(
        "query",
        collection,
        filter="",
        output_fields=["count(*)"],
        consistency_level="Strong",
        timeout=ADMIN_TIMEOUT,
    )
    return int(rows[0]["count(*)"])


def _create(connection: Connection, stored: StoredIndex) -> None:
    api, settings = connection.pymilvus, connection.settings
    text = {"datatype": api.DataType.VARCHAR, "max_length": _MOST_BYTES}
    schema = api.MilvusClient.create_schema(auto_id=False, enable_dynamic_field=False)
    schema.add_field("id", is_primary=True, **text)
    for name in ("document_id", "title", "section", "text", "url"):
        schema.add_field(name, **text)
    for name in ("start", "end", "row"):
        schema.add_field(name, api.DataType.INT64)
    schema.add_field("vector", api.DataType.FLOAT_VECTOR, dim=stored.dimension)
    index = api.MilvusClient.prepare_index_params()
    index.add_index(
        "vector", index_type=settings.index_type, metric_type="IP", params=dict(settings.index_params)
    )
    if stored.ranks_words:
        schema.add_field("words", enable_analyzer=True, analyzer_params={"type": "standard"}, **text)
        schema.add_field("weights", api.DataType.SPARSE_FLOAT_VECTOR)
        schema.add_function(
            api.Function(
                name="bm25",
                function_type=api.FunctionType.BM25,
                input_field_names=["words"],
                output_field_names=["weights"],
            )
        )
        index.add_index(
            "weights",
            index_type="SPARSE_INVERTED_INDEX",
            metric_type="BM25",
            params={"bm25_k1": K1, "bm25_b": B},
        )
    connection.call(
        "create_collection",
        stored.collection,
        schema=schema,
        index_params=index,
        consistency_level="Bounded",
        timeout=ADMIN_TIMEOUT,
    )


def _require_manifests(connection: Connection) -> None:
    if connection.call("has_collection", MANIFESTS):
        return
    api = connection.pymilvus
    schema = api.MilvusClient.create_schema(auto_id=False, enable_dynamic_field=False)
    schema.add_field("id", api.DataType.VARCHAR, max_length=256, is_primary=True)
    schema.add_field("manifest", api.DataType.VARCHAR, max_length=_MOST_BYTES)
    schema.add_field("vector", api.DataType.FLOAT_VECTOR, dim=2)  # Milvus wants one in each collection
    index = api.MilvusClient.prepare_index_params()
    index.add_index("vector", index_type="FLAT", metric_type="L2", params={})
    try:
        connection.call(
            "create_collection", MANIFESTS, schema=schema, index_params=index, timeout=ADMIN_TIMEOUT
        )
    except RefusedError:  # another build has just made it
        if not connection.call("has_collection", MANIFESTS):
            raise
