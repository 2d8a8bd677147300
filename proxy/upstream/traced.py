"""Wrappers that put each call of an upstream into its request's trace, by OpenTelemetry's conventions for
generative AI, and hand the trace on to the upstream. Of a chat they tell names, numbers and ids, no text."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeGuard
from urllib.parse import urlsplit

from proxy.aio import ASKER, closing
from proxy.errors import UpstreamError
from proxy.protocols import LLM
from proxy.tracing import Attributes, Span, carrying
from proxy.types import Chat, Json, Reply, ReplyChunk
from proxy.upstream.completion import to_usage
from proxy.upstream.endpoint import Endpoint, Forwarded, Relay, Upstream
from proxy.upstream.measured import kind

_MOST_CHARS = 200
"""Of a name or id that comes from outside; what is longer is none."""
_MOST = 2**63 - 1
"""The largest integer that OTLP can carry."""

_INTEGERS = {
    "max_tokens": "gen_ai.request.max_tokens",
    "max_completion_tokens": "gen_ai.request.max_tokens",
    "seed": "gen_ai.request.seed",
    "n": "gen_ai.request.choice.count",
}
_NUMBERS = {
    "temperature": "gen_ai.request.temperature",
    "top_p": "gen_ai.request.top_p",
    "frequency_penalty": "gen_ai.request.frequency_penalty",
    "presence_penalty": "gen_ai.request.presence_penalty",
}
_PROVIDERS = {
    "azure": "azure.ai.openai",
    "bedrock": "aws.bedrock",
    "gemini": "gcp.gemini",
    "mistral": "mistral_ai",
    "vertex_ai": "gcp.vertex_ai",
    "watsonx": "ibm.watsonx.ai",
    "xai": "x_ai",
}
"""The conventions' names of litellm's providers, where they differ."""
_OPERATIONS = {"completions": "text_completion", "images/generations": "generate_content"}
"""The conventions' names of routes, where they differ."""


class _Call:
    """One call: its span, and what is known of its answer. Without a trace it does nothing."""

    def __init__(self, span: Span | None) -> None:
        self._span = span
        self._headers = span.headers() if span else {}
        self._begun = time.perf_counter()
        self._told: dict[str, Any] = {}
        self._reasons: dict[int, str] = {}

    @contextmanager
    def sending(self) -> Iterator[None]:
        """What is sent inside carries the trace."""
        with carrying(self._headers):
            yield

    def read(self, raw: Json) -> None:
        """Puts down the facts of an answer, or of a chunk of one."""
        if self._span is None:
            return
        for field, name in (("id", "gen_ai.response.id"), ("model", "gen_ai.response.model")):
            if _is_name(value := raw.get(field)):
                self._told[name] = value
        if raw.get("usage"):
            usage = to_usage(raw["usage"])
            self._told["gen_ai.usage.input_tokens"] = min(usage.prompt_tokens, _MOST)
            self._told["gen_ai.usage.output_tokens"] = min(usage.completion_tokens, _MOST)
        choices = raw.get("choices")
        for number, choice in enumerate(choices if isinstance(choices, list) else ()):
            if isinstance(choice, dict) and _is_name(reason := choice.get("finish_reason")):
                index = choice.get("index")
                self._reasons[index if isinstance(index, int) else number] = reason

    def came(self) -> None:
        """Puts down when the first chunk came."""
        name = "gen_ai.response.time_to_first_chunk"
        self._told.setdefault(name, time.perf_counter() - self._begun)

    def end(self, error: str = "") -> None:
        """Ends the span. Further times do nothing."""
        if self._span is None:
            return
        if self._reasons:
            self._told["gen_ai.response.finish_reasons"] = [
                self._reasons[index] for index in sorted(self._reasons)
            ]
        self._span.set(self._told)
        self._span.end(error)
        self._span = None

    @contextmanager
    def failing(self) -> Iterator[None]:
        """Ends the span where an error passes."""
        try:
            yield
        except UpstreamError as error:
            self.end(kind(error))
            raise
        except asyncio.CancelledError:
            self.end("cancelled")
            raise
        except Exception as error:
            self.end(type(error).__name__)
            raise


