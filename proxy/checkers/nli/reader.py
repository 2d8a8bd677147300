"""What the model reads of a pair: the claim, and the sentences of the evidence that say most of it.

A passage is tokenized and cut into sentences once. For each claim, the sentences that together cover its
words best are put into one window of bounded size, in the order of the text and under their title.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from tokenizers import Encoding, Tokenizer

from proxy.checkers.injection import without_scaffolding
from proxy.checkers.nli.batch import SpecialTokens, TokenPair
from proxy.text.sentences import sentence_spans
from proxy.text.words import words
from proxy.types import Page, Pair

Span = tuple[int, int]

_SPECIAL = (("<s>", "[CLS]"), ("</s>", "[SEP]"), ("<pad>", "[PAD]"))
CLAIM_TOKENS = 128
"""A longer claim is read in pieces of so many tokens, each of which must hold."""
MOST_PIECES = 8
"""Pieces of the longest claim that is read."""
_CONTEXT_TOKENS = 64
_JOINT_TOKENS = 256
"""Tokens of several passages that are read together, at most."""
_TITLE_TOKENS = 24
_LEAST_ROOM = 24
_CELLS = " | "
"""Between the cells of a row, as the index writes them."""
_CONSIDERED = 48
"""Sentences of an evidence that a window may be put together from: those nearest to the claim."""
_REPEATED = 0.35
"""What a word of the claim is worth that a chosen sentence has already."""
_NEIGHBOUR = 0.3
"""What a sentence is worth for standing beside a chosen one: pronouns are resolved there."""
_CACHED_PASSAGES, _CACHED_CHARS = 512, 8_000
"""Passages that are kept tokenized, and the length of the longest one."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of an evidence, or a piece of an overlong one: its place, tokens and content words."""

    span: Span
    tokens: tuple[int, ...]
    keys: frozenset[str]
    row: bool
    """Whether it is a row of a table, as the index writes them."""


@dataclass(frozen=True, slots=True)
class Window:
    """One input of the model. `sentences` are the spans in `Pair.evidence` that it has, best first.

    `piece` numbers the claim's pieces, `place` the places of the evidence. A place may have two readings:
    with a whole table, and with those rows of it that the claim names.
    """

    tokens: TokenPair
    sentences: tuple[Span, ...]
    piece: int = 0
    place: int = 0


class ClaimTooLongError(ValueError):
    """The claim has more tokens than are read."""


