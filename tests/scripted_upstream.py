"""A small OpenAI-compatible upstream of the tests' own: real HTTP on 127.0.0.1, told what to answer.

    with Upstream() as upstream:                       # its own thread and loop, port 0
        upstream.enqueue(Reply("Paris."))              # one behaviour per request, first in, first out
        upstream.enqueue(Reply("a", "b"))              # n = 2
        upstream.enqueue(Reply(tool_calls(("f", '{"x": 1}'))), Status(429, retry_after="7"))
        upstream.enqueue(Reply("cut", drop_after=2), Drop(), Hang(), Raw(b"{not json"), Reply())
        upstream.answer = lambda body: Reply("...")    # when the queue is empty; default: `echo`
        OpenAI(base_url=upstream.url, api_key="k")     # upstream.url ends in /v1
        upstream.requests[-1].body["messages"]         # everything that was asked, in order
        upstream.wait_for_disconnect()                 # until a client has left before its answer's end

A str or a message dict stands for `Reply(it)` wherever a behaviour is expected. Chat replies are streamed
when the request says `"stream": true`. `/v1/models`, `/v1/embeddings` (deterministic, 8 dimensions),
`/v1/completions` and `/v1/moderations` answer by themselves while the queue is empty. An `Upstream` may be
used by several tests: `clear()` forgets the queue, the requests and the answer. What was asked before it, and
arrives late, takes none of what is enqueued after it.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Self

from aiohttp import web

from tests.behaviours import (
    CREATED,
    MODEL,
    Answer,
    Drop,
    Hang,
    Json,
    Raw,
    Reply,
    Status,
    ToldToDropError,
    event,
    pieces,
    tool_calls,
)

__all__ = [
    "MODEL",
    "Answer",
    "Drop",
    "Hang",
    "Raw",
    "Reply",
    "Request",
    "Status",
    "Upstream",
    "echo",
    "tool_calls",
]


@dataclass(slots=True)
class Request:
    """One request as it came. `headers` are lower case; `disconnected`: its client left before the end."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Json
    query: str = ""
    port: int = 0
    """The client's: the same one for calls on one connection."""
    disconnected: bool = False


def echo(body: Json) -> Answer:
    """The default answer: what the last message says, behind `Echo: `."""
    content = body["messages"][-1].get("content") if body.get("messages") else ""
    return f"Echo: {content}"


class Upstream:
    """The server. Use it as a context manager; every method may be called from any thread."""

    def __init__(self, *, api_key: str | None = None) -> None:
        """With `api_key`, requests that don't carry it are answered 401."""
        self.answer: Callable[[Json], Answer] = echo
        self.requests: list[Request] = []
        self.url = ""
        self._api_key = api_key
        self._queue: deque[Answer] = deque()
        self._arrived = threading.Condition()
        self._left = threading.Semaphore(0)
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)

    def enqueue(self, *answers: Answer) -> None:
        """What the next requests are answered with, one each."""
        self._queue.extend(answers)

    def clear(self) -> None:
        """As new: no queue, no requests, the default answer."""
        asyncio.run_coroutine_threadsafe(self._take_in(), self._loop).result(30)
        self._queue, self.requests = deque(), []
        self.answer, self._left = echo, threading.Semaphore(0)

    def wait_for_disconnect(self, timeout: float = 30.0) -> None:
        """Until one more client has left before its answer's end (`await asyncio.to_thread(...)` it)."""
        if not self._left.acquire(timeout=timeout):
            raise AssertionError(f"no client disconnected within {timeout} s")

    def wait_for_request(self, timeout: float = 30.0) -> None:
        """Until at least one request has come since `clear()`."""
        with self._arrived:
            if not self._arrived.wait_for(lambda: bool(self.requests), timeout):
                raise AssertionError(f"no request came within {timeout} s")

    def __enter__(self) -> Self:
        self._thread.start()
        if not self._ready.wait(10):
            raise RuntimeError("the test upstream did not start")
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        app = web.Application(client_max_size=50_000_000)
        app.router.add_route("*", "/{path:.*}", self._handle)
        runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.05, access_log=None)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        host, port = runner.addresses[0][:2]
        self.url = f"http://{host}:{port}/v1"
        self._ready.set()
        await self._stop.wait()
        await site.stop()
        await asyncio.sleep(0.02)  # connections that are just being accepted become known to the runner
        await runner.cleanup()
        await asyncio.sleep(0.02)  # the loop closes sockets in its next rounds: they must not outlive it

    async def _take_in(self) -> None:
        """Until what clients have sent is being answered: it is accepted, read and handled in turns."""
        for _ in range(20):
            await asyncio.sleep(0)

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        queue, requests, answer, left = self._queue, self.requests, self.answer, self._left
        body = await request.json() if request.can_read_body else {}
        headers = {name.lower(): value for name, value in request.headers.items()}
        port = request.transport.get_extra_info("peername")[1] if request.transport else 0
        record = Request(request.method, request.path, headers, body, request.query_string, port)
        with self._arrived:
            requests.append(record)
            self._arrived.notify_all()
        if self._api_key and headers.get("authorization") != f"Bearer {self._api_key}":
            error = {"type": "invalid_request_error", "code": "invalid_api_key"}
            return await Status(401, "Incorrect API key provided.", error=error).respond(request, body)
        try:
            said = _next_answer(queue, answer, request.path, body)
            behaviour = Reply(said) if isinstance(said, str | dict) else said
            return await behaviour.respond(request, body)
        except ToldToDropError:
            return web.Response()  # goes nowhere; raising would log a server error
        except (asyncio.CancelledError, ConnectionResetError):
            record.disconnected = True
            left.release()
            raise


