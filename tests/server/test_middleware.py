"""The middleware as plain ASGI, without a server."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from proxy.server.middleware import CancelOnDisconnect, RequestId

BODY: Message = {"type": "http.request", "body": b"{}", "more_body": False}
GONE: Message = {"type": "http.disconnect"}


def scope(*headers: tuple[bytes, bytes]) -> Scope:
    return {"type": "http", "method": "GET", "path": "/", "headers": list(headers)}


def receiving(messages: Sequence[Message], then: asyncio.Event | None = None) -> Receive:
    """The messages; behind them `GONE`, once `then` is set."""
    left = list(messages)

    async def receive() -> Message:
        if left:
            return left.pop(0)
        if then is not None:
            await then.wait()
        return GONE

    return receive


async def sent_by(app: ASGIApp, *headers: tuple[bytes, bytes]) -> list[Message]:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    await app(scope(*headers), receiving([BODY]), send)
    return sent


def responding(*headers: tuple[bytes, bytes]) -> ASGIApp:
    async def app(_scope: Scope, _receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": list(headers)})
        await send({"type": "http.response.body", "body": b""})

    return app


def working(work: Callable[[Receive], Awaitable[object]]) -> CancelOnDisconnect:
    async def app(_scope: Scope, receive: Receive, _send: Send) -> None:
        await work(receive)

    return CancelOnDisconnect(app)


async def no_send(_: Message) -> None:
    raise AssertionError


async def test_every_response_has_an_id_of_its_own() -> None:
    ids = [(await sent_by(RequestId(responding())))[0]["headers"][-1] for _ in range(2)]
    assert {name for name, _ in ids} == {b"x-request-id"}
    assert all(len(value) == 32 for _, value in ids)
    assert ids[0] != ids[1]


@pytest.mark.parametrize("given", [b"my-id.1:2_3", b"a" * 128])
async def test_a_sane_id_of_the_client_is_kept_and_no_other_one_sent(given: bytes) -> None:
    app = RequestId(responding((b"x-request-id", b"upstream's"), (b"x-other", b"1")))
    start, _ = await sent_by(app, (b"x-request-id", given))
    assert start["headers"] == [(b"x-other", b"1"), (b"x-request-id", given)]


@pytest.mark.parametrize("given", [b"", b"a b", b"a\r\nx: y", b"a" * 129, b"\xff"])
async def test_an_id_that_is_not_sane_is_replaced(given: bytes) -> None:
    start, _ = await sent_by(RequestId(responding()), (b"x-request-id", given))
    assert start["headers"][0][1] != given


async def test_work_is_cancelled_when_the_client_goes() -> None:
    cancelled = asyncio.Event()

    async def work(receive: Receive) -> None:
        await receive()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.set()
            raise

    await working(work)(scope(), receiving([BODY]), no_send)
    assert cancelled.is_set()
    task = asyncio.current_task()
    assert task is not None
    assert not task.cancelling()


async def test_the_body_is_the_apps_and_what_follows_is_the_disconnect() -> None:
    leaving = asyncio.Event()
    pieces: list[Message] = [{"type": "http.request", "body": b"a", "more_body": True}, BODY]
    got: list[Any] = []

    async def work(receive: Receive) -> None:
        got.extend([await receive(), await receive()])
        leaving.set()
        got.append(await receive())

    await working(work)(scope(), receiving(pieces, leaving), no_send)
    assert got[:2] == pieces
    assert got[2:] in ([], [GONE])


async def test_a_cancellation_from_outside_goes_through() -> None:
    async def work(receive: Receive) -> None:
        await receive()
        await asyncio.sleep(60)

    task = asyncio.ensure_future(working(work)(scope(), receiving([BODY], asyncio.Event()), no_send))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_work_that_fails_or_ends_leaves_no_task_behind() -> None:
    async def failing(receive: Receive) -> None:
        await receive()
        raise KeyError("x")

    async def ending(receive: Receive) -> None:
        await receive()

    with pytest.raises(KeyError):
        await working(failing)(scope(), receiving([BODY], asyncio.Event()), no_send)
    await working(ending)(scope(), receiving([BODY], asyncio.Event()), no_send)
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == {asyncio.current_task()}
