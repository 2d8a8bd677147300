"""What the test upstream can be told to do with a request. Import these from `tests.scripted_upstream`."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from aiohttp import web

Json = dict[str, Any]
MODEL = "test-model"
CREATED = 1_700_000_000


class Behaviour(Protocol):
    """What to do with one request."""

    async def respond(self, request: web.Request, body: Json) -> web.StreamResponse: ...


Answer = Behaviour | str | Json


class Reply:
    """A chat reply: one choice per message (a text, or a whole message dict), none for `choices: []`."""

    def __init__(
        self,
        *messages: str | Json,
        finish_reason: str = "stop",
        usage: Json | None = None,
        pace: float = 0.0,
        size: int = 4,
        drop_after: int | None = None,
        write_size: int | None = None,
        extra: Json | None = None,
        logprobs: bool = False,
        error: Json | None = None,
        done: bool = True,
        linger: float = 0.0,
    ) -> None:
        """`pace`: seconds before each chunk. `size`: code points a chunk. `drop_after`: the connection is
        cut after so many chunks (of a whole reply: at once). `write_size`: the stream's bytes go out in
        writes of that many, across chunk and character borders. `extra`: unknown fields beside `choices`.
        `logprobs`: one entry per chunk. `error`: sent in the stream as `data: {"error": ...}` before its
        end. `done`: whether `[DONE]` comes. `linger`: seconds that the connection stays open after it. `sent`
        counts the events of a stream that went out."""
        self.messages = messages
        self.finish_reason = finish_reason
        self.usage = usage
        self.pace = pace
        self.size = size
        self.drop_after = drop_after
        self.write_size = write_size
        self.extra = extra or {}
        self.logprobs = logprobs
        self.error = error
        self.done = done
        self.linger = linger
        self.sent = 0

    async def respond(self, request: web.Request, body: Json) -> web.StreamResponse:
        if not body.get("stream"):
            await asyncio.sleep(self.pace)
            if self.drop_after is not None:
                cut(request)
            return web.json_response(self.completion(body))
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        async for data in self._paced(request, body):
            step = self.write_size or len(data)
            for start in range(0, len(data), step):
                await response.write(data[start : start + step])
            self.sent += 1
        await asyncio.sleep(self.linger)
        await response.write_eof()
        return response

    async def _paced(self, request: web.Request, body: Json) -> AsyncIterator[bytes]:
        for sent, chunk in enumerate(self.chunks(body)):
            if sent == self.drop_after:
                cut(request)
            await asyncio.sleep(self.pace)
            yield event(chunk)
        if self.error is not None:
            yield event({"error": self.error})
        if self.done:
            yield b"data: [DONE]\n\n"

    def completion(self, body: Json) -> Json:
        """The `chat.completion` object."""
        choices = [self._choice(index, message) for index, message in enumerate(self._messages())]
        return {**self._head(body, "chat.completion"), "choices": choices, "usage": self._usage(body)}

    def chunks(self, body: Json) -> Iterator[Json]:
        """The `chat.completion.chunk` objects that add up to `completion`."""
        with_usage = bool((body.get("stream_options") or {}).get("include_usage"))
        head = self._head(body, "chat.completion.chunk") | ({"usage": None} if with_usage else {})
        for index, message in enumerate(self._messages()):
            first = {"role": "assistant", "content": "" if isinstance(message["content"], str) else None}
            yield head | {"choices": [self._delta(index, first)]}
            for delta in deltas(message, self.size):
                choice = self._delta(index, delta)
                if self.logprobs and isinstance(delta.get("content"), str):
                    choice["logprobs"] = {"content": [logprob(delta["content"])]}
                yield head | {"choices": [choice]}
            yield head | {"choices": [self._delta(index, {}) | {"finish_reason": self.finish_reason}]}
        if with_usage:
            yield head | {"choices": [], "usage": self._usage(body)}

    def _messages(self) -> list[Json]:
        texts = ({"content": m} if isinstance(m, str) else m for m in self.messages)
        return [{"role": "assistant", "content": None, **message} for message in texts]

    def _choice(self, index: int, message: Json) -> Json:
        choice = {"index": index, "message": message, "finish_reason": self.finish_reason}
        if self.logprobs and isinstance(message["content"], str):
            choice["logprobs"] = {"content": [logprob(p) for p in pieces(message["content"], self.size)]}
        return choice

    def _delta(self, index: int, delta: Json) -> Json:
        return {"index": index, "delta": delta, "finish_reason": None}

    def _head(self, body: Json, kind: str) -> Json:
        model = body.get("model", MODEL)
        return {"id": "chatcmpl-1", "object": kind, "created": CREATED, "model": model, **self.extra}

    def _usage(self, body: Json) -> Json:
        asked = sum(len(str(m.get("content") or "").split()) for m in body.get("messages", ()))
        said = sum(len(str(m["content"] or "").split()) for m in self._messages())
        counted = {"prompt_tokens": asked, "completion_tokens": said, "total_tokens": asked + said}
        return self.usage or counted


@dataclass(frozen=True)
class Status:
    """An HTTP error. `body`: the whole JSON body in place of OpenAI's `{"error": {...}}`."""

    status: int
    message: str = "told to fail"
    retry_after: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    error: Json = field(default_factory=dict)
    body: Any = None

    async def respond(self, request: web.Request, body: Json) -> web.StreamResponse:
        headers = dict(self.headers)
        if self.retry_after is not None:
            headers["retry-after"] = self.retry_after
        error = {"message": self.message, "type": "test_error", "param": None, "code": "told", **self.error}
        content = self.body if self.body is not None else {"error": error}
        return web.json_response(content, status=self.status, headers=headers)


