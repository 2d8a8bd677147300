"""One handler per route: parses the request and answers it. Errors are raised as `VouchError`."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import TypeVar

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from proxy.aio import Ending, Gate
from proxy.citations.report import CitationOptions, check_citations
from proxy.config.settings import Settings
from proxy.engine.app_context import AppContext
from proxy.errors import BodyTooLargeError, MediaTypeError, NotFoundError, RequestError
from proxy.openai_api.chat.request import UNCHECKED, parse_body, parse_chat
from proxy.openai_api.citation_check import parse_check, report_object
from proxy.openai_api.corpus_search import parse_search, search_corpus
from proxy.openai_api.models import model_object, model_objects
from proxy.openai_api.options import RequestOptions, ResolvedOptions, find_model
from proxy.openai_api.profiles import HEADER
from proxy.openai_api.references import message_page, passage_object, passage_page, wanted_around
from proxy.openai_api.responses.request import parse_response_request
from proxy.openai_api.responses.response import Envelope, echo
from proxy.openai_api.responses.stream import ResponseChunks, ResponseSerializer
from proxy.openai_api.text_check import check_text, options_of, parse_text_check, sources_of
from proxy.server.chats import ChatService, require_allowed, within_limits
from proxy.server.rates import LARGE, LargeBodies
from proxy.server.readiness import Canary
from proxy.server.web_page import inert
from proxy.types import Json

log = logging.getLogger(__name__)
T = TypeVar("T")

SMALL = 16_384
"""A body of up to this many bytes is parsed in the event loop, where a thread would cost more. A longer one
is parsed in a thread, since cleaning a long history would hold up the other chats."""

JSON = "application/json"

FORWARDED = ("embeddings", "completions", "moderations", "images/generations")
"""Routes under `/v1/` that are forwarded to the upstream of the body's `model`."""


