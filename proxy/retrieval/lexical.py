"""BM25 by bm25s, over English words and Chinese bigrams."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise
from typing import Any, Protocol
from unicodedata import normalize

import bm25s
import numpy as np
from bm25s.stopwords import STOPWORDS_EN
from numpy.typing import NDArray

from proxy.errors import BrokenIndexError
from proxy.retrieval.generation import Generation
from proxy.retrieval.index_files import ArrayWriter, Index, map_array
from proxy.text.scripts import UNSPACED
from proxy.types import Passage

FILES = {
    "data_name": "bm25-weights.npy",
    "indices_name": "bm25-rows.npy",
    "indptr_name": "bm25-starts.npy",
    "vocab_name": "bm25-words.json",
    "params_name": "bm25-parameters.json",
}
"""What bm25s's files are called in an index."""

WORDS = "bm25-words.npy"
"""The same words by their hashes, mapped: a word of `bm25-words.json` takes 200 bytes of memory."""

K1, B = 0.9, 0.4
"""Those of Lin et al.'s Anserini; over WikiRetr recall@1 is 0.3 points above bm25s' own 1.5 and 0.75."""

_WORD = np.dtype("<u8")
_STOP_WORDS = frozenset(STOPWORDS_EN)
_TOKEN = re.compile(rf"(?P<cjk>[{UNSPACED}]+)|[^\W_{UNSPACED}]+")
_UNSEEN = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff]")
_WIDE_LINE_END = re.compile(rf"(?<=[{UNSPACED}])[^\S\n]*\n[^\S\n]*(?=[{UNSPACED}])")
_MAX_QUERY_CHARACTERS = 20_000
_MAX_QUERY_WORDS = 512


class Vocabulary(Protocol):
    """The numbers of words."""

    def ids(self, words: Sequence[str]) -> list[int]:
        """Of those words that any passage has, in their order."""
        ...

    def lookup(self, words: Sequence[str]) -> NDArray[np.int64]:
        """Of each word, -1 for one that no passage has; shape (words,)."""
        ...


class LexicalIndex(Protocol):
    """Finds passages by their words. Blocking, one thread at a time."""

    def best(self, query: str, k: int) -> list[tuple[int, float]]:
        """Rows and BM25 scores of at most k passages, best first."""
        ...


@dataclass(frozen=True, slots=True)
class HeldWords:
    """Words in memory."""

    numbers: Mapping[str, int]

    def ids(self, words: Sequence[str]) -> list[int]:
        """Of those words that any passage has, in their order."""
        return [self.numbers[word] for word in words if word in self.numbers]

    def lookup(self, words: Sequence[str]) -> NDArray[np.int64]:
        """Of each word, -1 for one that no passage has; shape (words,)."""
        return np.array([self.numbers.get(word, -1) for word in words], np.int64)


@dataclass(frozen=True, slots=True)
class MappedWords:
    """Words by their hashes, ascending, with their numbers; both of shape (words,). A word that no passage
    has is taken for one that some have in one case of 10^12, where there are ten million."""

    hashes: NDArray[np.uint64]
    numbers: NDArray[np.uint64]

    def ids(self, words: Sequence[str]) -> list[int]:
        """Of those words that any passage has, in their order."""
        found = self.lookup(words)
        ids: list[int] = found[found >= 0].tolist()
        return ids

    def lookup(self, words: Sequence[str]) -> NDArray[np.int64]:
        """Of each word, -1 for one that no passage has; shape (words,)."""
        if not len(self.hashes) or not words:
            return np.full(len(words), -1, np.int64)
        wanted = _hashes(words)
        places = np.minimum(np.searchsorted(self.hashes, wanted), len(self.hashes) - 1)
        known = self.hashes[places] == wanted
        return np.where(known, self.numbers[places].astype(np.int64), -1)


@dataclass(frozen=True, slots=True)
class Postings:
    """Every word's BM25 weight in every passage that has it (Robertson et al., as Lucene computes it).

    `removed` are the rows that are never found, shape (rows,); None if there are none.
    """

    model: bm25s.BM25
    passages: int
    words: Vocabulary
    removed: NDArray[np.int64] | None = None

    def best(self, query: str, k: int) -> list[tuple[int, float]]:
        """Rows and BM25 scores of at most k passages, best first. Those that share no word with the query are
        left out."""
        # Each word once: a claim that repeats a name is not more about it.
        words = self.words.ids(list(dict.fromkeys(tokens(query[:_MAX_QUERY_CHARACTERS]))))
        if not words:
            return []
        scores: NDArray[np.float32] = self.model.get_scores_from_ids(words[:_MAX_QUERY_WORDS])
        if self.removed is not None:
            scores[self.removed] = 0
        matching = np.flatnonzero(scores)
        if len(matching) > k:
            matching = matching[np.argpartition(-scores[matching], k - 1)[:k]]
            matching.sort()
        best = matching[np.argsort(-scores[matching], kind="stable")]
        return list(zip(best.tolist(), scores[best].tolist(), strict=True))


