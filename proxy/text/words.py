"""Words of a text in a form that can be compared: stems, numbers, pairs of Chinese characters.

`uncovered` says which words of a text others do not contain; `nearest` which documents share most words with
a text; `closest` which sentence of a passage says most of it.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from proxy.text.normalisation import stem
from proxy.text.scripts import CJK, HAN

Span = tuple[int, int]

_TOKEN = re.compile(
    rf"""(?P<not>(?<=\w)n['’]t\b)
    |(?P<tail>['’](?:s|re|ve|ll|d|m)\b)
    |(?P<number>\d+(?:[.,]\d+)*)
    |(?P<word>[^\W\d_{CJK}]+?(?=n['’]t\b)|[^\W\d_{CJK}]+)
    |(?P<han>[{CJK}])""",
    re.VERBOSE,
)
FUNCTION_WORDS = frozenset(
    """
    a an the this that these those of to in on at by for from with as into onto and or but if then so such
    it its itself he him his himself she her hers herself they them their theirs themselves we us our ours
    i me my you your who whom whose which what when where is are was were be been being am isn aren wasn
    weren do does did done doing doesn didn don have has had having haven hasn hadn will would can could may
    might shall should must also too there here however moreover furthermore additionally therefore thus
    while whereas although though yet
    """.split()
)
FUNCTION_HAN = frozenset("的了是在和与及由也就而着或地得之其这那们于以为等把被将并且但还又他她它")
_CJK = re.compile(f"[{CJK}]")
_SAME = {"cannot": "not", "ca": "can", "wo": "will"}


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a text at `text[start:end]`. Two words are the same where they share a key.

    `content` is False for a function word (an article, an auxiliary, a pronoun). Negations, numbers and
    quantities are content.
    """

    keys: tuple[str, ...]
    start: int
    end: int
    content: bool


def words(text: str) -> tuple[Word, ...]:
    """The words of a text, in order, in linear time.

    A Chinese character has the pairs with its neighbours as keys, so that two texts do not share a word
    because they share a character. One without a Chinese neighbour is its own key.
    """
    single = [_word(match) for match in _TOKEN.finditer(text)]
    return tuple(_paired(single, index) for index in range(len(single)))


def uncovered(text: str, tellings: Iterable[str]) -> tuple[Word, ...]:
    """The content words of `text` that `tellings` together contain less often than `text` does."""
    needed = words(text)
    need = Counter(key for word in needed if word.content for key in word.keys)
    said = spoken(tellings)
    return tuple(word for word in needed if word.content and all(said[key] < need[key] for key in word.keys))


def spoken(tellings: Iterable[str]) -> Counter[str]:
    """How often each word occurs in the texts. Chinese characters also count alone."""
    said: Counter[str] = Counter()
    for telling in tellings:
        for word in words(telling):
            said.update(word.keys)
            if _is_pair(word):
                said[telling[word.start]] += 1
    return said


def _word(match: re.Match[str]) -> Word:
    kind, text = match.lastgroup, match.group().lower()
    if kind == "han":
        return Word((text,), match.start(), match.end(), text not in FUNCTION_HAN)
    if kind == "number":
        return Word((text.replace(",", ""),), match.start(), match.end(), content=True)
    if kind == "not":
        return Word(("not",), match.start(), match.end(), content=True)
    key = _SAME.get(text, text)
    content = kind == "word" and key not in FUNCTION_WORDS
    return Word((stem(key) if content else key,), match.start(), match.end(), content)


def _paired(words: Sequence[Word], index: int) -> Word:
    word = words[index]
    if not _is_han(word):
        return word
    pairs = []
    if index and _adjoin(words[index - 1], word):
        pairs.append(words[index - 1].keys[0] + word.keys[0])
    if index + 1 < len(words) and _adjoin(word, words[index + 1]):
        pairs.append(word.keys[0] + words[index + 1].keys[0])
    return Word(tuple(pairs), word.start, word.end, content=True) if pairs else word


def _is_han(word: Word) -> bool:
    return word.content and len(word.keys[0]) == 1 and _CJK.match(word.keys[0]) is not None


def _is_pair(word: Word) -> bool:
    return len(word.keys[0]) > 1 and _CJK.match(word.keys[0]) is not None


def _adjoin(first: Word, second: Word) -> bool:
    return first.end == second.start and _is_han(first) and _is_han(second)


_TERM = re.compile(rf"[^\W{HAN}]+|[{HAN}]")


@dataclass(frozen=True, slots=True)
class Nearest:
    """Documents by number, each as the set of its words (in Chinese, its characters)."""

    words: Mapping[int, frozenset[str]]
    documents_with: Mapping[str, int]

    def to(self, text: str, k: int, but: Collection[int] = ()) -> list[int]:
        """The numbers of the k documents that share most words with the text, ascending.

        A word of the text weighs by its inverse document frequency. `but` are left out.
        """
        wanted = _terms(text)
        shared = {number: self._shared(wanted, number) for number in self.words if number not in but}
        return sorted(sorted(shared, key=lambda number: (-shared[number], number))[:k])

    def _shared(self, wanted: frozenset[str], number: int) -> float:
        common = wanted & self.words[number]
        return sum(math.log(1 + len(self.words) / self.documents_with[word]) for word in common)


def nearest(texts: Mapping[int, str]) -> Nearest:
    """Documents, by their numbers."""
    words = {number: _terms(text) for number, text in texts.items()}
    return Nearest(words, Counter(word for document in words.values() for word in document))


def closest(sentences: Sequence[str], text: str, known: str = "") -> int:
    """The index of the sentence, of at least one, that shares most content words with the text; the first of
    equals.

    A word weighs by its inverse frequency among the sentences. What all of them are about tells them not
    apart: words of `known`, their document's title, only decide between sentences that share no other more. A
    number of the text that no sentence has counts as shared with each that has another number.
    """
    said = [{key for word in words(sentence) if word.content for key in word.keys} for sentence in sentences]
    spread = Counter(chain.from_iterable(said))
    wanted = {key for word in words(text) if word.content for key in word.keys}
    about = {key for word in words(known) for key in word.keys}
    other = any(key[0].isdigit() and not spread[key] for key in wanted)

    def worth(index: int) -> tuple[float, float, int]:
        shared = {key: math.log(1 + len(said) / spread[key]) for key in said[index] & wanted}
        number = math.log(2) if other and any(key[0].isdigit() for key in said[index]) else 0.0
        own = math.fsum(weight for key, weight in shared.items() if key not in about)
        return own + number, math.fsum(shared.values()), -index

    return max(range(len(said)), key=worth)


def shared_spans(sentence: str, text: str) -> tuple[Span, ...]:
    """The spans of the sentence's content words that the text has too, neighbours as one."""
    wanted = {key for word in words(text) if word.content for key in word.keys}
    return joined(sentence, (word for word in words(sentence) if word.content and wanted & {*word.keys}))


def joined(text: str, some: Iterable[Word]) -> tuple[Span, ...]:
    """The spans of some words of the text, in order; those with nothing but space between them are one."""
    spans: list[Span] = []
    for word in some:
        if spans and not text[spans[-1][1] : word.start].strip():
            spans[-1] = (spans[-1][0], max(word.end, spans[-1][1]))
        else:
            spans.append((word.start, word.end))
    return tuple(spans)


def _terms(text: str) -> frozenset[str]:
    return frozenset(_TERM.findall(text.casefold()))
