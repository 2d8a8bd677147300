"""curl: whoever reads the bare JSON or events."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

from tests.clients.columns import Json
from tests.clients.drivers import LONGEST, blank


class Curl:
    """curl, which shows the bare JSON or events."""

    def __init__(self, folder: Path) -> None:
        self._body, self._headers = folder / "body", folder / "headers"

    def ask(self, request: Json) -> Json:
        """The result: what stands in the JSON."""
        body = {key: request[key] for key in ("model", "messages", "stream", "tools") if request[key]}
        command = [
            *("curl", "-sSN", "--fail-with-body", "-o", str(self._body), "-D", str(self._headers)),
            *("--max-time", str(request["timeout"]), "--retry", str(request["max_retries"])),
            *("-H", f"authorization: Bearer {request['api_key']}", "-H", "content-type: application/json"),
            *("-d", "@-", f"{request['base_url']}/chat/completions"),
        ]
        self._body.write_bytes(b"")
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if request["leave"]:
            return self._leave(process, json.dumps(body))
        process.communicate(json.dumps(body), timeout=LONGEST)
        result = self._read(bool(request["stream"]) and process.returncode == 0)
        if process.returncode:
            result["error"] = self._error(process.returncode, result.pop("told", {}))
        if request["then"]:
            told = {"role": "assistant", "content": result["content"]}
            question = {"role": "user", "content": request["then"]}
            self.ask(
                {**request, "messages": [*request["messages"], told, question], "then": "", "stream": False}
            )
        return result

    def close(self) -> None:
        """Nothing runs."""

    def _leave(self, process: subprocess.Popen[str], body: str) -> Json:
        if process.stdin is None:
            raise RuntimeError("curl has no input")
        process.stdin.write(body)
        process.stdin.close()
        while process.poll() is None and b'"content":"The' not in self._body.read_bytes():
            pass
        process.terminate()
        process.wait(LONGEST)
        if process.stderr is not None:
            process.stderr.close()
        return blank()

    def _read(self, streamed: bool) -> Json:
        text = self._body.read_text(encoding="utf-8")
        lines = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: {")]
        objects = [json.loads(one) for one in (lines if streamed else [text or "{}"])]
        result = blank()
        for one in objects:
            self._add(result, one)
        return result

    def _add(self, result: Json, one: Json) -> None:
        if error := one.get("error"):
            result["error"] = {"kind": "event", "status": None, "retry_after": None, **error}
            result["told"] = error
        for choice in one.get("choices") or ():
            said = choice.get("message") or choice["delta"]
            result["content"] += said.get("content") or ""
            for annotation in said.get("annotations") or ():
                result["citations"].append([annotation["url_citation"][key] for key in ("url", "title")])
            for at, call in enumerate(said.get("tool_calls") or ()):
                add_call(result["tool_calls"], call.get("index", at), call["function"])
        result["references"] += [reference["n"] for reference in one.get("references") or ()]
        result["verdict"] = (one.get("verification") or {}).get("verdict", result["verdict"])

    def _error(self, code: int, told: Json) -> Json:
        head = self._headers.read_text() if self._headers.exists() else ""
        statuses = re.findall(r"^HTTP/\S+ (\d+)", head, re.M)
        waits = re.findall(r"^retry-after: (\S+)", head, re.M | re.I)
        return {
            "kind": f"exit {code}",
            "status": int(statuses[-1]) if statuses else None,
            "message": told.get("message", ""),
            "retry_after": waits[-1] if waits else None,
        }


def add_call(calls: list[list[str]], index: int, function: Any) -> None:
    """A tool call, or a piece of one."""
    if index == len(calls):
        calls.append(["", ""])
    calls[index][0] += function.get("name") or ""
    calls[index][1] += function.get("arguments") or ""
