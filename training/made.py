"""Rows made out of others by rule, for what people's rows do not teach.

- `mismatched`: a claim beside the evidence of another row, which says nothing of it;
- `misnumbered`: a supported claim with another digit;
- `copied`: a sentence of the evidence itself, right and with another digit;
- `renamed`: a sentence of an article that names its subject, right and with the name of another article;
- `deleted`: a supported claim beside its evidence without the sentence that says it, and as it was;
- `beside`: rows as they are, but read together with the evidence of another row;
- `confused`: as `renamed`, and the article of the other name is read in the same window;
- `balanced`: rows as they are, but so many that a claim's likeness to its evidence does not tell its label;
- `headed`: such rows, whose claims stand under a heading: the title of the evidence, a general one, or both.
  A claim that names its subject also stands under another title, which tells nothing of it;
- `preceded`: such rows, read behind another claim of the same evidence, right or wrong;
- `leaning`: a sentence of an article that begins with a pronoun, behind one that names its subject, and
  behind that one with the name of another article;
- `introduced`: such rows as `balanced` has, behind the beginning of a paragraph. A claim that names its
  subject stands behind a claim about another one, which tells nothing. A claim that does not stands behind
  one that names it; a right one also behind that with the name of another subject, and is not borne out;
- `untitled`: such rows without the title, or with the name of a file in its place, which tells nothing.
  Only those whose evidence names the subject too, or whose claim does not;
- `sectioned`: such rows, whose evidence is a section of a longer document: under its title and a heading that
  tells nothing, or under the name of a file and its title as the heading.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from random import Random
from typing import Literal

from evaluation.contrast.data import likeness
from proxy.claims.context import contexts
from proxy.claims.segment import segment
from proxy.text.scripts import language_of
from proxy.text.sentences import sentence_spans
from proxy.text.words import closest, words
from proxy.types import Language
from training.rows import TrainingRow

Made = Literal[
    "deleted",
    "mismatched",
    "misnumbered",
    "copied",
    "renamed",
    "beside",
    "confused",
    "balanced",
    "headed",
    "preceded",
    "leaning",
    "introduced",
    "untitled",
    "sectioned",
]

_NEAREST_OF = 64
"""Other rows among which the nearest evidence is looked for."""
_SHORTEST, _LONGEST = 24, 400
"""Characters of a sentence that can be a claim; Chinese ones may be a third as short."""
_SHORTEST_NAME, _LONGEST_NAME = 2, 30
"""Characters of a title that stands for its subject."""
_DIGIT = re.compile(r"\d")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_TITLE = re.compile(r"(?:\(meta data\) TITLE|Title):")
_PRONOUN = re.compile(r"(?:It|He|She|They|Its|His|Her|Their)\b|[它他她其该]")
_LIKENESS_STEPS = 8
"""Parts of likeness, from 0 to 1; within each, as many right rows as wrong ones are kept."""
_OUTLINES = ("## {title}\n\n", "## {heading}\n\n- ", "# {title}\n\n## {heading}\n\n", "**{title}**\n\n- ")
_HEADINGS: Mapping[Language, Sequence[str]] = {
    "en": (
        "History",
        "Background",
        "What it means",
        "In numbers",
        "Details on the subject",
        "People",
        "Use",
        "Main findings",
        "Limits and exceptions",
        "Timeline",
    ),
    "zh": ("历史", "背景", "基本数据", "人物", "用途", "主要结论", "限制与例外", "时间线", "影响", "现状"),
}
"""Headings that fit any text."""
_FILES: Mapping[Language, Sequence[str]] = {
    "en": ("notes", "document1", "scan_0042", "README", "data-export-2024-03", "page 17", "final_v2"),
    "zh": ("资料", "文档1", "新建文本文档", "2024年3月导出", "扫描件_0042", "第17页", "notes", "data_v2"),
}
"""Names of files that fit any text."""
_QUESTIONS: Mapping[Language, Sequence[str]] = {
    "en": (
        "Tell me about {title}.",
        "what do you know about {title}?",
        "{title}: give me a detailed overview",
        "Summarise what my documents say about {title} and {other}.",
        "How do {other} and {title} differ?",
        "Please summarise the documents.",
        "I have to write a short report, what should be in it?",
    ),
    "zh": (
        "请介绍一下{title}。",
        "{title}是怎么回事？",
        "详细说说{title}",
        "{title}和{other}分别是什么情况？",
        "总结一下我上传的资料。",
        "帮我整理要点",
    ),
}
"""Questions that a reply of any text may answer."""
_HAN = re.compile(r"[\u4e00-\u9fff]")


def made_rows(rows: Sequence[TrainingRow], made: Made, rng: Random) -> list[TrainingRow]:
    """The rows of a kind that can be made out of `rows`; the same arguments give the same rows."""
    return list(_MAKERS[made](rows, rng))


def _mismatched(rows: Sequence[TrainingRow], rng: Random) -> Iterator[TrainingRow]:
    """Half of the claims stand beside the evidence, of some others', that has most of their words."""
    keys = [_keys(row.evidence) for row in rows]
    for number, row in enumerate(rows):
        own = _keys(row.claim)
        others = [other for other in _some(rows, rng) if rows[other].evidence != row.evidence]
        if not others or not own:
            continue
        nearest = number % 2 == 0
        other = max(others, key=lambda index: len(own & keys[index])) if nearest else others[0]
        if own <= keys[other]:
            continue
        yield _as(row, "mismatched", "unsupported", evidence=rows[other].evidence, title=rows[other].title)


