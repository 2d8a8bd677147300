"""What an operator sees: /metrics, the dashboard and the alert rules over it, and the log."""

from __future__ import annotations

import hashlib
import io
import json
import logging
import re
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from proxy.cli.compose import Library
from proxy.cli.logs import Lines, Objects
from proxy.config.load import validate
from proxy.errors import ConfigError
from tests.scripted_upstream import Hang, Raw, Reply, Status, Upstream
from tests.server.facts import TRUE, UNKNOWN
from tests.serving import serving, settings_for, until

MONITORING = Path(__file__).parents[2] / "examples" / "monitoring"
MESSAGES: Any = [{"role": "user", "content": "What do you know about the Eiffel Tower?"}]
KEYS = [
    "key-of-a-client",
    {"name": "prometheus", "key": "key-of-prometheus", "scopes": ["metrics"]},
    {"name": "team-b", "sha256": hashlib.sha256(b"key-of-team-b").hexdigest()},
]


def post(
    url: str,
    model: str = "test",
    route: str = "chat/completions",
    key: str = "",
    timeout: float = 60,
    **more: Any,
) -> int:
    body = {"model": model, "messages": MESSAGES, "vouch": {"max_rounds": 0}, **more}
    headers = {"authorization": f"Bearer {key}"} if key else {}
    return httpx.post(f"{url}/{route}", json=body, headers=headers, timeout=timeout).status_code


class Scraped:
    """The samples of one answer of /metrics."""

    def __init__(self, url: str) -> None:
        text = httpx.get(url.removesuffix("/v1") + "/metrics", timeout=60).text
        self.families = list(text_string_to_metric_families(text))
        self.samples = [sample for family in self.families for sample in family.samples]
        self.names = {sample.name for sample in self.samples} | {family.name for family in self.families}

    def sum(self, name: str, **labels: str) -> float:
        """Of all samples of that name that have these labels."""
        return sum(
            sample.value
            for sample in self.samples
            if sample.name == name and labels.items() <= sample.labels.items()
        )


