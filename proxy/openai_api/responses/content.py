"""The content of an input message, as a chat message has it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from proxy.errors import RequestError
from proxy.openai_api.kinds import chosen, expect, optional, required
from proxy.types import Json


def content_of(given: Any, param: str) -> str | list[Json]:
    """A text, or parts. A text that stands alone is a plain string: some upstreams know nothing else.

    What was said of a text that comes back (annotations, log-probabilities) is left out. Raises
    `RequestError`.
    """
    if isinstance(given, str):
        return given
    if not isinstance(given, list):
        raise RequestError(f"`{param}` must be a string or a list of parts.", param=param)
    parts = [_part(part, f"{param}.{at}") for at, part in enumerate(given)]
    if not parts:
        return ""
    alone = len(parts) == 1 and parts[0]["type"] == "text"
    return parts[0]["text"] if alone else parts


def _part(given: Any, param: str) -> Json:
    part = expect(given, dict, param)
    return chosen(part.get("type"), _PARTS, f"{param}.type")(part, param)


def _text(part: Json, param: str) -> Json:
    return {"type": "text", "text": required(part, "text", str, param)}


def _refusal(part: Json, param: str) -> Json:
    return {"type": "refusal", "refusal": required(part, "refusal", str, param)}


def _image(part: Json, param: str) -> Json:
    url = optional(part, "image_url", str, f"{param}.")
    if url is None:
        message = "An image must be a URL or a data URL in `image_url`: Vouch stores no files."
        raise RequestError(message, param=f"{param}.image_url")
    detail = optional(part, "detail", str, f"{param}.")
    return {"type": "image_url", "image_url": {"url": url, **({"detail": detail} if detail else {})}}


def _file(part: Json, param: str) -> Json:
    """By its bytes, or by the upstream's own id of it."""
    if part.get("file_url") is not None:
        message = "Chat models take files by `file_data` (a data URL), not by `file_url`."
        raise RequestError(message, param=f"{param}.file_url")
    keys = ("file_data", "file_id", "filename")
    file = {key: value for key in keys if (value := optional(part, key, str, f"{param}.")) is not None}
    if not file.keys() & {"file_data", "file_id"}:
        raise RequestError("A file needs `file_data` (a data URL).", param=f"{param}.file_data")
    return {"type": "file", "file": file}


def _audio(part: Json, param: str) -> Json:
    return {"type": "input_audio", "input_audio": required(part, "input_audio", dict, param)}


_PARTS: dict[str, Callable[[Json, str], Json]] = {
    "input_text": _text,
    "output_text": _text,
    "text": _text,
    "refusal": _refusal,
    "input_image": _image,
    "input_file": _file,
    "input_audio": _audio,
}
