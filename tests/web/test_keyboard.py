"""The page with the keyboard alone: nothing is clicked, and the focus is never lost."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.scripted_upstream import Upstream
from tests.server.facts import FALSE, TRUE, TRUE_TOO, UNKNOWN
from tests.web.browsing import Held, home, ready

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

pytestmark = pytest.mark.timeout(400)

QUESTION = "What do you know about the Eiffel Tower?"
MOST_STEPS = 25


def step_to(page: Page, wanted: Locator, key: str = "Tab") -> None:
    """Goes there as a reader without a mouse does."""
    from playwright.sync_api import expect

    expect(wanted).to_be_visible()
    for _ in range(MOST_STEPS):
        page.keyboard.press(key)
        if wanted.evaluate("element => element === document.activeElement"):
            return
    raise AssertionError(f"{MOST_STEPS} times {key} did not reach {wanted}")


def test_the_keyboard_is_enough(page: Page, base_url: str, upstream: Upstream, tmp_path: Path) -> None:
    from playwright.sync_api import expect

    upstream.answer = lambda _body: f"{TRUE} {UNKNOWN}"
    panel = page.locator("#panel")
    page.goto(home(base_url))
    ready(page)
    question = page.locator("#question")
    expect(question).to_be_focused()
    page.keyboard.type(QUESTION)
    page.keyboard.press("Enter")
    expect(page.locator(".turn button.report")).to_be_visible()
    ready(page)
    expect(question).to_be_focused()

    cite = page.locator(".answer button.cite")
    step_to(page, cite, "Shift+Tab")
    page.keyboard.press("Enter")
    expect(panel.locator("mark")).to_contain_text("330 metres")
    expect(panel).to_be_focused()
    step_to(page, panel.get_by_role("button", name="Show what stands around it"))
    page.keyboard.press("Enter")
    expect(panel.locator(".around").first).to_be_visible()
    expect(panel).to_be_focused()
    page.keyboard.press("Escape")
    expect(cite).to_be_focused()
    step_to(page, page.locator("button.report"))
    with page.expect_download() as download:
        page.keyboard.press("Enter")
    download.value.save_as(tmp_path / "report.html")
    assert QUESTION in (tmp_path / "report.html").read_text(encoding="utf-8")

    ask, check, corpus = (page.get_by_role("tab", name=name) for name in ("Ask", "Check", "Corpus"))
    step_to(page, ask, "Shift+Tab")
    for key, tab in (("End", corpus), ("ArrowRight", ask), ("ArrowLeft", corpus), ("Home", ask)):
        page.keyboard.press(key)
        expect(tab).to_be_focused()
        expect(tab).to_have_attribute("aria-selected", "true")
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tabpanel", name="Check")).to_be_visible()
    step_to(page, page.get_by_label("Text to check"))
    page.keyboard.insert_text(f"{TRUE} {FALSE}")
    send = page.locator("#check-send")
    step_to(page, send)
    page.keyboard.press("Enter")
    sign = page.locator("#checked button.sign")
    expect(sign).to_be_visible()
    expect(send).to_be_enabled()
    expect(send).to_be_focused()
    expect(page.locator("#check-status")).to_contain_text("Done in")
    step_to(page, sign)
    page.keyboard.press("Enter")
    expect(panel.locator(".failure")).to_be_visible()
    page.keyboard.press("Escape")
    expect(sign).to_be_focused()

    step_to(page, check, "Shift+Tab")
    page.keyboard.press("ArrowRight")
    expect(corpus).to_be_focused()
    step_to(page, page.locator("#query"))
    page.keyboard.type("How tall is the Eiffel Tower?")
    search = page.locator("#search-send")
    step_to(page, search)
    page.keyboard.press("Enter")
    hit = page.locator(".hit button").first
    expect(hit).to_be_visible()
    expect(search).to_be_focused()
    step_to(page, hit)
    page.keyboard.press("Enter")
    expect(panel.locator("blockquote")).to_contain_text("330 metres")
    page.keyboard.press("Escape")
    expect(hit).to_be_focused()


def test_the_focus_stays_when_the_answer_is_complete(page: Page, base_url: str, upstream: Upstream) -> None:
    from playwright.sync_api import expect

    held = Held(f"{TRUE} {UNKNOWN} {TRUE_TOO}")
    held.release = threading.Event()
    upstream.answer = lambda _body: held
    page.goto(home(base_url))
    ready(page)
    cite = page.locator(".answer button.cite").first
    try:
        page.keyboard.type(QUESTION)
        page.keyboard.press("Enter")
        step_to(page, cite, "Shift+Tab")
        page.keyboard.press("Enter")
        expect(page.locator("#panel mark")).to_contain_text("330 metres")
    finally:
        held.release.set()
    expect(page.locator(".turn button.report")).to_be_visible()
    page.keyboard.press("Escape")
    expect(cite).to_be_focused()
    page.locator("#language").evaluate("button => button.click()")
    expect(page.locator("#send")).to_have_text("提问")
    expect(cite).to_be_focused()


def test_who_stops_an_answer_can_ask_the_next(page: Page, base_url: str, upstream: Upstream) -> None:
    from playwright.sync_api import expect

    held = Held(f"{TRUE} {UNKNOWN}")
    held.release = threading.Event()
    upstream.answer = lambda _body: held
    page.goto(home(base_url))
    ready(page)
    try:
        page.keyboard.type(QUESTION)
        page.keyboard.press("Enter")
        expect(page.locator(".claim.supported")).to_be_visible()
        step_to(page, page.locator("#stop"))
        page.keyboard.press("Enter")
        expect(page.locator("#ask-status")).to_have_text("Stopped")
        expect(page.locator("#question")).to_be_focused()
    finally:
        held.release.set()
