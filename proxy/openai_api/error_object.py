"""Errors in OpenAI's format: `{"error": {"message", "type", "param", "code"}}`."""

from __future__ import annotations

import math

from proxy.errors import OverloadedError, RateLimitError, UpstreamError, VerificationError, VouchError
from proxy.types import Json


def error_object(error: Exception) -> Json:
    """The body. The message of an unexpected error is left out, since it may hold secrets."""
    if isinstance(error, VouchError):
        fields = {"message": error.message, "type": error.type, "param": error.param, "code": error.code}
    else:
        fields = {
            "message": "Internal error. The server's log has it under this request's x-request-id.",
            "type": "server_error",
            "param": None,
            "code": "internal_error",
        }
    return {"error": fields}


def error_status(error: Exception) -> int:
    """The HTTP status."""
    return error.status if isinstance(error, VouchError) else 500


def error_headers(error: Exception) -> dict[str, str]:
    """Retry headers: the upstream's own, or `x-should-retry: false` where a retry can't help."""
    if isinstance(error, UpstreamError):
        return error.headers
    if isinstance(error, VerificationError):
        return {"x-should-retry": "false"}
    if isinstance(error, RateLimitError):
        return {"retry-after": str(max(1, math.ceil(error.retry_after)))}
    if isinstance(error, OverloadedError):
        return {"retry-after": "1"}
    return {}