@dataclass(frozen=True, slots=True)
class Endpoints:
    """One method per route, for one request."""

    context: AppContext
    settings: Settings
    chats: ChatService
    gate: Gate
    ending: Ending
    canary: Canary
    bodies: LargeBodies
    stale: bool
    """Whether an index was rebuilt and can't be used."""

    async def chat(self, request: Request) -> Response:
        """A checked reply."""
        key, profile = request.state.upstream_key, request.headers.get(HEADER)
        chat = await self._parsed(request, lambda body: parse_chat(body, key, self._warnings, profile))
        return await self.chats.chat(chat, str(request.base_url))

    async def responses(self, request: Request) -> Response:
        """A checked reply in the format of the Responses API."""
        key, warnings = request.state.upstream_key, self._warnings
        chat, echoed = await self._parsed(
            request, lambda body: (parse_response_request(body, key, warnings), echo(body))
        )
        model = find_model(self.context.models, chat.model)
        envelope = Envelope(model.name + (UNCHECKED if chat.unchecked else ""), echoed)
        serializer = ResponseSerializer(envelope, ResponseChunks(envelope))
        return await self.chats.respond(chat, model, serializer, str(request.base_url))

    async def check_citations(self, request: Request) -> Response:
        """Whether the documents that an answer cites support it."""
        begun = time.perf_counter()
        check = await self._parsed(request, parse_check)
        asked = RequestOptions(**check.vouch.model_dump(exclude_unset=True))
        require_allowed(asked, self.settings)
        options = ResolvedOptions(self.settings, asked)
        checker = options.checker(find_model(self.context.models, check.model))
        documents = check.numbered_documents(self.settings.retrieval.max_document_chars)
        bounds = CitationOptions(
            max_statements=self.settings.verification.max_claims,
            top_k=check.vouch.top_k or self.settings.retrieval.top_k,
            deadline=options.deadline,
        )
        async with self.gate.place():
            report = await check_citations(check.answer, documents, checker, check.question, bounds)
        log.info(
            "citations: %d statements, %d fully supported, %.0f ms",
            len(report.checkable),
            sum(statement.recalled for statement in report.checkable),
            1000 * (time.perf_counter() - begun),
        )
        return JSONResponse(report_object(report, check.answer))

    async def check_text(self, request: Request) -> Response:
        """The verdict on each claim of a text, and what it can cite."""
        begun = time.perf_counter()
        check = await self._parsed(request, parse_text_check)
        asked = options_of(check)
        require_allowed(asked, self.settings)
        options = ResolvedOptions(self.settings, asked)
        model = find_model(self.context.models, check.model)
        options.checker(model)  # an unknown one is refused before the text waits for its turn
        url_of = self.chats.url_of(str(request.base_url))
        async with self.gate.place():
            sources = await sources_of(self.context, options, check)
            checked = await check_text(check.text, check.question, model, options, sources, url_of)
        log.info(
            "text: %d claims, %.0f ms",
            len(checked.choice.verification["claims"]),
            1000 * (time.perf_counter() - begun),
        )
        return JSONResponse(checked.wire())

    async def search(self, request: Request) -> Response:
        """The passages that a query finds."""
        search = await self._parsed(request, parse_search)
        async with self.gate.place():
            result = await search_corpus(search, self.context.retrievers, self.settings.retrieval.mode)
        return JSONResponse(result)

    async def forward(self, request: Request) -> Response:
        """The upstream's own answer, unchanged."""
        body = await self._parsed(request, dict)
        name = body.get("model")
        if name is not None and not isinstance(name, str):
            raise RequestError("`model` must be a string.", param="model")
        model = find_model(self.context.models, name and name.removesuffix(UNCHECKED))
        route = request.scope["path"].removeprefix("/v1/")
        if model.forwarder is None:
            raise NotFoundError(f"The model {model.name!r} has no {route}; it only chats.", param="model")
        body = within_limits(body, model, self.settings)
        forwarder, key = model.forwarder, request.state.upstream_key
        return await self.chats.passed_on(lambda: forwarder.forward(route, body, key))

    async def models(self, _request: Request) -> Response:
        """Every model."""
        server = self.settings.server
        return JSONResponse(
            model_objects(self.context.models, server.list_profiles, unchecked=server.list_unchecked)
        )

    async def model(self, request: Request) -> Response:
        """One model."""
        return JSONResponse(model_object(self.context.models, request.path_params["name"]))

    async def reference(self, request: Request) -> Response:
        """A passage, with those around it where they are wanted: JSON, or a page for a browser."""
        passages, given = self.context.passages, request.query_params.get("around")
        passage = await asyncio.to_thread(passages.get, request.path_params["id"])
        html = "text/html" in request.headers.get("accept", "")
        if passage is None:
            missing = f"No passage {request.path_params['id']!r}; the index may have been rebuilt."
            if not html:
                raise NotFoundError(missing)
            page = message_page("This passage is no longer here", missing)
            return HTMLResponse(page, NotFoundError.status, inert(self.settings.server.frame_ancestors))
        if given is None and not html:
            return JSONResponse(passage_object(passage))
        around = await asyncio.to_thread(passages.around, passage.id, wanted_around(given, int(html)))
        if html:
            page = passage_page(passage, request.query_params.get("quote", ""), around)
            return HTMLResponse(page, headers=inert(self.settings.server.frame_ancestors))
        return JSONResponse(passage_object(passage, around))

    async def healthz(self, _request: Request) -> Response:
        """Says that the process is alive."""
        return JSONResponse({"status": "ok"})

    async def readyz(self, _request: Request) -> Response:
        """Whether requests can be answered: there is a corpus to check against, and claims are checked; 503
        where not, and as soon as the server is about to stop. `stale`: the index was rebuilt, and the new one
        can't be used; why is in the log, since anyone may ask this route."""
        count = len(self.context.passages)
        index = {"generation": self.context.generation, "stale": self.stale}
        body = {"status": "ready", "passages": count, "models": list(self.context.models), "index": index}
        if self.ending.draining:
            return JSONResponse({**body, "status": "stopping"}, 503)
        if not count:
            return JSONResponse({**body, "status": "empty index"}, 503)
        if not await self.canary.sings():
            return JSONResponse({**body, "status": "checking is stuck"}, 503)
        return JSONResponse(body)

    def _warnings(self, options: RequestOptions) -> tuple[str, ...]:
        """The warning markers that earlier replies may contain."""
        return ResolvedOptions(self.settings, options).known_warnings

    async def _parsed(self, request: Request, parse: Callable[[Json], T]) -> T:
        """The result of `parse` on the request's JSON object."""
        async with AsyncExitStack() as held:
            body = await self._body(request, held)
            if len(body) <= SMALL:
                return parse(parse_body(body))
            if len(body) <= LARGE:
                return await asyncio.to_thread(lambda: parse(parse_body(body)))
            return await self.bodies.parsed(lambda: parse(parse_body(body)))

    async def _body(self, request: Request, held: AsyncExitStack) -> bytes:
        """The request's body, read up to the limit; for a large one a place is held. Raises
        `BodyTooLargeError`."""
        kind = request.headers.get("content-type", JSON).partition(";")[0].strip().lower()
        if kind != JSON and not kind.endswith("+json"):
            raise MediaTypeError(
                f"The body must be JSON: send it with 'content-type: {JSON}', not {kind[:100]!r}."
            )
        if encoding := request.headers.get("content-encoding", "").strip().lower().removeprefix("identity"):
            raise MediaTypeError(
                f"The body is encoded as {encoding[:100]!r}: send it as it is, without content-encoding."
            )
        limit = self.settings.server.max_body_bytes
        size = int(request.headers.get("content-length") or 0)
        body = bytearray()
        if size <= limit:
            async for piece in request.stream():
                if len(body) <= LARGE < len(body) + len(piece):
                    await held.enter_async_context(self.bodies.place())
                body += piece
                if len(body) > limit:
                    break
        if max(size, len(body)) > limit:
            raise BodyTooLargeError(f"The body is over {limit:,} bytes (server.max_body_bytes).")
        return bytes(body)