class Reader:
    """Makes windows out of pairs. Safe to use from several threads.

    Args:
        folder: of the base model, for its tokenizer.json.
        window_tokens: tokens of evidence that a window holds, its title included.
        most_windows: windows that are read of one passage which is longer than that. Of several passages
            one is read, of twice the size and 256 tokens at most.

    Raises `OSError` or `ValueError` where there is no tokenizer.
    """

    def __init__(self, folder: Path, window_tokens: int = 128, most_windows: int = 2) -> None:
        file = folder / "tokenizer.json"
        if not file.exists():
            raise OSError(f"there is no {file.name} in {folder}")
        self._tokenizer = Tokenizer.from_file(str(file))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._window_tokens = window_tokens
        self._most_windows = most_windows
        self._cached = lru_cache(_CACHED_PASSAGES)(self._sentences)
        self.special = SpecialTokens(*(self._id(*names) for names in _SPECIAL))

    def read(self, pair: Pair) -> list[Window]:
        """The windows of a pair, the most promising first; none where claim or evidence have no words.

        Several passages are read in one window, each under its title. Raises `ClaimTooLongError`.
        """
        pieces = self._pieces(pair.statement)
        pages = [page for page in (Page(pair.evidence, pair.title), *pair.others) if page.text.strip()]
        if not pieces or not pages:
            return []
        keys = _keys(pair.statement)
        context = tuple(self._encode(pair.context).ids[-_CONTEXT_TOKENS:]) if pair.context else ()
        evidence = list(self._evidence(pages, keys))
        return [
            Window(TokenPair(tokens, claim, context), spans, number, place)
            for number, claim in enumerate(pieces)
            for place, tokens, spans in evidence
        ]

    def _id(self, *names: str) -> int:
        ids = [token for name in names if (token := self._tokenizer.token_to_id(name)) is not None]
        if not ids:
            raise ValueError(f"the tokenizer has no {names[0]}")
        return ids[0]

    def _pieces(self, claim: str) -> list[tuple[int, ...]]:
        if not any(word.content or word.keys for word in words(claim)):
            return []
        ids = self._encode(claim).ids
        count = -(-len(ids) // CLAIM_TOKENS)
        if count > MOST_PIECES:
            raise ClaimTooLongError(f"the claim has more than {CLAIM_TOKENS * MOST_PIECES} tokens")
        size = -(-len(ids) // max(1, count))
        return [tuple(ids[start : start + size]) for start in range(0, len(ids), size)]

    def _encode(self, text: str) -> Encoding:
        return self._tokenizer.encode(text, add_special_tokens=False)

    def _evidence(
        self, pages: Sequence[Page], keys: frozenset[str]
    ) -> Iterator[tuple[int, tuple[int, ...], tuple[Span, ...]]]:
        """Windows of evidence: their place, token ids, and the spans of the first page that they have."""
        alone = len(pages) == 1
        room = self._window_tokens if alone else min(2 * self._window_tokens, _JOINT_TOKENS)
        titles = [self._title(page) for page in pages]
        read = [self._page(page.text, room - sum(map(len, titles))) for page in pages]
        sentences = [(number, sentence) for number, page in enumerate(read) for sentence in page]
        room = max(_LEAST_ROOM, room - sum(map(len, titles)))

        def window(left: Sequence[int]) -> tuple[list[int], tuple[int, ...], tuple[Span, ...]]:
            """The sentences that were chosen of those that are left, and what is read of them."""
            chosen = [left[index] for index in _cover([sentences[index][1] for index in left], keys, room)]
            tokens: list[int] = []
            for number, title in enumerate(titles):
                own = [
                    sentences[index][1].tokens for index in sorted(chosen) if sentences[index][0] == number
                ]
                tokens += [*title, *(token for sentence in own for token in sentence)] if own else []
            spans = (sentences[index][1].span for index in chosen if sentences[index][0] == 0)
            return chosen, tuple(tokens), tuple(spans)

        left = list(range(len(sentences)))
        for place in range(self._most_windows if alone else 1):
            chosen, tokens, spans = window(left)
            if not chosen:
                return
            yield place, tokens, spans
            others = _other_rows([sentence for _, sentence in sentences], keys) if alone and not place else ()
            if others and not others.isdisjoint(chosen):
                _, tokens, spans = window([index for index in left if index not in others])
                yield place, tokens, spans
            left = [index for index in left if index not in set(chosen)]
            if not any(sentences[index][1].keys & keys for index in left):
                return

    def _title(self, page: Page) -> tuple[int, ...]:
        """The headings: of a long title the beginning, of a long section the end, its lowest headings."""
        tokens: list[int] = []
        for line in filter(None, page.headings()):
            ids = self._encode(f"{line}.").ids
            is_title = page.title.lstrip().startswith(line)
            tokens += ids[:_TITLE_TOKENS] if is_title else ids[-_TITLE_TOKENS:]
        return tuple(tokens)

    def _page(self, text: str, room: int) -> tuple[Sentence, ...]:
        room = max(_LEAST_ROOM, room)
        return (self._cached if len(text) <= _CACHED_CHARS else self._sentences)(text, room)

    def _sentences(self, text: str, room: int) -> tuple[Sentence, ...]:
        """The sentences of a text; one of more than `room` tokens is cut. Linear in the text's length."""
        text = without_scaffolding(text)
        encoding = self._encode(text)
        ids, offsets = encoding.ids, encoding.offsets
        sentences: list[Sentence] = []
        at = 0
        for start, end in _units(text):
            first = at
            while at < len(ids) and offsets[at][0] < end:
                at += 1
            for low in range(first, at, room):
                high = min(low + room, at)
                piece_start = start if low == first else offsets[low][0]
                piece_end = end if high == at else offsets[high - 1][1]
                piece = text[piece_start:piece_end]
                row = _CELLS in piece
                sentences.append(Sentence((piece_start, piece_end), tuple(ids[low:high]), _keys(piece), row))
        return tuple(sentences)


def _units(text: str) -> Iterator[Span]:
    """The sentences of a text, and the rows of its tables."""
    for start, end in sentence_spans(text):
        if _CELLS not in text[start:end]:
            yield start, end
            continue
        for line in text[start:end].splitlines(keepends=True):
            if line.strip():
                yield start, start + len(line.rstrip())
            start += len(line)


def _keys(text: str) -> frozenset[str]:
    return frozenset(key for word in words(text) if word.content for key in word.keys)


def _other_rows(sentences: Sequence[Sentence], keys: frozenset[str]) -> frozenset[int]:
    """Rows of tables that the claim does not name, if it names some: those without a word of it that less
    than half of the rows have. A table's first row is not among them: it names the columns."""
    rows = {index for index, sentence in enumerate(sentences) if sentence.row}
    having = Counter(key for index in rows for key in sentences[index].keys & keys)
    rare = {key for key, count in having.items() if 2 * count < len(rows)}
    named = {index for index in rows if not rare.isdisjoint(sentences[index].keys)}
    first = {index for index in rows if index - 1 not in rows}
    return frozenset(rows - named - first if named - first else ())


def _cover(sentences: Sequence[Sentence], keys: frozenset[str], room: int) -> list[int]:
    """Indexes of the sentences that together cover the claim's keys best within `room` tokens, best first.

    Greedy. A key weighs log(1 + sentences / sentences that have it).
    """
    shared = {
        index: sentence.keys & keys
        for index, sentence in enumerate(sentences)
        if len(sentence.tokens) <= room
    }
    having = Counter(key for found in shared.values() for key in found)
    weight = {key: math.log(1 + len(sentences) / count) for key, count in having.items()}
    worth = {index: math.fsum(weight[key] for key in found) for index, found in shared.items()}
    best = sorted(shared, key=lambda index: (-worth[index], index))[:_CONSIDERED]
    beside = {index + step for index in best for step in (-1, 1)} & shared.keys()
    candidates = sorted({*best, *beside})
    times: Counter[str] = Counter()
    chosen: list[int] = []
    left = room

    def gain(index: int) -> float:
        fresh = math.fsum(weight[key] * _REPEATED ** times[key] for key in shared[index])
        beside = index - 1 in chosen or index + 1 in chosen
        return fresh + _NEIGHBOUR * beside + 0.05 / (1 + index)

    while fitting := [
        index for index in candidates if index not in chosen and len(sentences[index].tokens) <= left
    ]:
        best_index = max(fitting, key=gain)
        chosen.append(best_index)
        left -= len(sentences[best_index].tokens)
        times.update(shared[best_index])
    return chosen
