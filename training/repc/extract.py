"""Hidden states of rows, computed once and kept on disk, so that an interrupted run continues."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, ValidationError

from proxy.checkers.repc.hidden_states import ClaimWindow, HiddenStates, States
from proxy.checkers.windows import batches
from proxy.errors import ConfigError
from training.repc.data import Row, checksum

_CHUNK = 256
"""Windows between two notes of how far it has come."""


@dataclass(frozen=True, slots=True)
class Extracted:
    """The states of all windows of some rows, shape (windows, layers, hidden), mapped into memory.

    `owners` is the index in `rows` that each window belongs to, ascending. Rows without windows are left out
    of `rows`: those without evidence, and those whose claim is too long.
    """

    rows: tuple[Row, ...]
    states: States
    owners: NDArray[np.int64]


class _Progress(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    windows: int
    done: int


def extract(rows: Sequence[Row], model: HiddenStates, folder: Path, batch_size: int, most: int) -> Extracted:
    """The rows' states, at most `most` windows of each: from `folder` as far as they are there.

    They are kept under a name that the model's weights, the rows and all that changes the states decide.

    Raises:
        ConfigError: no row can be read, or the model gives values that are not finite.
    """
    kept, windows, owners = _cut(rows, model, most)
    if not kept:
        raise ConfigError("No row has evidence and a claim that fits into the model's window.")
    if len(kept) < len(rows):
        sys.stderr.write(f"{len(rows) - len(kept)} rows are left out: no evidence, or too long a claim\n")
    states = _computed(windows, model, folder, _name(rows, model, most), batch_size)
    return Extracted(tuple(kept), states, np.array(owners, dtype=np.int64))


def _cut(
    rows: Sequence[Row], model: HiddenStates, most: int
) -> tuple[list[Row], list[ClaimWindow], list[int]]:
    kept: list[Row] = []
    windows: list[ClaimWindow] = []
    owners: list[int] = []
    for row in rows:
        try:
            found = model.reader.read(row.pair, most)
        except ValueError:
            continue
        if found:
            owners += [len(kept)] * len(found)
            windows += found
            kept.append(row)
    return kept, windows, owners


def _name(rows: Sequence[Row], model: HiddenStates, most: int) -> str:
    parts = (
        checksum(rows),
        model.checksum,
        model.pooling,
        model.dtype,
        str(model.reader.max_tokens),
        str(most),
    )
    return hashlib.sha256(" ".join(parts).encode()).hexdigest()[:24]


def _computed(
    windows: Sequence[ClaimWindow], model: HiddenStates, folder: Path, name: str, batch_size: int
) -> States:
    """The states of all windows, in their order; what an earlier run has done is not done again."""
    folder.mkdir(parents=True, exist_ok=True)
    file, note = folder / f"{name}.npy", folder / f"{name}.json"
    shape = (len(windows), model.layers, model.hidden_size)
    done = _done(note, file, shape)
    mode = "r+" if done else "w+"
    states = np.lib.format.open_memmap(file, mode, dtype=np.float16, shape=shape)
    for first, last in _chunks(done, len(windows)):
        for batch in batches(windows[first:last], batch_size):
            states[[first + index for index in batch]] = model.read(
                [windows[first + index] for index in batch]
            )
        if not np.isfinite(states[first:last]).all():
            raise ConfigError(f"The model {model.name} gives values that are not finite: try precision fp32.")
        states.flush()
        _write_note(note, _Progress(windows=len(windows), done=last))
        sys.stderr.write(f"states of {last} of {len(windows)} windows\n")
    found: States = np.load(file, mmap_mode="r", allow_pickle=False)
    return found


def _chunks(done: int, total: int) -> Iterator[tuple[int, int]]:
    for first in range(done, total, _CHUNK):
        yield first, min(first + _CHUNK, total)


def _done(note: Path, file: Path, shape: tuple[int, ...]) -> int:
    """How many windows an earlier run has noted as done; 0 where its files are not what they should be."""
    try:
        progress = _Progress.model_validate_json(note.read_bytes())
        array = np.load(file, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, ValidationError):
        return 0
    fits = array.shape == shape and array.dtype == np.float16 and progress.windows == shape[0]
    return progress.done if fits and 0 <= progress.done <= shape[0] else 0


def _write_note(note: Path, progress: _Progress) -> None:
    partial = note.with_suffix(".part")
    partial.write_text(progress.model_dump_json(), encoding="utf-8")
    partial.replace(note)
