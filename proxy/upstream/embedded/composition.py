"""Replies made of the passages' own sentences.

`compose` answers a question with the sentences that match it best. `mend` and `corrected` answer a re-prompt:
they replace or drop the claims that failed and keep the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from proxy.correction.reprompt import Document, Revision
from proxy.correction.rewrite import Rewriting
from proxy.text.scripts import has_han, language_of
from proxy.types import Language, Passage
from proxy.upstream.embedded.sentence_terms import (
    bare_title,
    joined,
    leans,
    sentences,
    similarity,
    terms,
    weighted_terms,
    whole,
)

FEWEST, MOST = 3, 5
"""Sentences of a reply, where the passages have as many."""

_ENOUGH = 0.5
_ENOUGH_WHEN_NAMED = 0.4
"""A document must hold more than this share of the question's terms, by weight, to answer it."""
_CLEAR_WIN = 0.15
_LONGEST_CHAIN = 3
_SAME = 0.85
"""Similarity of two sentences that say the same: mirrored articles, overlapping passages."""

_SIMILAR = 0.5
"""From this similarity on, an evidence sentence may replace a claim. A sentence in which one number or name
was changed keeps well over half of its terms."""

MAX_CLAIMS = 200
MAX_SENTENCES = 1_000
"""Bounds of one mending: claims looked at, and evidence sentences each is compared with."""


@dataclass(frozen=True, slots=True)
class Composition:
    """A reply and the passages it is made of, best first; without passages the text is empty."""

    text: str
    sources: tuple[Passage, ...] = ()


@dataclass(frozen=True, slots=True)
class _Sentence:
    """`place` sorts sentences as they stand in the documents; `needs` are those that must come before it."""

    text: str
    terms: frozenset[str]
    passage: Passage
    place: tuple[int, int, int]
    needs: tuple[_Sentence, ...]


def compose(question: str, passages: Sequence[Passage]) -> Composition:
    """An answer in the question's language, or the empty composition where the passages hold none."""
    wanted = weighted_terms(question)
    language = language_of(question)
    documents = _ranked(wanted, passages)
    if not documents or max(wanted.values()) < 1:
        return Composition("")
    ahead = len(documents) == 1 or documents[0][0] - documents[1][0] >= _CLEAR_WIN
    used = documents[:1] if ahead else documents[:3]
    candidates: list[_Sentence] = []
    for rank, (_, document) in enumerate(used):
        candidates += _sentences(document, rank, language)
    chosen = _chosen(wanted, candidates)
    if not chosen:
        return Composition("")
    sources = dict.fromkeys(sentence.passage for sentence in chosen)
    return Composition(joined([sentence.text for sentence in chosen], language), tuple(sources))


def _ranked(wanted: Mapping[str, float], passages: Sequence[Passage]) -> list[tuple[float, list[Passage]]]:
    """The documents that hold enough of the question, by the share they hold, best first.

    A document whose title the question names counts extra, and needs less.
    """
    documents: dict[str, list[Passage]] = {}
    for passage in passages:
        documents.setdefault(passage.document_id, []).append(passage)
    scored = []
    for document in documents.values():
        held = terms(" ".join([document[0].title, *(passage.text for passage in document)]))
        score = _share(wanted, held)
        title = terms(bare_title(document[0].title))
        named = len(title & wanted.keys()) / len(title) if title else 0.0
        if score > (_ENOUGH if named < 1 else _ENOUGH_WHEN_NAMED):
            scored.append((score + named / 2, document))
    # Sorting is stable: of equal documents the one that the retriever found first comes first.
    return sorted(scored, key=lambda pair: -pair[0])


def _sentences(document: Sequence[Passage], rank: int, language: Language) -> Iterator[_Sentence]:
    """The usable sentences of one document's passages, each with those that must come before it."""
    for passage in sorted(document, key=lambda passage: passage.start):
        before: _Sentence | None = None
        for number, text in enumerate(sentences(passage.text)):
            usable = whole(text, language)
            needs: tuple[_Sentence, ...] = ()
            if usable and leans(text):
                usable = before is not None and len(before.needs) + 1 < _LONGEST_CHAIN
                needs = (*before.needs, before) if before else ()
            before = None
            if usable:
                place = (rank, passage.start, number)
                before = _Sentence(text, terms(text), passage, place, needs)
                yield before


def _chosen(wanted: Mapping[str, float], usable: Sequence[_Sentence]) -> list[_Sentence]:
    """The best sentences, `MOST` at most, with those they need, arranged.

    Terms that are answered already count half, so that a question about two things gets an answer to each.
    """
    left = dict(wanted)
    chosen: dict[str, _Sentence] = {}
    candidates = list(usable)
    first: tuple[float, _Sentence] | None = None
    while candidates:
        best = max(candidates, key=lambda sentence: _score(left, sentence))
        candidates.remove(best)
        score = _score(wanted, best)
        first = first or (score, best)
        if len(chosen) >= FEWEST and score < first[0] / 2:
            break
        unit = [sentence for sentence in (*best.needs, best) if sentence.text not in chosen]
        if len(chosen) + len(unit) > MOST or any(_repeats(sentence, chosen.values()) for sentence in unit):
            continue
        chosen.update((sentence.text, sentence) for sentence in unit)
        left = {term: weight / 2 if _holds(best.terms, term) else weight for term, weight in left.items()}
    return _arranged(chosen.values(), first[1]) if first else []


