"""Where a command's figures go: JSON lines as they come, or Markdown tables at the end."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

from evaluation.cached_llm import Meter


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table; bars in cells are escaped."""
    lines = [header, ["---"] * len(header), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)


def failures(unverified: int, counted: str = "not supported") -> str:
    """A line on pairs that the checker failed on, where there are any: what they are counted as."""
    return (
        f"\nThe checker failed on {unverified:,} of the pairs; they count as {counted}.\n"
        if unverified
        else ""
    )


def print_json(line: Mapping[str, Any]) -> None:
    """One line on standard output, at once."""
    print(json.dumps(line, ensure_ascii=False, allow_nan=False), flush=True)


Found = TypeVar("Found")


class Report(Generic[Found]):
    """With `lines` each value as a JSON line as soon as it is there, else all as one text at the end."""

    def __init__(
        self,
        lines: bool,
        as_json: Callable[[Found], Mapping[str, Any]],
        as_markdown: Callable[[Sequence[Found]], str],
    ) -> None:
        self._lines = lines
        self._as_json = as_json
        self._as_markdown = as_markdown
        self._found: list[Found] = []

    def add(self, value: Found) -> None:
        """One more value."""
        self._found.append(value)
        if self._lines:
            print_json(self._as_json(value))

    def end(self, out: Path | None = None, meter: Meter | None = None) -> None:
        """The text: in the file, whether or not there were lines too; without one on standard output.

        What an LLM cost, where one was asked, is the text's last sentence, and the last line: `{"llm": ...}`.
        """
        if self._lines and meter:
            print_json({"llm": meter.as_json()})
        if self._lines and not out:
            return
        text = self._as_markdown(self._found) + (meter.as_markdown() if meter else "")
        if out:
            out.write_text(text, encoding="utf-8")
        else:
            sys.stdout.write(text)
