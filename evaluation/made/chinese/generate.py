"""Chinese rows made by rule from a corpus: claims that a passage supports, and the same claims made wrong."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import get_args

from evaluation.datasets import Made, MadeLabel, Passage
from evaluation.made.chinese.changes import (
    added,
    dated,
    denied,
    donors,
    flipped,
    other_date,
    topic,
    turned_round,
    without,
)
from evaluation.made.chinese.names import Stock, stock
from evaluation.made.chinese.restatements import RESTATEMENTS
from evaluation.made.chinese.script import balanced, cleaned, fit, traditional, values
from evaluation.made.chinese.values import Kind, exchanges, revised

_ROUNDS = 12
_JOINED = 0.25
_NUMBERED = 0.5
_EVIDENCE_SIDE = 0.3
_LEAST_EVIDENCE = 60
_ODD = re.compile(
    r"没有没有|沒有沒有|不不|了了|于于|於於|的的|是是|，，|。。|，。|不没|没不|不曾从未|是不是|不是不"
)


@dataclass(frozen=True, slots=True)
class _Scene:
    """A claim and the evidence that bears it out. `sentences` of `passage` are what it was made from."""

    claim: str
    evidence: str
    sentences: tuple[str, ...]
    passage: Passage
    kind: str


@dataclass(frozen=True, slots=True)
class _Corpus:
    passages: Sequence[Passage]
    stock: Stock
    donors: Mapping[tuple[str, bool], Sequence[tuple[str, str]]]
    siblings: Mapping[tuple[str, bool], Sequence[Passage]]


Rule = Callable[[_Scene, _Corpus, random.Random], Iterator[tuple[Made, ...]]]
"""What a scene can be made into, the best first: a wrong row, and what else goes with it."""


def make_chinese(passages: Sequence[Passage], count: int, seed: int) -> list[Made]:
    """At most `count` rows: a claim that its evidence supports, then one that it does not, and so on.

    Evidence is a passage, a few sentences of one, or several passages of which one matters; both rows have
    the same one, unless the change is in the evidence: then a third row has it in both, and is supported, so
    that neither text alone tells the label (Schuster et al. 2019). Kinds are kept in balance as far as the
    corpus has them. What is put in stands nowhere in the evidence. The same for the same arguments.

    After CiteCheck (2025), section 2.2, whose LLM revises or deletes key segments of the evidence: here
    rules do, and change the claim too.
    """
    chance = random.Random(seed)
    corpus = _corpus(passages)
    tally: Counter[str] = Counter()
    made: dict[tuple[str, str], Made] = {}
    for _ in range(_ROUNDS):
        for passage in chance.sample(passages, len(passages)):
            if len(made) >= count:
                return list(made.values())[:count]
            rows = _rows(passage, corpus, tally, chance)
            if rows and not any((row.claim, row.evidence) in made for row in rows):
                made |= {(row.claim, row.evidence): row for row in rows}
                tally.update(row.kind for row in rows)
    return list(made.values())[:count]


def _corpus(passages: Sequence[Passage]) -> _Corpus:
    offered = stock(passages)
    siblings: dict[tuple[str, bool], list[Passage]] = {}
    for passage in passages:
        if passage.text.startswith(passage.title) and (
            sort := offered.sorts.get(passage.title) or topic(passage)
        ):
            siblings.setdefault((sort, traditional(passage.text)), []).append(passage)
    return _Corpus(passages, offered, donors(passages), siblings)


def _rows(passage: Passage, corpus: _Corpus, tally: Counter[str], chance: random.Random) -> list[Made]:
    """A supported row, one that is not, and what goes with them; none where no rule fits."""
    scene = _scene(passage, corpus, tally, chance)
    if scene is None:
        return []
    for kind in sorted(_RULES, key=lambda kind: (tally[kind] / _SHARES.get(kind, 1.0), chance.random())):
        for wrong, *more in _RULES[kind](scene, corpus, chance):
            if _sane(wrong, scene):
                evidence = scene.evidence if wrong.claim == scene.claim else wrong.evidence
                right = Made(scene.claim, evidence, "supported", scene.kind, passage.title)
                return [right, wrong, *more]
    return []


def _scene(passage: Passage, corpus: _Corpus, tally: Counter[str], chance: random.Random) -> _Scene | None:
    indexes = [index for index, text in enumerate(passage.sentences) if fit(cleaned(text))]
    if not indexes:
        return None
    first = chance.choice(indexes)
    run = tuple(passage.sentences[first : first + 2]) if first + 1 in indexes else (passage.sentences[first],)
    for kind in sorted(RESTATEMENTS, key=lambda kind: (tally[kind], chance.random())):
        claim = RESTATEMENTS[kind]([cleaned(text) for text in run], passage.title, chance)
        if claim and fit(claim):
            used = run if kind == "merged" else run[:1]
            return _Scene(claim, _evidence(passage, first, len(used), corpus, chance), used, passage, kind)
    return None


def _evidence(passage: Passage, first: int, length: int, corpus: _Corpus, chance: random.Random) -> str:
    """The passage, some sentences about those in question, or several passages joined."""
    start = max(0, first - chance.randrange(4))
    end = min(len(passage.sentences), first + length + chance.randrange(4))
    window = "".join(passage.sentences[start:end])
    own = window if chance.random() < 0.5 and len(window) >= _LEAST_EVIDENCE else passage.text
    if chance.random() < _JOINED:
        others = [other for other in chance.sample(corpus.passages, 2) if other.title != passage.title]
        return _joined(own, [other.text for other in others], chance)
    return own


def _joined(own: str, others: Sequence[str], chance: random.Random) -> str:
    parts = [own, *others]
    chance.shuffle(parts)
    if chance.random() < _NUMBERED:
        parts = [f"[{n}] {part}" for n, part in enumerate(parts, 1)]
    return "\n".join(parts)


def _sane(wrong: Made, scene: _Scene) -> bool:
    """Whether a row reads well and does not say what its evidence says."""
    if wrong.claim == scene.claim:
        return wrong.evidence != scene.evidence
    return (
        balanced(wrong.claim)
        and wrong.claim not in wrong.evidence
        and wrong.claim[:-1] not in wrong.evidence
        and not _ODD.search(wrong.claim)
        and len(wrong.claim) <= 130
    )


def _exchanged(
    kind: Kind, scene: _Scene, corpus: _Corpus, chance: random.Random
) -> Iterator[tuple[Made, ...]]:
    title = scene.passage.title
    for exchange in exchanges(scene.claim, scene.evidence, title, kind, corpus.stock, chance):
        if chance.random() < _EVIDENCE_SIDE and not exchange.subject:
            evidence = exchange.apply(scene.evidence)
            if all(exchange.apply(text) in evidence for text in scene.sentences) and revised(
                exchange, scene.evidence
            ):
                wrong = Made(scene.claim, evidence, "contradicted", kind, title)
                yield (
                    wrong,
                    Made(exchange.apply(scene.claim), evidence, "supported", f"{kind}_in_both", title),
                )
        label: MadeLabel = "unsupported" if exchange.subject else "contradicted"
        yield (Made(exchange.apply(scene.claim), scene.evidence, label, kind, title),)


def _negation(scene: _Scene, _corpus: _Corpus, chance: random.Random) -> Iterator[tuple[Made, ...]]:
    for claim in denied(scene.claim, chance):
        yield (Made(claim, scene.evidence, "contradicted", "negation", scene.passage.title),)


def _flip(kind: str, scene: _Scene, _corpus: _Corpus, chance: random.Random) -> Iterator[tuple[Made, ...]]:
    for claim in flipped(scene.claim, scene.evidence, kind, chance):
        yield (Made(claim, scene.evidence, "contradicted", kind, scene.passage.title),)


def _cause(scene: _Scene, _corpus: _Corpus, _chance: random.Random) -> Iterator[tuple[Made, ...]]:
    if claim := turned_round(scene.claim):
        yield (Made(claim, scene.evidence, "contradicted", "cause", scene.passage.title),)


def _addition(scene: _Scene, corpus: _Corpus, chance: random.Random) -> Iterator[tuple[Made, ...]]:
    title = scene.passage.title
    if year := next(iter(_unnamed_years(scene, corpus, chance)), ""):
        claim = dated(scene.claim, year)
        if claim:
            yield (Made(claim, scene.evidence, "unsupported", "added", title),)
    if not scene.claim.startswith((title, "他", "她")) or (about := topic(scene.passage)) == "":
        return
    options = corpus.donors.get((about, traditional(scene.claim)), ())
    for clause, origin in chance.sample(options, min(8, len(options))):
        if origin != title and (claim := added(scene.claim, scene.evidence, clause)):
            yield (Made(claim, scene.evidence, "unsupported", "added", title),)


def _unnamed_years(scene: _Scene, corpus: _Corpus, chance: random.Random) -> Iterator[str]:
    known = values(scene.evidence)
    year = chance.randint(1900, 2015)
    if str(year) not in known:
        yield f"{year}年"


def _crossing(scene: _Scene, corpus: _Corpus, chance: random.Random) -> Iterator[tuple[Made, ...]]:
    title, script = scene.passage.title, traditional(scene.passage.text)
    sort = corpus.stock.sorts.get(title) or topic(scene.passage)
    options = corpus.siblings.get((sort, script), ())
    if scene.claim.startswith(title) and scene.claim.count(title) == 1 and len(options) > 1:
        other = chance.choice(options)
        claim = other.title + scene.claim[len(title) :]
        if other.title not in scene.evidence and title not in other.title and other.title not in title:
            evidence = (
                _joined(scene.evidence, [other.text], chance)
                if "\n" not in scene.evidence
                else scene.evidence + "\n" + other.text
            )
            yield (Made(claim, evidence, "unsupported", "crossed", title),)
    if "\n" not in scene.evidence:
        beside = [text for text in scene.passage.sentences if text in scene.evidence]
        if elsewhere := other_date(scene.claim, scene.sentences[0], beside, chance):
            yield (Made(elsewhere, scene.evidence, "contradicted", "crossed", title),)


def _deletion(scene: _Scene, _corpus: _Corpus, chance: random.Random) -> Iterator[tuple[Made, ...]]:
    if scene.kind in ("literal", "paraphrased", "compressed"):
        evidence = without(scene.sentences[0], scene.claim, scene.evidence, chance)
        if evidence:
            yield (Made(scene.claim, evidence, "unsupported", "deleted", scene.passage.title),)


_RULES: Mapping[str, Rule] = {
    **{kind: partial(_exchanged, kind) for kind in get_args(Kind)},
    "negation": _negation,
    **{kind: partial(_flip, kind) for kind in ("comparative", "quantifier", "opposite")},
    "cause": _cause,
    "added": _addition,
    "crossed": _crossing,
    "deleted": _deletion,
}
_SHARES = {"unit": 0.5, "cause": 0.5, "quantifier": 0.7}
"""How often a kind is wanted, against 1."""
