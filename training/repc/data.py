"""Labelled rows for RepC: read, validated and split."""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.model_selection import StratifiedGroupKFold

from evaluation.datasets import Label, Line, read_lines
from proxy.checkers.repc.stored import THREE, TWO
from proxy.errors import ConfigError
from proxy.types import Pair

FOLDS = 5
_LEAST = 10
"""Rows and different evidences that each class needs."""


class _Labelled(Line):
    claim: str
    evidence: str
    label: Label
    title: str | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """A labelled pair."""

    pair: Pair
    label: str


def read_rows(file: Path, limit: int | None, seed: int) -> list[Row]:
    """The rows of a JSON Lines file, at most `limit` of them, drawn with `seed`.

    Raises:
        DataError: the file can't be read, has no rows, or a line is not a row.
    """
    rows = [_row(line) for line in read_lines(file, _Labelled)]
    if limit is None or len(rows) <= limit:
        return rows
    return random.Random(seed).sample(rows, limit)


def classes_of(rows: Sequence[Row]) -> tuple[str, ...]:
    """Three classes where the rows tell all of them apart, else two.

    Raises:
        ConfigError: a class has too few rows to learn from.
    """
    classes = THREE if {row.label for row in rows} == set(THREE) else TWO
    held = Counter(class_of(row.label, classes) for row in rows)
    evidences = Counter(
        label for label, _ in {(class_of(row.label, classes), row.pair.evidence) for row in rows}
    )
    for index, name in enumerate(classes):
        if min(held[index], evidences[index]) < _LEAST:
            raise ConfigError(
                f"{held[index]} rows with {evidences[index]} different evidences are {name}: at least "
                f"{_LEAST} "
                "of each are needed to train on."
            )
    return classes


def class_of(label: str, classes: Sequence[str]) -> int:
    """The index of a label's class; what is not supported is the second of two."""
    return classes.index(label) if label in classes else 1


def groups_of(rows: Sequence[Row]) -> list[int]:
    """A number for each row; rows that share their evidence share it."""
    numbers = {text: index for index, text in enumerate(dict.fromkeys(row.pair.evidence for row in rows))}
    return [numbers[row.pair.evidence] for row in rows]


def split(rows: Sequence[Row], classes: Sequence[str], seed: int) -> tuple[list[Row], list[Row]]:
    """Four fifths to train on and one fifth held out; no evidence is in both."""
    labels = [class_of(row.label, classes) for row in rows]
    folds = StratifiedGroupKFold(FOLDS, shuffle=True, random_state=seed)
    train, held = next(folds.split(np.zeros(len(rows)), labels, groups_of(rows)))
    return [rows[index] for index in train], [rows[index] for index in held]


def checksum(rows: Sequence[Row]) -> str:
    """SHA-256 over what the model reads of the rows, in their order."""
    digest = hashlib.sha256()
    for row in rows:
        for text in (row.pair.claim, row.pair.evidence, row.pair.title):
            content = text.encode(errors="surrogatepass")
            digest.update(len(content).to_bytes(8, "little") + content)
    return digest.hexdigest()


def _row(line: _Labelled) -> Row:
    return Row(Pair(line.claim, line.evidence, title=line.title or ""), line.label)
