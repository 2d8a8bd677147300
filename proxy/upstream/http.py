"""The direct client for OpenAI-compatible upstreams, with a pool of connections."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Any

import aiohttp
from yarl import URL

from proxy.aio import Turns, closing
from proxy.errors import ConfigError, NotFoundError, UpstreamError, UpstreamProtocolError
from proxy.tracing import carried
from proxy.types import Chat, Json, Reply, ReplyChunk
from proxy.upstream.completion import as_chunk, coalesced, most_choices, read_chunk, to_reply
from proxy.upstream.endpoint import Endpoint, Forwarded
from proxy.upstream.failures import from_answer, from_event, is_error, passed_on
from proxy.upstream.safe_json import dumps, loads
from proxy.upstream.sse import FRAMING, Chunks, require, whole_lines, without
from proxy.upstream.transport import StaleConnectionError, new_session, proxy_for, translated

CHAT = "chat/completions"
FORWARDED = frozenset({"embeddings", "completions", "moderations", "images/generations"})
"""Routes other than chat, whose answers hold nothing to check."""

EVENT_STREAM = "text/event-stream"

MAX_ERROR_BYTES = 65_536

LARGE = 65_536
"""A body of so many bytes or more is sent in pieces."""

LARGE_ANSWER = 1_000_000
"""A whole answer of more bytes is large: what it takes to read and parse it holds up all others."""
_ANSWER_BYTES_A_SECOND = 4_000_000
"""How fast the large answers of one key are taken: about a fifth of what one core could parse."""

_PIECE = 65_536
"""Bytes of an answer that are read at once, at most."""
_READ_EVERY = 0.01
"""Seconds from one reading of a stream to the next. What comes meanwhile is read at once: a chunk costs the
server more than its text, and text that comes faster than it can be seen need not leave word by word."""
_STREAM_BYTES, _STREAM_BYTES_A_SECOND = 262_144, 524_288
"""A stream that brings more than so many bytes at once, and then so many a second, is faster than any LLM:
some 1,300 tokens, and 2,600 a second. What is over it, of all streams of a key, comes at that pace."""

_PLACEHOLDER = 10
"""Characters of a key that may stand for none: a word that a reply says too (`ollama`, `lm-studio`)."""

LINGER = 0.1
"""Seconds that a stream may take to end after `[DONE]`; then its connection is closed instead of reused."""


class HTTPUpstream:
    """An OpenAI-compatible server, called directly: a fifteenth of what the same call costs through litellm.

    One `aiohttp.ClientSession` serves all calls; it is opened at the first one, on the running loop,
    unless `session` is given (which is then not closed here).
    """

    def __init__(self, endpoint: Endpoint, session: aiohttp.ClientSession | None = None) -> None:
        """Raises `ConfigError` if `endpoint` has no http(s) address, or a key that can't be sent."""
        self._endpoint = endpoint
        self._base = _base(endpoint)
        self._urls = {
            route: self._base.with_path(f"{self._base.path}/{route}").with_query(self._base.query)
            for route in (CHAT, *FORWARDED)
        }
        self._proxy = proxy_for(self._base)
        self._model = endpoint.served_model
        self._timeout = aiohttp.ClientTimeout(total=None, sock_connect=endpoint.connect_timeout)
        self._turns = Turns()
        self._session = session
        self._owned = session is None

    def __repr__(self) -> str:
        return f"HTTPUpstream({self._endpoint.address})"

    async def complete(self, chat: Chat) -> Reply:
        """One POST; `endpoint.timeout` bounds all of it."""
        body = self._body(chat.body)
        deadline = asyncio.get_running_loop().time() + self._endpoint.timeout
        response = await self._post(CHAT, body, chat.api_key, deadline)
        try:
            raw = await self._json(response, chat.api_key, deadline)
            return to_reply(raw, most_choices(chat.body))
        finally:
            response.close()

    async def stream(self, chat: Chat) -> AsyncIterator[ReplyChunk]:
        """The chunks as they come; `endpoint.timeout` bounds the wait for each.

        A server that can't stream and answers with a whole completion gives one chunk.
        """
        response = await self._open_stream(chat)
        try:
            if response.content_type == "application/json":
                whole = await self._json(response, chat.api_key, self._deadline())
                yield read_chunk(as_chunk(whole, most_choices(chat.body)))
                return
            async with closing(self._chunks(response, chat)) as chunks:
                async for chunk in chunks:
                    yield read_chunk(chunk)
        finally:
            response.close()

    async def forward(self, route: str, body: Json, api_key: str | None) -> Forwarded:
        """A POST of `body`, its answer passed on as it comes. See `endpoint.Upstream`."""
        if route not in FORWARDED:
            raise NotFoundError(f"No such route: /v1/{route}. Passed on are {', '.join(sorted(FORWARDED))}.")
        named = {"model": self._model} if "model" in body else {}
        response = await self._post(route, {**body, **named}, api_key, self._deadline())
        return _forwarded(response, self._told(self._pieces(response), lines=False))

    async def relay(self, chat: Chat) -> Forwarded:
        """The chat's answer, byte by byte. See `endpoint.Relay`.

        `endpoint.timeout` bounds the wait for the first bytes and then for each further piece; in a stream,
        for the next piece with data, since comments are no sign of a reply. Keys are removed. A server that
        can't stream and answers with a whole completion gives one event.
        """
        deadline, stream = self._deadline(), bool(chat.body.get("stream"))
        sent = {**self._endpoint.params, **chat.body, "model": self._model}
        response = await self._post(CHAT, sent, chat.api_key, deadline)
        try:
            if stream and response.content_type == "application/json":
                whole = await self._json(response, chat.api_key, deadline)
                chunk = as_chunk(whole, most_choices(chat.body))
                events = (b"data: " + dumps(chunk) + b"\n\n", b"data: [DONE]\n\n")
                return _forwarded(response, _one_by_one(events), {"content-type": EVENT_STREAM})
            first = await self._first(response, chat.api_key, deadline, stream=stream)
        except BaseException:
            response.close()
            raise
        pieces = self._pieces(response, first, stream=stream)
        if stream:
            pieces = whole_lines(pieces, self._endpoint.model, self._endpoint.max_reply_bytes)
        return _forwarded(response, self._told(pieces, lines=stream))

    async def close(self) -> None:
        """Closes the pool, unless it was given."""
        if self._session is not None and self._owned:
            await self._session.close()
            self._session = None

    def _body(self, body: Json) -> Json:
        sent = {**self._endpoint.params, **body, "model": self._model}
        return {key: value for key, value in sent.items() if key not in ("stream", "stream_options")}

    async def _open_stream(self, chat: Chat) -> aiohttp.ClientResponse:
        """Asks for usage too. If the server does not know `stream_options`, the call is repeated without."""
        body = self._body(chat.body) | {"stream": True}
        wanted = chat.body.get("stream_options") or {}
        options = {"stream_options": {**wanted, "include_usage": True}}
        try:
            return await self._post(CHAT, body | options, chat.api_key, self._deadline())
        except UpstreamError as error:
            if wanted or error.status not in (400, 422) or "stream_options" not in f"{error} {error.param}":
                raise
        return await self._post(CHAT, body, chat.api_key, self._deadline())

    async def _post(
        self, route: str, body: Json, client_key: str | None, deadline: float
    ) -> aiohttp.ClientResponse:
        """The answer, a success by its status. The caller closes it."""
        key = self._endpoint.key(client_key)
        authorization = {"authorization": f"Bearer {key}"} if key else {}
        headers = {"content-type": "application/json", **carried(), **authorization, **self._endpoint.headers}
        with translated(self._endpoint):
            async with asyncio.timeout_at(deadline):
                data = dumps(body)
                try:
                    response = await self._send(route, data, headers)
                except StaleConnectionError:
                    response = await self._send(route, data, headers)
        if 200 <= response.status < 300:
            return response
        try:
            data = await self._error_text(response, deadline)
        except UpstreamError:
            data = b""  # the status alone tells what went wrong
        finally:
            response.close()
        raise from_answer(response.status, _lenient(data), response.headers, self._endpoint, client_key)

    async def _send(self, route: str, data: bytes, headers: Json) -> aiohttp.ClientResponse:
        return await self._opened().post(
            self._urls[route],
            data=data if len(data) < LARGE else io.BytesIO(data),
            headers=headers,
            timeout=self._timeout,
            proxy=self._proxy,
            allow_redirects=False,
        )

    async def _json(self, response: aiohttp.ClientResponse, client_key: str | None, deadline: float) -> Any:
        async with self._whole(response, deadline) as whole:
            raw = loads(whole)
        if isinstance(raw, dict) and is_error(raw):
            raise from_event(raw, self._endpoint, client_key)
        return raw

    @asynccontextmanager
    async def _whole(
        self, response: aiohttp.ClientResponse, deadline: float, first: bytes = b""
    ) -> AsyncIterator[bytes]:
        """The whole body, which begins with `first`. The key's turn is held for a large one, from where it is
        known to be large to the end of what is done with it.

        Raises `UpstreamProtocolError` for more than `max_reply_bytes`.
        """
        data, turn = bytearray(), None
        async with AsyncExitStack() as held:
            piece = first or await self._piece(response, deadline)
            while piece:
                data += piece
                if turn is None and len(data) > LARGE_ANSWER:
                    with translated(self._endpoint, begun=True):
                        async with asyncio.timeout_at(deadline):
                            turn = await held.enter_async_context(self._turns.taken())
                if turn is not None:
                    turn.pause = len(data) / _ANSWER_BYTES_A_SECOND
                if len(data) > self._endpoint.max_reply_bytes:
                    raise UpstreamProtocolError(
                        f"The reply of {self._endpoint.model} is larger than `max_reply_bytes`: "
                        f"{self._endpoint.max_reply_bytes}."
                    )
                piece = await self._piece(response, deadline)
            yield bytes(data)

    async def _error_text(self, response: aiohttp.ClientResponse, deadline: float) -> bytes:
        """The beginning of the body."""
        data = bytearray()
        while len(data) <= MAX_ERROR_BYTES and (piece := await self._piece(response, deadline)):
            data += piece
        return bytes(data[:MAX_ERROR_BYTES])

    async def _chunks(self, response: aiohttp.ClientResponse, chat: Chat) -> AsyncIterator[Json]:
        chunks = Chunks(self._endpoint, chat.api_key, most_choices(chat.body))
        deadline, pace = self._deadline(), _Pace(self._turns)
        while not chunks.done and (piece := await self._piece(response, deadline)):
            pace.count(len(piece))
            came = False
            for chunk in coalesced(chunks.feed(piece)):
                yield chunk
                came = True
            # Comments and blank lines keep a connection open, but are no sign of a reply.
            if came and not chunks.done:
                await pace.rest()
                deadline = self._deadline()
        for chunk in chunks.end():
            yield chunk
        await self._drain(response)

    async def _first(
        self, response: aiohttp.ClientResponse, client_key: str | None, deadline: float, *, stream: bool
    ) -> bytes:
        """The first bytes of an answer, or all of it if that is needed to tell a reply from an error object.

        Raises `UpstreamError` for an error object.
        """
        first = await self._piece(response, deadline)
        require(first, self._endpoint.model, stream=stream)
        if b'"error"' not in first:
            return first
        if stream:
            next(Chunks(self._endpoint, client_key).feed(first), None)
            return first
        async with self._whole(response, deadline, first) as whole:
            raw = loads(whole)
        if isinstance(raw, dict) and is_error(raw):
            raise from_event(raw, self._endpoint, client_key)
        return whole

    async def _pieces(
        self, response: aiohttp.ClientResponse, first: bytes = b"", *, stream: bool = False
    ) -> AsyncIterator[bytes]:
        """`first` and all bytes after it, as they come."""
        left = self._endpoint.max_reply_bytes * FRAMING
        deadline = self._deadline()
        try:
            piece = first or await self._piece(response, deadline)
            while piece:
                left -= len(piece)
                if left < 0:
                    raise UpstreamProtocolError(f"The answer of {self._endpoint.model} is too large.")
                yield piece
                if not stream or b"data" in piece:
                    deadline = self._deadline()
                piece = await self._piece(response, deadline)
        finally:
            response.close()

    def _told(self, pieces: AsyncIterator[bytes], *, lines: bool) -> AsyncIterator[bytes]:
        """An answer without the secrets of this server. The client's own key is none to it."""
        secrets = [secret for secret in self._endpoint.secrets(None) if len(secret) > _PLACEHOLDER]
        return without(pieces, secrets, lines=lines)

    async def _drain(self, response: aiohttp.ClientResponse) -> None:
        """Reads the rest after `[DONE]`, usually the end of the body, so that the connection is reused."""
        deadline = asyncio.get_running_loop().time() + LINGER
        with suppress(UpstreamError):  # the reply is whole: whatever is wrong now, hanging up is enough
            while await self._piece(response, deadline):
                pass

    async def _piece(self, response: aiohttp.ClientResponse, deadline: float) -> bytes:
        """The bytes that have come, `_PIECE` at most; empty at the end of the body."""
        with translated(self._endpoint, begun=True):
            async with asyncio.timeout_at(deadline):
                return await response.content.read(_PIECE)

    def _deadline(self) -> float:
        return asyncio.get_running_loop().time() + self._endpoint.timeout

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = new_session()
        return self._session


