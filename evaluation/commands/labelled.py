"""What the tables of labelled rows share: rows through a checker, and published figures beside it."""

from __future__ import annotations

import argparse
import asyncio
from functools import partial
from pathlib import Path

from evaluation.comparison import Benchmark, as_json, as_markdown, compare
from evaluation.judging import Judged, judge
from evaluation.llm import add_limit_argument, add_llm_arguments, open_judge
from evaluation.llm_meter import Meter
from evaluation.options import (
    add_checker_arguments,
    add_files_argument,
    add_resamples_argument,
    writable_file,
)
from evaluation.report import Report
from evaluation.rows import read_lines, read_rows
from proxy.config.load import load
from proxy.protocols import Checker


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What a table of labelled rows takes."""
    add_files_argument(parser, "--data", "rows of claim, evidence and label (JSON Lines)")
    add_checker_arguments(parser)
    add_llm_arguments(parser)
    add_limit_argument(parser, "rows of each file")
    add_resamples_argument(parser)
    parser.add_argument("--out", type=Path, metavar="FILE.md", help="write the table there")


async def judge_rows(checker: Checker, path: Path, rows: int) -> Judged:
    """The first `rows` rows of a file, read again as they are judged. Raises `DataError`, `CheckError`."""
    return await judge(checker, (row.pair() for row in read_rows(path, rows)), rows, path.name)


def run(benchmark: Benchmark, options: argparse.Namespace) -> None:
    """All rows are read, and the place to write is tried, before the work begins."""
    settings = load(options.config)
    files = {path: list(read_lines(path, benchmark.row))[: options.limit] for path in options.data}
    out = writable_file(options.out) if options.out else None
    report = Report(options.json, partial(as_json, benchmark), partial(as_markdown, benchmark))

    async def judge_all() -> Meter | None:
        async with open_judge(settings, options) as opened:
            for path, rows in files.items():
                judged = await judge_rows(opened.checker, path, len(rows))
                report.add(compare(benchmark, str(path), rows, judged, options.checker, options.resamples))
            return opened.meter

    meter = asyncio.run(judge_all())
    report.end(out, meter)
