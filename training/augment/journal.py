"""An append-only JSON Lines file, so that an interrupted run can continue."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from proxy.errors import ConfigError


class Journal:
    """`rows` are what the file held when it was opened. Each `append` is on the disk when it returns.

    A last line that was torn when a run was cut off is taken away; a broken line elsewhere is an error.
    Not for two processes at once.
    """

    def __init__(self, path: Path) -> None:
        """Raises `ConfigError` where the file can't be read, written, or is not JSON Lines."""
        self._path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            whole = path.read_bytes() if path.exists() else b""
            kept = _mended(whole)
            if kept != whole:
                _replace(path, kept)
            path.open("ab").close()
        except OSError as error:
            raise ConfigError(f"{path} can't be written: {error.strerror}.") from error
        self.rows = _rows(kept, path)

    def append(self, row: Mapping[str, Any]) -> None:
        """Writes a row as a line. Raises `ConfigError` where that fails."""
        try:
            with self._path.open("ab") as file:
                file.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise ConfigError(f"{self._path} can't be written: {error.strerror}.") from error


def _mended(whole: bytes) -> bytes:
    """Without the last line where it was torn, with its end where only that is missing."""
    if not whole or whole.endswith(b"\n"):
        return whole
    kept, _, last = whole.rpartition(b"\n")
    try:
        json.loads(last)
    except ValueError:
        return kept + b"\n" if kept else b""
    return whole + b"\n"


def _replace(path: Path, content: bytes) -> None:
    aside = path.with_name(path.name + ".mended")
    aside.write_bytes(content)
    aside.replace(path)


def _rows(content: bytes, path: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for number, line in enumerate(content.splitlines(), 1):
        try:
            row = json.loads(line)
        except ValueError:
            row = None
        if not isinstance(row, dict):
            raise ConfigError(f"{path}:{number} is not a JSON object: mend the line, or name another file.")
        rows.append(row)
    return rows
