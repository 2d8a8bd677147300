"""Real Milvus servers for tests, where their packages are installed: Milvus 2.3 (`milvus`), and Milvus Lite,
which speaks the protocol of newer ones and ranks by words."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import pytest

LITE, STANDALONE = "milvus_lite", "milvus"
_FIXED = (2380, 9091)
_START = {
    LITE: ["-c", "from milvus_lite.cmdline import main; main()", "server", "--port", "{port}", "--data-dir"],
    STANDALONE: ["-c", "from milvus import main; main()", "--proxy-port", "{port}", "--data"],
}


class MilvusServer:
    """A server in a process of its own, which can be killed and started again over the same data."""

    def __init__(self, kind: str, data: Path) -> None:
        self._kind = kind
        self._data = data
        self._port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self.uri = f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        """Returns when it answers."""
        arguments = [part.format(port=self._port) for part in _START[self._kind]]
        with (self._data.parent / f"{self._data.name}.log").open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, *arguments, str(self._data)], stdout=log, stderr=log, start_new_session=True
            )
        import pymilvus

        until = time.monotonic() + 90
        while True:
            try:
                client = pymilvus.MilvusClient(uri=self.uri, timeout=5)
                client.list_collections(timeout=5)
                client.close()
            except pymilvus.MilvusException:
                if time.monotonic() > until or self._process.poll() is not None:
                    pytest.fail("the server does not start; its log is beside its data")
                time.sleep(0.5)
            else:
                return

    def kill(self) -> None:
        """At once, as a power cut would."""
        if self._process is not None:
            subprocess.run(["pkill", "-KILL", "-s", str(self._process.pid)], check=False)
            self._process.wait()
            self._process = None


def require(kind: str) -> None:
    """Skips the test where that server, or the client, is not installed."""
    for package in ("pymilvus", kind):
        if find_spec(package) is None:
            pytest.skip(f"needs the package {package}: pip install pymilvus {kind.replace('_', '-')}")
    if kind == LITE and int(version("pymilvus").partition(".")[0]) < 3:
        pytest.skip("Milvus Lite answers in the protocol of the pymilvus beside it, and needs 3.0 or newer")
    if kind == STANDALONE and any(map(_taken, _FIXED)):
        pytest.skip(
            f"another Milvus runs on this machine: it takes the ports {_FIXED}, which can't be chosen"
        )


def _taken(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port
