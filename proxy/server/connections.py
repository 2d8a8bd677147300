"""Limits of one connection: header size, and time-outs for headers, bodies and slow readers."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import logging
from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from proxy.config.settings import Server

if TYPE_CHECKING:
    Base = H11Protocol
else:
    Base = object

if importlib.util.find_spec("httptools"):
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

    PROTOCOL: type[asyncio.Protocol] = HttpToolsProtocol
else:
    PROTOCOL = H11Protocol

log = logging.getLogger(__name__)

_END = b"\r\n\r\n"
_REASONS = {408: "Request Timeout", 431: "Request Header Fields Too Large", 503: "Service Unavailable"}


def bounded(server: Server) -> type[asyncio.Protocol]:
    """uvicorn's HTTP protocol, within the bounds of the settings. uvicorn itself bounds neither the size of a
    header (with httptools) nor the time of header, body and reader."""
    return type("Connection", (Bounded, PROTOCOL), {"settings": server})


class Bounded(Base):
    """One connection. It is read in turns: a header, a body, then nothing until the answer is complete."""

    settings: Server

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._head = 0
        self._seen = b""
        self._timer: asyncio.TimerHandle | None = None
        self._timed = ""
        self._stuck: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Refuses a connection too many."""
        super().connection_made(transport)
        most = self.settings.max_connections
        if len(self.connections) > most:
            self._refuse(503, f"The server has {most} connections open (server.max_connections). Try again.")
            return
        self._time("header", self.settings.header_timeout)

    def data_received(self, data: bytes) -> None:
        """Counts a header, and hands the bytes on."""
        if self.transport.is_closing():
            return
        if self._awaits_header():
            end = (self._seen + data).find(_END)
            self._head += len(data) if end < 0 else max(0, end - len(self._seen))
            self._seen = (self._seen + data)[-len(_END) + 1 :]
            if self._head > self.settings.max_header_bytes:
                most = self.settings.max_header_bytes
                self._refuse(431, f"The header is over {most:,} bytes (server.max_header_bytes).")
                return
            self._time("header", self.settings.header_timeout)
        super().data_received(data)
        if self._awaits_header():
            return
        self._head, self._seen = 0, b""
        if self.cycle is not None and self.cycle.more_body:
            self._time("body", self.settings.body_timeout)
        else:
            self._time("", 0)

    def pause_writing(self) -> None:
        """The client reads nothing: it may do so for a while."""
        super().pause_writing()
        self._stuck = self.loop.call_later(self.settings.send_timeout, self._abandon)

    def resume_writing(self) -> None:
        """The client reads again."""
        super().resume_writing()
        if self._stuck is not None:
            self._stuck.cancel()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stops the clocks."""
        self._time("", 0)
        super().connection_lost(exc)
        if self._stuck is not None:
            self._stuck.cancel()

    def _awaits_header(self) -> bool:
        return self.cycle is None or bool(self.cycle.response_complete)

    def _time(self, what: str, seconds: float) -> None:
        """Starts the clock for a part of a request, unless it runs; nothing stops it."""
        if what == self._timed:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timed = what
        self._timer = self.loop.call_later(seconds, self._late) if what else None

    def _late(self) -> None:
        what = self._timed
        self._refuse(408, f"The request's {what} did not come in time (server.{what}_timeout).")

    def _abandon(self) -> None:
        log.info("a client that read nothing for %g s was hung up on", self.settings.send_timeout)
        self.transport.abort()

    def _refuse(self, status: int, message: str) -> None:
        """Answers and closes the connection, unless an answer is on its way."""
        if self.transport.is_closing():
            return
        if self.cycle is None or self.cycle.response_complete or not self.cycle.response_started:
            error = {"message": message, "type": "invalid_request_error", "param": None, "code": None}
            body = json.dumps({"error": error}).encode()
            head = (
                f"HTTP/1.1 {status} {_REASONS[status]}\r\ncontent-type: application/json\r\n"
                f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
            )
            self.transport.write(head.encode() + body)
        self.transport.close()
