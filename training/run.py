"""A run: the folder for the results of the training steps, with a checksum of what each was made from."""

from __future__ import annotations

import hashlib
import json
import logging
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from proxy.errors import VouchError


class TrainingError(VouchError):
    """A step can't be done: what it needs is missing or broken."""


@dataclass(frozen=True, slots=True)
class Run:
    """The folder of a run. A step's result has a stamp beside it: a checksum of all that it was made of."""

    folder: Path

    def path(self, name: str) -> Path:
        """Where a file of the run lies."""
        return self.folder / name

    def needed(self, name: str, step: str) -> Path:
        """The same of a file that an earlier step left. Raises `TrainingError` where it is missing."""
        path = self.path(name)
        if not path.exists():
            raise TrainingError(f"{path} is missing: do `python -m training {step}` first.")
        return path

    def is_done(self, name: str, made_of: str) -> bool:
        """Whether the result is there and was made of just that."""
        stamp = self.path(f"{name}.stamp")
        return self.path(name).exists() and stamp.exists() and stamp.read_text() == made_of

    def done(self, name: str, made_of: str) -> None:
        """Stamps a result."""
        self.path(f"{name}.stamp").write_text(made_of)


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


def checksum(*parts: object) -> str:
    """SHA-256 over files (their content) and anything that JSON knows."""
    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, Path):
            digest.update(bytes.fromhex(file_checksum(part)))
        else:
            digest.update(json.dumps(part, sort_keys=True, default=str).encode())
    return digest.hexdigest()


def write_rows(path: Path, rows: Iterable[Mapping[str, Any]]) -> int:
    """Writes JSON Lines, whole or not at all; how many there were."""
    part = path.with_name(path.name + ".part")
    count = 0
    with part.open("w", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
            count += 1
    part.replace(path)
    return count


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The objects of a JSON Lines file. Raises `TrainingError` with the line that can't be read."""
    rows = []
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise TrainingError(f"{path} can't be read: {error}.") from error
    for number, line in enumerate(lines, 1):
        try:
            rows.append(json.loads(line))
        except ValueError as error:
            raise TrainingError(f"{path}:{number} is no JSON: {error}.") from error
    return rows
