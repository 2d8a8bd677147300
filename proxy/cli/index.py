"""`vouch index`."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.text import Text

from index_builder.build import Report, Stage, build
from index_builder.sources import expand, shortened
from proxy.cli.compose import make_encoder, use_runtime
from proxy.config.load import load

SHOWN = 20
"""Broken documents that are named; the others are counted."""


class Bars:
    """A build's progress as bars with rate and time left, one per stage."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._tasks: dict[Stage, TaskID] = {}

    def __call__(self, stage: Stage, done: int, total: int | None) -> None:
        """Implements `index_builder.build.Progress`."""
        if stage not in self._tasks:
            self._tasks[stage] = self._progress.add_task(stage, total=total, rate="")
        task = self._progress.tasks[self._tasks[stage]]
        rate = f"{task.speed:,.0f}/s" if task.speed else ""
        self._progress.update(task.id, completed=done, total=total, rate=rate)


def run(sources: Sequence[str], config: Path | None, overrides: dict[str, Any], strict: bool) -> None:
    """Builds, and says what came of it."""
    settings = load(config, overrides)
    logging.getLogger("pypdf").setLevel(logging.ERROR)
    console = Console(highlight=False, soft_wrap=True)
    expand(sources)  # a wrong path is known before the encoder loads
    use_runtime(settings.runtime)
    encoder = make_encoder(settings.encoder)
    columns = (
        TextColumn("{task.description:>9}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        report = build(
            sources,
            Path(settings.index.path),
            encoder=encoder,
            words=settings.index.words,
            strict=strict,
            progress=Bars(progress),
        )
    show(console, report, settings.index.path)


def show(console: Console, report: Report, path: str) -> None:
    """The report, in a few lines."""
    for broken in report.broken[:SHOWN]:
        console.print(Text(f"skipped {broken.source}: {broken.reason}", "yellow"))
    if report.broken_count:
        console.print(
            Text(f"{report.broken_count:,} documents could not be read and were skipped.", "yellow")
        )
    if report.ignored:
        count = len(report.ignored)
        kinds = "file of another kind was" if count == 1 else "files of other kinds were"
        console.print(Text(f"{count:,} {kinds} left out: {shortened(report.ignored)}.", "dim"))
    console.print(
        f"{report.documents:,} documents, {report.passages:,} passages: {report.encoded:,} encoded, "
        f"{report.reused:,} reused, in {report.seconds:.1f} s"
    )
    console.print(f"The index is at {path}")
