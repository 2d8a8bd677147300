"""Builds the HTTP application: routes, middleware, error handlers, shutdown."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

from prometheus_client.exposition import choose_encoder
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from proxy.aio import Ending, Gate
from proxy.config.settings import Server, Settings
from proxy.engine.app_context import AppContext
from proxy.errors import NotFoundError, VouchError
from proxy.openai_api.error_object import error_headers, error_object, error_status
from proxy.server.chats import ChatService
from proxy.server.middleware import CancelOnDisconnect, Keys, LocalOnly, RequestId
from proxy.server.prometheus import Metrics
from proxy.server.readiness import canary_of
from proxy.server.routes import FORWARDED, Endpoints
from proxy.server.web_page import page_routes


def create_app(context: AppContext, settings: Settings) -> Starlette:
    """The application over a context that is ready. The context is closed when the application shuts down."""
    server = settings.server
    gate = Gate(server.max_concurrency, server.max_queue, settings.limits.key.concurrency)
    ending, canary = Ending(), canary_of(context, settings)
    chats = ChatService(context, settings, gate, ending)
    metrics = Metrics(context, gate, ending) if settings.metrics.enabled else None
    endpoints = Endpoints(context, settings, chats, gate, ending, canary)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        try:
            yield
        finally:
            canary.close()
            await context.close()

    origins = list(server.cors_origins)
    app = Starlette(
        routes=[
            Route("/v1/chat/completions", endpoints.chat, methods=["POST"]),
            Route("/v1/responses", endpoints.responses, methods=["POST"]),
            Route("/v1/check", endpoints.check_text, methods=["POST"]),
            Route("/v1/citations/check", endpoints.check_citations, methods=["POST"]),
            Route("/v1/search", endpoints.search, methods=["POST"]),
            *(Route(f"/v1/{route}", endpoints.forward, methods=["POST"]) for route in FORWARDED),
            Route("/v1/models", endpoints.models),
            Route("/v1/models/{name:path}", endpoints.model),
            Route("/v1/references/{id}", endpoints.reference),
            Route("/healthz", endpoints.healthz),
            Route("/readyz", endpoints.readyz),
            *(page_routes() if settings.web.enabled else ()),
            *([Route("/metrics", _exposed(metrics))] if metrics else []),
        ],
        middleware=[
            Middleware(RequestId, metrics=metrics),
            *([] if server.api_keys else [Middleware(LocalOnly, hosts=_names(server), origins=origins)]),
            *([Middleware(CORSMiddleware, **_CORS, allow_origins=origins)] if origins else []),
            Middleware(
                Keys,
                keys=server.api_keys,
                limits=settings.limits,
            ),
            Middleware(CancelOnDisconnect),
        ],
        exception_handlers={HTTPException: _not_routed, VouchError: _failed, Exception: _failed},
        lifespan=lifespan,
    )
    app.state.ending = ending
    return app


def _exposed(metrics: Metrics) -> Callable[[Request], Awaitable[Response]]:
    async def exposed(request: Request) -> Response:
        """All metrics, in Prometheus' format."""
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


async def _failed(_request: Request, error: Exception) -> Response:
    return JSONResponse(error_object(error), error_status(error), error_headers(error))


async def _not_routed(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    allowed = dict(error.headers or {}) if isinstance(error, HTTPException) else {}
    message = f"{request.method} {request.url.path} is not served here. See /v1/models, /v1/chat/completions."
    return JSONResponse(error_object(NotFoundError(message)), status, allowed)
