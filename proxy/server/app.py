"""Builds the HTTP application: routes, middleware, error handlers, shutdown."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from prometheus_client.exposition import choose_encoder
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from proxy.aio import Ending, Gate
from proxy.config.settings import Server, Settings
from proxy.engine.app_context import AppContext
from proxy.errors import NotFoundError, VouchError
from proxy.openai_api.error_object import error_headers, error_object, error_status
from proxy.openai_api.openapi import openapi
from proxy.server.audit_log import AuditLog
from proxy.server.chats import ChatService
from proxy.server.key_ring import KeyRing
from proxy.server.middleware import CancelOnDisconnect, Keys, LocalOnly, Mounted, RequestId
from proxy.server.prometheus import Metrics
from proxy.server.rates import LargeBodies
from proxy.server.readiness import canary_of
from proxy.server.reference_links import Signer, signer_of
from proxy.server.reload import Administration, Reloader
from proxy.server.routes import FORWARDED, Endpoints
from proxy.server.web_page import page_routes
from proxy.server.worker_group import WorkerGroup, share_of
from proxy.tracing import Tracer

log = logging.getLogger(__name__)


def create_app(
    context: AppContext,
    settings: Settings,
    tracer: Tracer | None = None,
    group: WorkerGroup | None = None,
) -> Starlette:
    """The application over a context that is ready. When the application shuts down, the context is closed,
    and the tracer, where requests are traced. `group`: the workers that serve the same port."""
    server, key = settings.server, settings.limits.key
    gate = Gate(
        share_of(server.max_concurrency, group),
        share_of(server.max_queue, group),
        share_of(key.concurrency, group),
    )
    ending, canary = Ending(), canary_of(context, settings)
    contexts, close = {"": replace(context, others={}), **context.others}, context.close
    reloaders = {name: Reloader(each, settings.index.watch, name) for name, each in contexts.items()}
    contexts.clear()  # one that is replaced is held by requests alone
    audit = AuditLog(settings.audit) if settings.audit.path else None
    metrics = Metrics(reloaders, gate, ending, audit, group) if settings.metrics.enabled else None
    admin = Administration(reloaders, keyless=not server.has_keys, group=group)
    signer, bodies = signer_of(server), LargeBodies()
    own_settings = settings.within(settings.limits)

    async def closed() -> None:
        canary.close()
        await close()
        if audit is not None:
            await asyncio.to_thread(audit.close)
        if tracer is not None:
            await asyncio.to_thread(tracer.close)

    def route(path: str, answer: Callable[[Endpoints, Request], Awaitable[Response]], method: str) -> Route:
        """Each request gets the components that there are when it comes, over the index that its key reads,
        and keeps them."""

        async def handle(request: Request) -> Response:
            index, limits = request.state.index, request.state.limits
            current = reloaders[index].context
            own = own_settings if limits is settings.limits else settings.within(limits)
            chats = ChatService(current, own, gate, ending, audit, signer.over(index) if signer else None)
            stale = any(reloader.failure for reloader in reloaders.values())
            return await answer(Endpoints(current, own, chats, gate, ending, canary, bodies, stale), request)

        return Route(path, handle, methods=[method])

    routes = [
        route("/v1/chat/completions", Endpoints.chat, "POST"),
        route("/v1/responses", Endpoints.responses, "POST"),
        route("/v1/check", Endpoints.check_text, "POST"),
        route("/v1/citations/check", Endpoints.check_citations, "POST"),
        route("/v1/search", Endpoints.search, "POST"),
        *(route(f"/v1/{name}", Endpoints.forward, "POST") for name in FORWARDED),
        route("/v1/models", Endpoints.models, "GET"),
        route("/v1/models/{name:path}", Endpoints.model, "GET"),
        route("/v1/references/{id}", Endpoints.reference, "GET"),
        route("/healthz", Endpoints.healthz, "GET"),
        route("/readyz", Endpoints.readyz, "GET"),
        Route("/admin/reload", admin.reload, methods=["POST"]),
        *(page_routes() if settings.web.enabled else ()),
        *([Route("/metrics", _exposed(metrics))] if metrics else []),
        Route("/openapi.json", _described(keys=server.has_keys)),
    ]
    app = Starlette(
        routes=routes,
        middleware=_middleware(settings, [route.path for route in routes], signer, metrics, tracer, group),
        exception_handlers={HTTPException: _not_routed, VouchError: _failed, Exception: _failed},
        lifespan=_lifespan(list(reloaders.values()), closed, metrics, group),
    )
    app.state.ending, app.state.reloaders = ending, reloaders
    return app


def _middleware(
    settings: Settings,
    paths: Sequence[str],
    signer: Signer | None,
    metrics: Metrics | None,
    tracer: Tracer | None,
    group: WorkerGroup | None,
) -> list[Middleware]:
    """What every request passes, the outermost first."""
    server, origins = settings.server, list(settings.server.cors_origins)
    ring = KeyRing(server.api_keys, settings.limits, Path(server.key_file) if server.key_file else None)
    return [
        Middleware(Mounted),
        Middleware(RequestId, paths=paths, metrics=metrics, tracer=tracer),
        *([] if server.has_keys else [Middleware(LocalOnly, hosts=_names(server), origins=_own(server))]),
        *([Middleware(CORSMiddleware, **_CORS, allow_origins=origins)] if origins else []),
        Middleware(_InternalErrors),
        Middleware(
            Keys,
            keys=ring,
            limits=settings.limits,
            signer=signer,
            indexes=settings.indexes,
            group=group,
            frame_ancestors=server.frame_ancestors,
        ),
        Middleware(CancelOnDisconnect),
    ]


def _lifespan(
    reloaders: Sequence[Reloader],
    close: Callable[[], Awaitable[None]],
    metrics: Metrics | None,
    group: WorkerGroup | None,
) -> Callable[[Starlette], AbstractAsyncContextManager[None]]:
    """What runs while the application serves: the watch over each index, and the word to the other workers.
    `close` is called when it ends."""

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        for reloader in reloaders:
            reloader.watch()
        beating = asyncio.create_task(_beat(group, metrics)) if group else None
        try:
            yield
        finally:
            if beating is not None:
                beating.cancel()
            for reloader in reloaders:
                reloader.close()
            await close()

    return lifespan


def _described(*, keys: bool) -> Callable[[Request], Awaitable[Response]]:
    @cache
    def description(app: Starlette) -> bytes:
        routes = [route for route in app.routes if isinstance(route, Route)]
        methods = [(method, route.path) for route in routes for method in sorted(route.methods or ())]
        return json.dumps(openapi((each for each in methods if each[0] != "HEAD"), keys=keys)).encode()

    async def described(request: Request) -> Response:
        """The API's description, made when it is first asked for."""
        return Response(description(request.app), media_type="application/json")

    return described


