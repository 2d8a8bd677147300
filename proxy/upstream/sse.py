"""Server-sent events: parsed into chat chunks, or passed on as bytes in whole lines. No I/O."""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import AsyncIterator, Iterator, Sequence

from proxy.aio import closing
from proxy.errors import UpstreamProtocolError
from proxy.types import Json
from proxy.upstream.completion import MOST_UNASKED, require_choices, require_usage
from proxy.upstream.endpoint import Endpoint
from proxy.upstream.failures import BrokenOffError, from_event, is_error
from proxy.upstream.safe_json import loads

DONE = "[DONE]"

FRAMING = 32
"""How many times longer than its reply a stream may be: a token of 4 bytes travels in 100 to 250 bytes."""

TAIL = 16_384
"""Bytes at a stream's end that are searched for its last chunks."""

_FINISHED = re.compile(rb'"finish_reason"\s*:\s*"|data:\s*\[DONE\]')
_NO_STREAM = (b"<", b"{", b"[")


class Events:
    """An incremental parser of `text/event-stream` that keeps only the data of events.

    Source: WHATWG HTML, 9.2.5 and 9.2.6. Input may be cut anywhere. Differs in one thing: an event that
    the stream's end cuts off before its empty line still counts, as several servers end so.
    """

    def __init__(self, max_bytes: int) -> None:
        """`max_bytes` bounds one event; the whole stream may have `FRAMING` times as many."""
        self._max_bytes = max_bytes
        self._left = max_bytes * FRAMING
        self._partial: list[bytes] = []
        self._waiting = 0
        self._data: list[str] = []
        self._size = 0
        self._after_cr = False
        self._started = False

    def feed(self, data: bytes) -> Iterator[str]:
        """The data of each event that these bytes complete. Raises `UpstreamProtocolError` when over size."""
        self._left -= len(data)
        if self._after_cr and data.startswith(b"\n"):
            data = data[1:]
            self._after_cr = False
        if data:
            self._after_cr = data.endswith(b"\r")
            self._partial.append(data)
            self._waiting += len(data)
        if b"\n" in data or b"\r" in data:
            yield from self._lines()
        self._bound(self._waiting)

    def end(self) -> Iterator[str]:
        """The data of an event that was not closed by an empty line."""
        self._partial.append(b"\n\n")
        yield from self._lines()

    def _lines(self) -> Iterator[str]:
        lines = b"".join(self._partial).splitlines(keepends=True)
        self._partial = [] if lines[-1].endswith((b"\n", b"\r")) else [lines.pop()]
        self._waiting = sum(map(len, self._partial))
        for line in lines:
            content = line.rstrip(b"\r\n")
            if not self._started:
                content = content.removeprefix(BOM_UTF8)
                self._started = True
            if content:
                self._field(content)
            elif self._data:
                data, self._data, self._size = "\n".join(self._data), [], 0
                yield data

    def _field(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        if name == b"data":
            self._data.append(value.removeprefix(b" ").decode("utf-8", "replace"))
            self._size += len(value) + 1
            self._bound(self._size)

    def _bound(self, size: int) -> None:
        if size > self._max_bytes or self._left < 0:
            raise UpstreamProtocolError("The upstream's reply is larger than `max_reply_bytes` allows.")


class Chunks:
    """Parses a stream into `chat.completion.chunk` objects, and checks that it is complete."""

    def __init__(self, endpoint: Endpoint, client_key: str | None = None, most: int = MOST_UNASKED) -> None:
        """`most`: how many choices it may have."""
        self._endpoint = endpoint
        self._most = most
        self._client_key = client_key
        self._events = Events(endpoint.max_reply_bytes)
        self._finished: dict[int, bool] = {}
        self.done = False
        """Whether `[DONE]` came. What follows it is ignored."""

    def feed(self, data: bytes) -> Iterator[Json]:
        """The chunks that these bytes complete. Raises `UpstreamError` for an error in the stream,
        `UpstreamProtocolError` for what is no chunk."""
        yield from self._chunks(self._events.feed(data))

    def end(self) -> Iterator[Json]:
        """The chunks that the stream's end completes.

        A stream needs no `[DONE]` when each choice had its `finish_reason`. Raises `BrokenOffError` if it
        stopped before that, `UpstreamProtocolError` if it held no choice at all.
        """
        if not self.done:
            yield from self._tail()
        if not self._finished:
            raise UpstreamProtocolError(f"{self._endpoint.model} answered with a stream without choices.")
        if not self.done and not all(self._finished.values()):
            raise BrokenOffError(f"{self._endpoint.model}: the stream broke off.")

    def _tail(self) -> Iterator[Json]:
        try:
            yield from self._chunks(self._events.end())
        except UpstreamProtocolError as error:
            raise BrokenOffError(f"{self._endpoint.model}: the stream broke off.") from error

    def _chunks(self, events: Iterator[str]) -> Iterator[Json]:
        for data in events:
            if data.strip() == DONE:
                self.done = True
                return
            if data.strip():
                yield self._chunk(loads(data))

    def _chunk(self, chunk: object) -> Json:
        if not isinstance(chunk, dict):
            raise UpstreamProtocolError(f"{self._endpoint.model} streamed something that is no chunk.")
        if is_error(chunk):
            raise from_event(chunk, self._endpoint, self._client_key)
        choices = chunk.get("choices")
        if not isinstance(choices, list) and not chunk.get("usage"):
            raise UpstreamProtocolError(f"{self._endpoint.model} streamed a chunk without `choices`.")
        require_usage(chunk.get("usage"))
        require_choices(len(choices or ()), self._most)
        for choice in choices or ():
            if not isinstance(choice, dict):
                raise UpstreamProtocolError(f"{self._endpoint.model} streamed a choice that is no object.")
            index = choice.get("index", 0)
            if not isinstance(index, int):
                raise UpstreamProtocolError(f"{self._endpoint.model} streamed a choice without index.")
            self._finished[index] = self._finished.get(index, False) or bool(choice.get("finish_reason"))
        require_choices(len(self._finished), self._most)
        return chunk


def require(first: bytes, where: str, *, stream: bool) -> None:
    """Raises `UpstreamProtocolError` if an answer with these first bytes can't be a stream (or JSON), but is,
    say, an HTML page or empty."""
    begin = first.lstrip()[:1]
    if stream and (not first or begin in _NO_STREAM):
        raise UpstreamProtocolError(f"{where} answered with a stream without choices.")
    if not first or (not stream and begin not in (b"", b"{")):
        raise UpstreamProtocolError(f"{where} answered with something that is not JSON.")


async def without(
    pieces: AsyncIterator[bytes], secrets: Sequence[str], *, lines: bool
) -> AsyncIterator[bytes]:
    """The bytes with `***` for each secret. Where the pieces are no whole `lines`, which no secret crosses,
    as many bytes are held back as a secret could cross."""
    hidden = [secret.encode() for secret in secrets]
    kept = 0 if lines else max(map(len, hidden), default=1) - 1
    held = b""
    async with closing(pieces):
        async for piece in pieces:
            data = held + piece
            for secret in hidden:
                if secret in data:
                    data = data.replace(secret, b"***")
            cut = max(0, len(data) - kept)
            held = data[cut:]
            if cut:
                yield data[:cut]
    if held:
        yield held


async def whole_lines(
    pieces: AsyncIterator[bytes], where: str, max_bytes: int = 20_000_000
) -> AsyncIterator[bytes]:
    """The stream's bytes, in pieces that end with a line, so that an error event can follow any of them.

    Raises `BrokenOffError` if the stream ends before the reply is finished, `UpstreamProtocolError` for a
    line of more than `max_bytes`.
    """
    lines = Lines()
    async for piece in pieces:
        if whole := lines.feed(piece):
            yield whole
        if lines.waiting > max_bytes:
            raise UpstreamProtocolError(f"{where} streamed a line that is larger than `max_reply_bytes`.")
    if not lines.finished:
        raise BrokenOffError(f"{where}: the stream broke off.")
    if held := lines.held:
        yield held


class Lines:
    """Splits bytes into whole lines, which may be sent on, and the rest of the last one, which is held."""

    def __init__(self) -> None:
        self.waiting = 0
        """The size of what is held."""
        self._held: list[bytes] = []
        self._tail = bytearray()

    @property
    def held(self) -> bytes:
        """The beginning of a line whose end has not come."""
        return b"".join(self._held)

    def feed(self, data: bytes) -> bytes:
        """The bytes that may be sent on: up to the last end of a line."""
        self._remember(data)
        end = max(data.rfind(b"\n"), data.rfind(b"\r")) + 1
        whole = b"".join((*self._held, data[:end])) if end else b""
        if end:
            self._held, self.waiting = [], 0
        if rest := data[end:]:
            self._held.append(rest)
            self.waiting += len(rest)
        return whole

    @property
    def finished(self) -> bool:
        """Whether the last bytes finish a stream: with `[DONE]` or a choice's `finish_reason`."""
        return _FINISHED.search(self._tail) is not None

    def _remember(self, data: bytes) -> None:
        self._tail += data
        if len(self._tail) > 2 * TAIL:
            del self._tail[:-TAIL]
