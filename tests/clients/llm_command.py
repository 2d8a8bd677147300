"""simonw's `llm`, the command."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

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
        models = [
            {"model_id": f"vouch-{name}", "model_name": name, "api_base": request["base_url"], "api_key_name": "vouch", "supports_tools": True}
            for name in ("test", "missing")
        ]
        (self._folder / "extra-openai-models.yaml").write_text(json.dumps(models))
        options = ["-m", f"vouch-{request['model']}", "--key", request["api_key"]]
        options += [] if request["stream"] else ["--no-stream"]
        options += ["--functions", FUNCTION] if request["tools"] else []
        question = request["messages"][-1]["content"]
        result = blank()
        process = self._start(*options, question)
        if request["leave"]:
            if process.stdout is not None:
                process.stdout.read(1)
            process.terminate()
            process.communicate(timeout=LONGEST)
            return result
        said, complaint = process.communicate(timeout=LONGEST)
        result["content"] = said.rstrip("\n")
        if process.returncode:
            found = re.search(r"Error code: (\d+)", complaint)
            result["error"] = {
                "kind": f"exit {process.returncode}",
                "status": int(found[1]) if found else None,
                "message": complaint,
                "retry_after": None,
            }
            return result
        self._look(result)
        if request["then"]:
            self._start("-c", *options, request["then"]).communicate(timeout=LONGEST)
        return result

    def close(self) -> None:
        """Nothing runs."""

    def _start(self, *arguments: str) -> subprocess.Popen[str]:
        environ = {**ENVIRON, "LLM_USER_PATH": str(self._folder)}
        return subprocess.Popen(
            [self._program, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environ,
        )

    def _look(self, result: Json) -> None:
        """Takes what the log keeps of the last response."""
        said, _ = self._start("logs", "list", "-n", "1", "--json").communicate(timeout=LONGEST)
        kept: Any = json.loads(said)[0].get("response_json") or {}
        for choice in kept.get("choices") or ():
            for annotation in (choice.get("message") or {}).get("annotations") or ():
                result["citations"].append([annotation["url_citation"][key] for key in ("url", "title")])
        result["references"] = [reference["n"] for reference in kept.get("references") or ()]
        result["verdict"] = (kept.get("verification") or {}).get("verdict")
