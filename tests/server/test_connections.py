"""What a connection, a website, or an open address may do to a server; and how a server ends."""

from __future__ import annotations

import json
import logging
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from uvicorn.protocols.http.h11_impl import H11Protocol

from proxy.cli.compose import Library, make_context
from proxy.cli.serve import VouchServer, require_keys
from proxy.config.load import validate
from proxy.config.settings import Settings
from proxy.errors import ConfigError
from proxy.server import connections
from proxy.server.app import create_app
from tests.scripted_upstream import Hang, Reply, Upstream
from tests.serving import running, until

CHAT: Any = {"model": "test", "messages": [{"role": "user", "content": "Hi"}], "vouch": {"max_rounds": 0}}


def settings(upstream: Upstream, **server: Any) -> Settings:
    model = {"name": "test", "model": "openai/m", "api_base": upstream.url, "max_retries": 0}
    return validate({"upstreams": [model], "server": server})


@contextmanager
def guarded(settings: Settings, corpus: Library) -> Iterator[tuple[VouchServer, str, int]]:
    """A server as `vouch serve` makes it: itself, its base URL without /v1, its port."""
    server = VouchServer(create_app(make_context(settings, corpus), settings), settings.server)
    with running(server) as url:
        yield server, url.removesuffix("/v1"), int(url.removesuffix("/v1").rpartition(":")[2])


def healthy(url: str) -> float:
    """Seconds that the health route takes."""
    begun = time.perf_counter()
    assert httpx.get(f"{url}/healthz", timeout=30).status_code == 200
    return time.perf_counter() - begun


def answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/healthz", timeout=30).status_code == 200
    except httpx.HTTPError:
        return False


def said(connection: socket.socket) -> bytes:
    """All that comes until the server closes; what it closes hard counts as nothing more."""
    connection.settimeout(60)
    data = b""
    try:
        while piece := connection.recv(65_536):
            data += piece
    except ConnectionError:
        pass
    return data


@pytest.fixture(params=["httptools", "h11"])
def parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each of uvicorn's parsers: `httptools` is an extra."""
    if request.param == "h11":
        monkeypatch.setattr(connections, "PROTOCOL", H11Protocol)
    return str(request.param)


def test_no_log_has_the_signature_of_a_link(
    corpus: Library, upstream: Upstream, caplog: pytest.LogCaptureFixture
) -> None:
    debug = settings(upstream, log_level="debug")
    with caplog.at_level(logging.DEBUG), guarded(debug, corpus) as (server, url, _):
        assert not server.config.access_log
        asked = f"{url}/v1/references/none?expires=1790000000&signature=5ec4e7"
        assert httpx.get(asked, timeout=30).status_code == 404
        until(lambda: "GET /v1/references/" in caplog.text)
    logged = "".join(record.getMessage() for record in caplog.records if not record.name.startswith("http"))
    assert "5ec4e7" not in logged