def _misnumbered(rows: Sequence[TrainingRow], rng: Random) -> Iterator[TrainingRow]:
    for row in rows:
        wrong = _with_another_digit(row.claim, row.evidence, rng) if row.supported else None
        if wrong:
            yield _as(row, "misnumbered", "contradicted", claim=wrong)


def _copied(rows: Sequence[TrainingRow], rng: Random) -> Iterator[TrainingRow]:
    for row in _first_of_each(rows):
        sentences = _claims_of(row.evidence)
        if not sentences:
            continue
        sentence = rng.choice(sentences)
        yield _as(row, "copied", "supported", claim=sentence)
        if wrong := _with_another_digit(sentence, row.evidence, rng):
            yield _as(row, "copied-wrong", "contradicted", claim=wrong)


def _renamed(rows: Sequence[TrainingRow], rng: Random) -> Iterator[TrainingRow]:
    for row, other in _with_other_titles(rows, rng):
        naming = [sentence for sentence in _claims_of(row.evidence) if row.title in sentence]
        if naming:
            sentence = rng.choice(naming)
            yield _as(row, "named", "supported", claim=sentence)
            yield _as(row, "renamed", "unsupported", claim=sentence.replace(row.title, other))


def _leaning(rows: Sequence[TrainingRow], rng: Random) -> Iterator[TrainingRow]:
    for row, other in _with_other_titles(rows, rng):
        sentences = _claims_of(row.evidence)
        naming = [sentence for sentence in sentences if row.title in sentence]
        leaning = [
            sentence for sentence in sentences if _PRONOUN.match(sentence) and row.title not in sentence
        ]
        if naming and leaning:
            before, claim = rng.choice(naming), rng.choice(leaning)
            yield _as(row, "leaning", "supported", claim=claim, context=before)
            wrong = before.replace(row.title, other)
            yield _as(row, "leaning-wrong", "unsupported", claim=claim, context=wrong)


def _with_other_titles(rows: Sequence[TrainingRow], rng: Random) -> Iterator[tuple[TrainingRow, str]]:
    """A row of each evidence, with the title of another that is not named in it."""
    titles = sorted({row.title for row in rows if _SHORTEST_NAME <= len(row.title) <= _LONGEST_NAME})
    if len(titles) < 2:
        return
    for row in _first_of_each(rows):
        other = rng.choice(titles)
        if row.title and not (other in row.evidence or row.title in other or other in row.title):
            yield row, other


def _deleted(rows: Sequence[TrainingRow], rng: Random) -> Iterator[TrainingRow]:
    """The claim of a passage of a corpus, which is its own claim, is a sentence of it."""
    for row in rows:
        spans = [span for span in sentence_spans(row.evidence) if row.evidence[slice(*span)].strip()]
        sentences = [row.evidence[slice(*span)].strip() for span in spans]
        claims = _claims_of(row.evidence) if row.claim == row.evidence else [row.claim]
        if not row.supported or len(sentences) < 3 or not claims:
            continue
        claim = rng.choice(claims)
        saying = closest(sentences, claim, row.title)
        own, said = _keys(claim), _keys(sentences[saying])
        start, end = spans[saying]
        rest = row.evidence[:start] + row.evidence[end:]
        if 2 * len(own & said) < len(own) or own <= _keys(rest) | _keys(row.title):
            continue
        yield _as(row, "kept", "supported", claim=claim)
        yield _as(row, "deleted", "unsupported", claim=claim, evidence=rest)


