"""aiohttp for the direct client: the pool, the proxy, and its exceptions as `UpstreamError`."""

from __future__ import annotations

import logging
import os
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from weakref import WeakSet

import aiohttp
from aiohttp.connector import Connection
from yarl import URL

from proxy import __version__
from proxy.errors import (
    UpstreamConnectionError,
    UpstreamError,
    UpstreamProtocolError,
    UpstreamTimeoutError,
)
from proxy.upstream.endpoint import Endpoint
from proxy.upstream.failures import BrokenOffError

log = logging.getLogger(__name__)

POOL_SIZE = 256
"""Connections at the same time; further calls wait, within their time-out."""

KEEP_ALIVE = 4.0
"""Seconds that an idle connection is kept. uvicorn (and so vLLM) closes it after 5: with less, no call goes
out on a connection that is just being closed."""

STALE = 1.0
"""Seconds within which a call fails on a connection that the server closed while it was idle."""


class StaleConnectionError(aiohttp.ClientConnectionError):
    """The server had closed an idle connection of the pool, and so has not seen the call."""


def _response_class() -> type[aiohttp.ClientResponse]:
    used = WeakSet[object]()

    class Response(aiohttp.ClientResponse):
        """Notes which connections have carried an answer before."""

        async def start(self, connection: Connection) -> aiohttp.ClientResponse:
            """Waits for the answer's head. Raises `StaleConnectionError` beside aiohttp's own."""
            protocol, begun = connection.protocol, time.monotonic()
            try:
                response = await super().start(connection)
            except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError, ConnectionResetError) as error:
                if protocol in used and time.monotonic() - begun < STALE:
                    raise StaleConnectionError from error
                raise
            used.add(protocol)
            return response

    return Response


def new_session() -> aiohttp.ClientSession:
    """A pool on the running loop. No cookies: one client's must not reach another's call.

    Its calls raise `StaleConnectionError` if it is safe to send the same call again.
    """
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=POOL_SIZE, keepalive_timeout=KEEP_ALIVE),
        cookie_jar=aiohttp.DummyCookieJar(),
        response_class=_response_class(),
        headers={"user-agent": f"vouch/{__version__}"},
    )


def proxy_for(base: URL) -> str | None:
    """The proxy that `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY` name for this address.

    Looked up once per upstream: aiohttp's `trust_env` looks it up for each call, and reads `~/.netrc` too.
    """
    if urllib.request.proxy_bypass(base.host or ""):
        return None
    return urllib.request.getproxies().get(base.scheme)


@contextmanager
def translated(endpoint: Endpoint, *, begun: bool = False) -> Iterator[None]:
    """Turns aiohttp's exceptions into `UpstreamError`. `begun`: the first byte of the answer has come."""
    try:
        yield
    except (aiohttp.ClientError, OSError, ValueError) as error:
        raise from_exception(error, endpoint, begun=begun) from error


def from_exception(error: Exception, endpoint: Endpoint, *, begun: bool = False) -> UpstreamError:
    """Our error for an exception of aiohttp, or an OSError or ValueError that it lets through."""
    made = kind(type(error))(error, endpoint)
    log.warning("calling %s failed: %s", endpoint.address, made.message)
    if begun and isinstance(made, UpstreamConnectionError):
        return BrokenOffError(f"{endpoint.model}: the connection broke off in the middle of the answer.")
    return made


def kind(exception: type[BaseException]) -> Callable[[Exception, Endpoint], UpstreamError]:
    """What makes our error for an exception of this class, or of the nearest class that it inherits from."""
    names = (ancestor.__name__ for ancestor in exception.__mro__)
    return next((_KINDS[name] for name in names if name in _KINDS), _unexpected)


def _timeout(_: Exception, endpoint: Endpoint) -> UpstreamError:
    return UpstreamTimeoutError(f"{endpoint.model} did not answer within {endpoint.timeout:g} s.")


def _connect_timeout(_: Exception, endpoint: Endpoint) -> UpstreamError:
    return UpstreamTimeoutError(
        f"{endpoint.model} accepted no connection within {endpoint.connect_timeout:g} s."
    )


def _unreachable(error: Exception, endpoint: Endpoint) -> UpstreamError:
    number = getattr(error, "errno", None)  # its own text would name the address
    cause = os.strerror(number) if isinstance(number, int) and number > 0 else type(error).__name__
    return UpstreamConnectionError(
        f"Can't reach {endpoint.model}: {cause}. Is it running, is api_base right?"
    )


def _disconnected(_: Exception, endpoint: Endpoint) -> UpstreamError:
    return UpstreamConnectionError(f"{endpoint.model} closed the connection without an answer.")


def _broken_off(_: Exception, endpoint: Endpoint) -> UpstreamError:
    return BrokenOffError(f"{endpoint.model}: the connection broke off in the middle of the answer.")


def _certificate(_: Exception, endpoint: Endpoint) -> UpstreamError:
    return UpstreamConnectionError(f"{endpoint.model} has a TLS certificate that can't be verified.")


def _malformed(_: Exception, endpoint: Endpoint) -> UpstreamError:
    return UpstreamProtocolError(
        f"{endpoint.model} answered with something that is not HTTP as it should be."
    )


def _misaddressed(_: Exception, endpoint: Endpoint) -> UpstreamError:
    return UpstreamProtocolError(f"{endpoint.model} can't be called like this: check its api_base and key.")


def _unexpected(error: Exception, endpoint: Endpoint) -> UpstreamError:
    return UpstreamError(f"Calling {endpoint.model} failed: {type(error).__name__}.")


_KINDS: Mapping[str, Callable[[Exception, Endpoint], UpstreamError]] = {
    "ConnectionTimeoutError": _connect_timeout,
    "ServerTimeoutError": _timeout,
    "TimeoutError": _timeout,
    "ClientConnectorCertificateError": _certificate,
    "ServerFingerprintMismatch": _certificate,
    "ServerDisconnectedError": _disconnected,
    "StaleConnectionError": _disconnected,
    "UploadAbortedError": _disconnected,
    "ClientConnectionResetError": _disconnected,
    "ClientConnectionError": _unreachable,
    "OSError": _unreachable,
    "ClientPayloadError": _broken_off,
    "ClientResponseError": _malformed,
    "RedirectClientError": _malformed,
    "InvalidURL": _misaddressed,
    "NonHttpUrlClientError": _misaddressed,
    "ValueError": _misaddressed,
}
"""By class name, since some versions of aiohttp lack some of the classes."""
