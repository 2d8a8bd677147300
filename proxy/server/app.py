"""The HTTP application: routes, middleware, lifespan."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from proxy.config.settings import Settings
from proxy.engine.context import AppContext
from proxy.errors import BodyTooLargeError, NotFoundError, RequestError, VouchError
from proxy.openai_api.chat.request import RequestOptions, parse_body, parse_chat
from proxy.openai_api.citation_check import parse_check
from proxy.openai_api.error_object import error_headers, error_object, error_status
from proxy.openai_api.models import find_model, model_object, model_objects
from proxy.openai_api.options import ResolvedOptions
from proxy.openai_api.profiles import HEADER
from proxy.openai_api.references import passage_object, passage_page
from proxy.openai_api.responses.request import parse_response_request
from proxy.openai_api.responses.response import asked
from proxy.server.chat_service import ChatService
from proxy.server.citation_service import CitationService
from proxy.server.limits import ConcurrencyLimit
from proxy.server.middleware import CancelOnDisconnect, Keys, RequestId, bearer
from proxy.server.response_service import ResponseService
from proxy.server.unchecked import Relayed
from proxy.types import Json

T = TypeVar("T")

SMALL = 16_384
"""Bytes up to which a body is parsed where it is: a thread would cost more. A long history takes a while to
clean, which must not hold up the other chats."""

FORWARDED = ("embeddings", "completions", "moderations", "images/generations")
"""Routes under `/v1/` that are passed to the upstream that the body's `model` names."""


def create_app(parts: AppContext, settings: Settings) -> Starlette:
    """The application over parts that are ready. They are closed when it shuts down."""
    gate = ConcurrencyLimit(settings.server.max_concurrency, settings.server.max_queue)
    chats, citations = ChatService(parts, settings, gate), CitationService(parts, settings, gate)
    endpoints = Endpoints(parts, settings, chats, ResponseService(chats), citations)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        try:
            yield
        finally:
            await parts.close()

    return Starlette(
        routes=[
            Route("/v1/chat/completions", endpoints.chat, methods=["POST"]),
            Route("/v1/responses", endpoints.responses, methods=["POST"]),
            Route("/v1/citations/check", endpoints.check_citations, methods=["POST"]),
            *(Route(f"/v1/{route}", endpoints.forward, methods=["POST"]) for route in FORWARDED),
            Route("/v1/models", endpoints.models),
            Route("/v1/models/{name:path}", endpoints.model),
            Route("/v1/references/{id}", endpoints.reference),
            Route("/healthz", endpoints.healthz),
            Route("/readyz", endpoints.readyz),
        ],
        middleware=[
            Middleware(RequestId),
            Middleware(Keys, keys=[key.get_secret_value() for key in settings.server.api_keys]),
            Middleware(CancelOnDisconnect),
        ],
        exception_handlers={HTTPException: _not_routed, VouchError: _failed, Exception: _failed},
        lifespan=lifespan,
    )


@dataclass(frozen=True, slots=True)
class Endpoints:
    """One method per route."""

    parts: AppContext
    settings: Settings
    chats: ChatService
    replies: ResponseService
    citations: CitationService

    async def chat(self, request: Request) -> Response:
        """A checked reply."""
        key, profile = bearer(request.headers), request.headers.get(HEADER)
        chat = await self._parsed(request, lambda body: parse_chat(body, key, self._signs, profile))
        return await self.chats.respond(chat, str(request.base_url))

    async def responses(self, request: Request) -> Response:
        """A checked reply, as a response."""
        key, signs = bearer(request.headers), self._signs
        chat, echoed = await self._parsed(
            request, lambda body: (parse_response_request(body, key, signs), asked(body))
        )
        return await self.replies.respond(chat, echoed, str(request.base_url))

    async def check_citations(self, request: Request) -> Response:
        """Whether an answer's citations bear it out."""
        check = await self._parsed(request, parse_check)
        return JSONResponse(await self.citations.check(check))

    async def forward(self, request: Request) -> Response:
        """The upstream's own answer, as it comes."""
        body = await self._parsed(request, dict)
        name = body.get("model")
        if name is not None and not isinstance(name, str):
            raise RequestError("`model` must be a string.", param="model")
        model = find_model(self.parts.models, name)
        route = request.url.path.removeprefix("/v1/")
        if model.forwarder is None:
            raise NotFoundError(f"The model {model.name!r} has no {route}; it only chats.", param="model")
        answer = await model.forwarder.forward(route, body, bearer(request.headers))
        return Relayed(answer, answer.aclose)

    async def models(self, _request: Request) -> Response:
        """Every model."""
        return JSONResponse(model_objects(self.parts.models))

    async def model(self, request: Request) -> Response:
        """One model."""
        return JSONResponse(model_object(self.parts.models, request.path_params["name"]))

    async def reference(self, request: Request) -> Response:
        """A passage: JSON, or a page for a browser."""
        passage = self.parts.passages.get(request.path_params["id"])
        if passage is None:
            raise NotFoundError(f"No passage {request.path_params['id']!r}; the index may have been rebuilt.")
        if "text/html" in request.headers.get("accept", ""):
            return HTMLResponse(passage_page(passage))
        return JSONResponse(passage_object(passage))

    async def healthz(self, _request: Request) -> Response:
        """The process answers."""
        return JSONResponse({"status": "ok"})

    async def readyz(self, _request: Request) -> Response:
        """There is a corpus to check against and a model to ask."""
        count = len(self.parts.passages)
        body = {"status": "ready", "passages": count, "models": list(self.parts.models)}
        return JSONResponse(body) if count else JSONResponse({**body, "status": "empty index"}, 503)

    def _signs(self, options: RequestOptions) -> tuple[str, ...]:
        """What may stand behind claims that failed in replies that come back."""
        return tuple(
            {ResolvedOptions(self.settings).sign, ResolvedOptions(self.settings, options).sign} - {""}
        )

    async def _parsed(self, request: Request, parse: Callable[[Json], T]) -> T:
        """What `parse` makes of the request's JSON object."""
        body = await self._body(request)
        if len(body) <= SMALL:
            return parse(parse_body(body))
        return await asyncio.to_thread(lambda: parse(parse_body(body)))

    async def _body(self, request: Request) -> bytes:
        """The request's body, read no further than the limit."""
        limit = self.settings.server.max_body_bytes
        too_large = BodyTooLargeError(f"The body is over {limit:,} bytes (server.max_body_bytes).")
        if int(request.headers.get("content-length") or 0) > limit:
            raise too_large
        body = bytearray()
        async for piece in request.stream():
            body += piece
            if len(body) > limit:
                raise too_large
        return bytes(body)


async def _failed(_request: Request, error: Exception) -> Response:
    return JSONResponse(error_object(error), error_status(error), error_headers(error))


async def _not_routed(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    allowed = dict(error.headers or {}) if isinstance(error, HTTPException) else {}
    message = f"{request.method} {request.url.path} is not served here. See /v1/models, /v1/chat/completions."
    return JSONResponse(error_object(NotFoundError(message)), status, allowed)
