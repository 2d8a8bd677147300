"""`vouch serve`."""

from __future__ import annotations

import asyncio
import gc
import ipaddress
import logging
import math
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import uvicorn
from rich.console import Console
from rich.text import Text
from starlette.applications import Starlette

from proxy.aio import Ending
from proxy.checkers.nli_sizes import in_use, instead
from proxy.cli.compose import compose, make_tracer
from proxy.cli.compose_checkers import nli_size
from proxy.cli.logs import set_up
from proxy.cli.page import base_address, loopback_warning
from proxy.cli.workers import on_terminal, supervise
from proxy.config.checker_settings import Checker as CheckerSettings
from proxy.config.load import load
from proxy.config.presets import DECIDED, DOES
from proxy.config.settings import Server, Settings, Upstream
from proxy.errors import ConfigError
from proxy.server.app import create_app
from proxy.server.connections import bounded
from proxy.server.reload import Reloader
from proxy.server.worker_group import WorkerGroup

log = logging.getLogger(__name__)

_GARBAGE = (25_000, 20, 20)
"""When garbage is looked for: objects that are new, and younger passes before an older generation's."""

FAREWELL_SECONDS = 5
"""How long what is cut off may take to say so."""


class VouchServer(uvicorn.Server):
    """uvicorn's server, which says first that it is no longer ready, and then cuts off what does not end."""

    def __init__(self, app: Starlette, server: Server, serving: Callable[[], None] = lambda: None) -> None:
        """`serving` is called when connections are accepted."""
        super().__init__(
            uvicorn.Config(
                app,
                http=bounded(server),
                log_config=None,
                access_log=False,  # it has queries, and so signatures; `RequestId` logs requests without them
                timeout_graceful_shutdown=math.ceil(server.drain) + FAREWELL_SECONDS,
                timeout_keep_alive=server.keep_alive,  # type: ignore[arg-type]
                h11_max_incomplete_event_size=server.max_header_bytes,
                ws="none",
                server_header=False,
            )
        )
        self._ending: Ending = app.state.ending
        self._reloaders: Mapping[str, Reloader] = app.state.reloaders
        self._on_terminal = on_terminal()
        self._server = server
        self._serving = serving

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listens to connections, and to SIGHUP."""
        await super().startup(sockets)
        self._serving()
        if threading.current_thread() is threading.main_thread() and hasattr(signal, "SIGHUP"):
            asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, self._hang_up)

    def _hang_up(self) -> None:
        """Loads the indexes again, unless the signal means that the terminal was closed."""
        if self._on_terminal and not on_terminal():
            self.should_exit = True
        else:
            for reloader in self._reloaders.values():
                reloader.soon()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Shuts down: reports not ready, stops listening, lets requests finish, then cuts off the rest."""
        self._ending.draining = True
        await asyncio.sleep(self._server.drain_delay)
        cutting = asyncio.get_running_loop().call_later(self._server.drain, self._ending.end)
        try:
            await super().shutdown(sockets)
        finally:
            cutting.cancel()


def run(config: Path | None, upstream: dict[str, Any], overrides: dict[str, Any]) -> None:
    """Serves until a signal comes. The port is taken first: a busy one is known before models load."""
    if upstream:
        if "model" not in upstream:
            raise ConfigError("--api-base and --api-key belong to an upstream: name it with --model.")
        overrides = {**overrides, "upstreams": [upstream]}
    settings = load(config, overrides)
    set_up(settings)
    require_keys(settings.server)
    console = Console(soft_wrap=True, highlight=False)

    def say(line: str) -> None:
        console.print(Text(line, "dim"))

    ended_by = 0
    with _listen(settings.server) as listener:
        host, port = listener.getsockname()[:2]

        def serving(passages: int) -> None:
            workers = settings.server.workers
            by = f", by {workers} workers" if workers > 1 else ""
            for line in (f"Vouch serves over {passages:,} passages{by}:", *plans(settings)):
                console.print(Text(line))
            console.print(Text(f"Listening on http://{f'[{host}]' if ':' in host else host}:{port}/v1"))
            if settings.web.enabled:
                console.print(Text(f"A page for browsers is at {base_address(host, port)}/"))
            if warning := loopback_warning(settings.server):
                log.warning(warning)

        try:
            if settings.server.workers > 1:
                ended_by = supervise(serve, settings, listener, say, serving)
                if ended_by == signal.SIGINT:
                    signal.raise_signal(ended_by)
            else:
                serve(settings, listener, None, say, serving)
        except KeyboardInterrupt:
            console.print("Goodbye.")
            raise
    if ended_by:
        signal.raise_signal(ended_by)


def serve(
    settings: Settings,
    listener: socket.socket,
    group: WorkerGroup | None,
    say: Callable[[str], None],
    serving: Callable[[int], None],
) -> None:
    """Serves in this process, which may be one of a group, until a signal comes. It tells what it loads, and
    how many passages there are once it serves."""
    app = create_app(compose(settings, say), settings, make_tracer(settings), group)
    count = sum(len(each.context.passages) for each in app.state.reloaders.values())
    server = VouchServer(app, settings.server, lambda: serving(count))
    # What is loaded by now stays: going through it would hold up all chats for half a second each time.
    # A request of a million values would be gone through a thousand times while it is parsed.
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_GARBAGE)
    server.run(sockets=[listener])


def plans(settings: Settings) -> Iterator[str]:
    """What the server will do, a line each: models, preset, checker, and who may call it."""
    for upstream in settings.upstreams:
        model = "" if upstream.model == upstream.name else f" ({upstream.model}{_where(upstream)})"
        yield f"  model {upstream.name}{model}"
    yield f"  preset {settings.preset}: {DOES[settings.preset]}"
    if changed := list(_changed(settings)):
        yield f"    but {', '.join(changed)}"
    yield from _checker(settings.checker)
    server = settings.server
    if server.has_keys:
        places = [f"{len(server.api_keys)} in server.api_keys"] if server.api_keys else []
        places += [f"those in {server.key_file}"] if server.key_file else []
        yield f"  clients need a key, one of {' or '.join(places)}"
    elif _is_loopback(server.host):
        yield "  clients need no key; only this machine can reach the server"
    else:
        yield f"  clients need no key, and whoever reaches {server.host} can call it (server.keyless)"


def _checker(settings: CheckerSettings) -> Iterator[str]:
    """The checker; of `nli`, alone or in a cascade, also the size for each language, and what the other size
    would take."""
    steps = [step.name for step in settings.cascade.steps]
    name = f"cascade of {', '.join(steps)}" if settings.name == "cascade" else settings.name
    if "nli" not in (settings.name, *(steps if settings.name == "cascade" else ())):
        yield f"  checker {name}"
        return
    size = nli_size(settings)
    yield f"  checker {name}: {in_use(size)}"
    yield f"    {instead(size)}"


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


def require_keys(server: Server) -> None:
    """Raises `ConfigError` where other machines could reach a server that has no keys, unless that is
    wanted."""
    if server.has_keys or server.keyless or _is_loopback(server.host):
        return
    raise ConfigError(
        f"server.host {server.host} can be reached from other machines, and there are no keys: anyone there "
        "could use your upstream's. Set server.api_keys or server.key_file, or server.keyless: true if "
        "something else guards the server.",
        param="server.host",
    )


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


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
