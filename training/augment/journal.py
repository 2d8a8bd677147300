"""An append-only JSON Lines file, so that an interrupted run can continue."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from proxy.errors import ConfigError

log = logging.getLogger(__name__)


class Journal:
    """`rows` are what the file held when it was opened. Each `append` is on the disk when it returns.

    Opening writes nothing, so that a file which was named by mistake stays as it is. With the first row that
    is appended, a last line that was torn when a run was cut off goes to `FILE.torn`; a broken line elsewhere
    is an error. Not for two processes at once.
    """

    def __init__(self, path: Path, keys: Collection[str] = ()) -> None:
        """Opens a file, which need not be there yet.

        Args:
            path: the file.
            keys: what every row of this journal has: a file with other rows is another file.

        Raises:
            ConfigError: the file can't be read or written, or is no such journal.
        """
        self._path = path
        try:
            _try_to_write(path)
            whole = path.read_bytes() if path.exists() else b""
        except OSError as error:
            raise _unwritable(path, error) from error
        complete, end, last = whole.rpartition(b"\n")
        lines = complete.split(b"\n") if end else []
        self._torn = b"" if _row(last) is not None else last
        self._lacks_end = bool(last) and not self._torn
        if self._lacks_end:
            lines.append(last)
        self.rows = [_checked(line, keys, f"{path}:{number}") for number, line in enumerate(lines, 1)]
        if self._torn and not self._torn.startswith(b"{"):
            raise _no_journal(f"{path}:{len(lines) + 1}")

    def append(self, row: Mapping[str, Any]) -> None:
        """Writes a row as a line. Raises `ConfigError` where that fails."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            if self._torn:
                self._set_aside()
            end = b"\n" if self._lacks_end else b""
            with self._path.open("ab") as file:
                _write(file, end + json.dumps(row, ensure_ascii=False).encode() + b"\n")
            self._lacks_end = False
        except OSError as error:
            raise _unwritable(self._path, error) from error

    def _set_aside(self) -> None:
        """Moves the torn line to a file of its own: it is there before it is taken away here."""
        aside = self._path.with_name(self._path.name + ".torn")
        with self._path.open("r+b") as file:
            start = file.seek(-len(self._torn), os.SEEK_END)
            if file.read() != self._torn:
                raise ConfigError(f"{self._path} was changed by another program meanwhile.")
            with aside.open("ab") as kept:
                _write(kept, self._torn + b"\n")
            file.truncate(start)
        log.warning("The last line of %s was torn: it is in %s now.", self._path, aside)
        self._torn = b""


def _try_to_write(path: Path) -> None:
    """Raises `OSError` where the file can't be written. What isn't there is not made."""
    if path.exists():
        path.open("ab").close()
        return
    folder = next(parent for parent in path.absolute().parents if parent.exists())
    if not folder.is_dir():
        raise NotADirectoryError(0, f"{folder} is no folder")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(0, f"{folder} is write-protected")


def _write(file: BinaryIO, content: bytes) -> None:
    file.write(content)
    file.flush()
    os.fsync(file.fileno())


def _checked(line: bytes, keys: Collection[str], place: str) -> dict[str, Any]:
    row = _row(line)
    if row is None:
        raise _no_journal(place)
    if missing := [key for key in keys if key not in row]:
        raise ConfigError(f"{place} has no {' and no '.join(missing)}. Is it another file?")
    return row


def _row(line: bytes) -> dict[str, Any] | None:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) else None


def _no_journal(place: str) -> ConfigError:
    return ConfigError(f"{place} is not a JSON object: mend the line, or name a file that is a journal.")


def _unwritable(path: Path, error: OSError) -> ConfigError:
    return ConfigError(f"{path} can't be written: {error.strerror}.")
