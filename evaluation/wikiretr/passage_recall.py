"""Does a search for a claim find the passage that it was made from? CEG's WikiRetr (Figure 3, Table 6).

Also the passages of other sources, to see what a larger corpus does to a search, and passage vectors that are
encoded once, block by block, and kept in a folder.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

import numpy as np

from evaluation.arguments import writable_folder
from evaluation.datasets import CorpusRow, DataError, read_corpus
from evaluation.metrics import Figures, Indexes, share
from evaluation.wikiretr.data import read_retold
from index_builder.documents import BrokenDocument
from index_builder.sources import documents
from proxy.errors import ConfigError
from proxy.protocols import Encoder
from proxy.retrieval.chunks import chunk
from proxy.retrieval.corpus import ENCODED, encoded_text
from proxy.retrieval.index_files import ArrayWriter, map_array
from proxy.retrieval.lexical import Postings
from proxy.retrieval.rankings import DenseRanking, HybridRanking, LexicalRanking, Ranking
from proxy.retrieval.vector_index import ExactScan
from proxy.retrieval.vector_table import VECTOR, HeldVectors
from proxy.types import Passage, RetrievalMode, Vectors

DEPTH = 10
"""Passages that are looked at."""

_AT = (1, 5, DEPTH)
_NOT_LETTERS = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True)
class Sought:
    """n claims, and the rows that have the passage which each was made from: a corpus may have it twice."""

    name: str
    claims: tuple[str, ...]
    rows: tuple[frozenset[int], ...]


@dataclass(frozen=True, slots=True)
class Space:
    """Passages by their vectors, shape (passages, dimension), and the cosine under which one is dropped."""

    vectors: Vectors
    encoder: Encoder
    threshold: float


@dataclass(frozen=True, slots=True)
class Places:
    """Per claim the place of its passage among the first `DEPTH`, 0 where it isn't there, and how many
    passages came at all; shape (n,) each."""

    right: Indexes
    returned: Indexes


def read_passages(path: Path) -> list[Passage]:
    """Each row of a corpus as one passage, whatever its length. Raises `DataError`."""
    return [passage_of(str(number), row) for number, row in enumerate(read_corpus(path))]


def passage_of(name: str, row: CorpusRow) -> Passage:
    """The row as a passage of that id."""
    return Passage(name, name, row.title, "", row.text, "", 0, len(row.text))


def read_sought(path: Path, passages: Sequence[Passage], limit: int | None = None) -> Sought:
    """The claims of a WikiRetr file, or the first `limit`.

    Raises `DataError`, also where a claim's passage is not in the corpus.
    """
    rows: dict[str, set[int]] = defaultdict(set)
    for row, passage in enumerate(passages):
        rows[_letters(passage.text)].add(row)
    retold = read_retold(path, limit)
    claims = [rows.get(_letters(claim.content)) for claim in retold]
    known = tuple(frozenset(right) for right in claims if right is not None)
    if len(known) < len(claims):
        raise DataError(
            f"{path}: the passage of claim {claims.index(None) + 1} is not in the corpus: no search finds it."
        )
    return Sought(str(path), tuple(claim.claim for claim in retold), known)


def rankings(
    modes: Sequence[RetrievalMode], postings: Postings, space: Space | None
) -> Iterator[tuple[str, Ranking]]:
    """A ranking for each mode, by name; where it drops passages under a cosine, a second one that does.

    `space` may be None where no mode is of vectors.
    """
    lexical = LexicalRanking(postings)
    if "lexical" in modes:
        yield "lexical", lexical
    if space is None:
        return
    kinds: Mapping[RetrievalMode, Callable[[DenseRanking], Ranking]] = {
        "dense": lambda dense: dense,
        "hybrid": lambda dense: HybridRanking(dense, lexical),
    }
    for mode in (mode for mode in modes if mode in kinds):
        table, scan = HeldVectors(space.vectors), ExactScan(space.vectors)
        for name, threshold in ((mode, -1.0), (f"{mode}, threshold {space.threshold:.2f}", space.threshold)):
            yield (
                name,
                kinds[mode](DenseRanking(table, space.encoder, threshold, scan)),
            )


def places(ranking: Ranking, sought: Sought) -> Places:
    """Where each claim's passage comes first. Blocking."""
    ranked = [[hit.row for hit in hits] for hits in ranking.rank(sought.claims, DEPTH)]
    right = [
        next((place for place, row in enumerate(hits, 1) if row in rows), 0)
        for rows, hits in zip(sought.rows, ranked, strict=True)
    ]
    return Places(np.array(right, dtype=np.int64), np.array([len(hits) for hits in ranked], dtype=np.int64))


