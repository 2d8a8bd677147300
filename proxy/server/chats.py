"""Answers chats of every API, checked or unchecked, whole or streamed, and bounds how many run at once."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from urllib.parse import quote

from starlette.responses import JSONResponse, Response

from proxy.aio import closing
from proxy.config.settings import Settings
from proxy.engine.app_context import AppContext, Model
from proxy.engine.delivery import Answer, StreamEvent
from proxy.engine.pipeline import Pipeline
from proxy.engine.reply_stream import unchecked_events
from proxy.errors import OverloadedError
from proxy.openai_api.chat.request import ChatRequest, task_of
from proxy.openai_api.chat.stream import ChatSerializer, Chunks, UncheckedChatSerializer
from proxy.openai_api.documents import open_sources
from proxy.openai_api.options import ResolvedOptions, find_model
from proxy.protocols import LLM
from proxy.server.relay import Relayed
from proxy.server.streaming import Serializer, event_stream
from proxy.types import Passage
from proxy.upstream.completion import Streamed
from proxy.upstream.endpoint import Relay

log = logging.getLogger(__name__)


class ConcurrencyLimit:
    """`concurrency` places and a queue of `queue` before them."""

    def __init__(self, concurrency: int, queue: int) -> None:
        self._places = asyncio.Semaphore(concurrency)
        self._queue = queue
        self._waiting = 0

    @asynccontextmanager
    async def place(self) -> AsyncIterator[None]:
        """Waits for a place and holds it. Raises `OverloadedError` when the queue is full."""
        if self._places.locked() and self._waiting >= self._queue:
            raise OverloadedError("The server is busy: too many chats are waiting. Try again in a moment.")
        self._waiting += 1
        try:
            await self._places.acquire()
        finally:
            self._waiting -= 1
        try:
            yield
        finally:
            self._places.release()


@dataclass(frozen=True, slots=True)
class ChatService:
    """Answers chats with the application's components, by the settings and each request's options."""

    context: AppContext
    settings: Settings
    limit: ConcurrencyLimit

    async def chat(self, request: ChatRequest, base_url: str) -> Response:
        """The response of `/v1/chat/completions`. Raises `VouchError`."""
        model = find_model(self.context.models, request.model)
        if request.unchecked:
            if model.relay is not None:
                return await self._relayed(request, model.relay)
            return await self.respond(
                request, model, UncheckedChatSerializer(include_usage=request.include_usage), base_url
            )
        profile = ResolvedOptions(self.settings, named=request.profile).profile
        chunks = Chunks(model.name, usage=request.include_usage)
        return await self.respond(request, model, ChatSerializer(chunks, profile, request.choices), base_url)

    async def respond(
        self, request: ChatRequest, model: Model, serializer: Serializer, base_url: str
    ) -> Response:
        """The response, written by `serializer`, once its status is known. Raises `VouchError`."""
        if request.stream:
            started = asyncio.Event()
            llm = Streamed(model.llm, started.set, model.max_reply_bytes)
            events = self.events(request, model, llm, base_url)
            return await event_stream(events, started, serializer, self.settings.server.heartbeat)
        async with closing(self.events(request, model, model.llm, base_url)) as events:
            answer = [event async for event in events if isinstance(event, Answer)][-1]
        return JSONResponse(serializer.whole(answer))

    async def events(
        self, request: ChatRequest, model: Model, llm: LLM, base_url: str
    ) -> AsyncIterator[StreamEvent]:
        """Waits for a place, then yields the events of one chat, the answer last. Raises `VouchError`."""
        begun = time.perf_counter()
        async with self.limit.place():
            if request.unchecked:
                events = unchecked_events(
                    llm, request.chat, stream=request.stream, max_bytes=model.max_reply_bytes
                )
            else:
                events = (await self._pipeline(request, model, llm, base_url)).events(request.chat)
            async with closing(events):
                async for event in events:
                    if isinstance(event, Answer) and event.outcomes:
                        _log(model.name, event, begun)
                    yield event

    async def _pipeline(self, request: ChatRequest, model: Model, llm: LLM, base_url: str) -> Pipeline:
        """The pipeline that the request's options describe."""
        options = ResolvedOptions(self.settings, request.options, request.profile)
        messages = request.chat.body["messages"]
        task = task_of(messages) if options.skips_tasks else None
        sources = await open_sources(
            self.context,
            self.settings.retrieval,
            "corpus" if task else options.evidence,
            options.retrieval,
            request.options.documents,
            messages,
        )
        rendering = options.rendering(sources, self.url_of(base_url), stream=request.stream)
        return Pipeline(
            llm,
            options.verifier(model, sources),
            options.pipeline_options(request.format, task),
            options.policy(request, model, rendering),
        )

    async def _relayed(self, request: ChatRequest, relay: Relay) -> Response:
        """An unchecked chat, passed on as bytes. It holds its place until everything is sent."""
        async with AsyncExitStack() as held:
            await held.enter_async_context(self.limit.place())
            answer = await relay.relay(request.chat)
            held.push_async_callback(answer.aclose)
            return Relayed(answer, held.pop_all().aclose)

    def url_of(self, base_url: str) -> Callable[[Passage], str]:
        """Where a passage without an address of its own can be read."""
        base = (self.settings.server.public_url or base_url).rstrip("/")

        def url(passage: Passage) -> str:
            if self.context.passages.get(passage.id) is None:
                place = f"#char={passage.start},{passage.end}" if passage.start else ""  # as in RFC 5147
                return f"urn:document:{quote(passage.document_id, safe='')}{place}"
            return f"{base}/v1/references/{passage.id}"

        return url


def _log(model: str, answer: Answer, begun: float) -> None:
    log.info(
        "%s: %d claims, %d nonfactual, %d rounds, %.0f ms",
        model,
        sum(len(outcome.answer.findings) for outcome in answer.outcomes),
        sum(len(outcome.answer.nonfactual) for outcome in answer.outcomes),
        sum(len(outcome.attempts) - 1 for outcome in answer.outcomes),
        1000 * (time.perf_counter() - begun),
    )
