"""All errors of Vouch. Each has its HTTP status and OpenAI error type; `openai_api.error_object` renders it.

A message says what is wrong and what to do about it. The command line prints it as one line.
"""

from __future__ import annotations

from collections.abc import Mapping


class VouchError(Exception):
    """Everything that Vouch raises on purpose."""

    status = 500
    type = "server_error"
    code: str | None = None

    def __init__(self, message: str, *, param: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.param = param


class ConfigError(VouchError):
    """A setting is unknown, missing or wrong. Raised at start only."""


class BrokenIndexError(VouchError):
    """The index is missing, broken, or was built with another encoder than the configured one."""


class ReloadError(VouchError):
    """The index was not loaded again; the one before is still served."""

    status = 409
    code = "index_not_reloaded"


class SourceError(VouchError):
    """A source of the index builder can't be found or read at all."""


class RequestError(VouchError):
    """The client's request is wrong or asks for something that can't be served."""

    status = 400
    type = "invalid_request_error"


class AuthenticationError(RequestError):
    """The client's key is missing or wrong."""

    status = 401
    type = "authentication_error"
    code = "invalid_api_key"


class ForbiddenError(RequestError):
    """The client may not ask for this here."""

    status = 403
    type = "permission_error"
    code = "forbidden"


class MediaTypeError(RequestError):
    """The body is not JSON by its content type, or it is compressed."""

    status = 415
    code = "unsupported_media_type"


class NotFoundError(RequestError):
    """No such route, model or reference."""

    status = 404
    code = "not_found"


class ModelNotFoundError(NotFoundError):
    """No model of that name. The code is OpenAI's own, since clients compare it."""

    code = "model_not_found"


class BodyTooLargeError(RequestError):
    """The request body is larger than `server.max_body_bytes`, or holds too many values."""

    status = 413
    code = "request_too_large"


class OverloadedError(VouchError):
    """More chats are waiting than `server.max_queue` allows."""

    status = 503
    type = "overloaded_error"
    code = "overloaded"


class RateLimitError(VouchError):
    """The client's key has asked for more than `limits.key` gives it. `retry_after` is in seconds."""

    status = 429
    type = "rate_limit_error"
    code = "rate_limit_exceeded"

    def __init__(self, message: str, *, retry_after: float) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class StoppingError(OverloadedError):
    """The server is being stopped, and its time to end what is under way (`server.drain`) has passed."""

    code = "stopping"

    def __init__(self) -> None:
        super().__init__("The server is being stopped. Ask again: another one, or the next, will answer.")


class VerificationError(VouchError):
    """The reply could not be verified and `verification.fail_closed` is set."""

    status = 422
    type = "verification_error"
    code = "verification_unavailable"


class RetrievalError(VouchError):
    """The corpus can't be searched right now."""


class StoreUnavailableError(RetrievalError):
    """The server that holds the index can't be reached, or does not answer in time."""

    status = 503
    code = "index_unavailable"


class CheckError(VouchError):
    """The checker as a whole is unavailable."""


class UpstreamError(VouchError):
    """The upstream LLM failed. Status, body and retry headers are the upstream's own where it sent any."""

    status = 502
    type = "upstream_error"

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        type: str | None = None,  # noqa: A002
        code: str | None = None,
        param: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message, param=param)
        self.status = status if status is not None else self.status
        self.type = type if type is not None else self.type
        self.code = code if code is not None else self.code
        self.headers = dict(headers or {})
        """Headers for the client, lower case: `retry-after`, `retry-after-ms`, `x-should-retry`,
        `x-ratelimit-*`."""


class UpstreamConnectionError(UpstreamError):
    """The upstream can't be reached, or the connection broke."""

    code = "upstream_unreachable"


class UpstreamTimeoutError(UpstreamError):
    """The upstream did not answer in time."""

    status = 504
    code = "upstream_timeout"


class UpstreamProtocolError(UpstreamError):
    """The upstream answered with something that is not a chat completion."""

    code = "upstream_malformed"