def _score(wanted: Mapping[str, float], sentence: _Sentence) -> float:
    """The share of the wanted terms in the sentence; a document's opening counts a little more, a sentence
    that needs others a little less."""
    rank, start, number = sentence.place
    opening = 0.15 if start == number == rank == 0 else 0.0
    return _share(wanted, sentence.terms) + opening - 0.05 * len(sentence.needs)


def _arranged(chosen: Iterable[_Sentence], best: _Sentence) -> list[_Sentence]:
    """The best sentence first, with those it needs or is needed by; the rest in the documents' order."""
    groups: list[list[_Sentence]] = []
    for sentence in sorted(chosen, key=lambda sentence: sentence.place):
        if sentence.needs and groups:
            groups[-1].append(sentence)
        else:
            groups.append([sentence])
    groups.sort(key=lambda group: best not in group)
    return [sentence for group in groups for sentence in group]


def _repeats(sentence: _Sentence, others: Iterable[_Sentence]) -> bool:
    return any(similarity(sentence.terms, other.terms) >= _SAME for other in others)


def _share(wanted: Mapping[str, float], held: frozenset[str]) -> float:
    """Share of the wanted terms, by weight, that are held. In [0, 1]; 0 where nothing is wanted."""
    total = sum(wanted.values())
    return sum(weight for term, weight in wanted.items() if _holds(held, term)) / total if total else 0.0


def _holds(held: frozenset[str], term: str) -> bool:
    """A single Chinese character is looked for in the pairs; elsewhere terms are compared whole."""
    return term in held or (len(term) == 1 and has_han(term) and any(term in pair for pair in held))


def mend(draft: str, revision: Revision) -> str:
    """The draft with each named claim replaced by the most similar evidence sentence.

    A claim is dropped, with the white space around it, if no sentence is similar enough or the draft has the
    sentence already. Everything else stays byte for byte. The result may be empty.
    """
    evidence = _evidence(revision.documents, language_of(draft))
    mended = draft
    for start, end in sorted(_places(draft, revision.claims), reverse=True):
        better = _better(draft[start:end], evidence, mended)
        if not better:
            start, end = _with_space(mended, start, end)
        mended = mended[:start] + better + mended[end:]
    return mended


def corrected(draft: str, rewriting: Rewriting) -> dict[int, str | None]:
    """For each sentence of the request, numbered from 1, the evidence sentence that replaces it, or None.

    It is the most similar one that is neither in the draft nor replaces another sentence.
    """
    evidence = _evidence(rewriting.documents, language_of(draft))
    said: dict[int, str | None] = {}
    told = draft
    for number, sentence in enumerate(rewriting.sentences[:MAX_CLAIMS], 1):
        better = _better(sentence.text, evidence, told)
        said[number] = better or None
        told += f"\n{better}"
    return said


def _evidence(documents: Iterable[Document], language: Language) -> list[tuple[str, frozenset[str]]]:
    """Complete sentences of the documents, each with its terms."""
    texts = islice((text for document in documents for text in sentences(document.text)), MAX_SENTENCES)
    return [(text, terms(text)) for text in texts if whole(text, language)]


def _places(draft: str, claims: Sequence[str]) -> list[tuple[int, int]]:
    """Where the claims stand, each once and none inside another."""
    places: list[tuple[int, int]] = []
    for claim in sorted(set(claims[:MAX_CLAIMS]), key=len, reverse=True):
        start = draft.find(claim) if claim else -1
        end = start + len(claim)
        if start >= 0 and all(end <= other_start or other_end <= start for other_start, other_end in places):
            places.append((start, end))
    return places


def _better(claim: str, evidence: Sequence[tuple[str, frozenset[str]]], draft: str) -> str:
    """The most similar evidence sentence that the draft lacks; empty where none is similar enough."""
    said = terms(claim)
    score, sentence = max(
        ((similarity(said, held), sentence) for sentence, held in evidence),
        default=(0.0, ""),
        key=lambda p: p[0],
    )
    return sentence if score >= _SIMILAR and sentence not in draft else ""


def _with_space(text: str, start: int, end: int) -> tuple[int, int]:
    """The span grown by the white space behind it or, at the end of the text, before it."""
    after = end + len(text[end:]) - len(text[end:].lstrip())
    if after < len(text):
        return start, after
    return len(text[:start].rstrip()), len(text)
