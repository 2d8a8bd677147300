"""Connections of the pool that a server has closed: what is sent on one is sent once more, and only then."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from proxy.errors import UpstreamConnectionError
from proxy.upstream.endpoint import Endpoint
from proxy.upstream.http import HTTPUpstream
from proxy.upstream.transport import STALE
from tests.upstream.asking import chat

REPLY = json.dumps({"choices": [{"index": 0, "message": {"role": "assistant", "content": "Hi"}}]}).encode()


class Forgetful:
    """A server that answers the first `answers` requests of each connection, and hangs up at the next one,
    after `delay` seconds and with the `beginning` of an answer."""

    def __init__(self, answers: int, delay: float = 0.0, beginning: bytes = b"") -> None:
        self.answers = answers
        self.delay = delay
        self.beginning = beginning
        self.requests = 0
        self.connections = 0

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        answered = 0
        while head := await reader.readuntil(b"\r\n\r\n"):
            length = next(
                int(line.split(b":")[1])
                for line in head.lower().splitlines()
                if line.startswith(b"content-length")
            )
            await reader.readexactly(length)
            self.requests += 1
            if answered == self.answers:
                await asyncio.sleep(self.delay)
                writer.write(self.beginning)
                break
            answered += 1
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n")
            writer.write(b"content-length: %d\r\n\r\n%b" % (len(REPLY), REPLY))
        writer.close()


@asynccontextmanager
async def calling(server: Forgetful) -> AsyncIterator[HTTPUpstream]:
    async with await asyncio.start_server(server.handle, "127.0.0.1", 0) as listener:
        port = listener.sockets[0].getsockname()[1]
        http = HTTPUpstream(Endpoint("openai/m", f"http://127.0.0.1:{port}/v1", timeout=10))
        yield http
        await http.close()


async def test_a_call_on_a_connection_that_went_stale_is_made_once_more() -> None:
    server = Forgetful(answers=1)
    async with calling(server) as http:
        for _ in range(3):
            assert (await http.complete(chat())).drafts[0].text == "Hi"
    assert (server.connections, server.requests) == (3, 5)


async def test_a_relayed_call_is_made_once_more_too() -> None:
    server = Forgetful(answers=1)
    async with calling(server) as http:
        for _ in range(2):
            answer = await http.relay(chat())
            assert b"".join([piece async for piece in answer.body]) == REPLY
    assert server.requests == 3


async def test_a_new_connection_that_is_closed_is_a_failure() -> None:
    server = Forgetful(answers=0)
    async with calling(server) as http:
        with pytest.raises(UpstreamConnectionError, match="without an answer"):
            await http.complete(chat())
    assert server.requests == 1


async def test_an_answer_that_has_begun_is_not_asked_for_again() -> None:
    server = Forgetful(answers=1, beginning=b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{")
    async with calling(server) as http:
        await http.complete(chat())
        with pytest.raises(UpstreamConnectionError, match="in the middle"):
            await http.complete(chat())
    assert server.requests == 2


async def test_a_server_that_thought_about_it_before_it_hung_up_is_not_asked_again() -> None:
    server = Forgetful(answers=1, delay=STALE + 0.1)
    async with calling(server) as http:
        await http.complete(chat())
        with pytest.raises(UpstreamConnectionError, match="without an answer"):
            await http.complete(chat())
    assert server.requests == 2
