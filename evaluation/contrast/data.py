"""The contrast pairs that come with the project, and how they are read.

Each passage has a right claim, mostly in other words, and a wrong one that keeps the passage's words and
changes its meaning. A checker that follows shared words gets them wrong. `dev` pairs are for choosing
checkers; `held_out` pairs are not looked at while a checker is made.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Literal

from evaluation.datasets import DataError, Label, Line, read_lines
from proxy.types import Language, Pair

Split = Literal["dev", "held_out"]
FOLDER = Path(__file__).parent


class ContrastRow(Line):
    """One claim of a pair. Rows of one `group` share their passage."""

    group: str
    kind: str
    title: str
    evidence: str
    claim: str
    label: Label
    lang: Language


@dataclass(frozen=True, slots=True)
class ContrastPair:
    """A passage with its right and its wrong claim."""

    kind: str
    language: Language
    right: Pair
    wrong: Pair


def packaged(split: Split) -> tuple[Path, ...]:
    """The files of a split, one per language."""
    return tuple(sorted(FOLDER.glob(f"{split}_*.jsonl")))


def read_pairs(path: Path) -> list[ContrastPair]:
    """The pairs of a file, in order. Raises `DataError` where a group is no right and one wrong claim."""
    rows = read_lines(path, ContrastRow)
    return [_pair(path, name, list(group)) for name, group in groupby(rows, lambda row: row.group)]


def _pair(path: Path, name: str, rows: list[ContrastRow]) -> ContrastPair:
    right, wrong = (list(_of(rows, supported=supported)) for supported in (True, False))
    if len(right) != 1 or len(wrong) != 1 or rows[0].evidence != rows[1].evidence:
        raise DataError(f"{path}: group {name!r} must be one right and one wrong claim of one passage.")
    return ContrastPair(rows[0].kind, rows[0].lang, _asked(right[0]), _asked(wrong[0]))


def _of(rows: list[ContrastRow], *, supported: bool) -> Iterator[ContrastRow]:
    return (row for row in rows if (row.label == "supported") is supported)


def _asked(row: ContrastRow) -> Pair:
    return Pair(row.claim, row.evidence, title=row.title)
