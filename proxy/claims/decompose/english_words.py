"""The words of an English sentence: which are finite verbs, and where a subject begins."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from proxy.claims.context import RenderedClaim
from proxy.claims.decompose.clause_words import (
    ADVERBS,
    BE,
    CONJUNCTIONS,
    DETERMINERS,
    MODALS,
    NO_VERBS,
    PAST,
    PAST_OR_PARTICIPLE,
    PREPOSITIONS,
    PRESENT,
    PRONOUNS,
    SINGULAR,
    SUBORDINATORS,
)
from proxy.text.words import Span

EDGES = " ,;—–"
"""Characters between clauses that belong to neither."""
MAX_SUBJECT = 8
"""The longest subject, in words."""
_WORD = re.compile(r"\w(?:[\w'’.-]*\w)?")
_OPENERS = "\"'“‘(["
_PARTICIPLES = PAST_OR_PARTICIPLE | {"born", "known", "drawn", "shown"}
_NUMBERS = frozenset("one two three four five six seven eight nine ten several".split())
_BEHIND_VERBS = DETERMINERS | PREPOSITIONS | PRONOUNS | {"him", "them", "us"}


@dataclass(frozen=True, slots=True)
class Word:
    """A word at `start:end`.

    `comma`, `semicolon` and `colon`: it stands right before the word. `whole`: the word is in a quotation or
    the like, which is never split.
    """

    text: str
    start: int
    end: int
    whole: bool
    comma: bool
    semicolon: bool
    colon: bool

    @property
    def low(self) -> str:
        return self.text.lower()

    @property
    def named(self) -> bool:
        return self.text[0].isupper()

    @property
    def past(self) -> bool:
        """Whether it ends like a past tense or a participle."""
        return self.low.endswith("ed") and len(self.text) > 3 and not self.named and self.low not in NO_VERBS

    @property
    def participle(self) -> bool:
        """Whether it can be a participle."""
        return self.past or self.low.endswith("en") or self.low in _PARTICIPLES

    @property
    def counts(self) -> bool:
        """Whether it is a number."""
        return self.text[0].isdigit() or self.low in _NUMBERS


class English:
    """A sentence's text and its words. Indices count words."""

    def __init__(self, shown: RenderedClaim) -> None:
        self.text = shown.text
        self.words = _words(shown)

    def finite(self, index: int) -> bool:
        """Whether a word is a finite verb: by the lists, or a past tense by what follows it."""
        if index + 1 >= len(self.words):
            return False
        word, following = self.words[index], self.words[index + 1]
        if word.whole or word.named:
            return False
        if word.low in PRESENT | PAST | PAST_OR_PARTICIPLE | MODALS or word.low.endswith(("n't", "n’t")):
            return True
        object_follows = following.named or following.low in _BEHIND_VERBS
        return word.past and (object_follows or following.counts)

    def says_more(self, verb: int) -> bool:
        """Whether the clause goes on after its verb, unlike `but tin is not` and `while lead does`."""
        if verb + 1 >= len(self.words):
            return False
        negated = self.words[verb + 1].low == "not"
        if self.words[verb].low in MODALS and not negated:
            return self.words[verb].low not in ("do", "does", "did")
        return verb + 1 + negated < len(self.words)

    def passive(self, verb: int) -> bool:
        """Whether a form of `be` and a participle begin at a word: `was founded`."""
        return self.words[verb].low in BE and self.words[self.past_adverbs(verb + 1)].participle

    def has_subject(self, start: int, *, plural: bool) -> bool:
        """Whether a subject and its verb begin at a word.

        Without a comma before, `France and Germany are` may be one: only a pronoun or a singular tells.
        """
        if start + 1 >= len(self.words):
            return False
        first = self.words[start]
        if first.low in PRONOUNS and first.low not in DETERMINERS:
            verb = self.past_adverbs(start + 1)
            return self.finite(verb) and self.says_more(verb)
        if not (first.named or first.low in DETERMINERS):
            return False
        for index in range(start + 1, min(start + 1 + MAX_SUBJECT, len(self.words))):
            word = self.words[index]
            if word.comma or word.semicolon or word.low in SUBORDINATORS | CONJUNCTIONS | PRONOUNS:
                return False
            if word.low in (PAST | PRESENT if plural else SINGULAR):
                return self.says_more(index)
        return False

    def past_adverbs(self, index: int) -> int:
        """The first word from `index` on that is not an adverb."""
        while index + 1 < len(self.words) and (
            self.words[index].low in ADVERBS or self.words[index].low.endswith("ly")
        ):
            index += 1
        return index

    def between(self, start: int, verb: int) -> str:
        """The text from the word `start` to before the verb, with the quotation marks around it."""
        if verb == start:
            return ""
        left = self.words[start].start - self._opening_marks(start)
        return self.text[left : self.words[verb - 1].end + self._closing(verb)]

    def slice(self, start: int, end: int, *, tail: bool = False) -> str:
        """The text of the words `start:end`, with the comma after them unless they are a `tail`."""
        left, right = self.stretch(start, end)
        comma = not tail and end < len(self.words) and self.words[end].comma
        return f"{self.text[left:right].rstrip()}{',' * comma}"

    def stretch(self, start: int, end: int, *, opened: bool = False) -> Span:
        """The span of the words, with the marks that close after them and, if `opened`, open before them."""
        last = end == len(self.words)
        right = len(self.text) if last else self.words[end - 1].end + self._closing(end)
        if start == 0:
            return 0, right
        return self.words[start].start - (self._opening_marks(start) if opened else 0), right

    def _opening_marks(self, index: int) -> int:
        """The number of quotation marks and brackets that open right before a word."""
        start = self.words[index].start
        gap = self.text[self.words[index - 1].end if index else 0 : start]
        return len(gap) - len(gap.rstrip(_OPENERS))

    def _closing(self, end: int) -> int:
        """How many characters after the word before `end` belong to it: a bracket, a percent sign."""
        gap = self.text[self.words[end - 1].end : self.words[end].start]
        return len(gap.rstrip(_OPENERS).rstrip(EDGES)) if gap.strip() else 0


def _words(shown: RenderedClaim) -> Sequence[Word]:
    words: list[Word] = []
    before = 0
    for match in _WORD.finditer(shown.text):
        gap = "".join(
            char
            for index, char in enumerate(shown.text[before : match.start()], before)
            if not shown.whole[index]
        )
        start, end = match.span()
        words.append(Word(match.group(), start, end, shown.whole[start], "," in gap, ";" in gap, ":" in gap))
        before = end
    return words
