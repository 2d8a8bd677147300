"""Any checker over labelled rows: accuracy, calibration and speed."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from evaluation.arguments import (
    BUILTIN,
    add_checker_arguments,
    add_files_argument,
    add_resamples_argument,
    counted,
    writable_file,
    writable_folder,
)
from evaluation.checkers.overlap import LeastDecisive, bigram_overlap, by_overlap
from evaluation.checkers.overlap import as_markdown as overlap_as_markdown
from evaluation.checkers.plots import load_matplotlib, plot, plot_paths
from evaluation.datasets import Label, read_rows
from evaluation.judged_rows import JudgedRows, add_rows_out_argument
from evaluation.judges import open_checker
from evaluation.measurement import Judged, Measurement, as_json, as_markdown, measure
from evaluation.metrics import Floats
from evaluation.output import Report
from evaluation.published import judge_rows
from proxy.config.load import load

NAME = "checkers"
HELP = "accuracy, calibration and speed of a checker over labelled rows"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """See `Command`."""
    add_files_argument(parser, "--data", "rows of claim, evidence and label (JSON Lines)")
    add_checker_arguments(parser)
    add_resamples_argument(parser)
    parser.add_argument("--limit", type=counted, metavar="N", help="the first N rows of each file only")
    parser.add_argument(
        "--by-overlap",
        action="store_true",
        help="also measure the third of each file of which shared words tell least",
    )
    parser.add_argument("--plots", type=Path, metavar="FOLDER", help="put an SVG per file there")
    parser.add_argument("--out", type=Path, metavar="FILE.md", help="write the table there")
    add_rows_out_argument(parser)


@dataclass(frozen=True, slots=True)
class Checked:
    """The figures of a file, and with `--by-overlap` those of a third of it."""

    whole: Measurement
    by_overlap: LeastDecisive | None


def run(options: argparse.Namespace) -> None:
    """All rows are read, and every place to write is tried, before the work begins.

    The packaged checker fails on a row for what the row is, not for a server: figures of such rows alone are
    figures too.
    """
    settings = load(options.config)
    files = [_read(path, options) for path in options.data]
    out = writable_file(options.out) if options.out else None
    judged_rows = JudgedRows(options.rows_out)
    drawing = _Drawing(options.plots, options.data) if options.plots else None
    report = Report[Checked](
        options.json, lambda checked: _as_json(checked, options), lambda done: _as_markdown(done, options)
    )

    async def measure_all() -> None:
        async with open_checker(settings, options.checker) as checker:
            for path, (labels, overlaps) in zip(options.data, files, strict=True):
                judged = await judge_rows(
                    checker, path, len(labels), judged_rows, all_may_fail=options.checker == BUILTIN
                )
                whole = measure(str(path), labels, judged, options.resamples)
                third = None
                if options.by_overlap:
                    third = by_overlap(str(path), labels, overlaps, judged, options.resamples)
                report.add(Checked(whole, third))
                if drawing:
                    drawing.draw(labels, judged)

    asyncio.run(measure_all())
    report.end(out)


def _read(path: Path, options: argparse.Namespace) -> tuple[list[Label], Floats]:
    """The labels of a file and, with `--by-overlap`, the claims' overlaps with their evidence."""
    labels: list[Label] = []
    overlaps: list[float] = []
    for row in read_rows(path, options.limit):
        labels.append(row.label)
        if options.by_overlap:
            overlaps.append(bigram_overlap(row.pair()))
    return labels, np.array(overlaps)


def _as_json(checked: Checked, options: argparse.Namespace) -> dict[str, Any]:
    line = as_json(checked.whole, options.checker)
    if options.by_overlap:
        line["by_overlap"] = checked.by_overlap and checked.by_overlap.as_json()
    return line


def _as_markdown(done: Sequence[Checked], options: argparse.Namespace) -> str:
    thirds = [(checked.whole.file, checked.by_overlap) for checked in done if checked.by_overlap]
    return as_markdown([checked.whole for checked in done], options.checker) + overlap_as_markdown(thirds)


class _Drawing:
    """A plot per file, in the order of the files."""

    def __init__(self, folder: Path, data: Sequence[Path]) -> None:
        self._matplotlib = load_matplotlib()
        self._paths = iter(plot_paths(writable_folder(folder), data))

    def draw(self, labels: Sequence[Label], judged: Judged) -> None:
        path = next(self._paths)
        supported = np.array([label == "supported" for label in labels], dtype=np.bool_)
        plot(self._matplotlib, path, path.stem, supported, judged.called, judged.scores)
