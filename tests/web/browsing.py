"""What the browser tests share: waiting for what is seen, and for what the upstream has received."""

from __future__ import annotations

import asyncio
import shutil
import threading
import time
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any

import pytest
from aiohttp import web

from tests.scripted_upstream import Reply, Upstream

if TYPE_CHECKING:
    from playwright.sync_api import Dialog, Locator, Page

SECONDS = 30
"""How long anything may take to be seen: the machines of continuous integration are slow."""
ARRIVES = 20
"""How long a request may take to arrive at the upstream."""


def chromium() -> str:
    """The browser's path. Skips the test where it is missing."""
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if found is None:
        pytest.skip("Chromium is not installed (Debian: apt-get install chromium)")
    return found


class Watched:
    """A page, and everything it complained about."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.complaints: list[str] = []
        page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        page.on("console", lambda message: self._said(message.type, message.text))
        page.on("dialog", self._asked)

    def _asked(self, dialog: Dialog) -> None:
        self.complaints.append(f"a dialog: {dialog.message}")
        dialog.dismiss()

    def _said(self, kind: str, text: str) -> None:
        if kind in ("error", "warning") and not text.startswith("Failed to load resource"):
            self.complaints.append(text)


class Held(Reply):
    """A reply whose last chunk is held back until `release` is set."""

    release: threading.Event

    async def _paced(self, request: web.Request, body: dict[str, Any]) -> AsyncIterator[bytes]:
        pieces = [piece async for piece in super()._paced(request, body)]
        for piece in pieces[:-4]:
            yield piece
        await asyncio.to_thread(self.release.wait, ARRIVES)
        for piece in pieces[-4:]:
            yield piece


def home(base_url: str) -> str:
    """The page's address."""
    return base_url.removesuffix("/v1") + "/"


def ready(page: Page) -> None:
    """Waits until a question can be asked."""
    from playwright.sync_api import expect

    expect(page.locator("#model option").first).to_be_attached()
    expect(page.locator("#send")).to_be_enabled()
    expect(page.locator("#stop")).to_be_hidden()


def begin(page: Page, question: str) -> Locator:
    """Asks, once the page is ready for it. The turn, as soon as it is there."""
    from playwright.sync_api import expect

    ready(page)
    turns = page.locator(".turn")
    number = turns.count()
    page.locator("#model").select_option("test")
    page.locator("#question").fill(question)
    page.locator("#send").click()
    expect(turns).to_have_count(number + 1)
    return turns.nth(number)


def ask(page: Page, question: str) -> Locator:
    """Asks and waits for the whole answer, and until the next question can be asked. The turn."""
    from playwright.sync_api import expect

    turn = begin(page, question)
    expect(turn.locator("button.report")).to_be_visible()
    ready(page)
    return turn


def received(upstream: Upstream, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """The first body of that kind that the upstream has received. Waits until it has."""
    until = time.monotonic() + ARRIVES
    while time.monotonic() < until:
        for request in list(upstream.requests):
            if wanted(request.body):
                return dict(request.body)
        time.sleep(0.02)
    raise AssertionError(f"the upstream received no such request within {ARRIVES} s")
