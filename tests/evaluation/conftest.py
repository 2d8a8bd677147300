"""What the tests of the benchmarks share."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def small_checker(monkeypatch: pytest.MonkeyPatch) -> None:
    """The small checker judges: the size changes little in what is counted, and much in the time."""
    monkeypatch.setenv("VOUCH_CHECKER__NLI__SIZE", "small")
