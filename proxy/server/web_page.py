"""The page at `/`: files of the package, read once, with headers that let nothing else run or load."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

FOLDER = Path(__file__).parent / "web"

_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}
_ALWAYS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
_NOTHING_LOADS = "default-src 'none'; base-uri 'none'; form-action 'none'"
_NOTHING_ELSE = f"{_NOTHING_LOADS}; frame-ancestors 'none'"


def inert(frame_ancestors: Sequence[str] = ()) -> dict[str, str]:
    """Headers of a page that only shows what a document says: nothing in it runs or loads. Only the websites
    that are named may show it in a frame."""
    framed_by = " ".join(frame_ancestors) or "'none'"
    policy = f"{_NOTHING_LOADS}; frame-ancestors {framed_by}; style-src 'unsafe-inline'"
    return {**_ALWAYS, "content-security-policy": policy}


PAGE = {
    **_ALWAYS,
    "cache-control": "no-cache",
    "content-security-policy": f"{_NOTHING_ELSE}; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; require-trusted-types-for 'script'; trusted-types 'none'",
}
"""Headers of the page's own files: its own scripts and styles, none inline; no text becomes markup."""


def page_routes() -> list[Route]:
    """`/` and the files that it loads, under `/web/`."""
    files = [path for path in sorted(FOLDER.iterdir()) if path.suffix in _TYPES]
    return [Route("/" if path.name == "index.html" else f"/web/{path.name}", _file(path)) for path in files]


def _file(path: Path) -> Callable[[Request], Awaitable[Response]]:
    """The handler of one file."""
    content = path.read_bytes()
    tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    headers = {**PAGE, "content-type": _TYPES[path.suffix], "etag": tag}

    async def send(request: Request) -> Response:
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        return Response(content, headers=headers)

    return send
