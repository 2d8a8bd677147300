"""The chat UIs: where each is installed, and how it is started before a server of Vouch."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import httpx

if TYPE_CHECKING:
    from playwright.sync_api import Page

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "examples"
STARTS = 300
"""Seconds that a UI may take to start: Open WebUI makes its database first."""
ENDS = 20
KEPT = ("PATH", "HOME", "LANG", "SSL_CERT_FILE")
"""What a UI sees of this process's environment."""
OFFLINE = {"HF_HUB_OFFLINE": "1", "ANONYMIZED_TELEMETRY": "False", "DO_NOT_TRACK": "True"}

Command = tuple[list[str | Path], Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class ChatUI:
    """A program. `command(base_url, model, port, folder)` says how it is run and in which environment."""

    name: str
    command: Callable[[str, str, int, Path], Command]

    @property
    def bin(self) -> Path:
        """The folder of its programs."""
        return HERE / f".venv-{self.name}" / "bin"

    @property
    def missing(self) -> str:
        """What to do if it is not installed; else empty."""
        return "" if self.bin.exists() else f"tests/chat_uis/.venv-{self.name} is not there: `make chat-uis`"


def _open_webui(base_url: str, _model: str, port: int, folder: Path) -> Command:
    environ = {
        "DATA_DIR": str(folder),
        "OPENAI_API_BASE_URL": base_url,
        "OPENAI_API_KEY": "none",
        "WEBUI_AUTH": "False",
        "WEBUI_SECRET_KEY": "tests",
        "ENABLE_OLLAMA_API": "False",
        "OFFLINE_MODE": "True",
        "ENABLE_VERSION_UPDATE_CHECK": "False",
        # Uploads are sent whole, so it needs no model for embeddings.
        "BYPASS_EMBEDDING_AND_RETRIEVAL": "True",
        "RAG_EMBEDDING_ENGINE": "openai",
    }
    return [OPEN_WEBUI.bin / "open-webui", "serve", "--host", "127.0.0.1", "--port", str(port)], environ


def _gradio(base_url: str, model: str, port: int, _folder: Path) -> Command:
    environ = {"GRADIO_SERVER_PORT": str(port), "GRADIO_ANALYTICS_ENABLED": "False"}
    return [GRADIO.bin / "python", EXAMPLES / "gradio" / "app.py"], {**environ, **_vouch(base_url, model)}


def _chainlit(base_url: str, model: str, port: int, _folder: Path) -> Command:
    app = EXAMPLES / "chainlit" / "app.py"
    command: list[str | Path] = [CHAINLIT.bin / "chainlit", "run", app, "--headless", "--port", str(port)]
    return command, _vouch(base_url, model)


def _vouch(base_url: str, model: str) -> dict[str, str]:
    return {"VOUCH_URL": base_url, "VOUCH_MODEL": model}


OPEN_WEBUI = ChatUI("open-webui", _open_webui)
GRADIO = ChatUI("gradio", _gradio)
CHAINLIT = ChatUI("chainlit", _chainlit)


def ask_chainlit(page: Page, text: str) -> None:
    """Asks in Chainlit, once it is connected and has finished the reply before."""
    from playwright.sync_api import expect

    page.locator("#chat-input").click()
    page.keyboard.insert_text(text)
    expect(page.locator("#chat-submit")).to_be_enabled()
    page.keyboard.press("Enter")


@contextmanager
def started(ui: ChatUI, base_url: str, model: str, folder: Path) -> Iterator[str]:
    """The address of the UI, which keeps its files in the folder. Raises `RuntimeError` where it does not
    start."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command, environ = ui.command(base_url, model, port, folder)
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    log = folder / "log.txt"
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            env={**kept, **OFFLINE, **environ},
            cwd=folder,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            address = f"http://127.0.0.1:{port}"
            _wait(address, process, log)
            yield address
        finally:
            os.killpg(process.pid, signal.SIGTERM)
            try:
                process.wait(ENDS)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def _wait(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + STARTS
    while process.poll() is None and time.monotonic() < until:
        try:
            if httpx.get(address, timeout=5).status_code == httpx.codes.OK:
                return
        except httpx.HTTPError:
            pass
        time.sleep(0.5)
    raise RuntimeError(f"it did not start: {log.read_text(errors='replace')[-2000:]}")
