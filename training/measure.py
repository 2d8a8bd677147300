"""Measures the weights of a run with the checker as it serves, on rows that it has not learnt."""

from __future__ import annotations

import asyncio
import math
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from evaluation.contrast.data import DEV
from evaluation.datasets import Row, read_lines
from evaluation.measurement import Judged, judge
from evaluation.metrics import shown, three_way, three_way_codes, two_way
from evaluation.output import table
from proxy.checkers.nli.checker import NLIChecker
from proxy.checkers.nli.weights import load
from proxy.types import LANGUAGES, Language
from training.recipes import Recipe
from training.rows import TrainingRow
from training.run import Run
from training.training_data import Learnt, read_source

_COLUMNS = ("accuracy", "balanced_accuracy", "auc", "ece")
_CONTRADICTED = ("precision.contradicted", "recall.contradicted")


def print_figures(
    recipe: Recipe, base: Path, data: Path, run: Run, weights: Path, limit: int | None = None
) -> None:
    """Prints the figures of the weights in a folder as Markdown, of the first `limit` rows of each set."""
    loaded = load(weights, str(base))
    checker = NLIChecker(dict.fromkeys(LANGUAGES, loaded))

    async def cells() -> list[list[str]]:
        lines = []
        for language in recipe.measured:
            for name, rows in measured_sets(recipe, language, data, run):
                few = rows[:limit]
                judged = await judge(checker, (row.pair() for row in few), len(few), name)
                lines.append([name, f"{len(few):,}", *_figures(few, judged)])
        return lines

    columns = ["file", "rows", *(name.replace("_", " ") for name in _COLUMNS)]
    try:
        lines = asyncio.run(cells())
    finally:
        checker.close()
    sys.stdout.write(table([*columns, "precision, contradicted", "recall, contradicted"], lines))


def _figures(rows: Sequence[Row], judged: Judged) -> list[str]:
    if not rows:
        return [shown(math.nan)] * len((*_COLUMNS, *_CONTRADICTED))
    supported = np.array([row.supported for row in rows], dtype=np.bool_)
    figures = dict(two_way(supported, judged.called, judged.scores))
    cells = [shown(figures[name]) for name in _COLUMNS]
    codes = three_way_codes([row.label for row in rows], judged.verdicts)
    contradicted = three_way(*codes) if codes else {}
    return [*cells, *(shown(contradicted.get(name, math.nan)) for name in _CONTRADICTED)]


def measured_sets(
    recipe: Recipe, language: Language, data: Path, run: Run
) -> Iterator[tuple[str, list[Row]]]:
    """Names and rows: the contrast pairs of the project, then the files of the recipe, without those
    rows whose claim or a sentence of whose evidence the plan has."""
    for path in DEV:
        if path.stem.endswith(f"_{language}"):
            yield path.name, list(read_lines(path, TrainingRow))  # their titles belong to the evidence
    learnt = Learnt(recipe.plan, data, run)
    for source in recipe.measured[language]:
        rows = read_source(source, source.path(data, run), "measure")
        yield source.file, [row for row in rows if not learnt.has(row)]
