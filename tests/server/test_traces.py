"""OpenTelemetry traces: what a collector gets, and what an upstream is told."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.corpora import ANIMALS, build_index
from tests.light import light_server
from tests.scripted_upstream import Hang, Reply, Status, Upstream
from tests.serving import settings_for

WHY = "needs OpenTelemetry (pip install 'vouch[otel]')"
pytest.importorskip("opentelemetry.sdk", reason=WHY)
service = pytest.importorskip("opentelemetry.proto.collector.trace.v1.trace_service_pb2", reason=WHY)

CALLER = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = "00f067aa0ba902b7"
FROM_CALLER = {"traceparent": f"00-{CALLER}-{PARENT}-01", "tracestate": "shop=17"}
QUESTION = "What do you know about animals?"
TRUE = ANIMALS[2]
FALSE = "The cheetah can run at up to 204 kilometres per hour."
SERVER, CLIENT, INTERNAL, ERROR = 2, 3, 1, 2
"""Kinds of spans, and the status of one that failed, as OTLP counts them."""


class Collector:
    """A collector of OTLP over HTTP, and all spans that it got."""

    def __init__(self) -> None:
        self.spans: list[Any] = []
        self.resources: list[dict[str, Any]] = []
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                raw = self.rfile.read(int(self.headers["content-length"]))
                told = service.ExportTraceServiceRequest.FromString(raw)
                for resource in told.resource_spans:
                    collector.resources.append(values(resource.resource.attributes))
                    for scope in resource.scope_spans:
                        collector.spans += scope.spans
                self.send_response(200)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Says nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1/traces"
        self._thread = threading.Thread(target=self._server.serve_forever)

    def __enter__(self) -> Collector:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(10)

    def named(self, name: str) -> list[Any]:
        return [span for span in self.spans if span.name == name]


def values(attributes: Any) -> dict[str, Any]:
    """Attributes as a dict of plain values."""
    plain = {}
    for attribute in attributes:
        kind = attribute.value.WhichOneof("value")
        value = getattr(attribute.value, kind)
        plain[attribute.key] = (
            [item.string_value for item in value.values] if kind == "array_value" else value
        )
    return plain


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector() as collector:
        yield collector


Ask = Callable[..., httpx.Response]


@pytest.fixture
def traces(collector: Collector, tmp_path: Path, upstream: Upstream) -> Callable[..., None]:
    """Runs something against a server that traces. When it has ended, the collector has all spans."""
    build_index(tmp_path / "index")

    def run(work: Callable[[Ask], None], *, litellm: bool = False, **sections: Any) -> None:
        chosen = {
            "traces": {"enabled": True, "endpoint": collector.url},
            "retrieval": {"threshold": -1.0},
            **sections,
        }
        with light_server(settings_for(upstream.url, litellm=litellm, **chosen), tmp_path / "index") as url:

            def ask(route: str = "chat/completions", *, headers: Any = None, **more: Any) -> httpx.Response:
                body = {"model": "test", "messages": [{"role": "user", "content": QUESTION}], **more}
                return httpx.post(f"{url}/{route}", json=body, headers=headers or {}, timeout=60)

            work(ask)

    return run


def test_a_request_is_one_trace_with_a_span_per_phase(
    traces: Callable[..., None], collector: Collector, upstream: Upstream
) -> None:
    upstream.enqueue(TRUE + " " + FALSE, TRUE)
    answers: list[httpx.Response] = []
    traces(lambda ask: answers.append(ask(temperature=0.5, vouch={"max_rounds": 1, "stream_mode": "buffer"})))
    assert answers[0].status_code == 200
    (root,) = collector.named("POST /v1/chat/completions")
    assert root.kind == SERVER
    assert not root.parent_span_id
    told = values(root.attributes)
    assert told["http.response.status_code"] == 200
    assert told["http.route"] == "/v1/chat/completions"
    assert told["gen_ai.request.model"] == "test"
    assert told["vouch.request.id"] == answers[0].headers["x-request-id"]
    claims = answers[0].json()["verification"]["claims"]
    assert told["vouch.claims.supported"] == len([each for each in claims if each["verdict"] == "supported"])
    assert {span.name for span in collector.spans} == {
        "POST /v1/chat/completions",
        "waiting",
        "chat test-model",
        "claims",
        "retrieval",
        "checking",
        "correction",
    }
    for span in collector.spans:
        assert span.trace_id == root.trace_id
        assert span is root or span.parent_span_id == root.span_id
        assert root.start_time_unix_nano <= span.start_time_unix_nano <= span.end_time_unix_nano
        assert span.end_time_unix_nano <= root.end_time_unix_nano
    assert {span.kind for span in collector.spans if span.name == "checking"} == {INTERNAL}
    assert sum(values(span.attributes).get("vouch.queries", 0) for span in collector.named("retrieval")) >= 2
    assert collector.resources[0]["service.name"] == "vouch"


def test_a_call_of_an_upstream_is_described_by_the_conventions(
    traces: Callable[..., None], collector: Collector, upstream: Upstream
) -> None:
    usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
    upstream.enqueue(Reply(TRUE, usage=usage), Reply(TRUE, usage=usage))

    def work(ask: Ask) -> None:
        ask(temperature=0.5, max_tokens=64, seed=2**63)
        ask(stream=True, vouch={"max_rounds": 0})

    traces(work)
    for span, streamed in zip(collector.named("chat test-model"), (False, True), strict=True):
        assert span.kind == CLIENT
        told = values(span.attributes)
        assert told["gen_ai.operation.name"] == "chat"
        assert told["gen_ai.provider.name"] == "openai"
        assert told["gen_ai.request.model"] == "test-model"
        assert told["gen_ai.response.model"] == "test-model"
        assert told["gen_ai.response.finish_reasons"] == ["stop"]
        assert told["gen_ai.usage.input_tokens"] == 11
        assert told["gen_ai.usage.output_tokens"] == 7
        assert told["server.address"] == "127.0.0.1"
        assert told["gen_ai.response.time_to_first_chunk"] > 0
        asked = {"gen_ai.request.temperature": 0.5, "gen_ai.request.max_tokens": 64}
        assert streamed or asked.items() <= told.items()
        assert "gen_ai.request.seed" not in told


@pytest.mark.parametrize(
    ("route", "body", "name"),
    [
        ("chat/completions", {}, "chat test-model"),
        ("chat/completions", {"stream": True}, "chat test-model"),
        ("chat/completions", {"model": "test-raw"}, "chat test-model"),
        ("chat/completions", {"model": "test-raw", "stream": True}, "chat test-model"),
        pytest.param("chat/completions", {"model": "test-litellm"}, "chat test-model", id="litellm"),
        ("responses", {"input": QUESTION}, "chat test-model"),
        ("embeddings", {"input": "words"}, "embeddings test-model"),
        ("completions", {"prompt": "words", "stream": True}, "text_completion test-model"),
    ],
)
def test_the_callers_trace_goes_on_and_reaches_the_upstream(
    traces: Callable[..., None],
    collector: Collector,
    upstream: Upstream,
    route: str,
    body: dict[str, Any],
    name: str,
) -> None:
    through_litellm = body.get("model") == "test-litellm"
    traces(lambda ask: ask(route, headers=FROM_CALLER, **body), litellm=through_litellm)
    (call,) = collector.named(name)
    (root,) = [span for span in collector.spans if span.kind == SERVER]
    assert root.trace_id.hex() == CALLER
    assert root.parent_span_id.hex() == PARENT
    (sent,) = upstream.requests
    assert sent.headers["traceparent"] == f"00-{CALLER}-{call.span_id.hex()}-01"
    assert sent.headers["tracestate"] == "shop=17"
    assert call.parent_span_id == root.span_id


def test_no_text_of_a_chat_and_no_key_is_in_a_trace(
    traces: Callable[..., None], collector: Collector, upstream: Upstream
) -> None:
    upstream.enqueue(Reply(TRUE), Reply(TRUE), Status(400, "You said: ZEBRA"))

    def work(ask: Ask) -> None:
        for model in ("test", "test-raw", "test"):
            ask(model=model, user="ZEBRA", stop=["ZEBRA"], headers={"authorization": "Bearer ZEBRA"})

    traces(work)
    assert len(collector.named("chat test-model")) == 3
    sent = "".join(map(str, collector.spans))
    assert "cheetah" not in sent.lower()
    assert "animals" not in sent
    assert "ZEBRA" not in sent
    assert "sk-upstream" not in sent


def test_what_fails_is_an_error_by_its_kind(
    traces: Callable[..., None], collector: Collector, upstream: Upstream
) -> None:
    upstream.enqueue(Status(500, "broken"), Hang(), Status(503, "wait"), Reply(TRUE))

    statuses: list[int] = []

    def work(ask: Ask) -> None:
        statuses.extend(ask(model=model).status_code for model in ("test", "test-hasty", "test-stubborn"))

    traces(work)
    calls = collector.named("chat test-model")
    errors = [values(span.attributes).get("error.type") for span in calls]
    assert errors == ["server", "timeout", "server", None]
    assert [span.status.code == ERROR for span in calls] == [True, True, True, False]
    roots = [values(span.attributes).get("error.type") for span in collector.spans if span.kind == SERVER]
    assert statuses[2] == 200
    assert roots == [str(statuses[0]), str(statuses[1]), None]


def test_probes_and_untraced_callers_leave_no_trace(
    traces: Callable[..., None], collector: Collector, upstream: Upstream
) -> None:
    unsampled = {"traceparent": f"00-{CALLER}-{PARENT}-00"}

    def work(ask: Ask) -> None:
        url = str(ask(headers=unsampled).url).removesuffix("/v1/chat/completions")
        for route in ("healthz", "readyz", "metrics"):
            assert httpx.get(f"{url}/{route}", timeout=60).status_code == 200

    traces(work)
    assert collector.spans == []
    assert upstream.requests[0].headers["traceparent"].startswith(f"00-{CALLER}-")
    assert upstream.requests[0].headers["traceparent"].endswith("-00")


def test_the_embedded_model_is_in_the_trace_too(traces: Callable[..., None], collector: Collector) -> None:
    traces(lambda ask: ask(model="vouch/extractive"))
    (call,) = collector.named("chat vouch/extractive")
    assert values(call.attributes)["gen_ai.provider.name"] == "vouch"


def test_a_share_of_none_traces_nothing(traces: Callable[..., None], collector: Collector) -> None:
    traces(lambda ask: ask(), traces={"enabled": True, "endpoint": collector.url, "sample": 0.0})
    assert collector.spans == []
