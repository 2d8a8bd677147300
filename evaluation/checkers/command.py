"""Any checker over labelled rows: accuracy, calibration and speed."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from evaluation.arguments import (
    add_checker_arguments,
    add_files_argument,
    add_resamples_argument,
    counted,
    writable_file,
    writable_folder,
)
from evaluation.checkers.plots import load_matplotlib, plot, plot_paths
from evaluation.datasets import Label, read_rows
from evaluation.judges import open_checker
from evaluation.measurement import Judged, Measurement, as_json, as_markdown, measure
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
    parser.add_argument("--plots", type=Path, metavar="FOLDER", help="put an SVG per file there")
    parser.add_argument("--out", type=Path, metavar="FILE.md", help="write the table there")


def run(options: argparse.Namespace) -> None:
    """All rows are read, and every place to write is tried, before the work begins."""
    settings = load(options.config)
    labels = [[row.label for row in read_rows(path, options.limit)] for path in options.data]
    out = writable_file(options.out) if options.out else None
    drawing = _Drawing(options.plots, options.data) if options.plots else None
    report = Report[Measurement](
        options.json,
        lambda measured: as_json(measured, options.checker),
        lambda measured: as_markdown(measured, options.checker),
    )

    async def measure_all() -> None:
        async with open_checker(settings, options.checker) as checker:
            for path, own in zip(options.data, labels, strict=True):
                judged = await judge_rows(checker, path, len(own))
                report.add(measure(str(path), own, judged, options.resamples))
                if drawing:
                    drawing.draw(own, judged)

    asyncio.run(measure_all())
    report.end(out)


class _Drawing:
    """A plot per file, in the order of the files."""

    def __init__(self, folder: Path, data: Sequence[Path]) -> None:
        self._matplotlib = load_matplotlib()
        self._paths = iter(plot_paths(writable_folder(folder), data))

    def draw(self, labels: Sequence[Label], judged: Judged) -> None:
        path = next(self._paths)
        supported = np.array([label == "supported" for label in labels], dtype=np.bool_)
        plot(self._matplotlib, path, path.stem, supported, judged.called, judged.scores)