async def _beat(group: WorkerGroup, metrics: Metrics | None) -> None:
    """Tells the other workers once a second how this one is."""
    while True:
        group.beat()
        if metrics is not None:
            metrics.refresh()
        await asyncio.sleep(1)


def _exposed(metrics: Metrics) -> Callable[[Request], Awaitable[Response]]:
    async def exposed(request: Request) -> Response:
        """All metrics, in Prometheus' format."""
        metrics.refresh()
        encode, kind = choose_encoder(request.headers.get("accept", ""))
        return Response(encode(metrics.registry), headers={"content-type": kind})

    return exposed


_CORS: Mapping[str, Any] = {
    "allow_methods": ["GET", "POST"],
    "allow_headers": ["*"],
    "expose_headers": ["x-request-id", "retry-after"],
}


def _names(server: Server) -> list[str]:
    """The names that a server without keys answers to. One that was opened to others has names that only
    they know."""
    if server.keyless and not server.hosts:
        return ["*"]
    public = urlsplit(server.public_url or "").hostname
    return [*server.hosts, server.host, *([public] if public else [])]


def _own(server: Server) -> list[str]:
    """The origins whose pages may ask a server without keys. Its public address is one: a proxy on the way
    may hide it from the `Host`."""
    public = urlsplit(server.public_url or "")
    return [*server.cors_origins, *([f"{public.scheme}://{public.netloc}"] if public.netloc else [])]


class _InternalErrors:
    """Answers what nobody foresaw, where nothing is sent yet: with the request's id and CORS headers, which
    Starlette's own handler of all exceptions stands outside of."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = False

        async def noted(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self.app(scope, receive, noted)
        except ClientDisconnect:
            raise  # nobody is there to be answered
        except Exception as error:
            if begun or scope["type"] != "http":
                raise
            log.exception("an internal error")
            await (await _failed(Request(scope), error))(scope, receive, send)


async def _failed(_request: Request, error: Exception) -> Response:
    return JSONResponse(error_object(error), error_status(error), error_headers(error))


async def _not_routed(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    allowed = dict(error.headers or {}) if isinstance(error, HTTPException) else {}
    message = f"{request.method} {request.url.path} is not served here. See /v1/models, /v1/chat/completions."
    return JSONResponse(error_object(NotFoundError(message)), status, allowed)