@pytest.fixture(scope="module")
def url(
    session_upstream: Upstream, corpus: Library, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """A server that has seen a bit of everything."""
    session_upstream.clear()
    model = {"model": "openai/m", "api_base": session_upstream.url, "api_key": "k", "max_retries": 0}
    models = [
        {**model, "name": "test"},
        {**model, "name": "test-hasty", "timeout": 0.3},
        {**model, "name": "dead", "api_base": "http://127.0.0.1:1/v1"},  # where nobody listens
    ]
    audit = {"path": str(tmp_path_factory.mktemp("audit") / "audit.jsonl")}
    with serving(validate({"upstreams": models, "audit": audit}), corpus) as base:
        session_upstream.enqueue(TRUE, TRUE)
        assert [post(base), post(base, stream=True)] == [200, 200]
        session_upstream.enqueue(UNKNOWN)
        assert post(base) == 200
        session_upstream.answer = lambda _body: f"{TRUE} {UNKNOWN}"
        assert post(base, vouch={"max_rounds": 1, "regeneration": "whole"}) == 200
        session_upstream.enqueue(TRUE)
        assert post(base, vouch={"deadline": 1e-6, "max_rounds": 0}) == 200
        session_upstream.enqueue(Status(500), Status(429), Status(401), Raw(b"?"))
        assert [post(base) for _ in range(4)] == [500, 429, 401, 502]
        assert post(base, "dead") == 502
        session_upstream.enqueue(Hang())
        assert post(base, "test-hasty") == 504
        session_upstream.enqueue(Status(503))
        assert post(base, "test-raw") == 503
        session_upstream.enqueue(Hang())
        with pytest.raises(httpx.ReadTimeout):  # the client leaves
            post(base, timeout=1)
        session_upstream.wait_for_disconnect()
        assert post(base, route="embeddings", input="a") == 200
        assert post(base, "no-such-model") == 404
        assert httpx.get(f"{base}/no/such/route", timeout=60).status_code == 404
        yield base
    session_upstream.clear()


def test_requests_are_counted_by_route_and_status(url: str) -> None:
    seen = Scraped(url)
    chat = {"route": "/v1/chat/completions"}
    assert seen.sum("vouch_requests_total", **chat, status="200") == 5
    assert seen.sum("vouch_requests_total", **chat, status="502") == 2
    assert seen.sum("vouch_requests_total", **chat, status="499") == 1
    assert seen.sum("vouch_requests_total", **chat) == 14
    assert seen.sum("vouch_requests_total", route="/v1/embeddings", status="200") == 1
    assert seen.sum("vouch_requests_total", route="other", status="404") == 1
    assert seen.sum("vouch_request_seconds_count", **chat) == 14
    assert seen.sum("vouch_requests_running") == seen.sum("vouch_queue_depth") == 0
    assert seen.sum("vouch_queue_seconds_count") >= 5


@pytest.mark.parametrize("phase", ["upstream", "retrieval", "checking", "correction"])
def test_the_time_of_each_phase_is_measured(url: str, phase: str) -> None:
    seen = Scraped(url)
    assert seen.sum("vouch_phase_seconds_count", phase=phase) >= 1
    assert seen.sum("vouch_phase_seconds_sum", phase=phase) > 0


def test_verdicts_and_what_was_not_checked_are_counted(url: str) -> None:
    seen = Scraped(url)
    assert seen.sum("vouch_claims_total", model="test", verdict="supported") >= 3
    failed = [seen.sum("vouch_claims_total", verdict=word) for word in ("unsupported", "contradicted")]
    assert sum(failed) >= 1
    assert seen.sum("vouch_claims_total", verdict="unverified") >= 1
    assert seen.sum("vouch_unverified_total", reason="deadline") >= 1
    assert seen.sum("vouch_verified_replies_total", status="ok") >= 3
    assert seen.sum("vouch_checked_pairs_total") >= 3
    assert seen.sum("vouch_corrections_total") >= 1


@pytest.mark.parametrize(
    "kind", ["server", "rate_limit", "refused_key", "connection", "malformed", "timeout"]
)
def test_upstream_errors_are_counted_by_kind(url: str, kind: str) -> None:
    expected = 2 if kind == "server" else 1  # the raw chat's is one, too
    assert Scraped(url).sum("vouch_upstream_errors_total", kind=kind) == expected


def test_tokens_caches_and_the_index_are_told(url: str) -> None:
    seen = Scraped(url)
    assert seen.sum("vouch_tokens_total", purpose="writing", kind="completion") > 10
    assert seen.sum("vouch_tokens_total", purpose="verification", kind="completion") > 0
    assert seen.sum("vouch_cache_total", result="hit") >= 1
    assert seen.sum("vouch_cache_total", result="miss") >= 1
    assert seen.sum("vouch_checker_batch_pairs_total") >= seen.sum("vouch_checker_batches_total") >= 1
    assert seen.sum("vouch_checker_batch_seconds_total") > 0
    assert seen.sum("vouch_index_passages") > 100
    (index,) = (sample for sample in seen.samples if sample.name == "vouch_index_info")
    assert index.labels["generation"].startswith("generation-")
    assert seen.sum("process_resident_memory_bytes") > 0


def used_in(expression: str) -> set[str]:
    """The names of metrics in a PromQL expression."""
    bare = re.sub(r"\{[^}]*\}|\bby \([^)]*\)|\[[^\]]*\]", " ", expression)
    return set(re.findall(r"\b(?:vouch|process)_\w+", bare))


def labels_in(expression: str) -> set[str]:
    """The labels that an expression selects or groups by."""
    selected = re.findall(r"[{,]\s*(\w+)\s*(?:=|!)", expression)
    groups = re.findall(r"\bby \(([^)]*)\)", expression)
    grouped = [name.strip() for names in groups for name in names.split(",")]
    return {*selected, *grouped} - {"le", "instance", "job"}


def expressions() -> list[str]:
    rules = yaml.safe_load((MONITORING / "alerts.yml").read_text())
    panels = json.loads((MONITORING / "dashboard.json").read_text())["panels"]
    return [
        *(rule["expr"] for group in rules["groups"] for rule in group["rules"]),
        *(target["expr"] for panel in panels for target in panel["targets"]),
    ]


def test_the_dashboard_and_the_alerts_ask_for_what_there_is(url: str) -> None:
    seen = Scraped(url)
    labels = {label for sample in seen.samples for label in sample.labels}
    for expression in expressions():
        assert used_in(expression) <= seen.names, expression
        assert used_in(expression) or expression.startswith("up{"), expression
        assert labels_in(expression) <= labels, expression
        assert expression.count("(") == expression.count(")"), expression


def test_every_metric_is_on_the_dashboard() -> None:
    asked = " ".join(expressions())
    for name in ("requests", "request_seconds", "phase_seconds", "queue_depth", "queue_seconds", "claims"):
        assert f"vouch_{name}" in asked
    for name in ("unverified", "corrections", "upstream_errors", "tokens", "cache", "checked_pairs"):
        assert f"vouch_{name}_total" in asked


def test_the_alert_rules_are_well_formed() -> None:
    rules = yaml.safe_load((MONITORING / "alerts.yml").read_text())
    assert rules.keys() == {"groups"}
    for group in rules["groups"]:
        assert group.keys() <= {"name", "rules", "interval"}
        for rule in group["rules"]:
            assert rule.keys() == {"alert", "expr", "for", "labels", "annotations"}
            assert re.fullmatch(r"[A-Z]\w+", rule["alert"])
            assert re.fullmatch(r"\d+[smh]", rule["for"])
            assert rule["labels"].keys() == {"severity"}
            assert rule["annotations"].keys() == {"summary", "description"}


def test_lost_audit_records_are_an_alert() -> None:
    assert any('vouch_audit_records_total{result="lost"}' in expression for expression in expressions())


def test_the_dashboard_is_one_of_grafana() -> None:
    board = json.loads((MONITORING / "dashboard.json").read_text())
    assert {"title", "uid", "schemaVersion", "panels", "templating", "time"} <= board.keys()
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])
    taken: set[tuple[int, int]] = set()
    for panel in board["panels"]:
        place = panel["gridPos"]
        columns = range(place["x"], place["x"] + place["w"])
        spots = {(x, y) for x in columns for y in range(place["y"], place["y"] + place["h"])}
        assert not spots & taken
        assert max(columns) < 24
        taken |= spots
        assert panel["datasource"]["uid"] == "${datasource}"
        assert len({target["refId"] for target in panel["targets"]}) == len(panel["targets"])


