"""What every request goes through, as plain ASGI: an id, the key, and an end when the client has gone."""

from __future__ import annotations

import asyncio
import hmac
import logging
import re
import uuid
from collections.abc import Sequence

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from proxy.errors import AuthenticationError
from proxy.openai_api.errors import error_object

log = logging.getLogger(__name__)

REQUEST_ID = "x-request-id"
_SAFE_ID = re.compile(r"[A-Za-z0-9._:-]{1,128}")


class RequestId:
    """`x-request-id` on every response: the client's own where it sent a sane one, else a new one."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        given = Headers(scope=scope).get(REQUEST_ID, "")
        request_id = given if _SAFE_ID.fullmatch(given) else uuid.uuid4().hex
        scope.setdefault("state", {})["request_id"] = request_id

        async def send_with_id(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)[REQUEST_ID] = request_id
            await send(message)

        await self.app(scope, receive, send_with_id)


class Keys:
    """Asks for `Authorization: Bearer KEY` on every path under `/v1/`."""

    def __init__(self, app: ASGIApp, keys: Sequence[str]) -> None:
        self.app = app
        self.keys = [key.encode() for key in keys]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not self._guarded(scope["path"]) or self._known(scope):
            await self.app(scope, receive, send)
            return
        error = AuthenticationError(
            "The API key is missing or wrong. Send it as 'Authorization: Bearer KEY'."
        )
        response = JSONResponse(error_object(error), error.status, {"www-authenticate": "Bearer"})
        await response(scope, receive, send)

    def _guarded(self, path: str) -> bool:
        return bool(self.keys) and path.startswith("/v1/")

    def _known(self, scope: Scope) -> bool:
        given = (bearer(Headers(scope=scope)) or "").encode()
        return any(hmac.compare_digest(given, key) for key in self.keys)


def bearer(headers: Headers) -> str | None:
    """The token of an `Authorization: Bearer` header."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() or None if scheme.lower() == "bearer" else None


class CancelOnDisconnect:
    """Cancels the work on a request when its client goes away.

    The body is read by the app alone; once it is there, this watches the connection in its stead.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        body_read, gone = asyncio.Event(), asyncio.Event()

        async def receive_body() -> Message:
            if body_read.is_set():
                await gone.wait()
                return {"type": "http.disconnect"}
            message = await receive()
            if not message.get("more_body"):
                body_read.set()
            return message

        async def watch() -> None:
            await body_read.wait()
            while (await receive())["type"] != "http.disconnect":
                pass
            gone.set()

        work = asyncio.ensure_future(self.app(scope, receive_body, send))
        watcher = asyncio.ensure_future(watch())
        try:
            await asyncio.wait({work, watcher}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                log.debug("the client has gone; its work is cancelled")
                work.cancel()
            await asyncio.wait({work})
            if not work.cancelled():
                work.result()
        finally:
            for task in (work, watcher):
                task.cancel()
            await asyncio.gather(work, watcher, return_exceptions=True)
