"""The plan of a run: which rows are learnt, in which order, as the tokens that the model reads."""

from __future__ import annotations

import hashlib
import json
import logging
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Any

from proxy.checkers.nli.batch import TokenPair
from proxy.checkers.nli.reader import ClaimTooLongError, Reader
from training.recipes import Recipe
from training.rows import TrainingRow
from training.run import (
    CHECKPOINT,
    PLAN,
    PLAN_MADE_OF,
    Run,
    TrainingError,
    file_checksum,
    read_json,
    write_json,
    write_lines,
)
from training.training_data import Source, evidence_key, read_source

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PlanRow:
    """A row as the model reads it. `label` is the class, `evidence` the key of its evidence."""

    id: str
    evidence: str
    label: int
    tokens: TokenPair

    def as_json(self) -> list[Any]:
        """What `of_json` reads."""
        return [
            self.id,
            self.evidence,
            self.label,
            self.tokens.evidence,
            self.tokens.claim,
            self.tokens.context,
        ]

    @classmethod
    def of_json(cls, values: Sequence[Any]) -> PlanRow:
        """The row of a plan's line."""
        key, evidence, label, *texts = values
        return cls(key, evidence, label, TokenPair(*(tuple(tokens) for tokens in texts)))


@dataclass(frozen=True, slots=True)
class Plan:
    """Units of rows in the order in which they are learnt, still as JSON: a plan is large.

    The rows of a unit share their evidence and are never parted.
    """

    lines: Sequence[bytes]
    rows: int
    checksum: str
    sources: Sequence[dict[str, str | int]]

    @staticmethod
    def unit(line: bytes) -> tuple[PlanRow, ...]:
        """The rows of a line."""
        return tuple(PlanRow.of_json(values) for values in json.loads(line))


def make_plan(recipe: Recipe, base: Path, data: Path, run: Run) -> Path:
    """Writes the plan, unless the run has it.

    Raises:
        TrainingError: a file is missing, or the run has a plan of other data or settings that it has begun
            to learn.
    """
    paths = {source.file: source.path(data, run) for source in recipe.plan}
    made_of = _made_of(recipe, base, paths)
    path = run.path(PLAN)
    if path.exists() and run.path(PLAN_MADE_OF).exists():
        if read_json(run.path(PLAN_MADE_OF))["made_of"] == made_of:
            log.info("plan: %s is up to date", path)
            return path
        if run.path(CHECKPOINT).exists():
            raise TrainingError(
                f"{run.folder} has learnt rows of other data or settings: take another --run folder."
            )
    reader = Reader(base, recipe.settings.window_tokens, most_windows=1)
    units, counts = _ordered(recipe, paths)
    log.info("plan: %d rows are read", sum(len(unit) for _, unit in units))
    kept: dict[str, int] = defaultdict(int)

    def lines() -> Iterator[list[list[Any]]]:
        for file, unit in units:
            rows = [row for row in (_read(row, reader) for row in unit) if row is not None]
            kept[file] += len(rows)
            if rows:
                yield [row.as_json() for row in rows]

    write_lines(path, lines())
    write_json(
        run.path(PLAN_MADE_OF),
        {
            "made_of": made_of,
            "rows": sum(kept.values()),
            "sources": [
                source.described(paths[source.file], count)
                for source, count in zip(recipe.plan, counts, strict=True)
            ],
        },
    )
    log.info("plan: %s has %d rows", path, sum(kept.values()))
    return path


def read_plan(run: Run) -> Plan:
    """The plan of a run. Raises `TrainingError` where there is none."""
    path = run.needed(PLAN, "plan")
    about = read_json(run.needed(PLAN_MADE_OF, "plan"))
    lines = path.read_bytes().splitlines()
    return Plan(lines, about["rows"], about["made_of"], about["sources"])


def draw(rows: Sequence[TrainingRow], source: Source, rng: Random) -> list[list[TrainingRow]]:
    """Units of a source: rows of the same evidence, supported ones and others in turn.

    Units with both sides come first, so that they are what is drawn where not all are wanted.
    """
    units = _units(rows, source.unit, rng)
    units.sort(key=lambda unit: len({row.supported for row in unit}) != 2)
    drawn: list[list[TrainingRow]] = []
    count = 0
    for unit in units:
        if source.rows is not None and count >= source.rows:
            break
        drawn.append(unit)
        count += len(unit)
    return drawn


def _units(rows: Sequence[TrainingRow], size: int, rng: Random) -> list[list[TrainingRow]]:
    by_evidence: dict[str, list[TrainingRow]] = defaultdict(list)
    for row in rows:
        by_evidence[row.evidence].append(row)
    units = []
    for same in by_evidence.values():
        rng.shuffle(same)
        right = [row for row in same if row.supported]
        wrong = [row for row in same if not row.supported]
        ordered = [row for both in zip(right, wrong, strict=False) for row in both]
        ordered += right[len(wrong) :] or wrong[len(right) :]
        units += [ordered[start : start + size] for start in range(0, len(ordered), size)]
    rng.shuffle(units)
    return units


def _ordered(recipe: Recipe, paths: dict[str, Path]) -> tuple[list[tuple[str, list[TrainingRow]]], list[int]]:
    """All units with their files, in the plan's order, and how many rows were drawn of each source.

    Each repetition of a source spreads over its own stretch of the plan.
    """
    rng = Random(recipe.settings.seed)
    placed: list[tuple[float, str, list[TrainingRow]]] = []
    counts: list[int] = []
    for source in recipe.plan:
        drawn = draw(read_source(source, paths[source.file], "learn"), source, rng)
        counts.append(sum(map(len, drawn)))
        length = (1 - source.start) / source.repeat
        for turn in range(source.repeat):
            low = source.start + length * turn
            placed += [(rng.uniform(low, low + length), source.file, unit) for unit in drawn]
    placed.sort(key=lambda unit: unit[0])
    return [(file, unit) for _, file, unit in placed], counts


def _read(row: TrainingRow, reader: Reader) -> PlanRow | None:
    """The row as it is read when serving; None for one that would be read in pieces, or not at all."""
    try:
        windows = reader.read(row.pair())
    except ClaimTooLongError:
        return None
    if len({window.piece for window in windows}) != 1:
        return None
    return PlanRow(row.id, evidence_key(row.evidence), row.label_class, windows[0].tokens)


def _made_of(recipe: Recipe, base: Path, paths: dict[str, Path]) -> str:
    """A checksum of all that decides what the plan is."""
    settings = recipe.settings
    parts = {
        "sources": [asdict(source) for source in recipe.plan],
        "files": {file: file_checksum(path) for file, path in paths.items()},
        "tokenizer": file_checksum(base / "tokenizer.json"),
        "settings": [settings.seed, settings.window_tokens],
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
