"""A wrapper that makes up for upstreams that refuse to stream, or that stream several tool calls as one."""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterator, Callable

from proxy.aio import closing
from proxy.errors import UpstreamError
from proxy.protocols import LLM
from proxy.types import Chat, Json, Reply, ReplyChunk
from proxy.upstream.completion import as_chunk, read_chunk

_REFUSING = frozenset({400, 422})
_STREAM = re.compile(r"\bstream(?:s|ed|ing)?\b", re.I)
"""As a word: servers that don't know `stream_options` are not meant."""

_REMEMBERED = 300.0
"""Seconds for which streams that were refused are not tried again."""
_MOST_REMEMBERED = 1000
"""Keys whose refusals are remembered."""


class StreamAdapter:
    """`protocols.LLM` that reads a reply whole, as one chunk, where another one refuses to stream it.

    Clients that don't stream are served through streams too, and some models may only be read whole (OpenAI:
    "Your organization must be verified to stream this model"). Where the parameter `stream` is to blame, no
    stream is tried with the same key for some minutes; where only the message speaks of streams, it may be
    about this one request. Each tool call of a stream gets an index of its own.
    """

    def __init__(self, llm: LLM, now: Callable[[], float] = time.monotonic) -> None:
        """`now` gives the time in seconds."""
        self._llm = llm
        self._now = now
        self._refused: dict[str | None, float] = {}
        """When streams may be tried again, by the client's key."""

    async def complete(self, chat: Chat) -> Reply:
        """The whole reply at once."""
        return await self._llm.complete(chat)

    async def stream(self, chat: Chat) -> AsyncIterator[ReplyChunk]:
        """The reply as chunks, or as one."""
        refusal: UpstreamError | None = None
        if self._now() >= self._refused.get(chat.api_key, 0):
            calls, begun = CallIndexes(), False
            try:
                async with closing(self._llm.stream(chat)) as chunks:
                    async for chunk in chunks:
                        begun = True
                        yield calls.distinct(chunk)
            except UpstreamError as error:
                if begun or not refuses_streams(error):
                    raise
                refusal = error
            else:
                return
        reply = await self._llm.complete(chat)
        if refusal is not None and refusal.param == "stream":
            self._remember(chat.api_key)
        yield read_chunk(as_chunk(reply.raw))

    def _remember(self, key: str | None) -> None:
        self._refused.pop(key, None)
        while len(self._refused) >= _MOST_REMEMBERED:
            del self._refused[next(iter(self._refused))]
        self._refused[key] = self._now() + _REMEMBERED


def refuses_streams(error: UpstreamError) -> bool:
    """Whether the same call may succeed if it is not streamed."""
    if error.status not in _REFUSING:
        return False
    return error.param == "stream" or bool(_STREAM.search(error.message))


class CallIndexes:
    """The indexes of one stream's tool calls. Gemini and some local servers stream parallel calls one by one
    with the same index, and clients glue together what has the same.

    A call begins where an index comes with another id and a name: some servers make up a new id for each
    piece of the arguments.
    """

    def __init__(self) -> None:
        self._under_way: dict[tuple[int, int], tuple[str, int]] = {}
        """By choice and the upstream's index: the id of the latest call, and its index here."""
        self._taken: set[tuple[int, int]] = set()
        self._free: dict[int, int] = {}
        """By choice: an index after all that are taken."""

    def distinct(self, chunk: ReplyChunk) -> ReplyChunk:
        """The chunk with an index for each call that no other call has."""
        if not any("tool_calls" in delta.fields for delta in chunk.deltas):
            return chunk
        choices = [self._in_choice(choice) for choice in chunk.raw["choices"]]
        return read_chunk({**chunk.raw, "choices": choices})

    def _in_choice(self, choice: Json) -> Json:
        delta = choice.get("delta") or {}
        calls = delta.get("tool_calls")
        if not isinstance(calls, list):
            return choice
        numbered = [self._numbered(choice.get("index", 0), call) for call in calls]
        return {**choice, "delta": {**delta, "tool_calls": numbered}}

    def _numbered(self, choice: int, call: Json) -> Json:
        index = call.get("index") if isinstance(call, dict) else None
        if not isinstance(index, int):
            return call
        given = call.get("id")
        ident = given if isinstance(given, str) else ""
        function = call.get("function")
        name = function.get("name") if isinstance(function, dict) else None
        known, own = self._under_way.get((choice, index), ("", None))
        if own is None or (name and ident and known and ident != known):
            free = self._free.get(choice, 0)
            own = free if (choice, index) in self._taken else index
            self._taken.add((choice, own))
            self._free[choice] = max(free, own + 1)
            known = ""
        self._under_way[choice, index] = known or ident, own
        return call if own == index else {**call, "index": own}