def _beside(rows: Sequence[TrainingRow], rng: Random) -> Iterator[TrainingRow]:
    """The claims of an evidence stand beside the same other one; half of these have most of its words."""
    keys = {row.evidence: _keys(row.evidence) for row in rows}
    others: dict[str, tuple[TrainingRow, bool]] = {}
    for row in rows:
        if row.evidence not in others:
            some = [rows[index] for index in _some(rows, rng) if rows[index].title not in ("", row.title)]
            if not row.title or not some:
                continue
            nearest = max(some, key=lambda other: len(keys[row.evidence] & keys[other.evidence]))
            others[row.evidence] = (rng.choice((nearest, some[0])), rng.random() < 0.5)
        other, first = others[row.evidence]
        yield _together(row, other, first, "beside", row.label, row.claim)


def _confused(rows: Sequence[TrainingRow], rng: Random) -> Iterator[TrainingRow]:
    named = [row for row in _first_of_each(rows) if _SHORTEST_NAME <= len(row.title) <= _LONGEST_NAME]
    keys = [_keys(row.evidence) for row in named]
    for number, row in enumerate(named):
        naming = [sentence for sentence in _claims_of(row.evidence) if row.title in sentence]
        others = [
            index
            for index in _some(named, rng)
            if named[index].title not in row.evidence and row.title not in named[index].evidence
        ]
        if not naming or not others:
            continue
        nearest = max(others, key=lambda index: len(keys[number] & keys[index]))
        other, first = named[nearest], rng.random() < 0.5
        sentence = rng.choice(naming)
        if _keys(sentence.replace(row.title, "")) <= keys[nearest]:
            continue
        yield _together(row, other, first, "named", "supported", sentence)
        wrong = sentence.replace(row.title, other.title)
        yield _together(row, other, first, "confused", "unsupported", wrong)


