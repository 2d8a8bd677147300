"""Builds the HTTP application: routes, middleware, error handlers, shutdown."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from proxy.config.settings import Settings
from proxy.engine.app_context import AppContext
from proxy.errors import NotFoundError, VouchError
from proxy.openai_api.error_object import error_headers, error_object, error_status
from proxy.server.chats import ChatService, ConcurrencyLimit
from proxy.server.middleware import CancelOnDisconnect, Keys, RequestId
from proxy.server.routes import FORWARDED, Endpoints
from proxy.server.web_page import page_routes


def create_app(context: AppContext, settings: Settings) -> Starlette:
    """The application over a context that is ready. The context is closed when the application shuts down."""
    limit = ConcurrencyLimit(settings.server.max_concurrency, settings.server.max_queue)
    endpoints = Endpoints(context, settings, ChatService(context, settings, limit), limit)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        try:
            yield
        finally:
            await context.close()

    return Starlette(
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
        ],
        middleware=[
            Middleware(RequestId),
            Middleware(Keys, keys=[key.get_secret_value() for key in settings.server.api_keys]),
            Middleware(CancelOnDisconnect),
        ],
        exception_handlers={HTTPException: _not_routed, VouchError: _failed, Exception: _failed},
        lifespan=lifespan,
    )


async def _failed(_request: Request, error: Exception) -> Response:
    return JSONResponse(error_object(error), error_status(error), error_headers(error))


async def _not_routed(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    allowed = dict(error.headers or {}) if isinstance(error, HTTPException) else {}
    message = f"{request.method} {request.url.path} is not served here. See /v1/models, /v1/chat/completions."
    return JSONResponse(error_object(NotFoundError(message)), status, allowed)
