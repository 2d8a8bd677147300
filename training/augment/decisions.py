"""What a reviewer decided: each decision on the disk at once, the last one can be taken back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from evaluation.rows import Label
from proxy.errors import ConfigError
from training.augment.journal import Journal

Stage = Literal[1, 2]
Choice = Literal["accept", "reject"]


@dataclass(frozen=True, slots=True)
class Decision:
    """On one row of one stage. `label`: the row's own was wrong, this one is right."""

    stage: Stage
    key: str
    choice: Choice
    label: Label | None = None

    def line(self) -> Mapping[str, Any]:
        """As it is written."""
        return {"stage": self.stage, "id": self.key, "decision": self.choice, "label": self.label}


class Decisions:
    """The decisions in force, out of a file that is only added to: an undo is a line as well."""

    def __init__(self, path: Path) -> None:
        """Raises `ConfigError` where the file holds something else."""
        self._journal = Journal(path)
        self._made: dict[tuple[Stage, str], Decision] = {}
        for number, row in enumerate(self._journal.rows, 1):
            try:
                self._apply(row)
            except (KeyError, ValueError) as error:
                raise ConfigError(f"{path}:{number} is no decision. Is it another file?") from error

    def find(self, stage: Stage, key: str) -> Decision | None:
        """The decision on a row; None where there is none."""
        return self._made.get((stage, key))

    def add(self, decision: Decision) -> None:
        """Writes a decision."""
        self._journal.append(decision.line())
        self._put(decision)

    def undo(self, stage: Stage) -> str | None:
        """Takes the stage's last decision back, and returns the row's id; None where there is none."""
        last = next((decision for decision in reversed(self._made.values()) if decision.stage == stage), None)
        if last is None:
            return None
        self._journal.append({"stage": stage, "id": last.key, "decision": "undo"})
        del self._made[stage, last.key]
        return last.key

    def _apply(self, row: Mapping[str, Any]) -> None:
        stage, key, choice, label = row["stage"], row["id"], row["decision"], row.get("label")
        if stage not in get_args(Stage) or not isinstance(key, str):
            raise ValueError("stage or id")
        if choice == "undo":
            del self._made[stage, key]
            return
        if choice not in get_args(Choice) or label not in (None, *get_args(Label)):
            raise ValueError("decision or label")
        self._put(Decision(stage, key, choice, label))

    def _put(self, decision: Decision) -> None:
        at = (decision.stage, decision.key)
        self._made.pop(at, None)  # so that the last decision is the last of the dict
        self._made[at] = decision
