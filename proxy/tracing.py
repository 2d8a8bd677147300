"""What a request's trace is, for those that write into it. `server.telemetry` makes one of OpenTelemetry."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

Attributes = Mapping[str, str | bool | int | float | Sequence[str]]


class Span(Protocol):
    """A stretch of time of one request: the whole request, or a phase of it. It never holds chat text."""

    @property
    def trace_id(self) -> str:
        """The id of the trace that it belongs to, 32 hexadecimal digits."""
        ...

    def child(
        self, name: str, attributes: Attributes, *, outgoing: bool = False, start: float | None = None
    ) -> Span:
        """A span within this one, from now on or from `start`. `outgoing`: it is a call of another server.

        Times are those of `time.perf_counter`.
        """
        ...

    def headers(self) -> Mapping[str, str]:
        """What tells a server that is called which span calls it (W3C Trace Context)."""
        ...

    def set(self, attributes: Attributes) -> None:
        """Adds attributes."""
        ...

    def rename(self, name: str) -> None:
        """Gives it another name, once more is known."""
        ...

    def end(self, error: str = "", at: float | None = None) -> None:
        """Ends it, now or `at` a time. `error`: it failed, and of which kind that was; no message."""
        ...


class Tracer(Protocol):
    """Begins traces, and sends their spans away in the background."""

    def request(self, name: str, attributes: Attributes, headers: Mapping[str, str]) -> Span:
        """The span of a request that has just come, within the trace that its headers name."""
        ...

    def close(self) -> None:
        """Sends what is left, and ends. Blocking."""
        ...


_CARRIED: ContextVar[Mapping[str, str] | None] = ContextVar("carried", default=None)


@contextmanager
def carrying(headers: Mapping[str, str]) -> Iterator[None]:
    """Calls that are made inside carry these headers. Not to be left open across a generator's `yield`."""
    token = _CARRIED.set(headers)
    try:
        yield
    finally:
        _CARRIED.reset(token)


def carried() -> Mapping[str, str]:
    """The headers that a call of an upstream carries now; none outside a trace."""
    return _CARRIED.get() or {}
