"""JSON as upstreams send it, made safe to send on."""

from __future__ import annotations

import json
from typing import Any

from proxy.errors import UpstreamProtocolError


def loads(data: bytes | str) -> Any:
    """Any JSON value. Bytes that are no UTF-8 and halves of surrogate pairs become U+FFFD, since they could
    not be encoded again. Raises `UpstreamProtocolError`."""
    text = data.decode("utf-8", "replace") if isinstance(data, bytes) else data
    try:
        value = json.loads(text)
        if "\\ud" in text or "\\uD" in text:
            value = _without_lone_surrogates(value)
    except (ValueError, RecursionError) as error:
        raise UpstreamProtocolError("The upstream answered with something that is not JSON.") from error
    return value


def _without_lone_surrogates(value: Any) -> Any:
    text = json.dumps(value, ensure_ascii=False)
    if text.isascii():
        return value
    return json.loads(text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace"))
