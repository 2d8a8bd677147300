"""Plain ASGI middleware: where the application is mounted, the request id, which websites may ask, API keys
and their rates, and cancellation when the client disconnects."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import math
import re
import secrets
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from proxy.aio import ASKER, Asker
from proxy.config.limit_settings import KeyLimits, Limits
from proxy.errors import AuthenticationError, ForbiddenError, RequestError
from proxy.openai_api.error_object import error_object
from proxy.openai_api.references import message_page
from proxy.server.key_ring import KeyRing, KnownKey
from proxy.server.prometheus import Metrics
from proxy.server.rates import Rates
from proxy.server.reference_links import Signer, index_of
from proxy.server.web_page import inert
from proxy.server.worker_group import WorkerGroup
from proxy.tracing import Attributes, Tracer

log = logging.getLogger(__name__)

GONE = 499
"""The status in logs and metrics of a request whose client left before it was answered or while it was."""
QUIET = frozenset({"/healthz", "/readyz", "/metrics"})
"""Routes that are asked all the time and mean nothing in a log."""

KEY_HEADER = "x-vouch-key"
"""The header for a key of Vouch where `Authorization` holds one for the upstream."""

_REQUEST_ID = b"x-request-id"
_SAFE_ID = re.compile(rb"[A-Za-z0-9._:-]{1,128}")


class Mounted:
    """Makes `path` what routes and keys go by, where the application is mounted in another or stands behind a
    proxy's prefix. Links have the prefix again (`app_root_path`, as Starlette's own mounts leave it)."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        prefix = scope.get("root_path", "").rstrip("/")
        if prefix:
            path = scope["path"]
            within = path.removeprefix(prefix) if path.startswith(f"{prefix}/") else path
            scope = {**scope, "path": within, "root_path": "", "app_root_path": prefix}
        await self.app(scope, receive, send)


class RequestId:
    """`x-request-id` on every response: the client's own where it is safe to repeat, else a new one.

    It opens the account of whom the request is done for (`aio.ASKER`), and when the answer has ended, it logs
    the request in one line and puts it into the metrics and its trace. The status there is how it ended: 499
    where the client left, in a stream too, and that of the error which a stream ended with. `paths` are those
    of the routes: a request that is refused before it reaches one counts for it.
    """

    def __init__(
        self,
        app: ASGIApp,
        paths: Collection[str] = (),
        metrics: Metrics | None = None,
        tracer: Tracer | None = None,
    ) -> None:
        self.app = app
        self.paths = frozenset(paths)
        self.metrics = metrics
        self.tracer = tracer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        given = next((value for name, value in scope["headers"] if name == _REQUEST_ID), b"")
        request_id = given if _SAFE_ID.fullmatch(given) else secrets.token_hex(16).encode()
        scope.setdefault("state", {})["request_id"] = request_id.decode()

        asker, begun, status, whole = Asker("", request_id.decode()), time.perf_counter(), GONE, False
        ASKER.set(asker)
        if self.tracer is not None and scope["path"] not in QUIET:
            asker.span = self.tracer.request(scope["method"], _described(scope), dict(_context(scope)))

        async def send_with_id(message: Message) -> None:
            nonlocal status, whole
            if message["type"] == "http.response.start":
                status = message["status"]
                others = [header for header in message.get("headers", ()) if header[0] != _REQUEST_ID]
                message = {**message, "headers": [*others, (_REQUEST_ID, request_id)]}
            else:
                whole = not message.get("more_body")
            await send(message)

        try:
            await self.app(scope, receive, send_with_id)
            # Clients close a stream as soon as they have read its last event.
            status = asker.failed or (status if whole or asker.ended else GONE)
        except ClientDisconnect:  # in the middle of its body
            status = GONE
        except asyncio.CancelledError:
            status = GONE
            raise
        except Exception:
            status = 500
            raise
        finally:
            self._account(scope, asker, status, time.perf_counter() - begun)
            _end_trace(scope, asker, status)

    def _account(self, scope: Scope, asker: Asker, status: int, seconds: float) -> None:
        other = scope["path"] if scope["path"] in self.paths else "other"
        path = getattr(scope.get("route"), "path", other)
        if path in QUIET:
            return
        level = logging.WARNING if status >= 500 else logging.INFO
        facts = {
            "method": scope["method"],
            "path": path,
            "status": status,
            "seconds": round(seconds, 3),
            **({"key": asker.key} if asker.key else {}),
            **({"model": asker.model} if asker.model else {}),
            **({"trace": asker.span.trace_id} if asker.span else {}),
            **{f"{phase}_seconds": round(spent, 3) for phase, spent in asker.phases.items()},
            **{labels[0]: count for (name, *labels), count in asker.counts.items() if name == "vouch_claims"},
        }
        text = " ".join(f"{name}={value}" for name, value in facts.items() if name not in ("method", "path"))
        log.log(level, "%s %s %s", scope["method"], path, text, extra={"facts": facts})
        if self.metrics is None:
            return
        self.metrics.requests.labels(path, status, asker.key).inc()
        self.metrics.seconds.labels(path).observe(seconds)
        for phase, spent in asker.phases.items():
            self.metrics.phases.labels(phase).observe(spent)
        for (name, *labels), count in asker.counts.items():
            self.metrics.counters[name].labels(asker.model, *labels).inc(count)
        if asker.waited is not None:
            self.metrics.waits.observe(asker.waited)