@dataclass(frozen=True)
class Raw:
    """Any bytes: malformed JSON, garbage events, nothing at all."""

    data: bytes = b""
    content_type: str = "application/json"
    status: int = 200

    async def respond(self, request: web.Request, body: Json) -> web.StreamResponse:
        return web.Response(body=self.data, status=self.status, content_type=self.content_type)


@dataclass(frozen=True)
class Hang:
    """No byte for so many seconds, then an empty 200."""

    seconds: float = 60.0

    async def respond(self, request: web.Request, body: Json) -> web.StreamResponse:
        await asyncio.sleep(self.seconds)
        return web.Response()


@dataclass(frozen=True)
class Drop:
    """The connection is cut before the first byte."""

    async def respond(self, request: web.Request, body: Json) -> web.StreamResponse:
        cut(request)
        return web.Response()


class ToldToDropError(ConnectionResetError):
    """The upstream itself cut the connection."""


def cut(request: web.Request) -> None:
    """Closes the connection at once, without an end of the message."""
    if request.transport is not None:
        request.transport.abort()
    raise ToldToDropError


def tool_calls(*calls: tuple[str, str]) -> Json:
    """A message that calls tools: (name, arguments as JSON text) each."""
    return {
        "content": None,
        "tool_calls": [
            {"id": f"call_{n}", "type": "function", "function": {"name": name, "arguments": arguments}}
            for n, (name, arguments) in enumerate(calls)
        ],
    }


def deltas(message: Json, size: int) -> Iterator[Json]:
    """A message as stream deltas: texts in pieces, tool calls by index, anything else as it is."""
    for key, value in message.items():
        if key == "tool_calls":
            for index, call in enumerate(value):
                yield from _call_deltas(index, call, size)
        elif isinstance(value, str) and key != "role":
            yield from ({key: piece} for piece in pieces(value, size))
        elif value is not None and key != "role":
            yield {key: value}


def _call_deltas(index: int, call: Json, size: int) -> Iterator[Json]:
    name, arguments = call["function"]["name"], call["function"]["arguments"]
    yield {"tool_calls": [{**call, "index": index, "function": {"name": name, "arguments": ""}}]}
    for piece in pieces(arguments, size):
        yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


def pieces(text: str, size: int) -> list[str]:
    """The text in pieces of `size` code points."""
    return [text[start : start + size] for start in range(0, len(text), size)]


def logprob(token: str) -> Json:
    """One entry of `logprobs.content`."""
    return {"token": token, "logprob": -0.5, "bytes": list(token.encode()), "top_logprobs": []}


def event(data: Json) -> bytes:
    """One server-sent event, its characters unescaped as most servers send them."""
    return f"data: {json.dumps(data, ensure_ascii=False)}\n\n".encode()
