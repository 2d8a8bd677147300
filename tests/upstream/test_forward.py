"""Routes that the direct client passes on."""

from __future__ import annotations

import asyncio
import gc
import json

import pytest

from proxy.errors import (
    NotFoundError,
    UpstreamError,
)
from proxy.types import Json
from proxy.upstream.http import HTTPUpstream
from tests.scripted_upstream import Reply, Status, Upstream


@pytest.mark.parametrize("stream", [False, True])
async def test_completions_are_passed_on_as_they_come(
    stream: bool, http: HTTPUpstream, upstream: Upstream
) -> None:
    body = {"model": "theirs", "prompt": "Grüße", "stream": stream, "odd": 1}
    answer = await http.forward("completions", body, None)
    data = b"".join([piece async for piece in answer.body])
    assert answer.status == 200
    assert answer.headers["content-type"].startswith("text/event-stream" if stream else "application/json")
    assert (b"data: [DONE]" in data) is stream
    assert upstream.requests[0].body == {**body, "model": "ours"}


@pytest.mark.parametrize(
    ("route", "body"),
    [("embeddings", {"model": "theirs", "input": ["a"]}), ("moderations", {"input": "a"})],
)
async def test_other_routes_are_passed_on(
    route: str, body: Json, http: HTTPUpstream, upstream: Upstream
) -> None:
    answer = await http.forward(route, body, None)
    assert json.loads(b"".join([piece async for piece in answer.body]))
    assert upstream.requests[0].path == f"/v1/{route}"
    assert ("model" in upstream.requests[0].body) is ("model" in body)


@pytest.mark.parametrize("route", ["files", "../admin", "responses", "chat/completions", ""])
async def test_routes_that_we_do_not_pass_on(route: str, http: HTTPUpstream, upstream: Upstream) -> None:
    with pytest.raises(NotFoundError, match="No such route"):
        await http.forward(route, {}, None)
    assert not upstream.requests


async def test_a_forwarded_failure_is_an_error_of_ours(http: HTTPUpstream, upstream: Upstream) -> None:
    upstream.enqueue(Status(429, retry_after="3"))
    with pytest.raises(UpstreamError) as caught:
        await http.forward("embeddings", {"model": "m", "input": "a"}, None)
    assert caught.value.headers == {"retry-after": "3"}


async def test_a_forwarded_answer_may_be_left_unread(http: HTTPUpstream, upstream: Upstream) -> None:
    upstream.enqueue(Reply("Hello " * 100, pace=0.05))
    answer = await http.forward("completions", {"model": "m", "stream": True}, None)
    await answer.aclose()
    await asyncio.to_thread(upstream.wait_for_disconnect, 30)
    gc.collect()