def _described(scope: Scope) -> Attributes:
    return {
        "http.request.method": scope["method"],
        "url.scheme": scope.get("scheme", "http"),
        "vouch.request.id": scope["state"]["request_id"],
    }


def _context(scope: Scope) -> Iterator[tuple[str, str]]:
    """The headers of W3C Trace Context that the request came with."""
    for name, value in scope["headers"]:
        if name in (b"traceparent", b"tracestate"):
            yield name.decode(), value.decode("latin-1")


def _end_trace(scope: Scope, asker: Asker, status: int) -> None:
    """Adds what is known of the request by now to its span: its phases but for the calls of upstreams, which
    have their spans already."""
    span, asker.span = asker.span, None
    if span is None:
        return
    for step in asker.steps:
        if step.phase in _UNITS:
            begun, ended = asker.begun + step.start, asker.begun + step.end
            about = {f"vouch.{_UNITS[step.phase]}": step.count} if step.count else {}
            span.child(step.phase, about, start=begun).end(at=ended)
    route = getattr(scope.get("route"), "path", "")
    told = {
        "http.route": route,
        "vouch.key": asker.key,
        "gen_ai.request.model": asker.model,
        "http.response.status_code": status,
        **{
            f"vouch.claims.{labels[0]}": n
            for (name, *labels), n in asker.counts.items()
            if name == "vouch_claims"
        },
    }
    span.set({name: value for name, value in told.items() if value != ""})
    span.rename(f"{scope['method']} {route}".rstrip())
    span.end(str(status) if status >= 500 else "")


_UNITS = {
    "waiting": "requests",
    "claims": "claims",
    "retrieval": "queries",
    "checking": "pairs",
    "correction": "claims",
}
"""The phases that become spans here, and what each is about."""