def tokens(text: str) -> Iterator[str]:
    """Lower-case words and numbers without English stop words; Chinese and Japanese as character bigrams.

    Combining accents are first joined with their letters, full-width letters and digits are those of ASCII
    (NFKC), and soft hyphens and zero-width characters are left out. The end of a line between two Chinese
    characters is nothing, too. No stemming: Harman's s-stemmer and Porter's were measured over WikiRetr, and
    neither helps the fusion.
    """
    plain = normalize("NFKC", _UNSEEN.sub("", text)).lower()
    for match in _TOKEN.finditer(_WIDE_LINE_END.sub("", plain)):
        word = match.group()
        if match.lastgroup != "cjk":
            if word not in _STOP_WORDS:
                yield word
        elif len(word) == 1:
            yield word
        else:
            yield from map("".join, pairwise(word))


def postings_of(passages: Iterable[Passage]) -> Postings:
    """Weighs the words of headings and texts. Holds 4 bytes for every word of every passage meanwhile.

    Measured over WikiRetr, the titles cost nothing.
    """
    words: dict[str, int] = {}
    documents = [_ids(passage, words) for passage in passages]
    model = bm25s.BM25(method="lucene", k1=K1, b=B)
    if words:
        model.index((documents, words), create_empty_token=False, show_progress=False)
    else:  # bm25s divides by the number of words
        model.vocab_dict, model.nonoccurrence_array = words, None
        model.scores = _no_scores(len(documents))
    return Postings(model, len(documents), HeldWords(words))


def _ids(passage: Passage, words: dict[str, int]) -> NDArray[np.int32]:
    return np.array([words.setdefault(word, len(words)) for word in tokens(passage.searched)], dtype=np.int32)


def save_words(generation: Generation, words: Mapping[str, int], passages: int) -> None:
    """Writes words and parameters of the lexical part of an index that is being built, with empty arrays of
    weights, which `index_builder.postings` writes over."""
    model = bm25s.BM25(method="lucene", k1=K1, b=B)
    model.vocab_dict = dict(words)
    model.nonoccurrence_array = None
    model.scores = _no_scores(passages)
    model.save(generation.folder, show_progress=False, **FILES)
    hashes = _hashes(list(words))
    order = np.argsort(hashes, kind="stable")
    numbers = np.fromiter(words.values(), _WORD, len(words))
    with ArrayWriter(generation.file(WORDS), _WORD, (len(words),)) as table:
        table.append(hashes[order][np.newaxis])
        table.append(numbers[order][np.newaxis])


def _no_scores(passages: int) -> dict[str, Any]:
    return {
        "data": np.empty(0, np.float32),
        "indices": np.empty(0, np.int32),
        "indptr": np.zeros(1, np.int64),
        "num_docs": passages,
    }


def _hashes(words: Sequence[str]) -> NDArray[np.uint64]:
    raw = (word.encode("utf-8", "surrogatepass") for word in words)
    digests = b"".join(blake2b(word, digest_size=8).digest() for word in raw)
    return np.frombuffer(digests, _WORD)


def open_postings(index: Index) -> Postings:
    """The lexical part of an index, mapped. Of an index that an older version built the words are in memory.

    Raises:
        BrokenIndexError: its files are not what `index_builder.postings` wrote.
    """
    folder = {index.file(name).parent for name in FILES.values()}.pop()
    try:
        mapped = WORDS in index.manifest.files
        model = bm25s.BM25.load(folder, mmap=True, show_progress=False, load_vocab=not mapped, **FILES)
        # As plain arrays: slicing a numpy.memmap takes twice as long as scoring.
        model.scores |= {name: np.asarray(model.scores[name]) for name in ("data", "indices", "indptr")}
        model.unique_token_ids_set = None  # `retrieve` alone needs it
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise BrokenIndexError(f"The bm25 files in {folder} can't be read: {error}") from error
    if model.scores["num_docs"] != index.manifest.passages:
        raise BrokenIndexError(f"The bm25 files in {folder} are of another number of passages.")
    words = _mapped_words(index) if mapped else HeldWords(model.vocab_dict)
    return Postings(model, index.manifest.passages, words)


def _mapped_words(index: Index) -> MappedWords:
    table = map_array(index.file(WORDS), _WORD, (2, None))
    return MappedWords(table[0], table[1])
