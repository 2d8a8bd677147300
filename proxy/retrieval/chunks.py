"""Documents to passages: about 100 words that end where a sentence or a line ends (CEG, section 3.2)."""

from __future__ import annotations

import hashlib
import math
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Protocol

import tiktoken

from proxy.errors import ConfigError
from proxy.protocols import Encoder
from proxy.text.scripts import UNSPACED, WIDE
from proxy.text.sentences import SPLITTER as SENTENCES
from proxy.text.sentences import sentence_spans
from proxy.types import Document, Passage

Span = tuple[int, int]

SPLITTER = f"{SENTENCES}+lines-2"
"""What decides where passages may end, for the manifest of an index: the sentence splitter, and the version
of what is made of lines here. Change that with any change to the splits: ids of passages depend on them."""

MAX_TOKENS = 200
"""Default bound on `window_tokens` of a passage. See there for what was measured."""

_WINDOW = 256
"""The encoder's window that `MAX_TOKENS` was measured for."""

_TOKENIZER = "cl100k_base"
_CACHE_VARIABLES = ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR")

_CHARACTERS_PER_WORD = 1.6
_LONGEST_WORD = 20
_COUNTED = re.compile(rf"(?P<cjk>[{UNSPACED}]+)|(?P<space>\s+)|[^\s{UNSPACED}]+")
_CJK_RUN = re.compile(rf"[{UNSPACED}]+")
_BASIC_PIECE = re.compile(r"[^\W_]+|[^\w\s]|_")
_PARAGRAPH_END = re.compile(r"\n[^\S\n]*\n\s*")
_LINE = re.compile(r"\S[^\n]*")
_LINE_END = re.compile(r"\n")
_CELL = " | "
_CELL_END = re.compile(r" \| ")
_ITEM = re.compile(r"(?:[-*+•‣▪●○◦·–]|\(?(?:\d{1,3}|[a-zA-Z])[.)])\s|\d{1,3}、")
_CODE = re.compile(r"(?:>>>|\$|#|//) |[\w.\[\]\"']+ [-+*/|]?= \S|[\w.]+\([^\n]*\)$")
_CODE_ENDS = ("{", "}", ");")
_WIDE_RUN = re.compile(rf"[{WIDE}]+")
_FIRST_WORD = re.compile(rf"[{WIDE}]{{1,2}}|[^\s{WIDE}]{{1,20}}")
_CLAUSE_END = re.compile(r"[，；、：]|[,;:)—–](?:\s+|(?<=—))")
_SPACE = re.compile(r"\s+")
_NARROWEST = 40
"""Columns that a text must have where its lines are broken to fit a width."""
_SHORTEST = 30
"""Columns of a line that goes on in one which begins with a small letter: lists have shorter ones."""
_STRETCH = 1.5
"""How many times the wanted length a passage may have where that avoids a short remainder."""


class WindowedEncoder(Encoder, Protocol):
    """An encoder that says how long a text it takes."""

    @property
    def max_tokens(self) -> int:
        """Its window, in its own tokens. Longer text is cut off."""
        ...


