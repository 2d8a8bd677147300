"""What litellm raises as our errors: by the causes of its exception, then by its class."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import aiohttp

from proxy.errors import (
    UpstreamConnectionError,
    UpstreamError,
    UpstreamProtocolError,
    UpstreamTimeoutError,
)
from proxy.upstream.endpoint import Endpoint
from proxy.upstream.failures import BrokenOffError, from_answer, from_event, scrubbed

log = logging.getLogger(__name__)

MAX_CHAIN = 12

_CRASHES = (AttributeError, KeyError, IndexError, TypeError, json.JSONDecodeError)
_CONNECTION = (aiohttp.ClientConnectionError, aiohttp.ClientPayloadError, ConnectionError)
_TIMEOUT_NAMES = frozenset({"Timeout", "APITimeoutError", "TimeoutException"})
_CONNECTION_NAMES = frozenset({"TransportError", "EndpointConnectionError"})
"""Classes of litellm, the OpenAI SDK, httpx and botocore: litellm calls some providers through these."""

_ADVERTISEMENT = "This looks like a bug in LiteLLM"


@dataclass(frozen=True, slots=True)
class Failure:
    """One failed call. `chain`: the exception that was raised, then its causes, the first cause last."""

    chain: tuple[BaseException, ...]
    endpoint: Endpoint
    client_key: str | None

    @property
    def message(self) -> str:
        """litellm's message, without secrets and without the class names that it puts in front."""
        text = str(self.chain[0])
        for error in self.chain:
            text = text.removeprefix("litellm.").removeprefix(f"{type(error).__name__}: ")
        text = text.partition(_ADVERTISEMENT)[0].strip()
        return scrubbed(text, self.endpoint.secrets(self.client_key))

    def find(self, name: str) -> Any:
        """The first value of that attribute in the chain that is not empty."""
        return next((value for error in self.chain if (value := getattr(error, name, None))), None)


def from_exception(
    error: Exception, endpoint: Endpoint, client_key: str | None = None, *, begun: bool = False
) -> UpstreamError:
    """Our error for what litellm raised. `begun`: the first chunk of the answer has come.

    litellm reports a refused connection, and an answer that is not JSON, as a 500 of the upstream. Only the
    causes of its exception tell what was wrong, so they are looked at first.
    """
    failure = Failure(_chain(error), endpoint, client_key)
    made = _from_causes(failure) or kind(type(failure.chain[0]))(failure)
    if begun and isinstance(made, UpstreamConnectionError):
        return BrokenOffError(f"{endpoint.model}: the stream broke off.")
    return made


def showable(error: Exception, endpoint: Endpoint, client_key: str | None) -> Exception | None:
    """The exception as the cause to show in tracebacks; None if a message in its chain repeats a key."""
    words = " ".join(map(str, _chain(error)))
    return None if any(secret in words for secret in endpoint.secrets(client_key)) else error


def kind(exception: type[BaseException]) -> Callable[[Failure], UpstreamError]:
    """What makes our error for an exception of this class, or of the nearest class that it inherits from."""
    names = (ancestor.__name__ for ancestor in exception.__mro__)
    return next((_KINDS[name] for name in names if name in _KINDS), _unexpected)


def _chain(error: BaseException) -> tuple[BaseException, ...]:
    """The exception and its causes, without litellm's wrapper for errors in mid-stream, which hides them."""
    chain: list[BaseException] = []
    following: BaseException | None = error
    while following is not None and len(chain) < MAX_CHAIN and following not in chain:
        chain.append(following)
        inner = getattr(following, "original_exception", None)
        cause = following.__cause__ or following.__context__
        following = inner if isinstance(inner, BaseException) else cause
    wrapped = len(chain) > 1 and type(error).__name__ == "MidStreamFallbackError"
    return tuple(chain[1:] if wrapped else chain)


def _from_causes(failure: Failure) -> UpstreamError | None:
    if any(isinstance(error, TimeoutError) or _is_a(error, _TIMEOUT_NAMES) for error in failure.chain):
        return _timeout(failure)
    if any(isinstance(error, _CONNECTION) or _is_a(error, _CONNECTION_NAMES) for error in failure.chain):
        return _unreachable(failure)
    if any(isinstance(error, _CRASHES) for error in failure.chain):
        return _malformed(failure)
    return None


def _is_a(error: BaseException, names: frozenset[str]) -> bool:
    """Whether the error's class, or one that it inherits from, has one of the names."""
    return any(ancestor.__name__ in names for ancestor in type(error).__mro__)


def _answered(failure: Failure) -> UpstreamError:
    response, body = failure.find("response"), failure.find("body")
    status = failure.find("status_code") or getattr(response, "status_code", None)
    said = {"message": failure.message, **(body if isinstance(body, dict) else {})}
    told = failure.find("litellm_response_headers") or failure.find("headers")
    if told is None:
        told = getattr(response, "headers", None)
    headers = {str(key): str(value) for key, value in (told or {}).items()}
    return from_answer(
        status if isinstance(status, int) else 502,
        {"error": said},
        headers,
        failure.endpoint,
        failure.client_key,
    )


def _api_error(failure: Failure) -> UpstreamError:
    """litellm's error without a status: an error event in a stream, or an error of litellm itself."""
    body = failure.find("body")
    if isinstance(body, dict):
        return from_event({"error": body}, failure.endpoint, failure.client_key)
    return _malformed(failure) if len(failure.chain) > 1 else _unreachable(failure)


def _timeout(failure: Failure) -> UpstreamError:
    return UpstreamTimeoutError(
        f"{failure.endpoint.model} did not answer within {failure.endpoint.timeout:g} s."
    )


def _unreachable(failure: Failure) -> UpstreamError:
    cause = type(failure.chain[-1]).__name__
    log.warning("can't reach %s: %s", failure.endpoint.address, cause)
    return UpstreamConnectionError(
        f"Can't reach {failure.endpoint.model}: {cause}. Is it running, is api_base right?"
    )


def _malformed(failure: Failure) -> UpstreamError:
    return UpstreamProtocolError(
        f"{failure.endpoint.model} answered with something that litellm can't read: {failure.message}"
    )


def _unexpected(failure: Failure) -> UpstreamError:
    return UpstreamError(f"Calling {failure.endpoint.model} failed: {failure.message}")


_KINDS: Mapping[str, Callable[[Failure], UpstreamError]] = {
    "Timeout": _timeout,
    "TimeoutError": _timeout,
    "APIConnectionError": _api_error,
    "APIResponseValidationError": _malformed,
    "APIStatusError": _answered,
    "APIError": _answered,
    "BudgetExceededError": _answered,
    "OpenAIError": _unexpected,
    "HTTPStatusError": _answered,
    "RequestError": _malformed,
    "ModelNotMappedError": _unexpected,
    "GuardrailRaisedException": _unexpected,
    "BlockedPiiEntityError": _unexpected,
    "ModifyResponseException": _unexpected,
    "SensitiveDataRouteException": _unexpected,
}
