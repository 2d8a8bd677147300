"""An answer passed on as bytes: what its first ones tell, and whether a stream ended well. No I/O."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator

from proxy.errors import UpstreamProtocolError
from proxy.upstream.failures import BrokenOffError

TAIL = 16_384
"""Bytes at a stream's end among which its last chunks are found."""

_FINISHED = re.compile(rb'"finish_reason"\s*:\s*"|data:\s*\[DONE\]')
_NO_STREAM = (b"<", b"{", b"[")


def require(first: bytes, where: str, *, stream: bool) -> None:
    """Raises `UpstreamProtocolError` where an answer that begins like this can't be what was asked for:
    a page, say, or nothing."""
    begin = first.lstrip()[:1]
    if stream and (not first or begin in _NO_STREAM):
        raise UpstreamProtocolError(f"{where} answered with a stream without choices.")
    if not first or (not stream and begin not in (b"", b"{")):
        raise UpstreamProtocolError(f"{where} answered with something that is not JSON.")


async def whole_lines(pieces: AsyncIterator[bytes], where: str) -> AsyncIterator[bytes]:
    """A stream's bytes, all of them and in order, but cut behind a line's end: when the stream breaks off,
    an error can be put behind what has left. Raises `BrokenOffError` where it ends before its reply does."""
    lines = Lines()
    async for piece in pieces:
        if whole := lines.feed(piece):
            yield whole
    if not lines.finished:
        raise BrokenOffError(f"{where}: the stream broke off.")
    if lines.held:
        yield lines.held


class Lines:
    """Bytes up to the last line that is whole."""

    def __init__(self) -> None:
        self.held = b""
        """The beginning of a line."""
        self._tail = bytearray()

    def feed(self, data: bytes) -> bytes:
        """What may leave; nothing while a line is incomplete."""
        self._remember(data)
        if not self.held and data.endswith(b"\n"):
            return data
        end = max(data.rfind(b"\n"), data.rfind(b"\r")) + 1
        if not end:
            self.held += data
            return b""
        whole, self.held = self.held + data[:end], data[end:]
        return whole

    @property
    def finished(self) -> bool:
        """Whether what came ends a stream: `[DONE]`, or a choice's `finish_reason`."""
        return _FINISHED.search(self._tail) is not None

    def _remember(self, data: bytes) -> None:
        self._tail += data
        if len(self._tail) > 2 * TAIL:
            del self._tail[:-TAIL]