class TracedLLM:
    """`protocols.LLM` with a span per call.

    Args:
        llm: what is called.
        endpoint: which model that is, and where.
    """

    def __init__(self, llm: LLM, endpoint: Endpoint) -> None:
        self._llm = llm
        self._model = endpoint.served_model
        self._constant = _constant(endpoint)

    async def complete(self, chat: Chat) -> Reply:
        """The whole reply at once."""
        call = self._call("chat", chat.body)
        with call.failing(), call.sending():
            reply = await self._llm.complete(chat)
        call.read(reply.raw)
        call.end()
        return reply

    async def stream(self, chat: Chat) -> AsyncIterator[ReplyChunk]:
        """The reply as chunks."""
        call = self._call("chat", {**chat.body, "stream": True})
        try:
            async with closing(self._llm.stream(chat)) as chunks:
                while True:
                    with call.failing(), call.sending():
                        chunk = await anext(chunks, None)
                    if chunk is None:
                        return
                    call.came()
                    call.read(chunk.raw)
                    yield chunk
        finally:
            call.end()

    def _call(self, operation: str, body: Json) -> _Call:
        span = ASKER.get().span
        if span is None:
            return _Call(None)
        attributes: Attributes = {**self._constant, "gen_ai.operation.name": operation, **_asked(body)}
        return _Call(span.child(f"{operation} {self._model}", attributes, outgoing=True))


class TracedUpstream(TracedLLM):
    """`endpoint.Upstream` with a span per call."""

    def __init__(self, inner: Upstream, endpoint: Endpoint) -> None:
        super().__init__(inner, endpoint)
        self._inner = inner

    async def forward(self, route: str, body: Json, api_key: str | None) -> Forwarded:
        """An answer that is passed on. Its span ends with it."""
        call = self._call(_OPERATIONS.get(route, route), body)
        with call.failing(), call.sending():
            return _until_sent(call, await self._inner.forward(route, body, api_key))

    async def close(self) -> None:
        """Closes the connections."""
        await self._inner.close()


class TracedRelay(TracedUpstream):
    """The same, of a client that is a `Relay` too."""

    def __init__(self, inner: Upstream, relay: Relay, endpoint: Endpoint) -> None:
        super().__init__(inner, endpoint)
        self._relayed = relay

    async def relay(self, chat: Chat) -> Forwarded:
        """A chat's answer, passed on. Its span ends with it."""
        call = self._call("chat", chat.body)
        with call.failing(), call.sending():
            return _until_sent(call, await self._relayed.relay(chat))


def traced(client: Upstream, endpoint: Endpoint) -> Upstream:
    """The client, in traces."""
    if isinstance(client, Relay):
        return TracedRelay(client, client, endpoint)
    return TracedUpstream(client, endpoint)


def _until_sent(call: _Call, answer: Forwarded) -> Forwarded:
    async def body() -> AsyncIterator[bytes]:
        try:
            async with closing(answer.body) as pieces:
                while True:
                    with call.failing():
                        piece = await anext(pieces, None)
                    if piece is None:
                        return
                    call.came()
                    yield piece
        finally:
            call.end()

    async def close() -> None:
        call.end()
        await answer.close()

    return replace(answer, body=body(), close=close)


def _constant(endpoint: Endpoint) -> Attributes:
    provider, slash, _ = endpoint.model.partition("/")
    told: dict[str, str | int] = {
        "gen_ai.provider.name": _PROVIDERS.get(provider, provider) if slash else "openai",
        "gen_ai.request.model": endpoint.served_model,
    }
    base = urlsplit(endpoint.api_base or "")
    if base.hostname:
        told["server.address"] = base.hostname
        told["server.port"] = base.port or (443 if base.scheme == "https" else 80)
    return told


def _asked(body: Json) -> Attributes:
    """What a body asks for, as far as it is a number."""
    told: dict[str, int | float | bool] = {}
    for field, name in _INTEGERS.items():
        if isinstance(value := body.get(field), int) and -_MOST <= value <= _MOST:
            told[name] = int(value)
    for field, name in _NUMBERS.items():
        if isinstance(value := body.get(field), int | float) and abs(value) < _MOST and math.isfinite(value):
            told[name] = float(value)
    if body.get("stream") is True:
        told["gen_ai.request.stream"] = True
    return told


def _is_name(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and 0 < len(value) <= _MOST_CHARS
