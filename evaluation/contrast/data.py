"""The contrast pairs that come with the project, and how files of such pairs are read.

Each passage has right and wrong claims of both forms: some in the passage's words, some in others. A checker
that follows shared words gets half of them wrong, and so does one that mistrusts them. The pairs of `DEV` are
for choosing checkers. Those of `HELD_OUT` are only measured on: don't read them while you make a checker.
`TWO_PASSAGES` have two passages of like things, read together: a wrong claim says of the one what holds for
the other. `HARD` claims follow kinds of wording that fooled a checker: rules applied to a case, sums, roles
turned round, what an LLM sums up. `WORKPLACE` passages are of what folders hold: tables, several things in
one sentence, rules with exceptions; some of its claims are short answers to a `question`. `SECTIONS` are
passages that only their headings say the subject of, and wrong claims are of another section's. Passages of
`SHORT_EVIDENCE` say little: most wrong claims are on their subject, and say what they don't; some Chinese
ones say of another thing what the passage says of its own. `CONCLUSIONS` lean on the sentence before them,
their `context`: wrong ones follow from it, and not from the passage.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby, islice, pairwise
from pathlib import Path

from evaluation.datasets import DataError, Label, Line, context_alone, read_lines
from proxy.text.scripts import language_of
from proxy.types import Language, Page, Pair

_TOKEN = re.compile(r"[\u4e00-\u9fff]|[^\W\u4e00-\u9fff]+")
_FOLDER = Path(__file__).parent
DEV = (_FOLDER / "dev_en.jsonl", _FOLDER / "dev_zh.jsonl")
TWO_PASSAGES = (_FOLDER / "two_passages_en.jsonl", _FOLDER / "two_passages_zh.jsonl")
HARD = (_FOLDER / "hard_en.jsonl", _FOLDER / "hard_zh.jsonl")
WORKPLACE = (_FOLDER / "workplace_en.jsonl", _FOLDER / "workplace_zh.jsonl")
SECTIONS = (_FOLDER / "sections_en.jsonl", _FOLDER / "sections_zh.jsonl")
SHORT_EVIDENCE = (_FOLDER / "short_evidence_en.jsonl", _FOLDER / "short_evidence_zh.jsonl")
CONCLUSIONS = (_FOLDER / "conclusions_en.jsonl", _FOLDER / "conclusions_zh.jsonl")
HELD_OUT = (_FOLDER / "held_out_en.jsonl", _FOLDER / "held_out_zh.jsonl")


class ContrastRow(Line):
    """A labelled claim. Rows of one `group` stand together and share their passage.

    Without `lang` the passage tells the language. `other` is a second passage, read in the same window.
    """

    group: str
    kind: str
    title: str = ""
    evidence: str
    other_title: str = ""
    other: str = ""
    claim: str
    question: str = ""
    context: str = ""
    label: Label
    lang: Language | None = None

    @property
    def supported(self) -> bool:
        """Whether the claim is right."""
        return self.label == "supported"

    @property
    def language(self) -> Language:
        """Of the passage."""
        return self.lang or language_of(self.evidence)

    def pair(self) -> Pair:
        """The row as the proxy would ask it: after its context, or a short answer after its question."""
        context = self.context or context_alone(self.claim, self.question)
        others = (Page(self.other, self.other_title),) if self.other else ()
        return Pair(self.claim, self.evidence, context, title=self.title, others=others)

    def likeness(self) -> float:
        """How much of the claim stands in its passage or title, word for word: 0 to 1."""
        return likeness(self.claim, f"{self.title}\n{self.evidence}\n{self.other_title}\n{self.other}")


@dataclass(frozen=True, slots=True)
class ContrastGroup:
    """A passage, or two, with its right and its wrong claims: at least one of each."""

    right: tuple[ContrastRow, ...]
    wrong: tuple[ContrastRow, ...]

    @property
    def rows(self) -> tuple[ContrastRow, ...]:
        """The right claims, then the wrong ones."""
        return (*self.right, *self.wrong)

    @property
    def name(self) -> str:
        """That of its rows."""
        return self.right[0].group

    @property
    def kind(self) -> str:
        """What tells right from wrong."""
        return self.right[0].kind

    @property
    def language(self) -> Language:
        """Of the passage."""
        return self.right[0].language


def likeness(claim: str, evidence: str) -> float:
    """The share of a claim's words, and of its pairs of neighbouring words, that the evidence has: 0 to 1.

    A Chinese character counts as a word.
    """
    own = _runs(claim)
    return len(own & _runs(evidence)) / max(1, len(own))


def _runs(text: str) -> set[tuple[str, ...]]:
    tokens = _TOKEN.findall(text.lower())
    return {(token,) for token in tokens} | set(pairwise(tokens))


def read_groups(path: Path, limit: int | None = None) -> Iterator[ContrastGroup]:
    """The groups of a file, in order; the first `limit` of them.

    Raises `DataError`, also where one has no right or no wrong claim.
    """
    for name, rows in islice(groupby(read_lines(path, ContrastRow), lambda row: row.group), limit):
        yield _group(path, name, list(rows))


def _group(path: Path, name: str, rows: list[ContrastRow]) -> ContrastGroup:
    right = tuple(row for row in rows if row.supported)
    wrong = tuple(row for row in rows if not row.supported)
    if not right or not wrong or len({(row.evidence, row.other, row.kind) for row in rows}) > 1:
        raise DataError(
            f"{path}: group {name!r} must have a right and a wrong claim, all of one passage and one kind."
        )
    return ContrastGroup(right, wrong)