def test_an_endless_header_is_cut_off_at_its_limit(corpus: Library, upstream: Upstream) -> None:
    with guarded(settings(upstream), corpus) as (_, url, port):
        client = socket.create_connection(("127.0.0.1", port), timeout=60)
        with client:
            client.sendall(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n")
            sent, line = 0, b"x-long: " + b"a" * 65_000 + b"\r\n"
            try:
                while sent < 60_000_000:
                    client.sendall(line)
                    sent += len(line)
            except ConnectionError:
                pass
            assert sent < 60_000_000
            assert healthy(url) < 30
            said(client)


def test_a_long_header_is_refused_with_what_to_do(corpus: Library, upstream: Upstream) -> None:
    with guarded(settings(upstream, max_header_bytes=2_000), corpus) as (_, _, port):
        for header in (b"a" * 1_000, b"a" * 2_000):
            with socket.create_connection(("127.0.0.1", port), timeout=60) as client:
                head = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nx: "
                client.sendall(head + header + b"\r\n\r\n")
                answer = said(client)
            wanted = b"HTTP/1.1 200" if len(header) == 1_000 else b"HTTP/1.1 431"
            assert answer.startswith(wanted)
    assert b"server.max_header_bytes" in answer


@pytest.mark.parametrize(
    ("begun", "what"),
    [
        (b"", b"header"),
        (b"GET /healthz HTTP/1.1\r\nhost: local", b"header"),
        (
            b"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
            b"content-length: 1000\r\n\r\n{",
            b"body",
        ),
    ],
    ids=["nothing", "half a header", "half a body"],
)
def test_what_does_not_come_in_time_is_hung_up_on(
    corpus: Library, upstream: Upstream, begun: bytes, what: bytes, parser: str
) -> None:
    with guarded(settings(upstream, header_timeout=0.5, body_timeout=0.5), corpus) as (_, _, port):
        client = socket.create_connection(("127.0.0.1", port), timeout=60)
        with client:
            client.sendall(begun)
            answer = said(client)
    assert answer.startswith(b"HTTP/1.1 408")
    assert b"server." + what + b"_timeout" in answer


def test_connections_over_the_cap_are_refused_and_room_comes_back(
    corpus: Library, upstream: Upstream, parser: str
) -> None:
    with guarded(settings(upstream, max_connections=3), corpus) as (_, url, port):
        held = [socket.create_connection(("127.0.0.1", port), timeout=60) for _ in range(3)]
        with socket.create_connection(("127.0.0.1", port), timeout=60) as client:
            answer = said(client)
        assert answer.startswith(b"HTTP/1.1 503")
        assert b"server.max_connections" in answer
        for each in held:
            each.close()
        until(lambda: answers(url))


def test_a_body_in_pieces_and_requests_one_after_the_other_are_served(
    corpus: Library, upstream: Upstream, parser: str
) -> None:
    bounds = settings(upstream, header_timeout=20, body_timeout=20, max_header_bytes=1_000)
    body = json.dumps({**CHAT, "padding": "a" * 5_000}).encode()
    head = b"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    whole = head + b"content-length: " + str(len(body)).encode() + b"\r\n\r\n" + body
    with guarded(bounds, corpus) as (_, url, port):
        with socket.create_connection(("127.0.0.1", port), timeout=60) as client:
            for _ in range(3):
                for start in range(0, len(whole), 700):
                    client.sendall(whole[start : start + 700])
                answer = b""
                while b"verification" not in answer:
                    answer += client.recv(65_536)
                assert answer.startswith(b"HTTP/1.1 200")
        with httpx.Client(timeout=60) as again:
            for _ in range(5):
                assert again.get(f"{url}/healthz").status_code == 200


def test_a_client_that_reads_nothing_is_hung_up_on(corpus: Library, upstream: Upstream) -> None:
    upstream.answer = lambda _body: Reply("a" * 8_000_000, size=50_000)
    bounds = settings(upstream, send_timeout=0.5)
    body = json.dumps({**CHAT, "model": "test-raw", "stream": True}).encode()
    with guarded(bounds, corpus) as (server, _, port), socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        client.settimeout(60)
        client.connect(("127.0.0.1", port))
        client.sendall(
            b"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
            b"content-length: " + str(len(body)).encode() + b"\r\n\r\n" + body
        )
        upstream.wait_for_request(60)
        until(lambda: not server.server_state.connections)


def post(url: str, **headers: str) -> httpx.Response:
    return httpx.post(f"{url}/v1/chat/completions", json=CHAT, headers=headers, timeout=60)


def test_a_website_can_not_fire_at_a_server_without_keys(corpus: Library, upstream: Upstream) -> None:
    with guarded(settings(upstream, cors_origins=["https://chat.example"]), corpus) as (_, url, port):
        for headers, status in (
            ({"origin": "https://evil.example"}, 403),
            ({"origin": "null"}, 403),
            ({"host": "evil.example"}, 403),
            ({"host": f"evil.example:{port}"}, 403),
            ({"host": "127.0.0.1.evil.example"}, 403),
            ({"content-type": "text/plain"}, 415),
            ({"content-type": "application/x-www-form-urlencoded"}, 415),
        ):
            answer = post(url, **headers)
            assert (answer.status_code, headers) == (status, headers)
            assert answer.json()["error"]["message"]
            assert "access-control-allow-origin" not in answer.headers
        assert upstream.requests == []
        for headers in (
            {"host": f"localhost:{port}"},
            {"host": "[::1]:8000"},
            {"origin": url},
            {"content-type": "application/json; charset=utf-8"},
        ):
            assert post(url, **headers).status_code == 200
        allowed = post(url, origin="https://chat.example")
        assert allowed.headers["access-control-allow-origin"] == "https://chat.example"


def test_with_keys_any_host_is_served_and_cors_is_off(corpus: Library, upstream: Upstream) -> None:
    with guarded(settings(upstream, api_keys=["key-of-vouch"]), corpus) as (_, url, _):
        answer = post(
            url, host="vouch.example", origin="https://a.example", authorization="Bearer key-of-vouch"
        )
        assert answer.status_code == 200
        assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "vouch.example"])