class LocalOnly:
    """Keeps websites away from a server without keys, which whoever can reach it may use.

    Refused are a `Host` that is neither an address nor among `hosts` (a website whose name leads here: DNS
    rebinding), and an `Origin` that is neither this server nor among `origins` (a page that sends requests to
    it). Programs send no origin; browsers send it for the page's own scripts, which hold no data.
    """

    def __init__(self, app: ASGIApp, hosts: Sequence[str], origins: Sequence[str]) -> None:
        self.app = app
        self.hosts = frozenset(host.lower() for host in hosts) | {"localhost"}
        self.origins = frozenset(origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = self._refusal(Headers(scope=scope), scope["path"]) if scope["type"] == "http" else ""
        if not refusal:
            await self.app(scope, receive, send)
            return
        error = ForbiddenError(refusal)
        await JSONResponse(error_object(error), error.status)(scope, receive, send)

    def _refusal(self, headers: Headers, path: str) -> str:
        host, origin = headers.get("host", ""), headers.get("origin")
        name = urlsplit(f"//{host}").hostname or "" if _HOST.fullmatch(host) else ""
        if host and "*" not in self.hosts and name not in self.hosts and not _is_address(name):
            return (
                f"The host {host[:200]!r} is not served: this server has no API keys, and so answers to its "
                "own names only. Add the name to server.hosts, or set server.api_keys."
            )
        own = path.startswith("/web/") or (origin is not None and origin.partition("://")[2] == host)
        if origin is not None and not own and not self.origins & {origin, "*"}:
            return (
                f"The origin {origin[:200]!r} may not ask this server: it has no API keys. Add the origin to "
                "server.cors_origins."
            )
        return ""


_HOST = re.compile(r"[A-Za-z0-9._~-]+(:\d{1,5})?|\[[0-9A-Fa-f:.]+\](:\d{1,5})?")


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


class Keys:
    """Requires one of the API keys, if there are any, and says whom the work on a request is for: under
    `/v1/` a key with the scope `models`, for `/metrics` one with `metrics` or `admin`, under `/admin/` one
    with `admin`.

    A key comes as `Authorization: Bearer KEY`, or as `x-vouch-key: KEY` where `Authorization` holds the key
    for an upstream (`client_key`). One of these keys is never handed on to an upstream. Requests over the
    key's rate are refused. A link that `signer` signed opens its passage without a key.

    For the routes it puts down which of the `indexes` the request may read (`state.index`: that of the key,
    or of the link; empty: that of all keys without one), and what it may take (`state.limits`).
    """

    def __init__(
        self,
        app: ASGIApp,
        keys: KeyRing,
        limits: Limits,
        signer: Signer | None = None,
        indexes: Collection[str] = (),
        group: WorkerGroup | None = None,
        frame_ancestors: Sequence[str] = (),
    ) -> None:
        self.app = app
        self.frame_ancestors = frame_ancestors
        self.levels = group.levels if group else None
        self.workers = group.workers if group else 1
        self.signer = signer
        self.keys = keys
        self.limits = limits
        self.indexes = frozenset(indexes) | {""}
        self.rates: dict[str, Rates] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers, state = Headers(scope=scope), scope.setdefault("state", {})
        token = bearer(headers)
        bearing = self.keys.find(token)
        key = self.keys.find(headers.get(KEY_HEADER)) or bearing
        state["upstream_key"] = None if bearing else token
        wanted = next((scopes for path, scopes in _SCOPES.items() if scope["path"].startswith(path)), ())
        if self.keys.required and wanted and not (key and key.scopes & set(wanted)):
            refusal = self._link_refusal(scope)
            if refusal is not None:
                await self._refuse(_refused(key, wanted, refusal), headers, refusal)(scope, receive, send)
                return
            state["index"] = index_of(scope["query_string"])
        else:
            state["index"] = key.index if key and wanted else ""
        if state["index"] not in self.indexes:
            error = ForbiddenError("The index of your key is not served here.")
            await JSONResponse(error_object(error), error.status)(scope, receive, send)
            return
        limits = state["limits"] = key.limits if key else self.limits
        asker = ASKER.get()
        asker.key = key.name if key else ""
        asker.most_calls, asker.most_tokens = limits.upstream_calls, limits.upstream_tokens
        asker.most_places = math.ceil(limits.key.concurrency / self.workers)
        if scope["method"] == "POST" and scope["path"].startswith("/v1/") and _is_limited(limits.key):
            await self._rates(asker.key, limits.key).run(self.app, asker, scope, receive, send)
            return
        await self.app(scope, receive, send)

    def _rates(self, key: str, limits: KeyLimits) -> Rates:
        """Those of a key; new ones where its limits have changed."""
        known = self.rates.get(key)
        if known is None or known.limits != limits:
            known = self.rates[key] = Rates(key, limits, self.levels)
        return known

    def _link_refusal(self, scope: Scope) -> str | None:
        """Why the request is no signed link that opens; None where it is one, "" where it is no link."""
        if self.signer is None or scope["method"] not in ("GET", "HEAD"):
            return ""
        return self.signer.refusal(scope["path"], scope["query_string"])

    def _refuse(self, error: RequestError, headers: Headers, link: str) -> Response:
        """The refusal; a page for a browser that followed a link."""
        if link and "text/html" in headers.get("accept", ""):
            return HTMLResponse(message_page(link, _ASK_AGAIN), error.status, inert(self.frame_ancestors))
        return JSONResponse(error_object(error), error.status, {"www-authenticate": "Bearer"})


def _is_limited(limits: KeyLimits) -> bool:
    return limits.requests_per_minute is not None or limits.tokens_per_minute is not None


_SCOPES: Mapping[str, tuple[str, ...]] = {
    "/v1/": ("models",),
    "/metrics": ("metrics", "admin"),
    "/admin/": ("admin",),
}
"""Which scopes a path needs one of, by how it begins."""


_ASK_AGAIN = "Ask the question again for a new link."


def _refused(key: KnownKey | None, wanted: tuple[str, ...], link: str) -> RequestError:
    if link:
        return AuthenticationError(f"{link} {_ASK_AGAIN} Or send your key as 'Authorization: Bearer KEY'.")
    if key is not None:
        return ForbiddenError(f"Your key may not do this: it needs the scope {' or '.join(wanted)}.")
    return AuthenticationError(
        "The API key is missing or wrong. Send it as 'Authorization: Bearer KEY', or as 'x-vouch-key: KEY' "
        "where 'Authorization' holds your key for the model."
    )


def bearer(headers: Headers) -> str | None:
    """The token of an `Authorization: Bearer` header."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() or None if scheme.lower() == "bearer" else None


class CancelOnDisconnect:
    """Cancels the work on a request when its client disconnects.

    The app alone reads the body; once it is complete, one task watches the connection.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        watch = Watch(receive, asyncio.current_task())
        try:
            await self.app(scope, watch.receive, send)
        except asyncio.CancelledError:
            if not watch.has_cancelled():
                raise
            log.debug("the client disconnected; its work was cancelled")
        finally:
            watch.end()


class Watch:
    """Receives messages for the task that works on a request, and cancels it when the client disconnects."""

    def __init__(self, receive: Receive, work: asyncio.Task[object] | None) -> None:
        self._receive = receive
        self._work = work
        self._watching: asyncio.Task[None] | None = None
        self._cancelled = False

    async def receive(self) -> Message:
        """The body, message by message; after it only the disconnect."""
        if self._watching is not None:
            await asyncio.wait({self._watching})
            return {"type": "http.disconnect"}
        message = await self._receive()
        if not message.get("more_body"):
            self._watching = asyncio.ensure_future(self._until_gone())
        return message

    def has_cancelled(self) -> bool:
        """Whether the disconnect, and nothing else, cancelled the work."""
        return self._cancelled and self._work is not None and not self._work.uncancel()

    def end(self) -> None:
        """Stops watching: the work is done."""
        if self._watching is not None:
            self._watching.cancel()

    async def _until_gone(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        if self._work is not None:
            self._cancelled = True
            self._work.cancel()
