"""Does a search for a claim find the passage that it was made from? CEG's WikiRetr (Figure 3, Table 6)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from evaluation.metrics import Figures, Indexes, share
from evaluation.rows import CorpusRow, DataError, read_corpus
from evaluation.wikiretr import read_retold
from proxy.protocols import Encoder
from proxy.retrieval.lexical import Postings
from proxy.retrieval.rankings import DenseRanking, HybridRanking, LexicalRanking, Ranking
from proxy.types import Passage, RetrievalMode, Vectors

DEPTH = 10
"""Passages that are looked at."""

_AT = (1, 5, DEPTH)
_NOT_LETTERS = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True)
class Sought:
    """n claims, and the row of the passage that each was made from."""

    name: str
    claims: tuple[str, ...]
    rows: tuple[int, ...]


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
    rows = {_letters(passage.text): row for row, passage in enumerate(passages)}
    retold = read_retold(path, limit)
    found = [rows.get(_letters(one.content)) for one in retold]
    known = tuple(row for row in found if row is not None)
    if len(known) < len(found):
        raise DataError(
            f"{path}: the passage of claim {found.index(None) + 1} is not in the corpus: no search finds it."
        )
    return Sought(str(path), tuple(one.claim for one in retold), known)


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
        for name, threshold in ((mode, -1.0), (f"{mode}, threshold {space.threshold:.2f}", space.threshold)):
            yield name, kinds[mode](DenseRanking(space.vectors, space.encoder, threshold))


def places(ranking: Ranking, sought: Sought) -> Places:
    """Where each claim's passage comes. Blocking."""
    ranked = [[hit.row for hit in hits] for hits in ranking.rank(sought.claims, DEPTH)]
    right = [hits.index(row) + 1 if row in hits else 0 for row, hits in zip(sought.rows, ranked, strict=True)]
    return Places(np.array(right, dtype=np.int64), np.array([len(hits) for hits in ranked], dtype=np.int64))


def figures(found: Places, rows: Indexes) -> Figures:
    """Recall and precision at 1, 5 and 10 over these claims, and how many passages a claim got.

    Recall at k is the share of claims whose passage is among the first k; precision at k the share of right
    ones among all passages that came in the first k places. A claim has one right passage, so precision can't
    be over 1 / k where nothing is dropped.
    """
    right, returned = found.right[rows], found.returned[rows]
    hit = {at: (right > 0) & (right <= at) for at in _AT}
    return {
        **{f"recall@{at}": share(hit[at]) for at in _AT},
        **{f"precision@{at}": float(hit[at].sum() / max(1, np.minimum(returned, at).sum())) for at in _AT},
        "returned": float(returned.mean()),
    }


def _letters(text: str) -> str:
    """WikiRetr's passages have wiki markup that a corpus has not."""
    return _NOT_LETTERS.sub("", text.lower())
