"""An upstream's error answers as `UpstreamError`. No message repeats a key."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from proxy.errors import UpstreamConnectionError, UpstreamError
from proxy.types import Json
from proxy.upstream.endpoint import Endpoint

MAX_MESSAGE = 2000

_FORWARDED_HEADERS = frozenset({"retry-after", "retry-after-ms", "x-should-retry"})

_MOST_HEADER = 256
"""Characters of a header that is passed on, its name included."""


class BrokenOffError(UpstreamConnectionError):
    """The connection broke after the answer had begun. Not retried: the answer would be paid for twice."""

    code = "upstream_broke_off"


def passed_on(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers of an upstream's answer for its client, in lower case: retries and rate limits.

    A value that is overlong or not printable ASCII is left out: it could not be sent on.
    """
    lower = {name.lower(): value for name, value in headers.items()}
    return {
        name: value
        for name, value in lower.items()
        if (name in _FORWARDED_HEADERS or name.startswith("x-ratelimit-"))
        and len(name) + len(value) <= _MOST_HEADER
        and (name + value).isascii()
        and (name + value).isprintable()
    }


def from_answer(
    status: int, body: Any, headers: Mapping[str, str], endpoint: Endpoint, client_key: str | None
) -> UpstreamError:
    """The error for an answer that is not a success. `body` is its parsed JSON, or its text."""
    said = _error_object(body)
    reason = _text(said.get("message")) or _phrase(status)
    if status in (401, 403):
        whose = "your API key" if endpoint.client_key else "the API key that Vouch is configured with"
        message = f"{endpoint.model} refused {whose} ({status}): {reason}"
    else:
        hint = " (is `/v1` missing in api_base?)" if status == 404 and _unversioned(endpoint.api_base) else ""
        message = f"{endpoint.model} answered {status}: {reason}{hint}"
    secrets = endpoint.secrets(client_key)
    told = {key: _text(said.get(key)) for key in ("type", "code", "param")}
    return UpstreamError(
        scrubbed(message, secrets),
        status=status if 400 <= status <= 599 else None,
        **{key: text and scrubbed(text, secrets) for key, text in told.items()},
        headers=passed_on(headers),
    )


def _unversioned(api_base: str | None) -> bool:
    """Whether the path of an address names no version of the API, such as `/v1`."""
    return api_base is not None and not re.search(r"/v\d", urlsplit(api_base).path)


def from_event(body: Json, endpoint: Endpoint, client_key: str | None = None) -> UpstreamError:
    """The error for an error object in an answer with status 200. It names its status itself, or gets 502."""
    said = _error_object(body)
    named = (said.get(key) for key in ("status", "status_code", "code"))
    status = next((int(text) for text in map(_text, named) if text and _is_error_status(text)), 502)
    return from_answer(status, body, {}, endpoint, client_key)


def is_error(body: Json) -> bool:
    """Whether a JSON object is an error, in one of the shapes that servers use."""
    return bool(body.get("error")) or (body.get("object") == "error" and "message" in body)


def scrubbed(message: str, secrets: tuple[str, ...]) -> str:
    """The message with `***` for each secret, cut to `MAX_MESSAGE` characters."""
    for secret in secrets:
        message = message.replace(secret, "***")
    return message[:MAX_MESSAGE]


def _error_object(body: Any) -> Json:
    """The error's fields. Read are OpenAI's `{"error": {...}}`, Gemini's list of it, `{"error": "text"}`,
    FastAPI's `{"detail": ...}`, the flat `{"object": "error", ...}` of older vLLM, and plain text."""
    if isinstance(body, list) and body:
        body = body[0]
    if isinstance(body, str):
        return {} if body.lstrip().startswith("<") else {"message": body.strip()}
    if not isinstance(body, dict):
        return {}
    error = body.get("error")
    if isinstance(error, dict):
        return error
    if isinstance(error, str):
        return {**body, "message": error}
    detail = body.get("detail")
    if "message" not in body and detail is not None:
        return {"message": detail if isinstance(detail, str) else json.dumps(detail)[:MAX_MESSAGE]}
    return body


def _text(value: Any) -> str | None:
    if isinstance(value, str):
        return value or None
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None


def _is_error_status(text: str) -> bool:
    return len(text) == 3 and text.isascii() and text.isdigit() and 400 <= int(text) <= 599


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "no reason given"
