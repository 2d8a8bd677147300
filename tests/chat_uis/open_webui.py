"""Open WebUI as its administrator and its user see it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx

from tests.chat_uis.programs import EXAMPLES

if TYPE_CHECKING:
    from playwright.sync_api import FrameLocator, Locator, Page

FILTER = EXAMPLES / "open_webui" / "vouch_verdicts.py"


def install_filter(address: str, model: str, **vouch: Any) -> None:
    """Does what the documentation says: adds the filter, switches it on, ticks it for the model, and gives
    the model a custom parameter `vouch`."""
    with httpx.Client(base_url=f"{address}/api/v1", timeout=60) as http:
        token = http.post("/auths/signin", json={"email": "", "password": ""}).json()["token"]
        http.headers["authorization"] = f"Bearer {token}"
        function = {
            "id": "vouch_verdicts",
            "name": "Vouch verdicts",
            "content": FILTER.read_text(encoding="utf-8"),
            "meta": {"description": "Verdicts", "manifest": {}},
        }
        http.post("/functions/create", json=function).raise_for_status()
        http.post("/functions/id/vouch_verdicts/toggle").raise_for_status()
        entry = {
            "id": model,
            "base_model_id": None,
            "name": model,
            "meta": {"filterIds": ["vouch_verdicts"]},
            "params": {"custom_params": {"vouch": json.dumps(vouch)}},
            "is_active": True,
        }
        http.post("/models/create", json=entry).raise_for_status()


class Chat:
    """A new chat with a model."""

    def __init__(self, page: Page, address: str, model: str) -> None:
        self.page = page
        page.goto(f"{address}/?models={model}")
        self._input = page.locator("#chat-input")
        self._input.wait_for()
        news = page.get_by_role("dialog")
        try:
            news.first.wait_for(timeout=5000)
            page.keyboard.press("Escape")
        except page_timeout():
            pass

    def upload(self, file: Path) -> None:
        """Adds a file to the next message."""
        self.page.locator("input[type=file]").first.set_input_files(file)
        self.page.get_by_text(file.name).first.wait_for()

    def ask(self, text: str) -> Locator:
        """Asks, and waits for the whole reply."""
        replies = self.page.get_by_role("button", name="Good Response")
        number = replies.count()
        self._input.click()
        self.page.keyboard.insert_text(text)
        self.page.keyboard.press("Enter")
        replies.nth(number).wait_for()
        return self.page.locator("#messages-container")

    @property
    def verdicts(self) -> FrameLocator:
        """What the filter shows for the last reply."""
        return self.page.frame_locator("iframe").last


def page_timeout() -> type[Exception]:
    """What Playwright raises where nothing came in time."""
    from playwright.sync_api import TimeoutError as PlaywrightTimeoutError

    return PlaywrightTimeoutError
