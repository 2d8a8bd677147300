"""Where a command's figures go."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

from evaluation.llm_meter import Meter
from evaluation.markdown import print_json

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

    def add(self, found: Found) -> None:
        """One more value."""
        self._found.append(found)
        if self._lines:
            print_json(self._as_json(found))

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
