"""Plain ASGI middleware: the request id, the API key, and cancellation when the client disconnects."""

from __future__ import annotations

import asyncio
import hmac
import logging
import re
import secrets
from collections.abc import Sequence

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from proxy.errors import AuthenticationError
from proxy.openai_api.error_object import error_object

log = logging.getLogger(__name__)

_REQUEST_ID = b"x-request-id"
_SAFE_ID = re.compile(rb"[A-Za-z0-9._:-]{1,128}")


class RequestId:
    """`x-request-id` on every response: the client's own where it is safe to repeat, else a new one."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        given = next((value for name, value in scope["headers"] if name == _REQUEST_ID), b"")
        request_id = given if _SAFE_ID.fullmatch(given) else secrets.token_hex(16).encode()
        scope.setdefault("state", {})["request_id"] = request_id.decode()

        async def send_with_id(message: Message) -> None:
            if message["type"] == "http.response.start":
                others = [header for header in message.get("headers", ()) if header[0] != _REQUEST_ID]
                message = {**message, "headers": [*others, (_REQUEST_ID, request_id)]}
            await send(message)

        await self.app(scope, receive, send_with_id)


class Keys:
    """Requires `Authorization: Bearer KEY` on every path under `/v1/`, if keys are configured."""

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
    """Cancels the work on a request when its client disconnects.

    The app alone reads the body; once it is complete, one task watches the connection.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        watch = Watch(receive, asyncio.current_task())
        try:
            await self.app(scope, watch.receive, send)
        except asyncio.CancelledError:
            if not watch.has_cancelled():
                raise
            log.debug("the client disconnected; its work was cancelled")
        finally:
            watch.end()


class Watch:
    """Receives messages for the task that works on a request, and cancels it when the client disconnects."""

    def __init__(self, receive: Receive, work: asyncio.Task[object] | None) -> None:
        self._receive = receive
        self._work = work
        self._watching: asyncio.Task[None] | None = None
        self._cancelled = False

    async def receive(self) -> Message:
        """The body, message by message; after it only the disconnect."""
        if self._watching is not None:
            await asyncio.wait({self._watching})
            return {"type": "http.disconnect"}
        message = await self._receive()
        if not message.get("more_body"):
            self._watching = asyncio.ensure_future(self._until_gone())
        return message

    def has_cancelled(self) -> bool:
        """Whether the disconnect, and nothing else, cancelled the work."""
        return self._cancelled and self._work is not None and not self._work.uncancel()

    def end(self) -> None:
        """Stops watching: the work is done."""
        if self._watching is not None:
            self._watching.cancel()

    async def _until_gone(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        if self._work is not None:
            self._cancelled = True
            self._work.cancel()
