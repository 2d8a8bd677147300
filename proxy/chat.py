"""`/v1/chat/completions`: one chat, checked or raw, whole or streamed."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from urllib.parse import quote

from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from proxy.asked import Asked
from proxy.backends.upstream.streamed import Streamed
from proxy.errors import VouchError
from proxy.gate import Gate
from proxy.openai_api.errors import error_object
from proxy.openai_api.models import find_model
from proxy.openai_api.request import ChatRequest
from proxy.openai_api.response import Choice, choices, completion, usage
from proxy.openai_api.stream import DONE, Chunks, event
from proxy.parts import Model, Parts
from proxy.pipeline import Answer, Pipeline
from proxy.settings import Settings
from proxy.sources import Sources, open_sources
from proxy.types import LLM, Json, Passage

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer, and what it was held against."""

    answer: Answer
    sources: Sources


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
        answered = await self._answer(request, model, model.llm)
        return JSONResponse(completion(answered.answer, self._choices(request, answered, base_url)))

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
        self, request: ChatRequest, work: asyncio.Future[Answered], chunks: Chunks, base_url: str
    ) -> AsyncIterator[bytes]:
        """Role, heartbeats while the work goes on, content, finish, usage, done. An error ends it early."""
        try:
            n = request.chat.body.get("n") or 1
            for chunk in chunks.role(n):
                yield event(chunk)
            while not (await asyncio.wait({work}, timeout=self.settings.server.heartbeat))[0]:
                yield event(chunks.heartbeat())
            answered = work.result()
            for index, choice in enumerate(self._choices(request, answered, base_url)):
                for chunk in chunks.content(index, choice, answered.answer.reply.raw):
                    yield event(chunk)
            if request.include_usage:
                yield event(chunks.usage_chunk(usage(answered.answer)))
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

    async def _answer(self, request: ChatRequest, model: Model, llm: LLM) -> Answered:
        begun = time.perf_counter()
        asked = Asked(self.settings, request.options)
        async with self.gate.place():
            sources = await open_sources(self.parts, self.settings.retrieval, request)
            pipeline = Pipeline(llm, asked.verifier(model, sources), asked.pipeline_options(request.format))
            answer = await pipeline.answer(request.chat)
        log.info(
            "%s: %d claims, %d nonfactual, %d rounds, %.0f ms",
            model.name,
            sum(len(outcome.answer.findings) for outcome in answer.outcomes),
            sum(len(outcome.answer.nonfactual) for outcome in answer.outcomes),
            sum(len(outcome.attempts) - 1 for outcome in answer.outcomes),
            1000 * (time.perf_counter() - begun),
        )
        return Answered(answer, sources)

    def _choices(self, request: ChatRequest, answered: Answered, base_url: str) -> list[Choice]:
        asked = Asked(self.settings, request.options)
        dress = asked.dress(answered.sources, self._url_of(base_url))
        return choices(answered.answer, dress, fail_closed=asked.fail_closed)

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
