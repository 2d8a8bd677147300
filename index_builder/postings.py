"""The lexical part of an index that is being built, in bounded memory: BM25 weights in the files of bm25s.

bm25s itself holds every word of every passage to weigh them, some 3 GB for a million passages. Here words are
counted block by block, and the weights are written to mapped files in a second pass. They are those that
bm25s would compute (Robertson et al., as Lucene does it).
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.lib.format import open_memmap
from numpy.typing import NDArray

from proxy.errors import BrokenIndexError
from proxy.retrieval.generation import Generation
from proxy.retrieval.index_files import ArrayWriter, Index, map_array
from proxy.retrieval.lexical import FILES, K1, B, Postings, open_postings, save_words, tokens
from proxy.types import Passage

LENGTHS = "bm25-lengths.npy"
"""How many words each passage has, stop words left out."""

_LENGTH = np.dtype("<i4")
_COUNTED = "bm25-counted.tmp"
_BLOCK = 16_384


@dataclass(frozen=True, slots=True)
class Earlier:
    """The passages of an index's other parts, which count when words are weighed: how many there are, how
    many words they have together, and in how many of them a word is."""

    passages: int
    words: int
    postings: Postings

    @classmethod
    def of(cls, part: Index) -> Earlier:
        """Those of a part of an index on disk. Raises `BrokenIndexError`."""
        postings = open_postings(part)
        rows = part.manifest.passages
        try:
            lengths = map_array(part.file(LENGTHS), _LENGTH, (rows,))
        except BrokenIndexError:  # of an older version, which did not count them
            return cls(rows, 0, postings)
        return cls(rows, int(lengths.sum(dtype=np.int64)), postings)

    def frequencies(self, words: Sequence[str]) -> NDArray[np.int64]:
        """In how many passages each word is, of shape (words,)."""
        found = self.postings.words.lookup(words)
        starts = self.postings.model.scores["indptr"]
        known = found >= 0
        frequencies = np.zeros(len(words), np.int64)
        frequencies[known] = starts[found[known] + 1] - starts[found[known]]
        return frequencies


@dataclass(frozen=True, slots=True)
class _Block:
    """The words of adjacent passages: their numbers ascending, each with its row and how often it is there,
    all of shape (postings,)."""

    words: NDArray[np.int32]
    rows: NDArray[np.int32]
    counts: NDArray[np.int32]

    def write(self, file: BinaryIO) -> None:
        for numbers in (self.words, self.rows, self.counts):
            file.write(numbers.data)


def write_postings(
    generation: Generation, passages: Iterable[Passage], earlier: Sequence[Earlier] = ()
) -> None:
    """Writes the lexical part of an index. In memory are the words, 4 bytes per passage and one block.

    Args:
        generation: where the files are written.
        passages: in the order of their rows.
        earlier: the other parts of the index.

    Raises:
        OSError: a file can't be written.
    """
    vocabulary: dict[str, int] = {}
    lengths = array("i")
    counted = generation.file(_COUNTED)
    sizes: list[int] = []
    frequencies = np.zeros(1024, np.int64)
    with counted.open("wb") as file:
        for block in _blocks(passages, vocabulary, lengths):
            block.write(file)
            sizes.append(len(block.words))
            if len(vocabulary) > len(frequencies):
                frequencies = np.concatenate([frequencies, np.zeros(len(vocabulary), np.int64)])
            found = np.bincount(block.words)
            frequencies[: len(found)] += found
    frequencies = frequencies[: len(vocabulary)]
    # bm25s writes its parameters and the words; its arrays are written over.
    save_words(generation, vocabulary, len(lengths))
    starts = np.concatenate([[0], np.cumsum(frequencies)])
    np.save(generation.file(FILES["indptr_name"]), starts)
    length = np.frombuffer(lengths, np.int32)
    with ArrayWriter(generation.file(LENGTHS), _LENGTH) as writer:
        writer.append(length)
    idf, mean = _statistics(vocabulary, frequencies, length, earlier)
    shares = (K1 * ((1 - B) + B * length / mean)).astype(np.float64)
    _scatter(generation, _read(counted, sizes), starts, idf, shares)
    counted.unlink()


def _blocks(passages: Iterable[Passage], vocabulary: dict[str, int], lengths: array[int]) -> Iterator[_Block]:
    stream = iter(passages)
    while block := list(islice(stream, _BLOCK)):
        first = len(lengths)
        numbers = array("i")
        for passage in block:
            before = len(numbers)
            numbers.extend(vocabulary.setdefault(word, len(vocabulary)) for word in tokens(passage.searched))
            lengths.append(len(numbers) - before)
        places = np.repeat(np.arange(len(block), dtype=np.int64), lengths[first:])
        keys, counts = np.unique(
            np.frombuffer(numbers, np.int32) * np.int64(_BLOCK) + places, return_counts=True
        )
        yield _Block(
            (keys // _BLOCK).astype(np.int32),
            (keys % _BLOCK + first).astype(np.int32),
            counts.astype(np.int32),
        )


def _read(path: Path, sizes: Sequence[int]) -> Iterator[_Block]:
    with path.open("rb") as file:
        for size in sizes:
            yield _Block(*(np.fromfile(file, np.int32, size) for _ in range(3)))


def _statistics(
    vocabulary: dict[str, int],
    frequencies: NDArray[np.int64],
    lengths: NDArray[np.int32],
    earlier: Sequence[Earlier],
) -> tuple[NDArray[np.float64], float]:
    """Of each word its inverse document frequency, and the mean length of a passage."""
    words = list(vocabulary)
    passages, length, measured = len(lengths), int(lengths.sum(dtype=np.int64)), len(lengths)
    total = frequencies.copy()
    for part in earlier:
        total += part.frequencies(words)
        passages += part.passages
        if part.words:
            length += part.words
            measured += part.passages
    idf = np.log(1 + (passages - total + 0.5) / (total + 0.5))
    return idf, max(length, 1) / max(measured, 1)


def _scatter(
    generation: Generation,
    blocks: Iterable[_Block],
    starts: NDArray[np.int64],
    idf: NDArray[np.float64],
    shares: NDArray[np.float64],
) -> None:
    """Writes every weight to the place of its word. `shares` are of each passage the part of the denominator
    that its length decides."""
    total = int(starts[-1])
    names = (FILES["data_name"], np.dtype("<f4")), (FILES["indices_name"], np.dtype("<i4"))
    if not total:
        for name, dtype in names:
            np.save(generation.file(name), np.empty(0, dtype))
        return
    weights, rows = (open_memmap(generation.file(name), "w+", dtype, (total,)) for name, dtype in names)
    free = starts[:-1].copy()
    for block in blocks:
        first = np.flatnonzero(np.diff(block.words, prepend=-1))
        sizes = np.diff(first, append=len(block.words))
        places = np.arange(len(block.words)) + np.repeat(free[block.words[first]] - first, sizes)
        weights[places] = idf[block.words] * block.counts / (shares[block.rows] + block.counts)
        rows[places] = block.rows
        free[block.words[first]] += sizes
    for mapped in (weights, rows):
        mapped.flush()