def passage_tokens(encoder: WindowedEncoder) -> int:
    """How many tokens, by `window_tokens`, a passage may have to fit the encoder's window."""
    return max(1, encoder.max_tokens * MAX_TOKENS // _WINDOW)


@dataclass(frozen=True, slots=True)
class _Limits:
    words: int
    max_tokens: int
    count_tokens: Callable[[str], int]

    def fits(self, text: str) -> bool:
        """Counts words first, which is cheap, so that megabytes never reach the tokenizer."""
        return word_count(text) <= self.words * _STRETCH and self.count_tokens(text) <= self.max_tokens


@dataclass(frozen=True, slots=True)
class _Unit:
    """A sentence or a line, or a part of one that is too long for a passage."""

    start: int
    end: int
    words: float
    tokens: int


def word_count(text: str) -> float:
    """The length of a text in words, whatever its script.

    A run of characters without white space is a word (one for every 20 characters, so that a base64 blob
    is not), and 1.6 Chinese or Japanese characters are one: the mean length of a Chinese word, which also
    makes passages of about 160 characters. Mixed text is the sum. White space counts from 20 characters on.
    """
    words = 0.0
    for match in _COUNTED.finditer(text):
        length = match.end() - match.start()
        if match.lastgroup == "cjk":
            words += length / _CHARACTERS_PER_WORD
        elif match.lastgroup == "space":
            words += length // _LONGEST_WORD
        else:
            words += math.ceil(length / _LONGEST_WORD)
    return words


def count_tokens(text: str) -> int:
    """The length of `text` in cl100k_base tokens; special tokens in it count as the text that they are.

    Raises:
        ConfigError: the tokenizer's table is not on this machine and can't be fetched.
    """
    return len(_encoding().encode_ordinary(text))


@cache
def _encoding() -> tiktoken.Encoding:
    _use_bundled_tables()
    try:
        return tiktoken.get_encoding(_TOKENIZER)
    except Exception as error:  # tiktoken lets its HTTP client's and the file system's errors through
        raise ConfigError(
            f"The tokenizer table {_TOKENIZER} can't be loaded: {error}. "
            "Set TIKTOKEN_CACHE_DIR to a folder that holds it, or unset it to use the one litellm brings."
        ) from error


def _use_bundled_tables() -> None:
    """Points tiktoken to the tables in litellm's wheel, which have the names that its cache expects."""
    if any(variable in os.environ for variable in _CACHE_VARIABLES):
        return
    spec = find_spec("litellm")  # finds the folder without the two seconds of importing it
    if spec is None or spec.origin is None:
        return
    folder = Path(spec.origin).parent / "litellm_core_utils" / "tokenizers"
    if folder.is_dir():
        os.environ[_CACHE_VARIABLES[0]] = str(folder)


def window_tokens(text: str) -> int:
    """How many tokens of an encoder's window a text takes, estimated without that encoder's tokenizer.

    A Chinese or Japanese character is one (cl100k_base cuts many of them up, encoders don't). The rest is
    the larger of cl100k_base's count and of the pieces that BERT cuts before it looks words up: runs of
    letters and digits, and single punctuation marks, of which a table may hold twice what cl100k_base says.

    Measured against the real tokenizer of all-MiniLM-L6-v2 (256 word pieces) over 5,795 English Wikipedia
    passages and 9,167 pieces, of up to 200 characters, of Chinese Wikipedia: WordPiece takes on average
    1.03 times this in English and 0.97 times in Chinese, at most 1.51 and 1.12 times. Of the passages that
    `chunk` makes of both with a bound of 200, the longest takes 243 word pieces, [CLS] and [SEP] included.
    """
    narrow, wide = _CJK_RUN.subn(" ", text)
    wide = len(text) - len(narrow) + wide
    return wide + max(count_tokens(narrow), sum(1 for _ in _BASIC_PIECE.finditer(narrow)))


def chunk(
    document: Document,
    *,
    words: int = 100,
    max_tokens: int = MAX_TOKENS,
    count_tokens: Callable[[str], int] = window_tokens,
) -> list[Passage]:
    """The document's passages: disjoint, in order, covering all of its text but white space.

    A passage ends with a sentence or a line and never goes on in another section. A row of a table, an item
    of a list and a line of code are not cut where they fit, and lines that were broken to fit a width are one
    text (see `_goes_on`). A passage has about `words`
    words (see `word_count`): up to half as many again where that avoids a short remainder, fewer where the
    section ends or the sentences are long. What is too long for a passage is cut after a line, a cell or a
    clause, else between words, else between characters. Takes time linear in the length of the text.

    Args:
        document: its `text[start:end]` is each passage's text.
        words: the wanted length, at least 1.
        max_tokens: no passage has more by `count_tokens`, unless a single character does.
        count_tokens: how long a text is for the encoder.

    Returns:
        Passages with ids of 16 hexadecimal digits: SHA-256 of the document's id and the passage's text (and a
        number, where the document repeats that text). So an id is the same on every machine and does not
        change when other parts of the document do.
    """
    if words < 1 or max_tokens < 1:
        raise ValueError("words and max_tokens are at least 1")
    limits = _Limits(words, max_tokens, count_tokens)
    seen: Counter[str] = Counter()
    passages: list[Passage] = []
    for section, start, end in _sections(document):
        for left, right in _packed(document.text, list(_units(document.text, start, end, limits)), limits):
            text = document.text[left:right]
            seen[text] += 1
            passages.append(
                Passage(
                    id=_passage_id(document.id, text, seen[text]),
                    document_id=document.id,
                    title=document.title,
                    section=section,
                    text=text,
                    url=document.url,
                    start=left,
                    end=right,
                )
            )
    return passages


def _passage_id(document_id: str, text: str, occurrence: int) -> str:
    parts = [document_id, text] if occurrence == 1 else [document_id, text, str(occurrence)]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def _sections(document: Document) -> Iterator[tuple[str, int, int]]:
    marks = [(0, ""), *document.sections, (len(document.text), "")]
    for (start, heading), (end, _) in pairwise(marks):
        if start < end:
            yield heading, start, end


def _units(text: str, start: int, end: int, limits: _Limits) -> Iterator[_Unit]:
    for left, right in _runs(text, start, end):
        run = text[left:right]
        if _stands_alone(run) and limits.fits(run):
            yield _Unit(left, right, word_count(run), limits.count_tokens(run))
            continue
        for first, last in sentence_spans(run):
            yield from _fitting(text, (left + first, left + last), limits)


def _runs(text: str, start: int, end: int) -> Iterator[Span]:
    """The lines between `start` and `end`, those together that are one text."""
    for left, right in _split(text, start, end, _PARAGRAPH_END):
        spans = [match.span() for match in _LINE.finditer(text, left, right)]
        lines = [text[slice(*span)].rstrip() for span in spans]
        width = max(map(_columns, lines), default=0)
        first = 0
        for index, line in enumerate(lines):
            if index + 1 == len(lines) or not _goes_on(line, lines[index + 1], width):
                yield spans[first][0], spans[index][0] + len(line)
                first = index + 1


def _goes_on(line: str, following: str, width: int) -> bool:
    """Whether a line was broken only to fit the `width` of its paragraph, in columns: the first word of the
    next line would not have fit, or begins with a small letter."""
    if _stands_alone(following) or (_stands_alone(line) and not _ITEM.match(line)):
        return False
    columns = _columns(line)
    if following[0].islower() and columns >= _SHORTEST:
        return True
    word = _FIRST_WORD.match(following)
    return width >= _NARROWEST and columns + 1 + _columns(word.group() if word else "") > width


def _stands_alone(line: str) -> bool:
    """Whether it is a row of a table, an item of a list, or code."""
    return _CELL in line or bool(_ITEM.match(line) or _CODE.match(line)) or line.endswith(_CODE_ENDS)


def _columns(line: str) -> int:
    """How wide it is in a font of fixed width, where a Chinese character has two columns."""
    return len(line) + sum(map(len, _WIDE_RUN.findall(line)))


def _fitting(text: str, span: Span, limits: _Limits) -> Iterator[_Unit]:
    """The span as one unit if it fits, else in pieces of `words` words, or of half that, and so on."""
    pending: list[tuple[Span, float]] = [(span, float(limits.words))]
    while pending:
        (start, end), target = pending.pop()
        piece = text[start:end]
        if end - start == 1 or limits.fits(piece):
            yield _Unit(start, end, word_count(piece), limits.count_tokens(piece))
            continue
        smaller = _cut(text, start, end, target)
        pending += [(part, target / 2) for part in reversed(smaller)]


def _cut(text: str, start: int, end: int, target: float) -> list[Span]:
    """The span in pieces of at most `target` words, cut after lines, cells or clauses, else at spaces, else
    anywhere."""
    merged: list[Span] = []
    size = 0.0
    for left, right in _fine(text, start, end, target, (_LINE_END, _CELL_END, _CLAUSE_END, _SPACE)):
        words = word_count(text[left:right])
        if merged and size + words <= target:
            merged[-1] = (merged[-1][0], right)
            size += words
        else:
            merged.append((left, right))
            size = words
    return [span for piece in merged if (span := _stripped(text, *piece))]


def _fine(
    text: str, start: int, end: int, target: float, patterns: Sequence[re.Pattern[str]]
) -> Iterator[Span]:
    """Pieces of at most `target` words, split by the first pattern that suffices, at last by characters."""
    if end - start == 1 or word_count(text[start:end]) <= target:
        yield start, end
    elif not patterns:
        step = min(max(1, int(target * _CHARACTERS_PER_WORD)), (end - start + 1) // 2)
        for left in range(start, end, step):
            yield left, min(left + step, end)
    else:
        for left, right in _split(text, start, end, patterns[0]):
            yield from _fine(text, left, right, target, patterns[1:])


def _split(text: str, start: int, end: int, pattern: re.Pattern[str]) -> Iterator[Span]:
    """Adjacent spans, each but the last ending with a match of the pattern."""
    for match in pattern.finditer(text, start, end):
        if start < match.end() < end:
            yield start, match.end()
            start = match.end()
    if start < end:
        yield start, end


def _stripped(text: str, start: int, end: int) -> Span | None:
    piece = text[start:end]
    left = len(piece) - len(piece.lstrip())
    right = len(piece.rstrip())
    return (start + left, start + right) if left < right else None


def _packed(text: str, units: Sequence[_Unit], limits: _Limits) -> Iterator[Span]:
    """Units of one section to passages, each ending with the unit whose end is nearest to `words` words.

    A remainder of one and a half passages or less becomes one passage; up to two and a half, two equal ones.
    So there is no short last passage, and an edit changes only the passages around it and the last two.
    """
    words_left = sum(unit.words for unit in units)
    tokens_left = sum(unit.tokens for unit in units)
    first = 0
    while first < len(units):
        passages_left = max(words_left / limits.words, _STRETCH * tokens_left / limits.max_tokens)
        target = float(limits.words)
        if passages_left <= 1 + _STRETCH:
            target = words_left if passages_left <= _STRETCH else words_left / 2
        count = _taken(text, units, first, target, limits)
        yield units[first].start, units[first + count - 1].end
        words_left -= sum(unit.words for unit in units[first : first + count])
        tokens_left -= sum(unit.tokens for unit in units[first : first + count])
        first += count


def _taken(text: str, units: Sequence[_Unit], first: int, target: float, limits: _Limits) -> int:
    """How many units, at least one, the passage has that begins with unit `first`."""
    words, tokens, count = 0.0, 0, 0
    for index in range(first, len(units)):
        unit = units[index]
        over = words + unit.words > limits.words * _STRETCH or tokens + unit.tokens > limits.max_tokens
        if count and (over or words + unit.words / 2 > target):
            break
        words += unit.words
        tokens += unit.tokens
        count += 1
    # White space between units, and tokens across their borders, were not counted yet.
    while count > 1 and not limits.fits(text[units[first].start : units[first + count - 1].end]):
        count -= 1
    return count