def recall_figures(places: Places, rows: Indexes) -> Figures:
    """Recall and precision at 1, 5 and 10 over these claims, and how many passages a claim got.

    Recall at k is the share of claims whose passage is among the first k; precision at k the share of right
    ones among all passages that came in the first k places. A claim has one right passage, the first of its
    copies, so precision can't be over 1 / k where nothing is dropped.
    """
    right, returned = places.right[rows], places.returned[rows]
    hit = {index: (right > 0) & (right <= index) for index in _AT}
    return {
        **{f"recall@{index}": share(hit[index]) for index in _AT},
        **{
            f"precision@{index}": float(hit[index].sum() / max(1, np.minimum(returned, index).sum()))
            for index in _AT
        },
        "returned": float(returned.mean()),
    }


def _letters(text: str) -> str:
    """WikiRetr's passages have wiki markup that a corpus has not."""
    return _NOT_LETTERS.sub("", text.lower())


def read_beside(sources: Sequence[str], passages: Sequence[Passage], words: int) -> list[Passage]:
    """The passages of other sources, cut as `vouch index` does for the packaged encoder, to be searched too.

    A text that a passage of the corpus has, or an earlier one, is left out: it would be as right.

    Args:
        sources: files and folders that `vouch index` reads.
        passages: the corpus.
        words: about how many a passage has.

    Raises:
        SourceError: there is no such source, or it holds no documents.
        DataError: a document can't be read.
    """
    known = {_letters(passage.text) for passage in passages}
    found = []
    for document in documents(sources) if sources else ():
        if isinstance(document, BrokenDocument):
            raise DataError(f"{document.source} can't be read: {document.reason}")
        for passage in chunk(document, words=words):
            letters = _letters(passage.text)
            if letters not in known:
                known.add(letters)
                found.append(passage)
    return found


BLOCK = 512
"""Passages of a file: what an interruption loses at most."""


class RememberingEncoder:
    """`protocols.Encoder`, each text asked for once: the same claims go through every retriever."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._known: dict[str, Vectors] = {}

    @property
    def name(self) -> str:
        """The encoder's own."""
        return self._encoder.name

    @property
    def dimension(self) -> int:
        """The encoder's own."""
        return self._encoder.dimension

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Shape (len(texts), dimension)."""
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        self._known.update(zip(new, self._encoder.encode(new), strict=True))
        return np.stack([self._known[text] for text in texts]) if texts else self._encoder.encode([])


def vectors_of(
    passages: Sequence[Passage], encoder: Encoder, folder: Path | None, progress: Callable[[int], None]
) -> Vectors:
    """Shape (passages, dimension), float32.

    With a folder, each block is a file there, named by the encoder and the block's text: what was encoded
    before an interruption, or for a smaller corpus that begins the same, is only read.

    Args:
        passages: in the order of the rows.
        encoder: is asked for what the folder doesn't hold.
        folder: made where it is missing; None keeps nothing.
        progress: hears how many more passages are done.

    Raises:
        ConfigError: the folder can't be made or written.
        BrokenIndexError: a file in it is not what was written: remove it.
    """
    kept = writable_folder(folder) if folder else None
    blocks = []
    for start in range(0, len(passages), BLOCK):
        texts = [encoded_text(passage) for passage in passages[start : start + BLOCK]]
        blocks.append(_kept(kept, texts, encoder) if kept else encoder.encode(texts))
        progress(len(texts))
    return np.concatenate(blocks) if blocks else np.empty((0, encoder.dimension), VECTOR)


def _kept(folder: Path, texts: Sequence[str], encoder: Encoder) -> Vectors:
    path = folder / f"{_key(texts, encoder)}.npy"
    if not path.exists():
        _write(path, encoder.encode(texts))
    return map_array(path, VECTOR, (len(texts), encoder.dimension))


def _write(path: Path, vectors: Vectors) -> None:
    """Under another name until it is whole, so that what is killed meanwhile leaves no half of it."""
    temporary = path.with_suffix(".tmp")
    try:
        with ArrayWriter(temporary, VECTOR, vectors.shape[1:]) as rows:
            rows.append(vectors)
        temporary.replace(path)
    except OSError as error:
        raise ConfigError(f"{path} can't be written: {error.strerror}. Name another folder.") from error


def _key(texts: Sequence[str], encoder: Encoder) -> str:
    digest = blake2b(f"{encoder.name}\n{ENCODED}".encode(), digest_size=16)
    for text in texts:
        digest.update(blake2b(text.encode(), digest_size=16).digest())
    return digest.hexdigest()
