"""`vouch serve`."""

from __future__ import annotations

import gc
import logging
import socket
from pathlib import Path
from typing import Any

import uvicorn
from rich.console import Console

from proxy.cli.compose import compose
from proxy.cli.page import base_address, loopback_warning
from proxy.config.load import load
from proxy.config.settings import Server
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
    with _listen(settings.server) as listener:
        parts = compose(settings)
        host, port = listener.getsockname()[:2]
        console = Console(soft_wrap=True, highlight=False)
        names = ", ".join(parts.models)
        console.print(f"Vouch serves {names} over {len(parts.passages):,} passages.")
        console.print(f"Listening on http://{f'[{host}]' if ':' in host else host}:{port}/v1")
        if settings.web.enabled:
            console.print(f"A page for browsers is at {base_address(host, port)}/")
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
        uvicorn.Server(options).run(sockets=[listener])


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
