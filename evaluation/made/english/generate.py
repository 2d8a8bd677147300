"""English rows made by rule, from the sentences of a corpus and from rows that are labelled supported."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Sequence

from evaluation.datasets import Made, MadeLabel, Passage
from evaluation.made.english.details import Stock, details, exchanged
from evaluation.made.english.phrasing import (
    added,
    compressed,
    crossed,
    denied,
    opposed,
    recast,
    respelled,
    reworded,
)
from proxy.checkers.builtin.tokens import tokenize
from proxy.text.sentences import sentence_spans

_MARKUP = re.compile(r"[|\[\]{}<>=*]|''|https?:|&\w|::|\n")
_EMPHASIS = re.compile(r"'{2,}|<ref[^<>]*/?>|</ref>")
_LENGTHS = range(30, 281)
_PRONOUN = re.compile(r"^(?:He|She|It|They) (?=[a-z])")
_PER_PASSAGE = 8
_SHORT = 600
"""Characters of evidence that are kept around a sentence, at most."""
_SHARED = 0.4
"""A sentence of an evidence with so many of a claim's words may bear it out."""
_LONG = 12
"""Different words of a claim that is too long to be borne out in passing."""


def from_passages(passages: Sequence[Passage], count: int, seed: int) -> list[Made]:
    """Rows of the sentences of `passages`: each said otherwise (supported), then made wrong.

    At most `count` sentences, eight of a passage. The same for the same arguments.
    """
    chance = random.Random(seed)
    stock = Stock(text for passage in passages for text in passage.sentences if not _MARKUP.search(text))
    made: list[Made] = []
    done = 0
    for passage in chance.sample(passages, len(passages)):
        fit = [index for index, text in enumerate(passage.sentences) if _fit(text)]
        for position in chance.sample(fit, min(_PER_PASSAGE, len(fit))):
            if done == count:
                return made
            done += 1
            made += _of_sentence(passage, position, stock, chance)
    return made


def from_supported(rows: Sequence[Made], seed: int) -> list[Made]:
    """What supported rows become: a detail of the claim exchanged, or of the evidence, or of both; a number
    of the claim in another spelling; of a long claim the evidence without the sentences that bear it out.

    A detail exchanged in both stays supported, so that neither text alone tells the label (Schuster et al.
    2019).
    """
    chance = random.Random(seed)
    stock = Stock(text for row in rows for text in (row.claim, row.evidence))
    return [
        one for row in rows for one in (*_symmetric(row, stock, chance), *_respelled(row, chance), *_cut(row))
    ]


def _of_sentence(passage: Passage, index: int, stock: Stock, chance: random.Random) -> Iterator[Made]:
    sentence, evidence = passage.sentences[index], _around(passage, index, chance)
    claim = _said_otherwise(sentence, passage, index, chance)
    yield Made(claim, evidence, "supported", "reworded" if claim != sentence else "literal", passage.title)
    made = _made_wrong(claim, evidence, sentence, passage, stock, chance)
    if made:
        yield made
    if chance.random() < 0.3:
        row = Made(claim, evidence, "supported", "", passage.title)
        yield from _symmetric(row, stock, chance, claim_too=False)


def _said_otherwise(sentence: str, passage: Passage, index: int, chance: random.Random) -> str:
    """A claim that the sentence bears out: shorter, recast, in other words, with its subject's name."""
    claim = sentence
    if chance.random() < 0.1 and index + 1 < len(passage.sentences) and _fit(passage.sentences[index + 1]):
        following = passage.sentences[index + 1]
        first = following[0].lower() if _PRONOUN.match(following) else following[0]
        claim = f"{claim.rstrip('.')}, and {first}{following[1:]}"
    if chance.random() < 0.35 and len(shorter := compressed(claim)) >= _LENGTHS.start:
        claim = shorter
    if chance.random() < 0.5:
        claim = recast(claim)
    if chance.random() < 0.5:
        claim = reworded(claim, chance)
    if chance.random() < 0.3:
        claim = respelled(claim, chance)
    if chance.random() < 0.7 and _PRONOUN.match(claim) and "(" not in passage.title:
        claim = _PRONOUN.sub(lambda _: f"{passage.title} ", claim)
    return claim


