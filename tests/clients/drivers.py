"""How a client is asked: in a process of its own that answers line by line."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from tests.clients.columns import Json

HERE = Path(__file__).parent
ENVIRON = {**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True", "NO_COLOR": "1"}
LONGEST = 60


class Driver(Protocol):
    """Asks one client."""

    def ask(self, request: Json) -> Json:
        """The result, as `asking/lines.py` describes both."""
        ...

    def close(self) -> None:
        """Ends what runs."""
        ...


class Script:
    """One of `asking/`, in a process of its own: litellm's and LangChain's connections are global."""

    def __init__(self, command: Sequence[str | Path]) -> None:
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=ENVIRON,
            cwd=HERE / "asking",
        )

    def ask(self, request: Json) -> Json:
        """The result."""
        if self._process.stdin is None or self._process.stdout is None:
            raise RuntimeError("the script has no pipes")
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the client ended with status {self._process.wait(LONGEST)}")
        result: Json = json.loads(line)
        return result

    def close(self) -> None:
        """Lets the script come to its end."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def blank() -> Json:
    """A result with nothing in it."""
    return {
        "content": "",
        "pieces": 0,
        "citations": [],
        "references": [],
        "verdict": None,
        "tool_calls": [],
        "error": None,
    }