def test_metrics_need_a_key_with_their_scope_where_there_are_keys(
    corpus: Library, upstream: Upstream
) -> None:
    with serving(settings_for(upstream.url, server={"api_keys": KEYS}), corpus) as base:
        address = base.removesuffix("/v1") + "/metrics"
        asked = {
            key: httpx.get(address, headers={"authorization": f"Bearer {key}"}, timeout=60).status_code
            for key in ("none", "key-of-a-client", "key-of-team-b", "key-of-prometheus")
        }
        assert list(asked.values()) == [401, 403, 403, 200]
        assert httpx.get(address, timeout=60).status_code == 401
        upstream.enqueue(TRUE)
        assert post(base, key="key-of-team-b") == 200
        assert post(base, key="key-of-prometheus") == 403
        assert post(base, key=hashlib.sha256(b"key-of-team-b").hexdigest()) == 401
        told = httpx.get(address, headers={"authorization": "Bearer key-of-prometheus"}, timeout=60).text
    assert 'key="team-b"' in told
    assert "key-of" not in told


def test_metrics_can_be_turned_off(corpus: Library, upstream: Upstream) -> None:
    with serving(settings_for(upstream.url, metrics={"enabled": False}), corpus) as base:
        assert httpx.get(base.removesuffix("/v1") + "/metrics", timeout=60).status_code == 404
        upstream.enqueue(TRUE)
        assert post(base) == 200


