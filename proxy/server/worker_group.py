"""What the workers of one server know of each other: `vouch serve --workers N`."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from proxy.server.rates import SharedLevels


@dataclass(frozen=True, slots=True)
class WorkerGroup:
    """One worker's view of the group.

    Attributes:
        workers: how many there are.
        folder: where they share metrics, in the files of prometheus-client.
        levels: what is left of the rates of keys.
        beat: tells that this worker's event loop runs.
        reload: has all workers look for a rebuilt index.
    """

    workers: int
    folder: Path
    levels: SharedLevels
    beat: Callable[[], None]
    reload: Callable[[], None]


def share_of(places: int, group: WorkerGroup | None) -> int:
    """How many of the places one worker has: an equal part, rounded up."""
    return math.ceil(places / group.workers) if group else places
