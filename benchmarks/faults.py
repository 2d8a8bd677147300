"""What an upstream can do wrong: statuses, bodies, events, connections. Each by a name, to be asked for.

`FAULTS` holds them; the tests and `benchmarks.soak` have an upstream answer with them, over HTTP.
"""

from __future__ import annotations

import asyncio
import copy
import gzip
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from aiohttp import web

Json = dict[str, Any]
End = Literal["close", "cut", "hang"]

TEXT = "Hi."
HEAD: Json = {"id": "chatcmpl-1", "created": 1_767_225_600, "model": "bench"}
USAGE: Json = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
WHOLE: Json = {
    **HEAD,
    "object": "chat.completion",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": TEXT}, "finish_reason": "stop"}],
    "usage": USAGE,
}
CHUNK: Json = {
    **HEAD,
    "object": "chat.completion.chunk",
    "choices": [{"index": 0, "delta": {"role": "assistant", "content": TEXT}, "finish_reason": None}],
    "usage": None,
}
LAST: Json = {**CHUNK, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
DONE = b"data: [DONE]\n\n"
KEY = "sk-upstream"
"""What no answer may repeat."""

_REFUSED = (201, 204, 302, 400, 401, 403, 404, 408, 409, 413, 418, 422, 429, 451)
STATUSES = (*_REFUSED, 500, 501, 502, 503, 504, 520, 529, 599)
ERROR_BODIES: Mapping[str, bytes] = {
    "an error of OpenAI": json.dumps(
        {"error": {"message": f"Bad key {KEY}", "type": "t", "param": None, "code": "c"}}
    ).encode(),
    "text": b"upstream connect error or disconnect/reset before headers",
    "a page": b"<html><body><h1>Bad Gateway</h1></body></html>",
    "nothing": b"",
    "a list": b"[1, 2]",
    "a string": b'"no"',
    "an error that is a string": b'{"error": "no"}',
    "an error of odd fields": b'{"error": {"message": [1], "type": 7, "param": {}, "code": -1}}',
    "no UTF-8": b"\xff\xfe\x00\x80",
}
MISSING = object()
VALUES: Mapping[str, object] = {
    "missing": MISSING,
    "null": None,
    "a number": 7,
    "-1": -1,
    "true": True,
    "a string": "x",
    "an empty string": "",
    "an empty list": [],
    "a list of numbers": [1],
    "an empty object": {},
    "half a pair": "\ud83d",
    "large": 10**400,
}
PLACES: tuple[tuple[str | int, ...], ...] = (
    ("id",),
    ("object",),
    ("created",),
    ("model",),
    ("choices",),
    ("choices", 0),
    ("choices", 0, "index"),
    ("choices", 0, "MESSAGE"),
    ("choices", 0, "MESSAGE", "role"),
    ("choices", 0, "MESSAGE", "content"),
    ("choices", 0, "MESSAGE", "tool_calls"),
    ("choices", 0, "MESSAGE", "refusal"),
    ("choices", 0, "finish_reason"),
    ("choices", 0, "logprobs"),
    ("usage",),
    ("usage", "prompt_tokens"),
)


@dataclass(frozen=True, slots=True)
class Fault:
    """An answer as bytes, and how it ends. `mode`: what kind of chat it is an answer to."""

    pieces: tuple[bytes, ...]
    mode: Literal["whole", "stream", "both"]
    status: int = 200
    kind: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    end: End = "close"
    pause: float = 0.0

    async def respond(self, request: web.Request, _body: Json) -> web.StreamResponse:
        """Sends it."""
        response = web.StreamResponse(status=self.status, headers={"content-type": self.kind, **self.headers})
        await response.prepare(request)
        for piece in self.pieces:
            await response.write(piece)
            await asyncio.sleep(self.pause)
        if self.end == "hang":
            await asyncio.sleep(30)
        if self.end == "cut" and request.transport is not None:
            request.transport.abort()
        else:
            await response.write_eof()
        return response


def event(value: object) -> bytes:
    """One event of a stream."""
    return b"data: " + json.dumps(value).encode() + b"\n\n"


def _with(answer: Json, place: tuple[str | int, ...], value: object, message: str) -> Json:
    """A copy with another value in that place."""
    changed = copy.deepcopy(answer)
    *path, last = (message if step == "MESSAGE" else step for step in place)
    inner: Any = changed
    for step in path:
        if inner[step] is None:
            inner[step] = dict(USAGE)
        inner = inner[step]
    if value is not MISSING:
        inner[last] = value
    elif isinstance(inner, list) and isinstance(last, int):
        del inner[last]
    else:
        inner.pop(last, None)
    return changed


def _refusals() -> Iterator[tuple[str, Fault]]:
    for status in STATUSES:
        for name, body in ERROR_BODIES.items():
            kind = "application/json" if body[:1] in (b"{", b"[", b'"') else "text/html"
            pieces = () if status == 204 else (body,)
            yield f"{status} with {name}", Fault(pieces, "both", status, kind)


def _odd_values() -> Iterator[tuple[str, Fault]]:
    for place in PLACES:
        named = ".".join(map(str, place)).replace("MESSAGE", "message")
        for name, value in VALUES.items():
            whole = _with(WHOLE, place, value, "message")
            yield f"{named}: {name}", Fault((json.dumps(whole).encode(),), "whole")
            chunk = event(_with(CHUNK, place, value, "delta"))
            stream = (event(CHUNK), chunk, event(LAST), DONE)
            yield f"chunk with {named}: {name}", Fault(stream, "stream", kind="text/event-stream")


def _bodies() -> Iterator[tuple[str, Fault]]:
    good = json.dumps(WHOLE).encode()
    deep = b'{"choices": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    many = {**WHOLE, "choices": WHOLE["choices"] * 20_000}
    bodies = {
        "nothing": b"",
        "null": b"null",
        "a list": b"[]",
        "cut JSON": good[: len(good) // 2],
        "two values": good + good,
        "NaN": good.replace(b'"index": 0', b'"index": NaN'),
        "100,000 deep": deep,
        "a number of a million digits": b'{"created": ' + b"9" * 1_000_000 + b"}",
        "20,000 choices": json.dumps(many).encode(),
        "no UTF-8": b"\xff\xfe",
        "a byte order mark": b"\xef\xbb\xbf" + good,
        "UTF-16": good.decode().encode("utf-16"),
        "doubled keys": good[:-1] + b', "choices": 1}',
        "a page": b"<html></html>",
        "events": event(CHUNK) + event(LAST) + DONE,
    }
    for name, body in bodies.items():
        yield f"whole: {name}", Fault((body,), "whole")
    for kind in ("text/html", "text/plain", "image/png", "application/octet-stream"):
        yield f"whole: as {kind}", Fault((good,), "whole", kind=kind)
    for share in (0, 0.3, 0.7, 1):
        cut = good[: int(len(good) * share)]
        yield f"whole: cut off after {share}", Fault((cut,), "whole", end="cut")
    yield "whole: never", Fault((), "whole", end="hang")
    zipped = {"content-encoding": "gzip"}
    bomb = gzip.compress(b'{"x": "' + b" " * 60_000_000 + b'"}')
    yield "whole: said to be gzip", Fault((good,), "whole", headers=zipped)
    yield "whole: half of a gzip", Fault((gzip.compress(good)[:-20],), "whole", headers=zipped)
    yield "whole: a gzip bomb", Fault((bomb,), "whole", headers=zipped)
    yield "whole: of an unknown encoding", Fault((good,), "whole", headers={"content-encoding": "zz"})


def _streams() -> Iterator[tuple[str, Fault]]:
    first, last = event(CHUNK), event(LAST)
    error = event({"error": {"message": f"Bad key {KEY}", "type": "t", "code": 500}})
    streams: Mapping[str, tuple[bytes, ...]] = {
        "nothing": (),
        "only the end": (DONE,),
        "no end": (first, last),
        "no finish": (first, DONE),
        "two ends": (first, last, DONE, DONE),
        "more behind the end": (first, last, DONE, first),
        "an error": (error,),
        "an error in the middle": (first, error, last, DONE),
        "an error that is a string": (first, event({"error": "no"}), DONE),
        "no JSON": (first, b"data: {oops\n\n", last, DONE),
        "a list": (first, event([1]), last, DONE),
        "a string": (first, event("x"), last, DONE),
        "null": (first, event(None), last, DONE),
        "no UTF-8": (first, b"data: \xff\xfe\n\n", last, DONE),
        "NUL": (first, b"data: \x00\n\n", last, DONE),
        "comments": (b": hello\n\n" * 1_000, first, last, DONE),
        "carriage returns": tuple(piece.replace(b"\n", b"\r\n") for piece in (first, last, DONE)),
        "other fields": (b"id: 1\nretry: 5\nevent: message\n", first, last, DONE),
        "a line without a colon": (b"hello\n\n", first, last, DONE),
        "a line of 2 MB": (first, event({**CHUNK, "x": "x" * 2_000_000}), last, DONE),
        "100,000 deep": (first, b"data: " + b"[" * 100_000 + b"]" * 100_000 + b"\n\n", last, DONE),
        "byte by byte": tuple(bytes([byte]) for byte in first + last + DONE),
        "choice 7": (event(_with(CHUNK, ("choices", 0, "index"), 7, "delta")), last, DONE),
        "a whole answer": (json.dumps(WHOLE).encode(),),
        "an event of many lines": (first.replace(b"{", b"\ndata: {", 1), last, DONE),
    }
    for name, pieces in streams.items():
        yield f"stream: {name}", Fault(pieces, "stream", kind="text/event-stream")
    for kind in ("application/json", "text/html", "text/plain"):
        yield f"stream: as {kind}", Fault((first, last, DONE), "stream", kind=kind)
    for pieces in ((), (first,), (first, last), (first[:20],), (first, last[:20])):
        size = sum(map(len, pieces))
        cut = Fault(pieces, "stream", kind="text/event-stream", end="cut")
        yield f"stream: cut off after {size} bytes", cut
    hang = Fault((first,), "stream", kind="text/event-stream", end="hang")
    yield "stream: never goes on", hang
    zipped = {"content-encoding": "gzip"}
    bomb = gzip.compress(event({**CHUNK, "x": " " * 60_000_000}))
    yield "stream: a gzip bomb", Fault((bomb,), "stream", kind="text/event-stream", headers=zipped)
    yield "stream: said to be gzip", Fault((first,), "stream", kind="text/event-stream", headers=zipped)


FAULTS: Mapping[str, Fault] = dict([*_refusals(), *_odd_values(), *_bodies(), *_streams()])
"""All of them."""


def cases() -> list[tuple[str, bool]]:
    """Each fault with whether the chat is to be streamed."""
    return [
        (name, stream)
        for name, fault in FAULTS.items()
        for stream in (False, True)
        if fault.mode in ("both", "stream" if stream else "whole")
    ]
