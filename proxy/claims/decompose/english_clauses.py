"""English clauses, told by closed word lists and the words that follow: no tagger.

An ending in -ed is a past tense or a participle ("sold in Spain"), so it parts clauses only where what
follows decides it. Where a subject can't be found for sure, nothing is parted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from proxy.claims.context import RenderedClaim
from proxy.claims.decompose.clause_words import (
    CONJUNCTIONS,
    CONTRASTS,
    DETERMINERS,
    DISCOURSE,
    INTRANSITIVE,
    LEADING,
    MODALS,
    NAME_LINKS,
    PAST,
    PAST_OR_PARTICIPLE,
    PREPOSITIONS,
    PRESENT,
    PRONOUNS,
    RELATIVES,
    REPORTING,
    SCOPES,
    SUBORDINATORS,
    Clause,
)
from proxy.claims.decompose.english_words import EDGES, MAX_SUBJECT, English, Word

_MIN_CLAUSE = 2
"""Words."""
_VAGUE = CONJUNCTIONS | {"of", "for", "with", "between", "about", "than"}
"""After these a name may be part of a longer phrase, which the relative pronoun may stand for."""


@dataclass(frozen=True, slots=True)
class _Cut:
    """Where a clause begins: at word `start`, its own words from `own`, `carried` before them in `plain`."""

    start: int
    own: int
    carried: str


@dataclass(frozen=True, slots=True)
class _Opening:
    """How the current clause begins: a phrase before the subject, the subject, its first finite verb.

    `verb` is the index of that verb. `subject` is empty where there is none to carry.
    """

    lead: str
    subject: str
    verb: int


def english_clauses(shown: RenderedClaim) -> Sequence[Clause]:
    """The clauses of an English sentence, or none where it is one clause or can't be told for sure."""
    read = English(shown)
    if len(read.words) < 2 * _MIN_CLAUSE or read.words[0].low in SCOPES:
        return ()
    return _Splitter(read).clauses()


