"""Measures the weights of a run with the checker as it serves, on rows that it has not learnt."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path

from evaluation.contrast.data import FOLDER as CONTRAST_PAIRS
from evaluation.datasets import Row, read_rows
from evaluation.measurement import Measurement, as_markdown, judge, measure
from proxy.checkers.nli.checker import NLIChecker
from proxy.checkers.nli.weights import load
from proxy.types import LANGUAGES, Language
from training.export import export
from training.recipes import Recipe
from training.run import Run
from training.sources import read_source

_RESAMPLES = 1000


def print_figures(recipe: Recipe, base: Path, data: Path, run: Run, limit: int | None = None) -> None:
    """Prints the figures of all sets of a recipe as Markdown; of the first `limit` rows of each."""
    folder = export(recipe, base, run, run.path("weights"))
    loaded = load(folder, str(base))
    checker = NLIChecker(dict.fromkeys(LANGUAGES, loaded))

    async def measured() -> list[Measurement]:
        figures = []
        for language in recipe.measured:
            for name, rows in _sets(recipe, language, data, run):
                few = rows[:limit]
                judged = await judge(checker, (row.pair() for row in few), len(few), name)
                figures.append(measure(name, [row.label for row in few], judged, _RESAMPLES))
        return figures

    try:
        sys.stdout.write(as_markdown(asyncio.run(measured()), f"nli, {recipe.size}"))
    finally:
        checker.close()


def _sets(recipe: Recipe, language: Language, data: Path, run: Run) -> Iterator[tuple[str, list[Row]]]:
    """Names and rows: the contrast pairs of the project, then the files of the recipe."""
    pairs = CONTRAST_PAIRS / f"dev_{language}.jsonl"
    yield pairs.name, list(read_rows(pairs))
    for source in recipe.measured[language]:
        yield source.file, list(read_source(source, source.path(data, run), "measure"))
