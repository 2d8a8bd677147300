"""`/v1/chat/completions`: one chat, checked or raw, whole or streamed."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from urllib.parse import quote

from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from proxy.backends.upstream.streamed import Streamed
from proxy.errors import RequestError, VouchError
from proxy.gate import Gate
from proxy.openai_api.errors import error_object
from proxy.openai_api.models import find_model
from proxy.openai_api.request import ChatRequest, RequestOptions
from proxy.openai_api.response import Choice, choices, completion, usage
from proxy.openai_api.stream import DONE, Chunks, event
from proxy.parts import Model, Parts
from proxy.pipeline import Answer, Options, Pipeline
from proxy.settings import Settings
from proxy.types import LLM, Checker, Document, Json, Passage, Retriever

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ChatService:
    """Answers chats with the parts there are, as the settings and each request's own options say."""

    parts: Parts
    settings: Settings
    gate: Gate

    async def respond(self, request: ChatRequest, base_url: str) -> Response:
        """The response, once it is sure what its status is. Raises `VouchError`."""
        model = find_model(self.parts.models, request.model)
        if request.raw:
            return (
                await self._raw_stream(request, model) if request.stream else await self._raw(request, model)
            )
        return await (self._stream if request.stream else self._whole)(request, model, base_url)

    async def _whole(self, request: ChatRequest, model: Model, base_url: str) -> Response:
        answer = await self._answer(request, model, model.llm)
        return JSONResponse(completion(answer, self._choices(request, answer, base_url)))

    async def _stream(self, request: ChatRequest, model: Model, base_url: str) -> Response:
        started = asyncio.Event()
        work = asyncio.ensure_future(self._answer(request, model, Streamed(model.llm, started.set)))
        begun = asyncio.ensure_future(started.wait())
        try:
            await asyncio.wait({work, begun}, return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                work.result()
        except BaseException:
            work.cancel()
            raise
        finally:
            begun.cancel()
        chunks = Chunks(model.name, usage=request.include_usage)
        return EventStream(self._events(request, work, chunks, base_url), work.cancel)

    async def _events(
        self, request: ChatRequest, work: asyncio.Future[Answer], chunks: Chunks, base_url: str
    ) -> AsyncIterator[bytes]:
        """Role, heartbeats while the work goes on, content, finish, usage, done. An error ends it early."""
        try:
            n = request.chat.body.get("n") or 1
            for chunk in chunks.role(n):
                yield event(chunk)
            while not (await asyncio.wait({work}, timeout=self.settings.server.heartbeat))[0]:
                yield event(chunks.heartbeat())
            answer = work.result()
            for index, choice in enumerate(self._choices(request, answer, base_url)):
                for chunk in chunks.content(index, choice, answer.reply.raw):
                    yield event(chunk)
            if request.include_usage:
                yield event(chunks.usage_chunk(usage(answer)))
        except VouchError as error:
            yield event(error_object(error))
        except Exception as error:
            log.exception("a stream broke off")
            yield event(error_object(error))
        yield DONE

    async def _raw(self, request: ChatRequest, model: Model) -> Response:
        async with self.gate.place():
            return JSONResponse((await model.llm.complete(request.chat)).raw)

    async def _raw_stream(self, request: ChatRequest, model: Model) -> Response:
        chunks = self._places(model.llm.stream(request.chat))
        first = await anext(chunks, None)
        return EventStream(self._raw_events(first, chunks, request.include_usage))

    async def _places(self, chunks: AsyncIterator[Json]) -> AsyncIterator[Json]:
        async with self.gate.place():
            async for chunk in chunks:
                yield chunk

    async def _raw_events(
        self, first: Json | None, chunks: AsyncIterator[Json], include_usage: bool
    ) -> AsyncIterator[bytes]:
        try:
            if first is not None:
                yield event(first)
            async for chunk in chunks:
                if chunk.get("choices") or include_usage:
                    yield event(chunk)
        except VouchError as error:
            yield event(error_object(error))
        yield DONE

    async def _answer(self, request: ChatRequest, model: Model, llm: LLM) -> Answer:
        begun = time.perf_counter()
        async with self.gate.place():
            checker = self._checker(request, model)
            retriever = await self._retriever(request.options)
            pipeline = Pipeline(llm, retriever, checker, self._options(request))
            answer = await pipeline.answer(request.chat)
        log.info(
            "%s: %d claims, %d nonfactual, %d rounds, %.0f ms",
            model.name,
            sum(len(outcome.answer.findings) for outcome in answer.outcomes),
            sum(len(outcome.answer.nonfactual) for outcome in answer.outcomes),
            sum(len(outcome.attempts) - 1 for outcome in answer.outcomes),
            1000 * (time.perf_counter() - begun),
        )
        return answer

    def _options(self, request: ChatRequest) -> Options:
        settings = self.settings
        configured = Options(
            max_rounds=settings.regeneration.max_rounds,
            top_k=settings.retrieval.top_k,
            max_claims=settings.verification.max_claims,
            deadline=settings.verification.deadline,
            format=request.format,
        )
        asked = request.options.model_dump(include={"max_rounds", "top_k", "deadline"}, exclude_none=True)
        return replace(configured, **asked)

    def _checker(self, request: ChatRequest, model: Model) -> Checker:
        name = request.options.checker or self.settings.checker.name
        if name not in model.checkers:
            raise RequestError(
                f"The checker {name!r} is not configured here; there are {', '.join(model.checkers)}.",
                param="vouch.checker",
            )
        return model.checkers[name]

    async def _retriever(self, options: RequestOptions) -> Retriever:
        mode = options.retrieval or self.settings.retrieval.mode
        if options.documents is None:
            return self.parts.retrievers[mode]
        limit = self.settings.retrieval.max_document_chars
        if sum(len(one.text) for one in options.documents) > limit:
            raise RequestError(
                f"The documents are over {limit:,} characters together.", param="vouch.documents"
            )
        documents = [
            Document(one.id or f"document-{n}", one.title or one.id or f"Document {n}", one.text, one.url)
            for n, one in enumerate(options.documents, 1)
        ]
        return await self.parts.over_documents(documents, mode)

    def _choices(self, request: ChatRequest, answer: Answer, base_url: str) -> list[Choice]:
        style = request.options.citation_style or self.settings.citation.style
        fail_closed = request.options.fail_closed
        if fail_closed is None:
            fail_closed = self.settings.verification.fail_closed
        return choices(answer, style, self._url_of(base_url), fail_closed=fail_closed)

    def _url_of(self, base_url: str) -> Callable[[Passage], str]:
        base = (self.settings.server.public_url or base_url).rstrip("/")

        def url(passage: Passage) -> str:
            if self.parts.passages.get(passage.id) is None:
                return f"urn:document:{quote(passage.document_id, safe='')}"
            return f"{base}/v1/references/{passage.id}"

        return url


class EventStream(StreamingResponse):
    """Server-sent events that no proxy on the way should hold back; `on_end` is called however they end."""

    def __init__(self, events: AsyncIterator[bytes], on_end: Callable[[], object] = lambda: None) -> None:
        headers = {"cache-control": "no-cache", "x-accel-buffering": "no"}
        super().__init__(events, media_type="text/event-stream", headers=headers)
        self._on_end = on_end

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Sends them."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._on_end()
