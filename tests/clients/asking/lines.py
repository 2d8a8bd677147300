"""One request a line in, one result a line out: how the tests talk to a client in a process of its own.

A request: `base_url`, `api_key`, `model`, `messages`, `stream`, `max_retries`, `timeout` (seconds), `tools`,
`leave` (stop reading after the first content) and `then` (ask this next, with the reply in the history). A
result: `content`, `pieces` (how many the content came in), `citations` ([url, title] each), `references`
(their numbers), `verdict`, `tool_calls` ([name, arguments] each) and `error`: what its user would catch.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

Json = dict[str, Any]


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


def beside(result: Json, fields: Json | None) -> None:
    """Takes what Vouch puts beside the choices."""
    fields = fields or {}
    result["references"] += [reference["n"] for reference in fields.get("references") or ()]
    result["verdict"] = (fields.get("verification") or {}).get("verdict", result["verdict"])


def caught(error: Exception) -> Json:
    """An error as its user sees it."""
    response = getattr(error, "response", None)
    headers = getattr(error, "litellm_response_headers", None) or getattr(response, "headers", None) or {}
    return {
        "kind": type(error).__name__,
        "status": getattr(error, "status_code", None),
        "message": str(error),
        "retry_after": headers.get("retry-after"),
    }


def serve(ask: Callable[[Json, Json], None]) -> None:
    """Answers requests until there are no more. `ask` fills in the result; what it raises is the error."""
    for line in sys.stdin:
        result = blank()
        try:
            ask(json.loads(line), result)
        except Exception as error:
            result["error"] = caught(error)
        sys.stdout.write(json.dumps(result) + "\n")
        sys.stdout.flush()
