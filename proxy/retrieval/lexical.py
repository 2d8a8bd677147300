"""BM25 search by bm25s, over English words and Chinese bigrams."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any
from unicodedata import normalize

import bm25s
import numpy as np
from bm25s.stopwords import STOPWORDS_EN
from numpy.typing import NDArray

from proxy.errors import BrokenIndexError
from proxy.retrieval.generation import Generation
from proxy.retrieval.index_files import Index, map_array
from proxy.text.scripts import UNSPACED
from proxy.types import Passage

WEIGHTS, ROWS, STARTS, WORDS = "bm25-weights.npy", "bm25-rows.npy", "bm25-starts.npy", "bm25-words.json"

_K1, _B = 0.9, 0.4
"""Those of Lin et al.'s Anserini; over WikiRetr recall@1 is 0.3 points above bm25s' own 1.5 and 0.75."""

_STOP_WORDS = frozenset(STOPWORDS_EN)
_TOKEN = re.compile(rf"(?P<cjk>[{UNSPACED}]+)|[^\W_{UNSPACED}]+")
_MAX_QUERY_CHARACTERS = 20_000
_MAX_QUERY_WORDS = 512


@dataclass(frozen=True, slots=True)
class Postings:
    """Every word's BM25 weight in every passage that has it, word by word.

    Those of word w are `weights[starts[w]:starts[w + 1]]` in the passages `rows[...]`, ascending.
    """

    words: dict[str, int]
    weights: NDArray[np.float32]
    rows: NDArray[np.int32]
    starts: NDArray[np.int64]
    passages: int

    def best(self, query: str, k: int) -> list[int]:
        """Rows of at most k passages, best first. Those that share no word with the query are left out."""
        # Each word once: a claim that repeats a name is not more about it.
        words = dict.fromkeys(
            self.words[word] for word in tokens(query[:_MAX_QUERY_CHARACTERS]) if word in self.words
        )
        scores = self._scores(list(words)[:_MAX_QUERY_WORDS])
        matching = np.flatnonzero(scores)
        if len(matching) > k:
            matching = matching[np.argpartition(-scores[matching], k - 1)[:k]]
            matching.sort()
        best: list[int] = matching[np.argsort(-scores[matching], kind="stable")].tolist()
        return best

    def _scores(self, words: Sequence[int]) -> NDArray[np.float32]:
        scores = np.zeros(self.passages, dtype=np.float32)
        for word in words:
            start, end = self.starts[word : word + 2]
            scores[self.rows[start:end]] += self.weights[start:end]
        return scores


def tokens(text: str) -> Iterator[str]:
    """Lower-case words and numbers without English stop words; Chinese and Japanese as character bigrams.

    Accents that are characters of their own are put with their letters first (NFC). No stemming: Harman's
    s-stemmer and Porter's were measured over WikiRetr, and neither helps the fusion.
    """
    for match in _TOKEN.finditer(normalize("NFC", text.lower())):
        found = match.group()
        if match.lastgroup != "cjk":
            if found not in _STOP_WORDS:
                yield found
        elif len(found) == 1:
            yield found
        else:
            yield from map("".join, pairwise(found))


def postings_of(passages: Iterable[Passage]) -> Postings:
    """Weighs the words of titles and texts. Holds 4 bytes for every word of every passage meanwhile.

    Titles too: they name what a text calls "it". Measured over WikiRetr they cost nothing.
    """
    words: dict[str, int] = {}
    documents = [_ids(passage, words) for passage in passages]
    if not words:  # bm25s divides by the number of words
        return Postings({}, np.empty(0, "<f4"), np.empty(0, "<i4"), np.zeros(1, "<i8"), len(documents))
    model = bm25s.BM25(method="lucene", k1=_K1, b=_B)
    model.index((documents, words), create_empty_token=False, show_progress=False)
    return Postings(
        words=words,
        weights=np.asarray(model.scores["data"], dtype="<f4"),
        rows=np.asarray(model.scores["indices"], dtype="<i4"),
        starts=np.asarray(model.scores["indptr"], dtype="<i8"),
        passages=len(documents),
    )


def _ids(passage: Passage, words: dict[str, int]) -> NDArray[np.int32]:
    text = f"{passage.title} {passage.text}"
    return np.array([words.setdefault(word, len(words)) for word in tokens(text)], dtype=np.int32)


def write_postings(generation: Generation, postings: Postings) -> None:
    """Writes the lexical part of an index that is being built. bm25s' own format is the same arrays."""
    np.save(generation.file(WEIGHTS), postings.weights, allow_pickle=False)
    np.save(generation.file(ROWS), postings.rows, allow_pickle=False)
    np.save(generation.file(STARTS), postings.starts, allow_pickle=False)
    words = json.dumps(list(postings.words), ensure_ascii=False)
    generation.file(WORDS).write_text(words, encoding="utf-8")


def open_postings(index: Index) -> Postings:
    """The lexical part of an index, mapped; only its words are in memory.

    Raises:
        BrokenIndexError: its files are not what `write_postings` wrote.
    """
    words = _words(index.file(WORDS))
    starts: NDArray[Any] = map_array(index.file(STARTS), "<i8", (len(words) + 1,))
    size = int(starts[-1])
    return Postings(
        words={word: number for number, word in enumerate(words)},
        weights=map_array(index.file(WEIGHTS), "<f4", (size,)),
        rows=map_array(index.file(ROWS), "<i4", (size,)),
        starts=starts,
        passages=index.manifest.passages,
    )


def _words(path: Path) -> list[str]:
    try:
        words = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise BrokenIndexError(f"{path} can't be read: {error}") from error
    if not isinstance(words, list):
        raise BrokenIndexError(f"{path} holds no list of words.")
    return words