class _Pace:
    """How fast one stream is read."""

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self._now = asyncio.get_running_loop().time
        self._read = self._now()
        self._size = 0
        self._left = float(_STREAM_BYTES)

    def count(self, size: int) -> None:
        """Notes a reading of so many bytes."""
        before, self._read, self._size = self._read, self._now(), size
        gained = (self._read - before) * _STREAM_BYTES_A_SECOND
        self._left = min(self._left + gained, _STREAM_BYTES) - size

    async def rest(self) -> None:
        """Waits until the stream may be read again."""
        if self._left < 0:
            await self._turns.rest(self._size / _STREAM_BYTES_A_SECOND)
        await asyncio.sleep(self._read + _READ_EVERY - self._now())


def _forwarded(
    response: aiohttp.ClientResponse, body: AsyncIterator[bytes], more: Mapping[str, str] | None = None
) -> Forwarded:
    async def close() -> None:
        response.close()

    headers = {"content-type": response.headers.get("content-type", "application/json")}
    return Forwarded(response.status, {**headers, **passed_on(response.headers), **(more or {})}, body, close)


async def _one_by_one(pieces: Iterable[bytes]) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece


def _base(endpoint: Endpoint) -> URL:
    try:
        base = URL((endpoint.api_base or "").strip())
    except ValueError:
        base = URL()
    if base.scheme not in ("http", "https") or not base.host:
        raise ConfigError(f"The api_base of {endpoint.model} is not an http:// or https:// address.")
    if base.user is not None and (endpoint.api_key or endpoint.client_key):
        raise ConfigError(f"{endpoint.model} has a key and a user in its api_base; only one can be sent.")
    if endpoint.api_key and not endpoint.api_key.isprintable():
        raise ConfigError(f"The api_key of {endpoint.model} has a line break or another control character.")
    return base.with_path(base.path.rstrip("/"), encoded=False).with_query(base.query)


def _lenient(data: bytes) -> Any:
    """The body of an error: parsed JSON, or text."""
    try:
        return loads(data)
    except UpstreamProtocolError:
        return data.decode("utf-8", "replace")
