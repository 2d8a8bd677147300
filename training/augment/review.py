"""Review by hand: `python -m training.augment.review --origin FILE --data FILE --decisions FILE [--stage 1]`.

After CiteCheck (2025), section 2.3: in stage 1 a person says whether the statement of an original row is
fully supported by its evidence; in stage 2 whether the altered row is as labelled and reads well. Each
decision is written at once and can be undone, and the same command continues where the last one ended.
`--export` writes the accepted rows and asks nothing.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TextIO, get_args

from pydantic import ConfigDict
from rich.console import Console
from rich.text import Text

from evaluation.datasets import DataError, Label, Row, read_lines
from proxy.errors import ConfigError, VouchError
from training.augment.differences import difference, plain
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
        key = (decision.stage, decision.key)
        self._made.pop(key, None)  # so that the last decision is the last of the dict
        self._made[key] = decision


_CHOICES: Mapping[str, Choice] = {"a": "accept", "r": "reject"}
_LABELS: Mapping[str, Label] = {
    "s": "supported",
    "c": "contradicted",
    "u": "unsupported",
    "n": "not_supported",
}
_KEYS = "a accept, r reject, e other label, s skip, u undo the last, q quit"
_KEYS_AT_THE_END = "u undo the last, anything else: end"
_QUESTIONS: Mapping[Stage, str] = {
    1: "Is the statement fully supported by this evidence?",
    2: "Is the label right, and does the evidence read well?",
}


class Reviewed(Row):
    """A row under review, with all keys that it came with."""

    model_config = ConfigDict(frozen=True, extra="allow")

    id: str = ""
    origin: str = ""
    kind: str = ""

    @property
    def key(self) -> str:
        """Its id; without one, a digest of its text."""
        return self.id or hashlib.sha256(f"{self.claim}\0{self.evidence}".encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Item:
    """A row to decide on, and the one that it was made of."""

    row: Reviewed
    origin: Reviewed | None = None


class Review:
    """One sitting: shows items on `console`, reads one key a line from `keys`."""

    def __init__(self, stage: Stage, decisions: Decisions, console: Console, keys: TextIO) -> None:
        self._stage: Stage = stage
        self._decisions = decisions
        self._console = console
        self._keys = keys

    def run(self, items: Sequence[Item]) -> None:
        """Asks for all that are not decided, until `q` or the end of the input; then for an undo."""
        index: int | None = 0
        while index is not None:
            if index == len(items):
                self._say("Nothing is left to decide.")
                index = self._undo(items, index) if self._key(_KEYS_AT_THE_END) == "u" else None
            elif self._decisions.find(self._stage, items[index].row.key):
                index += 1
            else:
                self._show(items[index], index + 1, len(items))
                index = self._ask(items, index)

    def _ask(self, items: Sequence[Item], at: int) -> int | None:
        """Reads keys until one of them settles something: the number of the item to go on with, or None."""
        row = items[at].row
        while (key := self._key(_KEYS)) not in ("q", None):
            if key in _CHOICES:
                self._decisions.add(Decision(self._stage, row.key, _CHOICES[key]))
                return at + 1
            if key == "e":
                label = self._label()
                if label:
                    self._decisions.add(Decision(self._stage, row.key, "accept", label))
                    return at + 1
            if key == "s":
                return at + 1
            if key == "u":
                return self._undo(items, at)
        return None

    def _undo(self, items: Sequence[Item], at: int) -> int:
        """Takes the last decision back: the number of its item, or `at` where it is on none of them."""
        back = self._decisions.undo(self._stage)
        self._say(f"Taken back: {back}" if back else "There is nothing to take back.")
        return next((number for number, item in enumerate(items) if item.row.key == back), at)

    def _label(self) -> Label | None:
        names = ", ".join(f"{key} {label}" for key, label in _LABELS.items())
        return _LABELS.get(self._key(f"{names}; anything else: back") or "")

    def _key(self, prompt: str) -> str | None:
        """The first letter of the next line, in lower case; None at the end of the input."""
        self._console.print(Text(f"[{prompt}] "), end="")
        line = self._keys.readline()
        if not line:
            self._say("")
            return None
        return line.strip().lower()[:1]

    def _show(self, item: Item, number: int, count: int) -> None:
        row, origin = item.row, item.origin
        colour = self._console.is_terminal and not self._console.no_color
        self._console.rule(f"{number} of {count}, {plain(row.key)}", characters="-")
        old = origin or row
        if row.question:
            self._console.print(Text(f"question: {plain(row.question)}"))
        self._console.print(Text("claim:    ").append_text(difference(old.claim, row.claim, colour=colour)))
        evidence = difference(old.evidence, row.evidence, colour=colour)
        self._console.print(Text("evidence: ").append_text(evidence))
        kind = f" ({plain(row.kind)})" if row.kind else ""
        self._say(f"label:    {row.label}{kind}")
        self._say(_QUESTIONS[self._stage])

    def _say(self, text: str) -> None:
        self._console.print(Text(text))


def main(arguments: Sequence[str] | None = None) -> int:
    """The command. Returns the exit status."""
    options = _parser().parse_args(arguments)
    try:
        _review(options, Decisions(options.decisions))
    except VouchError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    except KeyboardInterrupt:
        sys.stdout.write("\n")
    return 0


def _review(options: argparse.Namespace, decisions: Decisions) -> None:
    items = list(_items(options, decisions))
    if options.export:
        rows = list(_accepted(options.stage, items, decisions))
        _write(options.export, rows)
        sys.stdout.write(f"{len(rows)} accepted rows of {len(items)} in {options.export}\n")
        return
    Review(options.stage, decisions, Console(highlight=False, soft_wrap=True), sys.stdin).run(items)


def _items(options: argparse.Namespace, decisions: Decisions) -> Iterator[Item]:
    """What the stage is about: supported originals, or rows made of originals that stage 1 did not reject."""
    origins = {row.key: row for row in read_lines(options.origin, Reviewed)}
    made = list(read_lines(options.data, Reviewed)) if options.data else []
    named = {row.origin for row in made}
    if made and not named & origins.keys():
        raise DataError(f"no row of {options.data} was made of one in {options.origin}: name the right file.")
    if options.stage == 1:
        for origin in origins.values():
            if origin.supported and (not made or origin.key in named):
                yield Item(origin)
        return
    if not made:
        raise DataError("stage 2 needs --data, the rows that were made.")
    for row in made:
        first = decisions.find(1, row.origin)
        if first is None or (first.choice == "accept" and first.label in (None, "supported")):
            yield Item(row, origins.get(row.origin))


def _accepted(stage: Stage, items: Iterable[Item], decisions: Decisions) -> Iterator[dict[str, Any]]:
    for item in items:
        decision = decisions.find(stage, item.row.key)
        if decision and decision.choice == "accept":
            row = item.row.model_dump(exclude_unset=True)
            yield row | ({"label": decision.label} if decision.label else {})


def _write(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    aside = path.with_name(path.name + ".part")
    try:
        aside.write_text(
            "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8"
        )
        aside.replace(path)
    except OSError as error:
        raise DataError(f"{path} can't be written: {error.strerror}.") from error


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m training.augment.review", description=__doc__)
    parser.add_argument("--origin", type=Path, required=True, help="the rows that others were made of")
    parser.add_argument("--data", type=Path, help="the rows that were made")
    parser.add_argument("--decisions", type=Path, required=True, help="where decisions are added")
    parser.add_argument("--stage", type=int, choices=(1, 2), default=2)
    parser.add_argument("--export", type=Path, help="write the accepted rows here, and ask nothing")
    return parser


if __name__ == "__main__":
    sys.exit(main())
