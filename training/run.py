"""A run: the folder of what the training steps leave, and its log."""

from __future__ import annotations

import hashlib
import json
import logging
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from proxy.errors import VouchError

PLAN, PLAN_MADE_OF = "plan.jsonl", "plan.json"
CHECKPOINT = "checkpoint.pt"
"""Of the part of a run that has the full learning rate: where a later run can go on."""
COOLING = "cooling.pt"
"""Of the part in which the learning rate falls."""
BEGUN = "begun.safetensors"
"""The weights that the run began with, where it did not begin with an untrained adapter."""
BEGUN_MANIFEST = "begun.json"
"""The manifest of those weights, where they had one."""
TRAINED, TRAINED_STATE = "trained.safetensors", "trained.json"
CALIBRATION = "calibration.json"


class TrainingError(VouchError):
    """A step can't be done: what it needs is missing or broken."""


@dataclass(frozen=True, slots=True)
class Run:
    """The folder of a run."""

    folder: Path

    def path(self, name: str) -> Path:
        """Where a file of the run lies."""
        return self.folder / name

    def needed(self, name: str, step: str) -> Path:
        """The path of a file that an earlier step left. Raises `TrainingError` where it is missing."""
        path = self.path(name)
        if not path.exists():
            raise TrainingError(f"{path} is missing: do `python -m training {step}` first.")
        return path


def open_run(folder: Path) -> Run:
    """The run in `folder`, which is made; its log is written there and to standard error."""
    folder.mkdir(parents=True, exist_ok=True)
    log = logging.getLogger("training")
    log.setLevel(logging.INFO)
    for handler in list(log.handlers):
        log.removeHandler(handler)
        handler.close()
    for handler in (
        logging.FileHandler(folder / "log.txt", encoding="utf-8"),
        logging.StreamHandler(sys.stderr),
    ):
        handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
        log.addHandler(handler)
    return Run(folder)


def file_checksum(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_json(path: Path) -> Any:
    """The content of a JSON file."""
    return json.loads(path.read_text(encoding="utf-8"))


def write_json(path: Path, content: Any) -> None:
    """Writes a JSON file; a write that is cut short leaves the old one."""
    part = path.with_name(f"{path.name}.part")
    part.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    part.replace(path)


def write_lines(path: Path, rows: Iterable[Any]) -> int:
    """Writes a JSON Lines file in the same way; returns how many lines it has."""
    part = path.with_name(f"{path.name}.part")
    count = 0
    with part.open("w", encoding="utf-8") as lines:
        for row in rows:
            lines.write(json.dumps(row, ensure_ascii=False) + "\n")
            count += 1
    part.replace(path)
    return count
