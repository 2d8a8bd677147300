"""litellm's exceptions as ours. Known by name, so that this module does not import litellm."""

from __future__ import annotations

import json
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

MAX_CHAIN = 12

_CRASHES = (AttributeError, KeyError, IndexError, TypeError, json.JSONDecodeError)
_CONNECTION = (aiohttp.ClientConnectionError, aiohttp.ClientPayloadError, ConnectionError)
_CONNECTION_NAMES = frozenset(
    {"ConnectError", "ReadError", "WriteError", "RemoteProtocolError", "EndpointConnectionError"}
)
"""Of httpx and botocore, with which litellm may be calling instead of aiohttp."""

_ADVERTISEMENT = "This looks like a bug in LiteLLM"


@dataclass(frozen=True, slots=True)
class Failure:
    """One failed call: the exceptions from the outermost to the first cause."""

    chain: tuple[BaseException, ...]
    endpoint: Endpoint
    client_key: str | None

    @property
    def message(self) -> str:
        """litellm's words, without the class names that it puts before them, and without secrets."""
        text = str(self.chain[0])
        for error in self.chain:
            text = text.removeprefix("litellm.").removeprefix(f"{type(error).__name__}: ")
        text = text.partition(_ADVERTISEMENT)[0].strip()
        return scrubbed(text, self.endpoint.secrets(self.client_key))

    def find(self, name: str) -> Any:
        """The first value of that attribute in the chain that says something."""
        return next((value for error in self.chain if (value := getattr(error, name, None))), None)


def from_exception(
    error: Exception, endpoint: Endpoint, client_key: str | None = None, *, begun: bool = False
) -> UpstreamError:
    """Our error for whatever litellm raised. `begun`: the answer's first chunk has come.

    litellm reports a refused connection, and an answer that is not JSON, as the upstream's "500": what was
    really wrong is only in the causes.
    """
    failure = Failure(_chain(error), endpoint, client_key)
    made = _from_causes(failure) or kind(type(failure.chain[0]))(failure)
    if begun and isinstance(made, UpstreamConnectionError):
        return BrokenOffError(f"{endpoint.where}: the stream broke off.")
    return made


def showable(error: Exception, endpoint: Endpoint, client_key: str | None) -> Exception | None:
    """The exception, to be shown as the cause, or None where its words or its causes' repeat a key."""
    words = " ".join(map(str, _chain(error)))
    return None if any(secret in words for secret in endpoint.secrets(client_key)) else error


def kind(exception: type[BaseException]) -> Callable[[Failure], UpstreamError]:
    """The entry for the nearest of an exception's classes."""
    names = (ancestor.__name__ for ancestor in exception.__mro__)
    return next((_KINDS[name] for name in names if name in _KINDS), _unexpected)


def _chain(error: BaseException) -> tuple[BaseException, ...]:
    """litellm's wrapper for what happens in the middle of a stream is left out: it only hides the cause."""
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
    if any(type(error).__name__ == "Timeout" or isinstance(error, TimeoutError) for error in failure.chain):
        return _timeout(failure)
    if any(map(_is_connection, failure.chain)):
        return _unreachable(failure)
    if any(isinstance(error, _CRASHES) for error in failure.chain):
        return _malformed(failure)
    return None


def _is_connection(error: BaseException) -> bool:
    return isinstance(error, _CONNECTION) or type(error).__name__ in _CONNECTION_NAMES


def _answered(failure: Failure) -> UpstreamError:
    status, body = failure.find("status_code"), failure.find("body")
    said = {"message": failure.message, **(body if isinstance(body, dict) else {})}
    response = failure.find("litellm_response_headers") or failure.find("headers")
    if response is None:
        response = getattr(failure.find("response"), "headers", None)
    headers = {str(key): str(value) for key, value in (response or {}).items()}
    return from_answer(
        status if isinstance(status, int) else 502,
        {"error": said},
        headers,
        failure.endpoint,
        failure.client_key,
    )


def _api_error(failure: Failure) -> UpstreamError:
    """litellm's word for a failure without a status: an error in a stream, or one of litellm's own making."""
    body = failure.find("body")
    if isinstance(body, dict):
        return from_event({"error": body}, failure.endpoint, failure.client_key)
    return _malformed(failure) if len(failure.chain) > 1 else _unreachable(failure)


def _timeout(failure: Failure) -> UpstreamError:
    return UpstreamTimeoutError(
        f"{failure.endpoint.where} did not answer within {failure.endpoint.timeout:g} s."
    )


def _unreachable(failure: Failure) -> UpstreamError:
    cause = type(failure.chain[-1]).__name__
    return UpstreamConnectionError(
        f"Can't reach {failure.endpoint.where}: {cause}. Is it running, is api_base right?"
    )


def _malformed(failure: Failure) -> UpstreamError:
    return UpstreamProtocolError(
        f"{failure.endpoint.where} answered with something that litellm can't read: {failure.message}"
    )


def _unexpected(failure: Failure) -> UpstreamError:
    return UpstreamError(f"Calling {failure.endpoint.where} failed: {failure.message}")


_KINDS: Mapping[str, Callable[[Failure], UpstreamError]] = {
    "Timeout": _timeout,
    "TimeoutError": _timeout,
    "APIConnectionError": _api_error,
    "APIResponseValidationError": _malformed,
    "APIStatusError": _answered,
    "APIError": _answered,
    "BudgetExceededError": _answered,
    "OpenAIError": _unexpected,
    "ModelNotMappedError": _unexpected,
    "GuardrailRaisedException": _unexpected,
    "BlockedPiiEntityError": _unexpected,
    "ModifyResponseException": _unexpected,
    "SensitiveDataRouteException": _unexpected,
}
