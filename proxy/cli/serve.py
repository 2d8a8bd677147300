"""`vouch serve`."""

from __future__ import annotations

import gc
import logging
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import uvicorn
from rich.console import Console
from rich.text import Text

from proxy.cli.compose import compose
from proxy.cli.page import base_address, loopback_warning
from proxy.config.load import load
from proxy.config.presets import DECIDED, DOES
from proxy.config.settings import Server, Settings, Upstream
from proxy.errors import ConfigError
from proxy.server.app import create_app

log = logging.getLogger(__name__)

SHUTDOWN_SECONDS = 10
"""How long chats under way may take to end after a signal."""

KEEP_ALIVE_SECONDS = 75
"""How long an idle connection is kept: longer than clients' pools keep theirs, so that it's never the server
that closes one on which a request is just being sent."""


def run(config: Path | None, upstream: dict[str, Any], overrides: dict[str, Any]) -> None:
    """Serves until a signal comes. The port is taken first: a busy one is known before models load."""
    if upstream:
        if "model" not in upstream:
            raise ConfigError("--api-base and --api-key belong to an upstream: name it with --model.")
        overrides = {**overrides, "upstreams": [upstream]}
    settings = load(config, overrides)
    logging.basicConfig(
        level=settings.server.log_level.upper(), format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    for chatty in ("sentence_transformers", "httpx", "LiteLLM", "bm25s"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    console = Console(soft_wrap=True, highlight=False)

    def say(line: str) -> None:
        console.print(Text(line, "dim"))

    with _listen(settings.server) as listener:
        parts = compose(settings, say)
        host, port = listener.getsockname()[:2]
        for line in (f"Vouch serves over {len(parts.passages):,} passages:", *plans(settings)):
            console.print(Text(line))
        console.print(Text(f"Listening on http://{f'[{host}]' if ':' in host else host}:{port}/v1"))
        if settings.web.enabled:
            console.print(Text(f"A page for browsers is at {base_address(host, port)}/"))
        if warning := loopback_warning(settings.server):
            log.warning(warning)
        options = uvicorn.Config(
            create_app(parts, settings),
            log_config=None,
            access_log=settings.server.log_level == "debug",
            timeout_graceful_shutdown=SHUTDOWN_SECONDS,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            ws="none",
            server_header=False,
        )
        # What is loaded by now stays: going through it would hold up all chats for half a second each time.
        gc.collect()
        gc.freeze()
        try:
            uvicorn.Server(options).run(sockets=[listener])
        except KeyboardInterrupt:
            console.print("Goodbye.")
            raise


def plans(settings: Settings) -> Iterator[str]:
    """What the server will do, a line each: models, preset, checker, and who may call it."""
    for upstream in settings.upstreams:
        model = "" if upstream.model == upstream.name else f" ({upstream.model}{_where(upstream)})"
        yield f"  model {upstream.name}{model}"
    yield f"  preset {settings.preset}: {DOES[settings.preset]}"
    if changed := list(_changed(settings)):
        yield f"    but {', '.join(changed)}"
    yield f"  checker {settings.checker.name}"
    keys, host = len(settings.server.api_keys), settings.server.host
    if keys:
        yield f"  clients need a key, one of {keys} in server.api_keys"
    elif host in ("127.0.0.1", "::1", "localhost"):
        yield "  clients need no key; only this machine can reach the server"
    else:
        yield f"  clients need no key, and whoever reaches {host} can call it: set server.api_keys"


def _where(upstream: Upstream) -> str:
    """The host of the upstream's server, if one is given. Credentials are left out."""
    if not upstream.api_base:
        return ""
    return f" at {urlsplit(upstream.api_base).netloc.rpartition('@')[2] or upstream.api_base}"


def _changed(settings: Settings) -> Iterator[str]:
    """The settings that override the preset."""
    deciding = {
        "streaming": settings.streaming,
        "regeneration": settings.regeneration,
        "verification": settings.verification,
        "citation": settings.citation,
    }
    for section, values in deciding.items():
        for key in sorted(type(values).model_fields.keys() & DECIDED):
            if (value := getattr(values, key)) is not None:
                yield f"{section}.{key}: {str(value).lower()}"


def _listen(server: Server) -> socket.socket:
    family = socket.AF_INET6 if ":" in server.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((server.host, server.port))
        listener.listen(2048)
    except OSError as error:
        listener.close()
        raise ConfigError(
            f"Can't listen on {server.host}:{server.port}: {error.strerror}. Choose another with --port."
        ) from None
    return listener
