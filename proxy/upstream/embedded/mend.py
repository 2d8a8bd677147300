"""What the embedded upstream does when it is re-prompted: mend or drop the named claims, keep the rest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from proxy.correction.reprompt import Document
from proxy.correction.revise import Revision
from proxy.correction.rewrite import Rewriting
from proxy.text.language import language_of
from proxy.types import Language
from proxy.upstream.embedded.sentence_terms import sentences, similarity, terms, whole

ENOUGH = 0.5
"""Similarity from which on an evidence sentence may stand in for a claim. A sentence in which one number or
one name was changed keeps well over half of its terms."""

MAX_CLAIMS = 200
MAX_SENTENCES = 1_000
"""Bounds of one mending: claims looked at, and evidence sentences each is compared with."""


def mend(draft: str, revision: Revision) -> str:
    """The draft with each named claim replaced by the most similar evidence sentence, or dropped with the
    white space around it where none is similar enough or it would say what the draft says already.

    Everything else stays byte for byte. The result may be empty.
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
    """Per sentence asked for, from 1, the most similar evidence sentence that the draft lacks and no other
    sentence got, or None where none is similar enough."""
    evidence = _evidence(rewriting.documents, language_of(draft))
    said: dict[int, str | None] = {}
    told = draft
    for number, sentence in enumerate(rewriting.sentences[:MAX_CLAIMS], 1):
        better = _better(sentence.text, evidence, told)
        said[number] = better or None
        told += f"\n{better}"
    return said


def _evidence(documents: Iterable[Document], language: Language) -> list[tuple[str, frozenset[str]]]:
    """Whole sentences of the documents with their terms."""
    found = islice(_sentences(documents), MAX_SENTENCES)
    return [(sentence, terms(sentence)) for sentence in found if whole(sentence, language)]


def _sentences(documents: Iterable[Document]) -> Iterator[str]:
    for document in documents:
        yield from sentences(document.text)


def _places(draft: str, claims: Sequence[str]) -> list[tuple[int, int]]:
    """Where the claims stand, each once and none inside another."""
    places: list[tuple[int, int]] = []
    for claim in sorted(set(claims[:MAX_CLAIMS]), key=len, reverse=True):
        start = draft.find(claim) if claim else -1
        end = start + len(claim)
        if start >= 0 and all(end <= one or other <= start for one, other in places):
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
    return sentence if score >= ENOUGH and sentence not in draft else ""


def _with_space(text: str, start: int, end: int) -> tuple[int, int]:
    """The span grown by the white space behind it or, at the end of the text, before it."""
    after = end + len(text[end:]) - len(text[end:].lstrip())
    if after < len(text):
        return start, after
    return len(text[:start].rstrip()), len(text)