def _made_wrong(
    claim: str, evidence: str, sentence: str, passage: Passage, stock: Stock, chance: random.Random
) -> Made | None:
    """The claim with one thing wrong, or its evidence without what bears it out; the first way that fits."""
    known, title = f"{evidence} {claim} {passage.title}", passage.title

    def detail() -> Made | None:
        candidates = details(claim)
        for candidate in chance.sample(candidates, len(candidates)):
            new = stock.other(candidate, known, chance)
            if new:
                kind = f"exchanged {candidate.family.split()[0].rstrip('0123456789')}"
                other = exchanged(claim, candidate.text, new)
                return Made(other, evidence, "contradicted", kind, title, new)
        return None

    def neighbour() -> Made | None:
        """A number out of the same evidence."""
        own = [detail for detail in details(claim) if detail.family.startswith("number")]
        others = [
            detail for detail in details(evidence) if detail.text not in sentence and detail.text not in claim
        ]
        alike = [(old, new) for old in own for new in others if old.family == new.family]
        if not alike:
            return None
        old, new = chance.choice(alike)
        return Made(
            exchanged(claim, old.text, new.text), evidence, "contradicted", "neighbour", title, new.text
        )

    def turned(other: str | None, label: MadeLabel, kind: str) -> Made | None:
        return Made(other, evidence, label, kind, title) if other and other != claim else None

    def deleted() -> Made | None:
        rest = evidence.replace(sentence, "").strip()
        whole = len(rest) <= 60 or rest == evidence
        return None if whole else Made(claim, rest, "unsupported", "deleted", title)

    ways: list[tuple[float, Callable[[], Made | None]]] = [
        (8.0, detail),
        (1.0, neighbour),
        (2.0, lambda: turned(opposed(claim, chance), "contradicted", "opposed")),
        (0.5, lambda: turned(denied(claim), "contradicted", "denied")),
        (4.0, lambda: turned(crossed(claim), "unsupported", "crossed")),
        (0.6, lambda: turned(added(claim, evidence, chance), "unsupported", "added")),
        (1.5, deleted),
    ]
    for _, way in sorted(ways, key=lambda one: chance.random() ** (1 / one[0]), reverse=True):
        if found := way():
            return found
    return None


def _symmetric(row: Made, stock: Stock, chance: random.Random, *, claim_too: bool = True) -> Iterator[Made]:
    known = f"{row.claim} {row.evidence} {row.title}"
    shared = [
        detail
        for detail in details(row.claim)
        if re.search(rf"(?<!\w){re.escape(detail.text)}(?!\w)", row.evidence)
    ]
    for candidate in chance.sample(shared, len(shared)):
        new = stock.other(candidate, known, chance)
        if new is None:
            continue
        claim, evidence = (
            exchanged(row.claim, candidate.text, new),
            exchanged(row.evidence, candidate.text, new),
        )
        if claim_too:
            yield Made(claim, row.evidence, "contradicted", "symmetric claim", row.title, new)
        yield Made(row.claim, evidence, "contradicted", "symmetric evidence", row.title, candidate.text)
        yield Made(claim, evidence, "supported", "symmetric both", row.title)
        return
    other = opposed(row.claim, chance) if claim_too and chance.random() < 0.5 else None
    if claim_too and (wrong := other or denied(row.claim)) and wrong != row.claim:
        yield Made(wrong, row.evidence, "contradicted", "opposed" if other else "denied", row.title)


def _respelled(row: Made, chance: random.Random) -> Iterator[Made]:
    claim = respelled(row.claim, chance)
    if claim != row.claim:
        yield Made(claim, row.evidence, "supported", "respelled", row.title)


def _cut(row: Made) -> Iterator[Made]:
    """The evidence without the sentences that share most of the claim's words, where two others are left."""
    own = {token.key for token in tokenize(row.claim)}
    sentences = [row.evidence[start:end].strip() for start, end in sentence_spans(row.evidence)]
    shared = [len(own & {token.key for token in tokenize(text)}) / max(1, len(own)) for text in sentences]
    most = max(shared, default=0.0)
    left = [text for text, share in zip(sentences, shared, strict=True) if share < min(most, _SHARED)]
    if len(own) >= _LONG and len(left) > 1:
        yield Made(row.claim, " ".join(left), "unsupported", "deleted", row.title)


def _around(passage: Passage, index: int, chance: random.Random) -> str:
    """The sentence alone, or with some of those around it."""
    before, after = (0, 0) if chance.random() < 0.2 else (chance.randint(0, 3), chance.randint(0, 3))
    sentences = passage.sentences[max(0, index - before) : index + after + 1]
    text = _EMPHASIS.sub("", " ".join(sentences))
    return text if len(text) <= _SHORT else passage.sentences[index]


def _fit(sentence: str) -> bool:
    return (
        len(sentence) in _LENGTHS
        and sentence[0].isupper()
        and sentence[-1] in ".!"
        and not _MARKUP.search(sentence)
    )
