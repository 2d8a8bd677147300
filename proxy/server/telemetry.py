"""Traces by OpenTelemetry, sent to a collector by OTLP over HTTP. Importing this module imports
OpenTelemetry, which is the extra `otel`."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanLimits, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased
from opentelemetry.trace import SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from proxy import __version__
from proxy.config.settings import Traces
from proxy.tracing import Attributes, Span

TIMEOUT = 5.0
"""Seconds that a batch of spans may take on its way, also when the server stops."""

_CONTEXT = TraceContextTextMapPropagator()


class RecordedSpan:
    """`tracing.Span` of OpenTelemetry's SDK."""

    def __init__(self, tracer: trace.Tracer, span: trace.Span, origin: int) -> None:
        """`origin`: what `time.perf_counter` calls 0, in nanoseconds since 1970."""
        self._tracer = tracer
        self._span = span
        self._origin = origin

    @property
    def trace_id(self) -> str:
        """The id of the trace."""
        return format(self._span.get_span_context().trace_id, "032x")

    def child(
        self, name: str, attributes: Attributes, *, outgoing: bool = False, start: float | None = None
    ) -> Span:
        """A span within this one."""
        span = self._tracer.start_span(
            name,
            trace.set_span_in_context(self._span),
            SpanKind.CLIENT if outgoing else SpanKind.INTERNAL,
            attributes,
            start_time=self._time(start),
        )
        return RecordedSpan(self._tracer, span, self._origin)

    def headers(self) -> Mapping[str, str]:
        """`traceparent`, and `tracestate` where there is one."""
        carrier: dict[str, str] = {}
        _CONTEXT.inject(carrier, trace.set_span_in_context(self._span))
        return carrier

    def set(self, attributes: Attributes) -> None:
        """Adds attributes."""
        self._span.set_attributes(attributes)

    def rename(self, name: str) -> None:
        """Gives it another name."""
        self._span.update_name(name)

    def end(self, error: str = "", at: float | None = None) -> None:
        """Ends it."""
        if error:
            self._span.set_attribute("error.type", error)
            self._span.set_status(Status(StatusCode.ERROR))
        self._span.end(self._time(at))

    def _time(self, at: float | None) -> int:
        return self._origin + int((time.perf_counter() if at is None else at) * 1e9)


class RecordedTraces:
    """`tracing.Tracer` of OpenTelemetry's SDK, with a provider of its own, so that two applications in one
    process don't share one."""

    def __init__(self, settings: Traces) -> None:
        self._provider = TracerProvider(
            resource=Resource.create(
                {"service.name": os.environ.get("OTEL_SERVICE_NAME", "vouch"), "service.version": __version__}
            ),
            sampler=ParentBased(TraceIdRatioBased(settings.sample)),
            span_limits=SpanLimits(max_span_attributes=64, max_attribute_length=256),
            shutdown_on_exit=False,
        )
        self._exporter = OTLPSpanExporter(settings.endpoint, timeout=TIMEOUT)
        self._provider.add_span_processor(BatchSpanProcessor(self._exporter))
        self._tracer = self._provider.get_tracer("vouch", __version__)

    def request(self, name: str, attributes: Attributes, headers: Mapping[str, str]) -> Span:
        """The span of a request."""
        # Extracted into an empty context: whatever another library has made current is not its parent.
        parent = _CONTEXT.extract(headers, trace.set_span_in_context(trace.INVALID_SPAN))
        origin = -int(time.perf_counter() * 1e9) + time.time_ns()  # in this order: nothing in it is earlier
        span = self._tracer.start_span(
            name, parent, SpanKind.SERVER, attributes, start_time=origin + int(time.perf_counter() * 1e9)
        )
        return RecordedSpan(self._tracer, span, origin)

    def close(self) -> None:
        """Sends what is left, and ends. Blocking, but not for long where the collector is gone."""
        giving_up = threading.Timer(TIMEOUT, self._exporter.shutdown)
        giving_up.start()
        try:
            self._provider.shutdown()
        finally:
            giving_up.cancel()
