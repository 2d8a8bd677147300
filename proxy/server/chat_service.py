"""`/v1/chat/completions`: one chat, checked or raw, whole or streamed."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from urllib.parse import quote

from starlette.responses import JSONResponse, Response

from proxy.aio import closing
from proxy.config.settings import Settings
from proxy.engine.context import AppContext, Model
from proxy.engine.pipeline import Answer, Pipeline
from proxy.engine.reply_stream import ReplyStream
from proxy.openai_api.chat.request import ChatRequest
from proxy.openai_api.chat.response import choices, completion
from proxy.openai_api.chat.stream import Chunks
from proxy.openai_api.evidence import open_sources
from proxy.openai_api.models import find_model
from proxy.openai_api.options import ResolvedOptions
from proxy.protocols import LLM
from proxy.server.limits import ConcurrencyLimit
from proxy.server.streaming import Answered, ChatWire, Happening, streamed
from proxy.server.unchecked import raw
from proxy.types import Passage
from proxy.upstream.completion import Streamed

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ChatService:
    """Answers chats with the parts there are, as the settings and each request's own options say."""

    parts: AppContext
    settings: Settings
    gate: ConcurrencyLimit

    async def respond(self, request: ChatRequest, base_url: str) -> Response:
        """The response, once it is sure what its status is. Raises `VouchError`."""
        model = find_model(self.parts.models, request.model)
        if request.raw:
            return await raw(request, model, self.gate)
        return await (self._stream if request.stream else self._whole)(request, model, base_url)

    async def _whole(self, request: ChatRequest, model: Model, base_url: str) -> Response:
        answered = await last(self.happening(request, model, model.llm, base_url))
        profile = ResolvedOptions(self.settings, named=request.profile).profile
        return JSONResponse(profile.whole(completion(answered.answer, answered.choices)))

    async def _stream(self, request: ChatRequest, model: Model, base_url: str) -> Response:
        started = asyncio.Event()
        llm = Streamed(model.llm, started.set, model.max_reply)
        happening = self.happening(request, model, llm, base_url)
        chunks = Chunks(model.name, usage=request.include_usage)
        wire = ChatWire(
            chunks, ResolvedOptions(self.settings, named=request.profile).profile, request.choices
        )
        return await streamed(happening, started, wire, self.settings.server.heartbeat)

    async def happening(
        self, request: ChatRequest, model: Model, llm: LLM, base_url: str
    ) -> AsyncIterator[Happening]:
        """What happens to a chat while it is answered; the answer comes last. Raises `VouchError`."""
        begun = time.perf_counter()
        asked = ResolvedOptions(self.settings, request.options, request.profile)
        async with self.gate.place():
            sources = await open_sources(self.parts, self.settings.retrieval, request)
            pipeline = Pipeline(llm, asked.verifier(model, sources), asked.pipeline_options(request.format))
            dress = asked.dress(sources, self._url_of(base_url))
            manner = asked.manner(request, model, dress)
            async with closing(ReplyStream(request.chat, pipeline, manner).events()) as events:
                async for one in events:
                    if not isinstance(one, Answer):
                        yield one
                        continue
                    _log(model.name, one, begun)
                    rendered = choices(one, manner.dress, fail_closed=asked.fail_closed)
                    yield Answered(one, rendered)

    def _url_of(self, base_url: str) -> Callable[[Passage], str]:
        base = (self.settings.server.public_url or base_url).rstrip("/")

        def url(passage: Passage) -> str:
            if self.parts.passages.get(passage.id) is None:
                return f"urn:document:{quote(passage.document_id, safe='')}"
            return f"{base}/v1/references/{passage.id}"

        return url


async def last(happening: AsyncIterator[Happening]) -> Answered:
    """The answer, once it is there."""
    async with closing(happening):
        return [one async for one in happening if isinstance(one, Answered)][-1]


def _log(model: str, answer: Answer, begun: float) -> None:
    log.info(
        "%s: %d claims, %d nonfactual, %d rounds, %.0f ms",
        model,
        sum(len(outcome.answer.findings) for outcome in answer.outcomes),
        sum(len(outcome.answer.nonfactual) for outcome in answer.outcomes),
        sum(len(outcome.attempts) - 1 for outcome in answer.outcomes),
        1000 * (time.perf_counter() - begun),
    )
