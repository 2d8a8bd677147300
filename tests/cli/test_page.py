"""`vouch open`, and the warning about links that lead nowhere."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import pytest

from proxy.cli.page import base_address, loopback_warning
from proxy.config.settings import Server
from tests.cli.test_cli import one_line, vouch


def test_open_hands_the_address_to_the_browser_and_prints_it(tmp_path: Path, base_url: str) -> None:
    port = str(urlsplit(base_url).port)
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {tmp_path}/opened\n', encoding="utf-8")
    browser.chmod(0o755)
    done = vouch("open", "--port", port, folder=tmp_path, BROWSER=f"{browser} %s")
    assert (done.returncode, done.stdout.strip()) == (0, f"http://127.0.0.1:{port}/")
    assert (tmp_path / "opened").read_text().strip() == f"http://127.0.0.1:{port}/"


def test_open_says_what_is_missing(tmp_path: Path) -> None:
    assert "vouch serve" in one_line(vouch("open", "--port", "9", folder=tmp_path))
    off = vouch("open", folder=tmp_path, VOUCH_WEB__ENABLED="false")
    assert "web.enabled" in one_line(off)


def test_a_wildcard_is_no_address_for_a_browser() -> None:
    assert base_address("0.0.0.0", 80) == "http://127.0.0.1:80"
    assert base_address("::", 80) == "http://[::1]:80"
    assert base_address("vouch.example", 80) == "http://vouch.example:80"


@pytest.mark.parametrize(
    ("server", "warned"),
    [
        ({}, False),
        ({"host": "0.0.0.0"}, False),
        ({"host": "0.0.0.0", "public_url": "https://vouch.example"}, False),
        ({"host": "0.0.0.0", "public_url": "http://localhost:8000"}, True),
        ({"host": "127.0.0.1", "public_url": "http://127.0.0.1:8000"}, False),
        ({"api_keys": ["k"]}, True),
        ({"api_keys": ["k"], "public_url": "https://vouch.example"}, False),
    ],
)
def test_links_that_lead_clients_to_their_own_machines_are_warned_of(
    server: dict[str, object], warned: bool
) -> None:
    assert ("server.public_url" in loopback_warning(Server.model_validate(server))) is warned
