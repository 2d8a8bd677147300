"""`vouch watch`."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from index_builder.changes import expand_outside, fingerprint, settled
from index_builder.sources import STDIN
from proxy.cli.index import build_index, load_encoder, show
from proxy.config.load import load
from proxy.errors import SourceError, VouchError

RETRY = 30.0
"""Seconds after which a build that failed is tried again, though no source has changed."""

PATIENCE = 30.0
"""Seconds after which a change is indexed though a file is written to all the time, such as a log."""


def run(sources: Sequence[str], config: Path | None, overrides: dict[str, Any], every: float) -> None:
    """Builds, and again whenever the sources have changed, until Ctrl-C."""
    if STDIN in sources:
        raise SourceError("Standard input can't be watched; name files or folders.")
    settings = load(config, overrides)
    out = Path(settings.index.path)
    expand_outside(sources, out)  # a wrong path is known before the encoder loads
    encoder = load_encoder(settings)
    console = Console(highlight=False, soft_wrap=True)

    def rebuild() -> None:
        console.print(f"{datetime.now().astimezone():%H:%M:%S} building")
        show(console, build_index(sources, settings, encoder, update=out.exists()), settings)

    def say(error: VouchError) -> None:
        console.print(Text(f"{datetime.now().astimezone():%H:%M:%S} {error.message}", "yellow"))

    console.print(f"Watching {', '.join(sources)} every {every:g} s; Ctrl-C ends it")
    watch(sources, out, rebuild, say, every=every)


def watch(
    sources: Sequence[str],
    out: Path,
    rebuild: Callable[[], None],
    say: Callable[[VouchError], None],
    *,
    every: float,
    patience: float = PATIENCE,
    going_on: Callable[[], bool] = lambda: True,
) -> None:
    """Looks at the sources again and again; builds when they have changed and nobody is writing to them, or
    when somebody has been for longer than `patience`.

    An error is said, and ends nothing: the index stays as it was. It is said once per state of the sources,
    and what failed is tried again when they change, or after `RETRY` seconds.

    Args:
        sources: as in `index_builder.sources.expand`.
        out: the index's folder, which is not watched.
        rebuild: builds.
        say: told of what went wrong.
        every: seconds between two looks.
        patience: seconds from a change to a build, though a file is not finished. It is read again later.
        going_on: asked before every look whether to look.
    """
    built: str | None = None
    failed: str | None = None
    again = 0.0
    since: float | None = None
    while going_on():
        state = ""
        try:
            found = expand_outside(sources, out)
            state = fingerprint(found)
            due = state != failed or time.monotonic() >= again
            if state == built or not due:
                since = None
            elif settled(found) or time.monotonic() - (since := since or time.monotonic()) >= patience:
                rebuild()
                built, failed, since = state, None, None
        except VouchError as error:
            if state != failed:
                say(error)
            failed, built, again, since = state, None, time.monotonic() + RETRY, None
        time.sleep(every)
