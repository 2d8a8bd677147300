"""Replies in Markdown about two documents, with every fact that they state, and what of it holds.

The documents are about things of one kind. Of the wrong facts about half hold for the other thing: under its
heading, or in its row, they would be right. The replies of `DEV` are for choosing checkers. Those of
`HELD_OUT` are only measured on: don't read them while you make a checker.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import Literal

from pydantic import ConfigDict, Field, model_validator

from evaluation.datasets import CorpusRow, Line, read_lines
from proxy.claims.context import contexts
from proxy.claims.segment import segment
from proxy.text.inline import READ, tokens
from proxy.text.scripts import language_of
from proxy.text.words import Span
from proxy.types import Claim, Context, Language

_FOLDER = Path(__file__).parent
DEV = (_FOLDER / "dev_en.jsonl", _FOLDER / "dev_zh.jsonl")
HELD_OUT = (_FOLDER / "held_out_en.jsonl", _FOLDER / "held_out_zh.jsonl")


class Fact(Line):
    """Something that a reply states.

    It is the last occurrence of `text` in `within`, which stands once in the reply; without `within`, `text`
    does. `by` are the numbers of the documents, from 1, each of which alone bears it out; none, if it is
    wrong.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    text: str = Field(min_length=1)
    within: str = Field(default="", alias="in")
    by: tuple[Literal[1, 2], ...]

    def place(self, reply: str) -> Span:
        """Where it stands in its reply. Raises `ValueError` where it does not stand there once."""
        within = self.within or self.text
        if reply.count(within) != 1 or self.text not in within:
            raise ValueError(f"the reply does not state {self.text!r} once")
        start = reply.index(within) + within.rindex(self.text)
        return start, start + len(self.text)


class StructuredReply(Line):
    """A question, two documents, and a reply with its facts."""

    id: str
    form: str
    question: str
    documents: tuple[CorpusRow, CorpusRow]
    reply: str
    facts: tuple[Fact, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _states_its_facts(self) -> StructuredReply:
        for fact in self.facts:
            fact.place(self.reply)
        return self

    @property
    def language(self) -> Language:
        """Of the reply."""
        return language_of(self.reply)


@dataclass(frozen=True, slots=True)
class Statement:
    """What is checked as one: a claim; or a value of one that is a row of a table, which is its `part`.

    `by` are the documents that alone bear out all its facts.
    """

    claim: Claim
    part: int | None
    context: Context
    by: frozenset[int]

    @property
    def right(self) -> bool:
        """Whether a document bears it out."""
        return bool(self.by)

    @property
    def plain(self) -> str:
        """The text of the claim, or of the value with its headings."""
        return self.claim.plain if self.part is None else self.claim.values[self.part]


def read_replies(path: Path, limit: int | None = None) -> Iterator[StructuredReply]:
    """The replies of a file, in order; the first `limit` of them.

    Raises `DataError`, also where a fact can't be found in its reply.
    """
    return islice(read_lines(path, StructuredReply), limit)


def statements(reply: StructuredReply) -> Iterator[Statement]:
    """What the reply states, in its order. Claims without a fact are left out, and so are those that no
    document bears out alone, but both together."""
    claims = segment(reply.reply)
    placed = sorted(((fact.place(reply.reply), fact) for fact in reply.facts), key=itemgetter(0))
    for claim, context in zip(claims, contexts(claims, reply.question), strict=True):
        facts = [fact for (start, end), fact in placed if start < claim.end and claim.start < end]
        parts = _by_value(claim, facts) if claim.values else [(None, facts)]
        for part, stated in parts:
            sides = [frozenset(fact.by) for fact in stated]
            if sides and (not all(sides) or frozenset.intersection(*sides)):
                yield Statement(claim, part, context, frozenset.intersection(*sides))


def _by_value(claim: Claim, facts: Sequence[Fact]) -> list[tuple[int | None, list[Fact]]]:
    """The facts of each value of a row: both are in the order of the columns."""
    found: list[tuple[int | None, list[Fact]]] = []
    left = list(facts)
    for number, value in enumerate(claim.values):
        if left and value.endswith(_shown(left[0].text)):
            found.append((number, [left.pop(0)]))
    return found


def _shown(text: str) -> str:
    """The text of a cell without its Markdown."""
    read = (text[token.start : token.end] for token in tokens(text, (0, len(text))) if token.kind in READ)
    return " ".join("".join(read).split())
