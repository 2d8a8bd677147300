"""`--rows-out`: a line a judged pair, to look at errors and to compare two checkers row by row."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from evaluation.arguments import writable_file
from evaluation.measurement import Record
from proxy.types import Judgement, Verdict


def add_rows_out_argument(parser: argparse.ArgumentParser) -> None:
    """Where every judged pair is written."""
    parser.add_argument(
        "--rows-out",
        type=Path,
        metavar="FILE.jsonl",
        help="write each judged pair there: which it is, label, verdict, score (JSON Lines)",
    )


class JudgedRows:
    """The file of `--rows-out`, written as pairs are judged: an interrupted run leaves what it came to.

    Without a path nothing is written. Raises `ConfigError` for one that can't be written.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = writable_file(path) if path else None
        self._mode = "w"

    def of(self, rows: Iterable[Mapping[str, Any]]) -> Record:
        """Takes the judgements of these rows, in their order. A row is its `label` and what tells it from
        the others.
        """
        left = iter(rows)

        def record(judgements: Sequence[Judgement]) -> None:
            if self._path is None:
                return
            with self._path.open(self._mode, encoding="utf-8") as file:
                for judgement, row in zip(judgements, left, strict=False):  # `left` has those of later calls
                    file.write(json.dumps({**row, **_said(judgement)}, ensure_ascii=False) + "\n")
            self._mode = "a"

        return record


def _said(judgement: Judgement) -> dict[str, Any]:
    failed = judgement.verdict is Verdict.UNVERIFIED
    error = {"error": judgement.reason} if failed else {}
    return {"verdict": judgement.verdict.value, "score": judgement.score, **error}