@pytest.mark.parametrize("formatter", [Objects, Lines])
def test_a_request_is_one_line_of_the_log(
    corpus: Library, upstream: Upstream, formatter: type[logging.Formatter]
) -> None:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    text = "%(asctime)s %(levelname)s %(name)s%(request)s: %(message)s"
    handler.setFormatter(formatter(text) if formatter is Lines else formatter())
    root, server = logging.getLogger(), logging.getLogger("proxy")
    before = server.level
    root.addHandler(handler)
    server.setLevel(logging.INFO)
    try:
        with serving(settings_for(upstream.url, server={"api_keys": KEYS}), corpus) as base:
            upstream.enqueue(TRUE)
            headers = {"authorization": "Bearer key-of-team-b", "x-request-id": "my-own-id"}
            body = {"model": "test", "messages": MESSAGES, "vouch": {"max_rounds": 0}}
            httpx.post(f"{base}/chat/completions", json=body, headers=headers, timeout=60)
            until(lambda: "/v1/chat/completions" in stream.getvalue())
    finally:
        root.removeHandler(handler)
        server.setLevel(before)
    (line,) = (line for line in stream.getvalue().splitlines() if "/v1/chat/completions" in line)
    assert "my-own-id" in line
    assert "Eiffel" not in stream.getvalue()
    assert "key-of" not in stream.getvalue()
    if formatter is Lines:
        assert "POST /v1/chat/completions status=200" in line
        assert "key=team-b model=test" in line
        return
    told = json.loads(line)
    assert {name: told[name] for name in ("request", "path", "status", "key", "model", "supported")} == {
        "request": "my-own-id",
        "path": "/v1/chat/completions",
        "status": 200,
        "key": "team-b",
        "model": "test",
        "supported": 1,
    }
    assert told["checking_seconds"] >= 0


@pytest.mark.parametrize(
    "wrong",
    [{"name": "a"}, {"key": "k", "sha256": "0" * 64}, {"sha256": "short"}, {"key": "k", "scopes": ["x"]}],
)
def test_a_key_that_is_none_is_refused_at_start(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"server\.api_keys"):
        validate({"server": {"api_keys": [wrong]}})


@pytest.mark.parametrize("model", ["test", "test-raw"])
def test_a_stream_counts_as_it_ended(
    corpus: Library, upstream: Upstream, model: str, caplog: pytest.LogCaptureFixture
) -> None:
    body = {"model": model, "messages": MESSAGES, "stream": True, "vouch": {"max_rounds": 0}}

    def lines(base: str, until_seen: str) -> int:
        """How many lines the client reads of a stream before it closes it."""
        with httpx.stream("POST", f"{base}/chat/completions", json=body, timeout=60) as answer:
            count = 0
            for line in answer.iter_lines():
                count += 1
                if until_seen in line:
                    break
            return count

    with serving(settings_for(upstream.url, server={"api_keys": []}), corpus) as base:
        upstream.enqueue(TRUE)
        assert lines(base, "[DONE]") > 2  # clients leave when they have read this
        upstream.enqueue(Reply(TRUE, drop_after=3))
        assert lines(base, "error") > 1
        upstream.enqueue(Reply(f"{TRUE} {UNKNOWN} " * 50, pace=0.05))
        assert lines(base, "data: {") > 0
        upstream.wait_for_disconnect()

        def seen(status: str) -> float:
            return Scraped(base).sum("vouch_requests_total", route="/v1/chat/completions", status=status)

        until(lambda: (seen("200"), seen("502"), seen("499")) == (1, 1, 1))
    assert "connection broke off" in caplog.text or "failed: connection, status 502" in caplog.text
    assert "an internal error" not in caplog.text


def test_a_client_that_leaves_in_its_body_is_no_internal_error(
    corpus: Library, upstream: Upstream, caplog: pytest.LogCaptureFixture
) -> None:
    with serving(settings_for(upstream.url), corpus) as base:
        address = httpx.URL(base)
        with socket.create_connection((address.host, address.port or 80)) as connection:
            head = "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n"
            connection.sendall(f"{head}content-type: application/json\r\n\r\n{{".encode())
            time.sleep(0.3)
        requests = {"route": "/v1/chat/completions", "status": "499"}
        until(lambda: Scraped(base).sum("vouch_requests_total", **requests) == 1)
    assert "an internal error" not in caplog.text


def test_a_refusal_counts_for_the_route_that_was_asked_for(corpus: Library, upstream: Upstream) -> None:
    keys = [*KEYS[:1], {"name": "prometheus", "key": "key-of-prometheus", "scopes": ["metrics"]}]
    with serving(settings_for(upstream.url, server={"api_keys": keys}), corpus) as base:
        assert post(base, key="no-such-key") == 401
        headers = {"authorization": "Bearer key-of-prometheus"}
        text = httpx.get(base.removesuffix("/v1") + "/metrics", headers=headers, timeout=60).text
        assert re.search(r'vouch_requests_total\{[^}]*route="/v1/chat/completions"[^}]*status="401"', text)