def _next_answer(queue: deque[Answer], answer: Callable[[Json], Answer], path: str, body: Json) -> Answer:
    route = path.removeprefix("/v1/")
    if queue:
        return queue.popleft()
    return answer(body) if route == "chat/completions" else OTHER_ROUTES.get(route, unknown_route)(body)


def unknown_route(_: Json) -> Answer:
    """A 404 as OpenAI gives it."""
    return Status(404, "Unknown request URL.", error={"type": "invalid_request_error", "code": "unknown_url"})


def models(_: Json) -> Answer:
    """One model."""
    card = {"id": MODEL, "object": "model", "created": CREATED, "owned_by": "tests"}
    return Raw(json.dumps({"object": "list", "data": [card]}).encode())


def embeddings(body: Json) -> Answer:
    """The first eight bytes of each input's SHA-256, as numbers in [0, 1]."""
    inputs = body["input"] if isinstance(body["input"], list) else [body["input"]]
    rows = [
        {
            "object": "embedding",
            "index": n,
            "embedding": [b / 255 for b in hashlib.sha256(str(text).encode()).digest()[:8]],
        }
        for n, text in enumerate(inputs)
    ]
    usage = {"prompt_tokens": len(inputs), "total_tokens": len(inputs)}
    return Raw(json.dumps({"object": "list", "model": body["model"], "data": rows, "usage": usage}).encode())


def completions(body: Json) -> Answer:
    """The prompt again, as a text completion, streamed when asked."""
    head = {"id": "cmpl-1", "object": "text_completion", "created": CREATED, "model": body["model"]}
    text = f"Echo: {body.get('prompt', '')}"
    if body.get("stream"):
        rows = [
            {**head, "choices": [{"index": 0, "text": p, "finish_reason": None}]} for p in pieces(text, 4)
        ]
        rows.append({**head, "choices": [{"index": 0, "text": "", "finish_reason": "stop"}]})
        return Raw(b"".join(map(event, rows)) + b"data: [DONE]\n\n", "text/event-stream")
    choice = {"index": 0, "text": text, "logprobs": None, "finish_reason": "stop"}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    return Raw(json.dumps({**head, "choices": [choice], "usage": usage}).encode())


def moderations(body: Json) -> Answer:
    """Nothing is flagged."""
    result = {"flagged": False, "categories": {}, "category_scores": {}}
    return Raw(json.dumps({"id": "modr-1", "model": body.get("model", MODEL), "results": [result]}).encode())


OTHER_ROUTES: Mapping[str, Callable[[Json], Answer]] = {
    "models": models,
    "embeddings": embeddings,
    "completions": completions,
    "moderations": moderations,
}
