"""One hostile client on a server as `vouch serve` starts it, a process of its own: its neighbours go on."""

from __future__ import annotations

import contextlib
import json
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
import yaml

from tests.scripted_upstream import Upstream
from tests.server.facts import TRUE
from tests.serving import until

HOSTILE, POLITE = "key-of-a-hostile-client", "key-of-a-neighbour"
LONG = "tower of iron " * 21_500
"""300,000 characters without punctuation."""
TRIES = 3
"""How often an attack is tried at most: other programs of the machine may take seconds too, once."""


@pytest.fixture(scope="module")
def url(
    tmp_path_factory: pytest.TempPathFactory, example_index: Path, session_upstream: Upstream
) -> Iterator[str]:
    """The server's base URL, without `/v1`."""
    folder = tmp_path_factory.mktemp("neighbours")
    keys = [{"name": "hostile", "key": HOSTILE}, {"name": "polite", "key": POLITE}]
    settings = {
        "server": {"port": 0, "api_keys": keys, "drain": 0},
        "index": {"path": str(example_index)},
        "upstreams": [{"model": "openai/test", "api_base": session_upstream.url, "api_key": "k"}],
    }
    (folder / "config.yaml").write_text(yaml.safe_dump(settings))
    command = [sys.executable, "-m", "proxy", "serve"]
    with (
        (folder / "log").open("w") as log,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, cwd=folder) as process,
    ):
        assert process.stdout is not None
        addresses = (re.search(r"^Listening on (http://\S+)/v1", line) for line in process.stdout)
        address = next(filter(None, addresses), None)
        assert address, (folder / "log").read_text()
        until(lambda: _answers(address[1]))
        yield address[1]
        process.kill()


def _answers(url: str) -> bool:
    with contextlib.suppress(httpx.HTTPError):
        return httpx.get(f"{url}/readyz", timeout=60).status_code == 200
    return False


def least(seconds: Callable[[], float], bound: float) -> float:
    """The shortest time that the attack came to; it is not tried again once that is within the bound."""
    shortest = seconds()
    for _ in range(TRIES - 1):
        if shortest >= bound:
            shortest = min(shortest, seconds())
    return shortest


def chat(url: str, key: str, timeout: float = 120) -> httpx.Response:
    body = {"model": "test", "messages": [{"role": "user", "content": key}], "vouch": {"max_rounds": 0}}
    return httpx.post(
        f"{url}/v1/chat/completions",
        json=body,
        headers={"authorization": f"Bearer {key}"},
        timeout=httpx.Timeout(120, read=timeout),
    )


def test_a_chat_beside_a_long_text_whose_client_left_is_answered_in_five_seconds(
    url: str, upstream: Upstream
) -> None:
    upstream.answer = lambda body: LONG if HOSTILE in str(body) else TRUE

    def neighbour() -> float:
        with pytest.raises(httpx.ReadTimeout):  # else the attack is none: it was answered within a second
            chat(url, HOSTILE, timeout=1)
        begun = time.perf_counter()
        answer = chat(url, POLITE)
        took = time.perf_counter() - begun
        assert answer.status_code == 200
        assert [claim["verdict"] for claim in answer.json()["verification"]["claims"]] == ["supported"]
        return took

    assert least(neighbour, 5) < 5


def test_health_takes_less_than_a_second_while_60_megabytes_of_header_come(url: str) -> None:
    port = int(url.rpartition(":")[2])
    line = b"x-long: " + b"a" * 65_000 + b"\r\n"
    sent = 0

    def attack() -> None:
        """Headers that don't end, one connection after the other."""
        nonlocal sent
        while sent < 60_000_000:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 60) as client:
                client.sendall(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n")
                while sent < 60_000_000:
                    client.sendall(line)
                    sent += len(line)

    def health() -> float:
        nonlocal sent
        sent, worst = 0, 0.0
        attacking = threading.Thread(target=attack)
        attacking.start()
        with httpx.Client(timeout=60) as client:
            while attacking.is_alive():
                begun = time.perf_counter()
                assert json.loads(client.get(f"{url}/healthz").content) == {"status": "ok"}
                worst = max(worst, time.perf_counter() - begun)
        attacking.join()
        return worst

    assert least(health, 1) < 1
