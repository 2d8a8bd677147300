"""A build's progress in a log."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from proxy.cli.progress import Lines, duration


def test_lines_have_rate_and_time_left() -> None:
    out = io.StringIO()
    lines = Lines(Console(file=out, width=200), seconds=0)
    lines("reading", 1, None)
    lines("reading", 700, None)
    lines("encoding", 512, 2_000_000)
    lines("encoding", 1024, 2_000_000)
    reading, more, encoding, going_on = out.getvalue().splitlines()
    assert reading == "reading: 1, 0/s"
    assert re.fullmatch(r"reading: 700, [\d,]+/s", more)
    assert encoding == "encoding: 512 of 2,000,000, 0/s"
    assert re.fullmatch(r"encoding: 1,024 of 2,000,000, [\d,]+/s, \d.* left", going_on)


def test_a_short_build_says_nothing() -> None:
    out = io.StringIO()
    lines = Lines(Console(file=out))
    for done in range(100):
        lines("encoding", done, 100)
    assert out.getvalue() == ""


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0, "0 min 00 s"), (65.4, "1 min 05 s"), (3599.9, "1 h 00 min"), (10_000, "2 h 46 min")],
)
def test_durations(seconds: float, said: str) -> None:
    assert duration(seconds) == said
