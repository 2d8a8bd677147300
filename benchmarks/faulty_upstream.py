"""An OpenAI-compatible upstream that answers well or badly, as the chat asks.

    python -m benchmarks.faulty_upstream --port PORT

The last message is JSON, `{"reply": "...", "pace": 0.01}`, or the name of a fault of `benchmarks.faults`.
`{"comments": 5000}` is answered with so many comments a second, without an end, and `{"bytes": 100000000}`
with a reply of that size. Anything else, as the prompt of a correction, is answered with a short sentence.
Embeddings take a minute.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import functools
import json
from typing import Any

from aiohttp import web

from benchmarks.faults import FAULTS
from benchmarks.gateways_upstream import Written, written


async def chat(request: web.Request) -> web.StreamResponse:
    """A reply, or a fault."""
    body = await request.json()
    asked = body["messages"][-1]["content"]
    if fault := FAULTS.get(asked):
        return await fault.respond(request, body)
    told: dict[str, Any] = {"reply": "I have nothing to add."}
    with contextlib.suppress(ValueError):
        told = json.loads(asked)
    if "comments" in told:
        return await _comments(request, int(told["comments"]))
    if "bytes" in told:
        return web.Response(
            body=b'{"choices": "' + b"x" * int(told["bytes"]), content_type="application/json"
        )
    reply, pace = _written(str(told["reply"])), float(told.get("pace", 0))
    if not body.get("stream"):
        await asyncio.sleep(pace * len(reply.events))
        return web.Response(body=reply.whole, content_type="application/json")
    response = web.StreamResponse(headers={"content-type": "text/event-stream"})
    await response.prepare(request)
    for event in (*reply.events, b"data: [DONE]\n\n"):
        await response.write(event)
        await asyncio.sleep(pace)
    await response.write_eof()
    return response


async def _comments(request: web.Request, per_second: int) -> web.StreamResponse:
    response = web.StreamResponse(headers={"content-type": "text/event-stream"})
    await response.prepare(request)
    while True:
        await response.write(b": hello\n\n" * (per_second // 20))
        await asyncio.sleep(0.05)


@functools.lru_cache(maxsize=256)
def _written(text: str) -> Written:
    """A reply that is asked for again costs nothing: what is measured is not this server."""
    return written(text)


async def embeddings(_request: web.Request) -> web.Response:
    """Nothing, slowly."""
    await asyncio.sleep(60)
    return web.json_response({"object": "list", "model": "bench", "data": []})


def main() -> None:
    """Serves until it is ended."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.faulty_upstream")
    parser.add_argument("--port", type=int, required=True)
    app = web.Application(client_max_size=100_000_000)
    app.router.add_post("/v1/chat/completions", chat)
    app.router.add_post("/v1/embeddings", embeddings)
    web.run_app(app, host="127.0.0.1", port=parser.parse_args().port, print=None, access_log=None)


if __name__ == "__main__":
    main()
