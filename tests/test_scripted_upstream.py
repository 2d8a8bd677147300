"""The tests' own upstream: what one test left behind takes no answer of the next."""

from __future__ import annotations

import socket
import time

import httpx

from tests.scripted_upstream import Reply, Upstream


def test_a_late_request_takes_no_answer_that_was_enqueued_after_clearing() -> None:
    with Upstream() as upstream, socket.create_connection(_address(upstream)) as client:
        upstream._loop.call_soon_threadsafe(time.sleep, 0.2)  # as on a busy machine
        client.sendall(_HEAD + _BODY[:10])
        upstream.clear()
        upstream.enqueue(Reply("for the next"))
        client.sendall(_BODY[10:])
        assert b"Echo: late" in client.makefile("rb").read()
        said = httpx.post(f"{upstream.url}/chat/completions", content=_BODY).json()
        assert said["choices"][0]["message"]["content"] == "for the next"
        assert len(upstream.requests) == 1


_BODY = b'{"model": "m", "messages": [{"role": "user", "content": "late"}]}'
_HEAD = (
    b"POST /v1/chat/completions HTTP/1.1\r\nHost: here\r\nConnection: close\r\n"
    b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(_BODY)
)


def _address(upstream: Upstream) -> tuple[str, int]:
    url = httpx.URL(upstream.url)
    return url.host, url.port or 0
