"""What the gateway benchmarks compare, each a process of its own on a port of 127.0.0.1."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.gateways_load import Target

START_SECONDS = 180

KEY = f"sk-{secrets.token_hex(24)}"
"""What clients must send: LiteLLM's proxy doesn't start without one, so that Vouch asks for it too."""

ON_LOOPBACK = (
    "data:text/javascript,import{Server}from'node:net';const listen=Server.prototype.listen;"
    "Server.prototype.listen=function(port,host,...rest)"
    "{return listen.call(this,port,host||'127.0.0.1',...rest)}"
)
"""Portkey's gateway has no option for the address that it listens on."""


class NotStartedError(Exception):
    """A server ended, or gave no answer in time; its log says why."""


@dataclass(frozen=True, slots=True)
class Process:
    """What one process holds, in MB: all that is mapped and in memory, and the same with what it shares with
    others divided among them (PSS), so that the sum over processes is what they take together."""

    command: str
    resident: float
    proportional: float


@dataclass(frozen=True, slots=True)
class Running:
    """A server that answers."""

    url: str
    pid: int

    def memory(self) -> float:
        """MB that the process and those it started hold."""
        return sum(map(_resident, (self.pid, *_children(self.pid))))

    def processes(self) -> list[Process]:
        """The process and those it started, as they are now."""
        return [_process(pid) for pid in (self.pid, *_children(self.pid))]

    def computed(self) -> float:
        """Seconds for which the process and those it started have used a processor."""
        return sum(map(_computed, (self.pid, *_children(self.pid))))

    def files(self) -> int:
        """Files and connections that they have open."""
        return sum(len(list(Path(f"/proc/{pid}/fd").iterdir())) for pid in (self.pid, *_children(self.pid)))


def replies_file(folder: Path, texts: list[str], name: str = "replies") -> Path:
    """The upstream's replies, by number."""
    path = folder / f"{name}.json"
    path.write_text(json.dumps(texts, ensure_ascii=False), encoding="utf-8")
    return path


def upstream(
    folder: Path, replies: Path, corrected: Path | None = None
) -> contextlib.AbstractContextManager[Running]:
    """The server that writes the replies, and where it is asked to correct one, the corrected text."""
    port = free_port()
    module = ["-m", "benchmarks.gateways_upstream", "--replies", str(replies), "--port", str(port)]
    module += ["--corrected", str(corrected)] if corrected else []
    return running(folder, "upstream", [sys.executable, *module], port)


def vouch(
    folder: Path,
    upstream_url: str,
    index: Path,
    settings: Mapping[str, str] | None = None,
    *,
    upstream_key: str = "sk-bench",
    others: Mapping[str, str] | None = None,
) -> contextlib.AbstractContextManager[Running]:
    """This proxy over an index, with places for 256 chats; `settings` are `VOUCH_` variables. `others` are
    further models by name, with the addresses of their upstreams."""
    port = free_port()
    command = [sys.executable, "-m", "proxy", "serve", "--index", str(index), "--port", str(port)]
    models = {"bench": upstream_url, **(others or {})}.items()
    more = {
        "VOUCH_UPSTREAMS": json.dumps(
            [{"model": f"openai/{name}", "api_base": url, "api_key": upstream_key} for name, url in models]
        ),
        "VOUCH_SERVER__LOG_LEVEL": "warning",
        "VOUCH_SERVER__API_KEYS": json.dumps([KEY]),
        "VOUCH_SERVER__MAX_CONCURRENCY": "256",
        "VOUCH_VERIFICATION__DEADLINE": "600",
        **(settings or {}),
    }
    return running(folder, "vouch", command, port, more)


GUARDRAIL = """
from litellm.integrations.custom_guardrail import CustomGuardrail


class Nothing(CustomGuardrail):
    async def async_post_call_success_hook(self, data, user_api_key_dict, response):
        return response

    async def async_post_call_streaming_iterator_hook(self, user_api_key_dict, response, request_data):
        async for item in response:
            yield item
"""
"""A guardrail of LiteLLM's proxy that looks at every reply and does nothing with it."""


def litellm(
    folder: Path, upstream_url: str, python: Path, *, guardrail: bool = False
) -> contextlib.AbstractContextManager[Running]:
    """LiteLLM's proxy, one worker, from the environment that `python` belongs to, maybe with a guardrail."""
    port, name = free_port(), "guardrail" if guardrail else "litellm"
    params = {"model": "openai/bench", "api_base": upstream_url, "api_key": "sk-bench"}
    hook = {"guardrail": "nothing.Nothing", "mode": "post_call", "default_on": True}
    config: dict[str, object] = {"model_list": [{"model_name": "bench", "litellm_params": params}]}
    if guardrail:
        (folder / "nothing.py").write_text(GUARDRAIL)
        config["guardrails"] = [{"guardrail_name": "nothing", "litellm_params": hook}]
    path = folder / f"{name}.yaml"
    path.write_text(json.dumps(config))
    options = ["--host", "127.0.0.1", "--port", str(port), "--num_workers", "1"]
    command = [str(python.with_name("litellm")), "--config", str(path), *options]
    return running(folder, name, command, port, {"LITELLM_MASTER_KEY": KEY})


def portkey(folder: Path, start_server: Path) -> contextlib.AbstractContextManager[Running]:
    """Portkey's gateway; the upstream is named in each request."""
    port = free_port()
    command = ["node", "--import", ON_LOOPBACK, str(start_server), f"--port={port}", "--headless"]
    return running(folder, "portkey", command, port, {"NODE_ENV": "production"})


def portkey_target(url: str, upstream_url: str) -> Target:
    """Where Portkey's gateway is, and what it must be told."""
    headers = {"x-portkey-provider": "openai", "x-portkey-custom-host": upstream_url}
    return Target(url, "bench", KEY, headers)


@contextlib.contextmanager
def running(
    folder: Path, name: str, command: list[str], port: int, more: Mapping[str, str] | None = None
) -> Iterator[Running]:
    """The command, from when it answers until the block ends. Raises `NotStartedError`."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("VOUCH_")}
    path = os.pathsep.join(filter(None, (str(Path.cwd()), os.environ.get("PYTHONPATH"))))
    environment = {**kept, "PYTHONPATH": path, **(more or {})}
    log = folder / f"{name}.log"
    with (
        log.open("wb") as out,
        subprocess.Popen(command, stdout=out, stderr=out, cwd=folder, env=environment) as process,
    ):
        try:
            _wait(process, port, log)
            yield Running(f"http://127.0.0.1:{port}/v1", process.pid)
        finally:
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(15)
            process.kill()


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def _wait(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        with contextlib.suppress(OSError, http.client.HTTPException):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=START_SECONDS)
            with contextlib.closing(connection):
                connection.request("GET", "/")
                connection.getresponse()
                return  # whatever it says: it speaks
        time.sleep(0.2)
    raise NotStartedError(f"{process.args!r} did not start:\n{log.read_text(errors='replace')[-2000:]}")


def _computed(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2]
    user, system = fields.split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def _resident(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
    lines = (line for line in status.splitlines() if line.startswith("VmRSS:"))
    return sum(int(line.split()[1]) for line in lines) / 1024


def _process(pid: int) -> Process:
    command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii", errors="replace")
    kilobytes = {line.split()[0]: int(line.split()[1]) for line in rollup.splitlines()[1:]}
    return Process(command.strip(), kilobytes["Rss:"] / 1024, kilobytes["Pss:"] / 1024)


def _children(pid: int) -> list[int]:
    children: list[int] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in map(int, (task / "children").read_text().split()):
            children += [child, *_children(child)]
    return children
