"""How many files one checked chat runs through, from the HTTP entry to the response, before any backend."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import httpx
import pytest

from proxy.cli.compose import Library
from tests.scripted_upstream import Upstream
from tests.server.facts import FALSE, TRUE, TRUE_TOO
from tests.serving import serving, settings_for

PROXY = Path(__file__).parent.parent / "proxy"
BACKENDS = ("retrieval", "checkers", "upstream")
MOST = 37
"""Files, at most; a request's documents are looked for in each chat, and are one of them."""


class Crossed:
    """The files of the package whose functions are called while it listens, in any new thread."""

    def __init__(self) -> None:
        self.listening = False
        self.files: set[str] = set()

    def __call__(self, frame: FrameType, _event: str, _argument: Any) -> None:
        if self.listening:
            self.files.add(frame.f_code.co_filename)

    def before_backends(self) -> list[str]:
        """Those that are no backend, relative to the package."""
        ours = [Path(name).relative_to(PROXY) for name in self.files if Path(name).is_relative_to(PROXY)]
        return sorted(str(path) for path in ours if path.parts[0] not in BACKENDS)


@pytest.fixture
def crossed() -> Iterator[Crossed]:
    tracer = Crossed()
    threading.settrace(tracer)
    yield tracer
    threading.settrace(None)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_a_checked_chat_crosses_few_files(
    corpus: Library, upstream: Upstream, crossed: Crossed, stream: bool
) -> None:
    upstream.answer = lambda _body: f"{TRUE} {FALSE}\n\n- {TRUE_TOO}\n"
    messages = [
        {"role": "user", "content": "Hi!"},
        {"role": "assistant", "content": "Hello!"},
        {"role": "user", "content": "What do you know about the Eiffel Tower?"},
    ]
    body = {"model": "test", "messages": messages, "stream": stream, "vouch": {"max_rounds": 0}}
    with serving(settings_for(upstream.url), corpus) as url:
        httpx.post(f"{url}/chat/completions", json=body, timeout=60)  # loads what is loaded late
        crossed.listening = True
        answer = httpx.post(f"{url}/chat/completions", json=body, timeout=60)
        crossed.listening = False
    assert answer.status_code == 200
    assert "[1]" in answer.text
    files = crossed.before_backends()
    assert len(files) <= MOST, f"{len(files)} files: {files}"
    assert "engine/pipeline.py" in files
