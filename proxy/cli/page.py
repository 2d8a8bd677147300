"""`vouch open`, and where the page and the links in replies lead."""

from __future__ import annotations

import contextlib
import ipaddress
import webbrowser
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.parse import urlsplit
from urllib.request import urlopen

from rich.console import Console

from proxy.config.load import load
from proxy.config.settings import Server
from proxy.errors import ConfigError

_SECONDS = 5


def run(config: Path | None, overrides: dict[str, Any]) -> None:
    """Opens the page of the server that the settings describe; prints its address in any case.

    Raises `ConfigError` where the page is turned off, the port is not known, or no server answers.
    """
    settings = load(config, overrides)
    if not settings.web.enabled:
        raise ConfigError("The page is turned off (web.enabled).", param="web.enabled")
    if not settings.server.port:
        raise ConfigError("server.port is 0: say with --port where the server listens.", param="server.port")
    address = f"{base_address(settings.server.host, settings.server.port)}/"
    try:
        with urlopen(f"{address}healthz", timeout=_SECONDS):  # noqa: S310 (always http)
            pass
    except (URLError, OSError, ValueError):
        raise ConfigError(f"No server answers at {address}. Start one with vouch serve.") from None
    Console(soft_wrap=True, highlight=False).print(address)
    with contextlib.suppress(webbrowser.Error):
        webbrowser.open(address)


def base_address(host: str, port: int) -> str:
    """How a browser on this machine reaches a server that listens there."""
    name = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(host, host)  # noqa: S104
    return f"http://[{name}]:{port}" if ":" in name else f"http://{name}:{port}"


def loopback_warning(server: Server) -> str:
    """Why the links in replies may lead clients to their own machines, or "" where they don't."""
    if server.public_url:
        if _is_loopback(server.host) or not _is_loopback(urlsplit(server.public_url).hostname or ""):
            return ""
        return (
            f"server.public_url is {server.public_url}, but the server listens on {server.host}. "
            "The links to references in replies lead each client to its own machine. "
            "Set it to an address that clients reach."
        )
    if _is_loopback(server.host) and server.has_keys:
        return (
            f"server.public_url is not set, and the server listens on {server.host}. "
            "If clients come through another server, the links to references in replies may lead them to "
            "their own machines. Set it to the address that clients use."
        )
    return ""


def _is_loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
