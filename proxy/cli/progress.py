"""How far a build is: bars on a terminal, lines in a log."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from index_builder.build import Progress as Building
from index_builder.build import Stage


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


class Lines:
    """A build's progress as lines with rate and time left, for a log.

    Args:
        console: where they go.
        seconds: between two lines, at least; before the first too.
    """

    def __init__(self, console: Console, seconds: float = 30.0) -> None:
        self._console = console
        self._seconds = seconds
        self._stage: Stage | None = None
        self._said = self._began = time.monotonic()
        self._before = 0

    def __call__(self, stage: Stage, done: int, total: int | None) -> None:
        """Implements `index_builder.build.Progress`."""
        now = time.monotonic()
        if stage != self._stage:
            self._stage, self._began, self._before = stage, now, done
        if now - self._said < self._seconds:
            return
        self._said = now
        rate = (done - self._before) / max(now - self._began, 1e-9)
        of = f" of {total:,}" if total is not None else ""
        left = f", {duration((total - done) / rate)} left" if total is not None and rate > 0 else ""
        self._console.print(f"{stage}: {done:,}{of}, {rate:,.0f}/s{left}")


def duration(seconds: float) -> str:
    """In hours and minutes, or in minutes and seconds."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s"


@contextmanager
def shown() -> Iterator[Building]:
    """A build's progress, on standard error."""
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    if not console.is_terminal:
        yield Lines(console)
        return
    columns = (
        TextColumn("{task.description:>9}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        yield Bars(progress)
