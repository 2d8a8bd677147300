"""A real server for the tests: the application over a corpus, on a port of its own, in a thread."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn

from proxy.cli.compose import Library, make_parts
from proxy.config.load import validate
from proxy.config.settings import Settings
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
def serving(settings: Settings, corpus: Library) -> Iterator[str]:
    """The base URL, with `/v1`, of a server that is up."""
    listener = socket.create_server(("127.0.0.1", 0))
    app = create_app(make_parts(settings, corpus), settings)
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, timeout_graceful_shutdown=5))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
    finally:
        server.should_exit = True
        thread.join(timeout=15)
        listener.close()
        assert not thread.is_alive()