def _balanced(rows: Sequence[TrainingRow], rng: Random) -> Iterator[TrainingRow]:
    """Of rows that are equally like their evidence, as many right ones as wrong ones.

    Writers make right claims in other words, and wrong ones out of the evidence's: a model that learns from
    all of their rows learns that a claim in the evidence's words is wrong.
    """
    alike: dict[int, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for number, row in enumerate(rows):
        like = likeness(row.claim, f"{row.title}\n{row.evidence}")
        alike[int(like * _LIKENESS_STEPS)][row.supported].append(number)
    kept: set[int] = set()
    for sides in alike.values():
        few = min(map(len, sides))
        kept |= {number for side in sides for number in rng.sample(side, few)}
    return (row for number, row in enumerate(rows) if number in kept)


def _headed(rows: Sequence[TrainingRow], rng: Random) -> Iterator[TrainingRow]:
    titles = sorted({row.title for row in rows if row.title})
    for row in _balanced(rows, rng):
        if not row.title:
            continue
        language = language_of(row.claim)
        other = rng.choice(titles)
        above = other if row.title in row.claim and rng.random() < 0.5 else row.title
        about = {"title": above, "other": other, "heading": rng.choice(_HEADINGS[language])}
        claims = segment(rng.choice(_OUTLINES).format_map(about) + row.claim)
        context = contexts(claims, rng.choice(_QUESTIONS[language]).format_map(about))[-1]
        if context.topic and claims[-1].plain == row.claim:
            yield _as(row, "headed", row.label, topic=context.topic, context=context.before)


def _preceded(rows: Sequence[TrainingRow], rng: Random) -> Iterator[TrainingRow]:
    claims: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        claims[row.evidence].append(row.claim)
    for row in _balanced(rows, rng):
        others = [claim for claim in claims[row.evidence] if claim != row.claim]
        if others:
            yield _as(row, "preceded", row.label, context=rng.choice(others))


def _introduced(rows: Sequence[TrainingRow], rng: Random) -> Iterator[TrainingRow]:
    """Claims without a title, such as those of FEVER, name their subjects."""
    naming: dict[str, list[TrainingRow]] = defaultdict(list)
    for row in rows:
        if row.title in row.claim:
            naming[row.evidence].append(row)
    evidences = sorted(naming)
    for row in _balanced(rows, rng) if evidences else ():
        other = rng.choice(naming[rng.choice(evidences)])
        if other.evidence == row.evidence or (other.title and other.title in row.evidence):
            continue
        if row.title in row.claim:
            yield _as(row, "introduced", row.label, context=other.claim)
        elif row.evidence in naming and not _keys(row.title) & _keys(row.claim):
            before = rng.choice(naming[row.evidence]).claim
            yield _as(row, "introduced", row.label, context=before)
            if row.supported and other.title:
                wrong = before.replace(row.title, other.title)
                yield _as(row, "introduced-wrong", "unsupported", context=wrong)


def _untitled(rows: Sequence[TrainingRow], rng: Random) -> Iterator[TrainingRow]:
    for row in _balanced(rows, rng):
        if row.title and (row.title in row.evidence or not _keys(row.title) & _keys(row.claim)):
            name = rng.choice(_FILES[language_of(row.claim)]) if rng.random() < 0.5 else ""
            yield _as(row, "untitled", row.label, title=name)


def _sectioned(rows: Sequence[TrainingRow], rng: Random) -> Iterator[TrainingRow]:
    for row in _balanced(rows, rng):
        if row.title:
            language = language_of(row.claim)
            under = (row.title, rng.choice(_HEADINGS[language]))
            over = (rng.choice(_FILES[language]), row.title)
            yield _as(row, "sectioned", row.label, title="\n".join(rng.choice((under, over))))


_MAKERS: Mapping[Made, Callable[[Sequence[TrainingRow], Random], Iterator[TrainingRow]]] = {
    "mismatched": _mismatched,
    "misnumbered": _misnumbered,
    "copied": _copied,
    "renamed": _renamed,
    "deleted": _deleted,
    "beside": _beside,
    "confused": _confused,
    "balanced": _balanced,
    "headed": _headed,
    "preceded": _preceded,
    "leaning": _leaning,
    "introduced": _introduced,
    "untitled": _untitled,
    "sectioned": _sectioned,
}


def _as(row: TrainingRow, kind: str, label: str, **values: str) -> TrainingRow:
    return row.model_copy(update={"id": f"{row.id}#{kind}", "label": label, **values})


def _together(
    row: TrainingRow, other: TrainingRow, first: bool, kind: str, label: str, claim: str
) -> TrainingRow:
    """A row that is read with the evidence of another one, which stands first or second."""
    one, two = (row, other) if first else (other, row)
    texts = {"title": one.title, "evidence": one.evidence, "other_title": two.title, "other": two.evidence}
    return _as(row, kind, label, claim=claim, **texts)


def _some(rows: Sequence[TrainingRow], rng: Random) -> list[int]:
    return [rng.randrange(len(rows)) for _ in range(_NEAREST_OF)]


def _first_of_each(rows: Sequence[TrainingRow]) -> list[TrainingRow]:
    return list({row.evidence: row for row in reversed(rows)}.values())[::-1]


def _keys(text: str) -> frozenset[str]:
    return frozenset(key for word in words(text) if word.content for key in word.keys)


def _claims_of(evidence: str) -> list[str]:
    """Sentences of the evidence that can be claims."""
    shortest = _SHORTEST // 3 if _HAN.search(evidence) else _SHORTEST
    sentences = (evidence[start:end].strip() for start, end in sentence_spans(evidence))
    return [
        sentence
        for sentence in sentences
        if shortest <= len(sentence) <= _LONGEST and not _TITLE.match(sentence)
    ]


def _with_another_digit(claim: str, evidence: str, rng: Random) -> str | None:
    """The claim with one digit changed, so that a number comes about that the evidence does not have."""
    places = [found.start() for found in _DIGIT.finditer(claim)]
    if not places:
        return None
    place = rng.choice(places)
    digit = rng.choice([other for other in "123456789" if other != claim[place]])
    wrong = claim[:place] + digit + claim[place + 1 :]
    number = next(found[0] for found in _NUMBER.finditer(wrong) if found.start() <= place < found.end())
    return None if number in _NUMBER.findall(evidence) else wrong
