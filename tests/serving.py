"""A real server for the tests: the application over a corpus, on a port of its own, in a thread."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn

from proxy.cli.compose import Library, make_context, make_tracer
from proxy.config.load import validate
from proxy.config.settings import Settings
from proxy.engine.app_context import AppContext
from proxy.server.app import create_app


def settings_for(upstream_url: str, *, litellm: bool = False, **sections: Any) -> Settings:
    """Settings with the tests' upstream, called directly and, in one server of a process, by litellm (whose
    connections are global: a server that ends closes those of all), and the embedded models."""
    model = {
        "model": "openai/test-model",
        "api_base": upstream_url,
        "api_key": "sk-upstream",
        "timeout": 5.0,
        "max_retries": 0,
    }
    return validate(
        {
            "upstreams": [
                {"name": "test", **model},
                *([{"name": "test-litellm", **model, "client": "litellm"}] if litellm else []),
                {"name": "test-hasty", **model, "timeout": 0.3},
                {"name": "test-stubborn", **model, "max_retries": 2},
                {"model": "vouch/extractive"},
                {"model": "vouch/demo"},
            ],
            **sections,
        }
    )


@contextmanager
def serving(
    settings: Settings,
    corpus: Library,
    changed: Callable[[AppContext], AppContext] = lambda context: context,
) -> Iterator[str]:
    """The base URL, with `/v1`, of a server that is up, over a context that `changed` may have changed."""
    app = create_app(changed(make_context(settings, corpus)), settings, make_tracer(settings))
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, timeout_graceful_shutdown=5))
    with running(server) as url:
        yield url


@contextmanager
def running(server: uvicorn.Server) -> Iterator[str]:
    """The base URL, with `/v1`, of a server in a thread of its own."""
    listener = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
    finally:
        server.should_exit = True
        thread.join(timeout=15)
        listener.close()
        assert not thread.is_alive()


def until(holds: Callable[[], bool], timeout: float = 60.0) -> None:
    """Waits for a condition."""
    end = time.monotonic() + timeout
    while not holds():
        assert time.monotonic() < end, "the condition did not come to hold"
        time.sleep(0.005)