class _Splitter:
    """Splits in one pass over the words, looking at each conjunction once."""

    def __init__(self, read: English) -> None:
        self._read = read
        self._words = read.words

    def clauses(self) -> Sequence[Clause]:
        cuts = self._cuts()
        bounds = [*(cut.start for cut in cuts[1:]), len(self._words)]
        clauses: list[Clause] = []
        for cut, end in zip(cuts, bounds, strict=True):
            clauses += self._with_relative(cut, end)
        return clauses

    def _cuts(self) -> list[_Cut]:
        cuts = [_Cut(0, 0, "")]
        opening = self._opening(0)
        for index in range(_MIN_CLAUSE, len(self._words) - 1):
            if opening is None or index <= opening.verb + 1 or index - cuts[-1].start < _MIN_CLAUSE:
                continue
            cut = self._cut(cuts[-1], opening, index)
            if cut is None:
                continue
            cuts.append(cut)
            own = self._opening(cut.own)
            verb = self._read.past_adverbs(cut.own)
            carried = own is None or own.verb in (cut.own, verb)
            opening = _Opening(opening.lead, opening.subject, verb) if carried else own
        return cuts

    def _cut(self, last: _Cut, opening: _Opening, index: int) -> _Cut | None:
        """The clause that begins at a word, if one does: behind a semicolon, with a subject or without."""
        word, before = self._words[index], self._words[last.start : index]
        if word.whole:
            return None
        if word.semicolon:
            return self._behind_semicolon(index)
        if _reports(before):
            return None
        if word.comma and word.low in CONTRASTS and not _subordinate(before):
            return (
                _Cut(index, index + 1, opening.lead)
                if self._read.has_subject(index + 1, plural=True)
                else None
            )
        if word.low not in CONJUNCTIONS:
            return None
        relative = _subordinate(before)
        apart = not relative or (word.comma and relative <= RELATIVES)
        if apart and self._read.has_subject(index + 1, plural=word.comma):
            return _Cut(index, index + 1, opening.lead)
        carried = None if relative else self._carried(opening, index)
        return _Cut(index, index + 1, carried) if carried else None

    def _behind_semicolon(self, index: int) -> _Cut | None:
        start = index + 1 if self._words[index].low in CONJUNCTIONS else index
        opening = self._opening(start)
        return _Cut(index, start, "") if opening and opening.verb > start else None

    def _carried(self, opening: _Opening, index: int) -> str | None:
        """What a clause that begins with its verb takes from the one before, or None where it is none."""
        verb = self._read.past_adverbs(index + 1)
        if not opening.subject or verb + 1 >= len(self._words):
            return None
        before = self._words[opening.verb : index]
        if any(word.low in MODALS or word.low.endswith(("n't", "n’t")) for word in before):
            return None
        word, next_word, first = self._words[verb], self._words[verb + 1], self._words[opening.verb]
        subject = f"{opening.lead}{opening.subject}"
        if word.whole or word.named or next_word.comma:
            return None
        if word.low in PRESENT | PAST:
            return subject
        if not (word.past or word.low in PAST_OR_PARTICIPLE):
            return None
        if (
            next_word.low == "by"
            and self._read.passive(opening.verb)
            and not self._words[index - 1].participle
        ):
            return f"{subject} {first.text}"
        past = first.past or first.low in PAST | PAST_OR_PARTICIPLE
        active = next_word.named or next_word.low in DETERMINERS or next_word.counts
        return subject if past and (active or word.low in INTRANSITIVE) else None

    def _opening(self, index: int) -> _Opening | None:
        """How the clause that begins at a word opens, or None where its subject can't be told."""
        start = self._after_lead(index)
        if start is None or start >= len(self._words) or self._words[start].low in SCOPES:
            return None
        lead = f"{self._read.slice(index, start)} " if self._words[index].low in LEADING else ""
        for verb in range(start, len(self._words)):
            word = self._words[verb]
            if word.colon:  # a label before the sentence proper
                start = verb
            if word.semicolon and verb > start:
                return None
            if word.comma and verb > start:
                relative = self._past_relative(start, verb)
                return _Opening(lead, self._read.between(start, verb), relative) if relative else None
            if word.low in SUBORDINATORS or verb - start > MAX_SUBJECT:
                return None
            if self._read.finite(verb):
                return self._opened(lead, start, verb)
        return None

    def _opened(self, lead: str, start: int, verb: int) -> _Opening | None:
        there = self._words[start].low in ("there", "here")
        participle = self._words[verb].past and self._words[verb + 1].low in PREPOSITIONS
        if participle and any(word.low in PAST | PRESENT for word in self._words[verb + 1 : verb + 10]):
            return None
        return _Opening(lead, "" if there else self._read.between(start, verb), verb)

    def _after_lead(self, start: int) -> int | None:
        """The first word of the subject: after an introductory phrase or adverb with a comma behind it."""
        first = self._words[start].low
        if first in DISCOURSE and start + 1 < len(self._words) and self._words[start + 1].comma:
            return start + 1
        if first not in LEADING:
            return start
        for index in range(start + 1, min(start + 12, len(self._words))):
            word = self._words[index]
            if word.comma and not word.text[0].isdigit():
                return index
            if word.low in SUBORDINATORS or self._read.finite(index):
                return None
        return None

    def _past_relative(self, start: int, pronoun: int) -> int | None:
        """The main verb after the clause `, who ..., ` at a word, or None where there is no such clause."""
        if self._words[pronoun].low not in RELATIVES or not self._antecedent(start, pronoun):
            return None
        for index in range(pronoun + 2, len(self._words) - 1):
            word = self._words[index]
            if word.low in SUBORDINATORS or word.semicolon:
                return None
            if word.comma:
                return index if self._read.finite(index) and word.low not in CONJUNCTIONS else None
        return None

    def _with_relative(self, cut: _Cut, end: int) -> Sequence[Clause]:
        """The clause, with a relative clause inside it or at its end split off as a clause of its own."""
        whole = self._clause(cut, end)
        pronouns = [index for index in range(cut.own + 1, end) if self._words[index].low in RELATIVES]
        if len(pronouns) != 1:
            return [whole]
        pronoun = pronouns[0]
        before = self._words[cut.own : pronoun]
        if not self._words[pronoun].comma or _reports(before):
            return [whole]
        name = self._antecedent(cut.own, pronoun)
        if name is None or end - pronoun <= _MIN_CLAUSE or _subordinate(before):
            return [whole]
        rest = self._past_relative(cut.own, pronoun)
        main = any(self._read.finite(index) for index in range(cut.own, pronoun)) or bool(cut.carried)
        if rest is None and (not main or self._broken(pronoun, end)):
            return [whole]
        if rest is not None and (main or rest >= end):
            return [whole]
        relative = self._clause(_Cut(pronoun, pronoun + 1, name), rest or end)
        if rest is None:
            return [self._clause(cut, pronoun), relative]
        around = f"{self._clause(cut, pronoun).plain} {self._read.slice(rest, end, tail=True)}"
        return [Clause(whole.start, whole.end, around), relative]

    def _broken(self, pronoun: int, end: int) -> bool:
        """Whether the relative clause that begins at a word may end before the sentence goes on."""
        return any(
            word.comma and word.low not in CONJUNCTIONS and self._read.finite(index)
            for index, word in enumerate(self._words[pronoun + 2 : end], pronoun + 2)
        )

    def _antecedent(self, start: int, pronoun: int) -> str | None:
        """The name that a relative pronoun stands for, or None where that is unclear or no verb follows."""
        verb = self._read.past_adverbs(pronoun + 1)
        if verb + 1 >= len(self._words):
            return None
        verb_text = self._words[verb].low
        past = self._words[verb].past or verb_text in PAST_OR_PARTICIPLE
        sure = verb_text in PRESENT | PAST or (self._words[pronoun].low == "who" and past)
        first = pronoun
        while first > start and (first == pronoun or not self._words[first].comma):
            if not (self._words[first - 1].named or self._words[first - 1].low in NAME_LINKS):
                break
            first -= 1
        while first < pronoun and self._words[first].low in NAME_LINKS - {"the"}:
            first += 1
        if self._words[first].comma and self._words[first - 1].named and first > start:
            return None  # `Newark, New Jersey, which`
        names = [word for word in self._words[first:pronoun] if word.named and word.low not in DETERMINERS]
        before = self._words[first - 1].low if first > start else ""
        plural = verb_text in ("are", "were", "have", "do")
        ambiguous = any(word.low == "of" for word in self._words[max(start, first - 1) : pronoun])
        if not (sure and names) or ambiguous or plural or before in _VAGUE:
            return None
        if self._read.text[self._words[pronoun - 1].end : self._words[pronoun].start].strip() != ",":
            return None
        return self._read.text[self._words[first].start : self._words[pronoun - 1].end]

    def _clause(self, cut: _Cut, end: int) -> Clause:
        left, _ = self._read.stretch(cut.start, end)
        own, right = self._read.stretch(cut.own, end, opened=True)
        plain = self._read.text[own:right].strip(EDGES)
        return Clause(left, right, f"{cut.carried.strip()} {plain}" if cut.carried.strip() else plain)


def _reports(words: Sequence[Word]) -> bool:
    return any(word.low in REPORTING for word in words)


def _subordinate(words: Sequence[Word]) -> frozenset[str]:
    """The words that open a subordinate clause."""
    reasons = {
        word.low
        for word, following in pairwise(words)
        if (word.low == "as" and following.low in PRONOUNS) or (word.low == "so" and word.comma)
    }
    return (frozenset(word.low for word in words) & SUBORDINATORS) | reasons
