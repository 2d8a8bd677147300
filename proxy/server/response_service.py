"""`/v1/responses`: the chats of `proxy.server.chat_service` in OpenAI's other dress, whole or streamed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass

from starlette.responses import JSONResponse, Response

from proxy.aio import closing
from proxy.engine.context import Model
from proxy.engine.pipeline import Answer
from proxy.engine.reply_stream import Fields, Progress, Shown
from proxy.openai_api.chat.request import RAW, ChatRequest
from proxy.openai_api.chat.response import Choice
from proxy.openai_api.models import find_model
from proxy.openai_api.responses.response import Envelope, text_of
from proxy.openai_api.responses.stream import ResponseChunks, event, response
from proxy.protocols import LLM
from proxy.server.chat_service import ChatService, last
from proxy.server.streaming import Answered, Happening, streamed
from proxy.types import Draft, Json
from proxy.upstream.completion import Completion, Streamed, to_reply


@dataclass(frozen=True, slots=True)
class ResponseWire:
    """Responses' events, of which there are no more than one choice's."""

    chunks: ResponseChunks

    def start(self) -> Iterator[bytes]:
        """That there is a response."""
        return map(event, self.chunks.start())

    def say(self, happening: Happening) -> Iterator[bytes]:
        """What happens, at the end all that is left."""
        return map(event, self._events(happening))

    def wait(self) -> Iterator[bytes]:
        """That it goes on."""
        return map(event, self.chunks.heartbeat())

    def fail(self, error: Exception) -> Iterator[bytes]:
        """An error, as clients raise it."""
        return map(event, self.chunks.failed(error))

    def end(self) -> Iterator[bytes]:
        """Nothing: the last event says that it is the last."""
        return iter(())

    def _events(self, happening: Happening) -> list[Json]:
        if isinstance(happening, Answered):
            return self.chunks.finish(happening.choices[0], happening.answer)
        if happening.index != 0:
            return []
        if isinstance(happening, Progress):
            return self.chunks.heartbeat()
        if isinstance(happening, Shown):
            return self.chunks.text(happening.piece)
        return self.chunks.fields(happening.fields)


@dataclass(frozen=True, slots=True)
class ResponseService:
    """Answers Responses requests as `chats` answers chats."""

    chats: ChatService

    async def respond(self, request: ChatRequest, asked: Json, base_url: str) -> Response:
        """The response, once it is sure what its status is. `asked` is what it says of its request. Raises
        `VouchError`."""
        model = find_model(self.chats.parts.models, request.model)
        envelope = Envelope(model.name + (RAW if request.raw else ""), asked)
        if request.stream:
            started = asyncio.Event()
            happening = self._happening(
                request, model, Streamed(model.llm, started.set, model.max_reply), base_url
            )
            wire = ResponseWire(ResponseChunks(envelope))
            return await streamed(happening, started, wire, self.chats.settings.server.heartbeat)
        answered = await last(self._happening(request, model, model.llm, base_url))
        return JSONResponse(response(envelope, answered.choices[0], answered.answer))

    def _happening(
        self, request: ChatRequest, model: Model, llm: LLM, base_url: str
    ) -> AsyncIterator[Happening]:
        if request.raw:
            return self._raw(request, llm, model.max_reply)
        return self.chats.happening(request, model, llm, base_url)

    async def _raw(self, request: ChatRequest, llm: LLM, max_reply: int) -> AsyncIterator[Happening]:
        """What the upstream says, as it says it."""
        async with self.chats.gate.place():
            if not request.stream:
                reply = await llm.complete(request.chat)
            else:
                completion = Completion(max_reply)
                async with closing(llm.stream(request.chat)) as chunks:
                    async for chunk in chunks:
                        completion.add(chunk)
                        for happened in _told(chunk):
                            yield happened
                reply = to_reply(completion.value())
        yield Answered(Answer(reply, ()), [_unchecked(draft) for draft in reply.drafts])


def _told(chunk: Json) -> Iterator[Shown | Fields]:
    for choice in chunk.get("choices") or ():
        delta = choice.get("delta") or {}
        if text := text_of(delta.get("content")):
            yield Shown(choice.get("index", 0), text)
        if len(delta.keys() - {"role", "content"}):
            yield Fields(choice.get("index", 0), delta)


def _unchecked(draft: Draft) -> Choice:
    """A choice as the upstream wrote it."""
    content = (draft.choice.get("message") or {}).get("content")
    return Choice(draft.choice, content, (), annotations=[], references=[], verification={})
