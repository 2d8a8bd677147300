"""simonw's `llm`, the command."""

from __future__ import annotations

import json
import re
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

from tests.clients.columns import Json
from tests.clients.drivers import ENVIRON, LONGEST, blank

FUNCTION = """
def look_up(page: int) -> str:
    "Looks a page up."
    return "It is empty."
"""


class Llm:
    """The command `llm`, with Vouch's models in its `extra-openai-models.yaml`."""

    def __init__(self, program: str, folder: Path) -> None:
        self._program, self._folder = program, folder

    def ask(self, request: Json) -> Json:
        """The result: what it prints, and what its log keeps."""
        self._configure(request["base_url"])
        options = ["-m", f"vouch-{request['model']}", "--key", request["api_key"]]
        options += [] if request["stream"] else ["--no-stream"]
        options += ["--functions", FUNCTION] if request["tools"] else []
        process = self._start(*options, request["messages"][-1]["content"])
        if request["leave"]:
            return _left(process)
        result = blank()
        said, complaint = process.communicate(timeout=LONGEST)
        result["content"] = said.rstrip("\n")
        if process.returncode:
            result["error"] = _error(process.returncode, complaint)
            return result
        self._look(result)
        if request["then"]:
            self._start("-c", *options, request["then"]).communicate(timeout=LONGEST)
        return result

    def close(self) -> None:
        """Nothing runs."""

    def _configure(self, base_url: str) -> None:
        of_all = {"api_base": base_url, "api_key_name": "vouch", "supports_tools": True}
        models = [{"model_id": f"vouch-{name}", "model_name": name, **of_all} for name in ("test", "missing")]
        # JSON is YAML.
        (self._folder / "extra-openai-models.yaml").write_text(json.dumps(models))

    def _start(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [self._program, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**ENVIRON, "LLM_USER_PATH": str(self._folder)},
        )

    def _look(self, result: Json) -> None:
        """Takes what its log, a SQLite file, keeps of the last turn."""
        with closing(sqlite3.connect(self._folder / "logs.db")) as log:
            turns = log.execute("SELECT response_json FROM turns ORDER BY datetime_utc DESC").fetchall()
            calls = log.execute("SELECT tool_name, payload FROM parts WHERE type = 'tool_call'").fetchall()
        kept = json.loads(turns[0][0] or "{}")
        for choice in kept.get("choices") or ():
            for annotation in (choice.get("message") or {}).get("annotations") or ():
                citation = annotation["url_citation"]
                result["citations"].append([citation["url"], citation["title"]])
        result["references"] = [reference["n"] for reference in kept.get("references") or ()]
        result["verdict"] = (kept.get("verification") or {}).get("verdict")
        result["tool_calls"] = [[name, json.loads(payload)["arguments"]] for name, payload in calls]


def _left(process: subprocess.Popen[str]) -> Json:
    """Ends it at the first character that it prints."""
    if process.stdout is None:
        raise RuntimeError("the command has no output")
    process.stdout.read(1)
    process.terminate()
    process.communicate(timeout=LONGEST)
    return blank()


def _error(code: int, complaint: str) -> Json:
    found = re.search(r"Error code: (\d+)", complaint)
    return {
        "kind": f"exit {code}",
        "status": int(found[1]) if found else None,
        "message": complaint,
        "retry_after": None,
    }