def test_an_address_that_others_can_reach_needs_keys(upstream: Upstream, host: str) -> None:
    with pytest.raises(ConfigError, match=r"server\.api_keys or server\.key_file, or server\.keyless: true"):
        require_keys(settings(upstream, host=host).server)
    require_keys(settings(upstream, host=host, api_keys=["k"]).server)
    require_keys(settings(upstream, host=host, keyless=True).server)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.9", "::1", "localhost"])
def test_this_machine_alone_needs_none(upstream: Upstream, host: str) -> None:
    require_keys(settings(upstream, host=host).server)


def test_the_image_says_that_keys_are_needed() -> None:
    text = (Path(__file__).parents[2] / "Dockerfile").read_text()
    assert "VOUCH_SERVER__API_KEYS" in text
    assert "VOUCH_SERVER__KEYLESS=true" not in text.partition("FROM")[2]


@pytest.mark.parametrize("model", ["test", "test-raw"])
def test_a_stream_that_does_not_end_in_time_ends_with_an_error_event(
    corpus: Library, upstream: Upstream, model: str
) -> None:
    upstream.enqueue(Reply("One sentence is here. And another one. " * 400, pace=0.05, size=10))
    with guarded(settings(upstream, drain=0.2), corpus) as (server, url, _):
        body = {**CHAT, "model": model, "stream": True}
        with httpx.stream("POST", f"{url}/v1/chat/completions", json=body, timeout=60) as answer:
            lines = answer.iter_lines()
            first = next(lines)
            server.should_exit = True
            rest = [line for line in lines if line.startswith("data:")]
    assert first.startswith("data:")
    assert rest[-1] == "data: [DONE]"
    assert json.loads(rest[-2].removeprefix("data: "))["error"]["code"] == "stopping"


def test_a_reply_that_does_not_end_in_time_is_an_error_with_retry_after(
    corpus: Library, upstream: Upstream
) -> None:
    upstream.enqueue(Hang())
    answers: list[httpx.Response] = []
    with guarded(settings(upstream, drain=0.2), corpus) as (server, url, _):
        asking = threading.Thread(target=lambda: answers.append(post(url)))
        asking.start()
        upstream.wait_for_request()
        server.should_exit = True
        asking.join(60)
    assert (answers[0].status_code, answers[0].json()["error"]["code"]) == (503, "stopping")
    assert answers[0].headers["retry-after"]


def test_a_chat_under_way_is_answered_and_readiness_goes_first(corpus: Library, upstream: Upstream) -> None:
    upstream.enqueue(Reply("A sentence.", pace=1.5))
    answers: list[httpx.Response] = []
    with guarded(settings(upstream, drain=60, drain_delay=1.0), corpus) as (server, url, _):
        asking = threading.Thread(target=lambda: answers.append(post(url)))
        asking.start()
        upstream.wait_for_request()
        server.should_exit = True
        statuses: list[str] = []
        while "stopping" not in statuses:
            statuses.append(httpx.get(f"{url}/readyz", timeout=60).json()["status"])
        asking.join(60)
    assert answers[0].status_code == 200
