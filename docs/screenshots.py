"""Makes docs/images/*.png: the page as Chromium shows it, over the examples and the embedded demo, and the
chat UIs that `make chat-uis` has installed.

make pictures, which first indexes the examples in index/
"""

from __future__ import annotations

import io
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, expect, sync_playwright

from proxy.cli import demo
from tests.chat_uis.open_webui import Chat, install_filter
from tests.chat_uis.programs import CHAINLIT, GRADIO, OPEN_WEBUI, ChatUI, ask_chainlit, started

IMAGES = Path(__file__).with_name("images")
INDEX = Path(__file__).parent.parent / "index"
MOST_BYTES = 200_000
COLOURS = 256
SECONDS = 120
PASSAGE = "iframe[src*='/v1/references/']"
"""The frame with a passage beside a chat."""
TEXT = (
    "The Eiffel Tower was inaugurated on 31 March 1889. "
    "The iron frame of the Eiffel Tower weighs about 9,150 tonnes. "
    "Lake Baikal holds about one fifth of the world's fresh surface water."
)


def main() -> None:
    """Serves the examples and takes every picture."""
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        sys.exit("Chromium is not installed (Debian: apt-get install chromium).")
    IMAGES.mkdir(exist_ok=True)
    expect.set_options(timeout=1000 * SECONDS)
    if not (INDEX / "manifest.json").exists():
        sys.exit("The examples are not indexed: run make pictures.")
    with sync_playwright() as playwright:
        # Root, as in a container, has no sandbox in Chromium; what it opens here is our own.
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=chromium, args=sandbox, timeout=1000 * SECONDS)
        framed = {"VOUCH_SERVER__FRAME_ANCESTORS": '["http://127.0.0.1:*"]'}
        options = ("--model", demo.MODEL)
        with demo.server(INDEX, *options, patience=10 * SECONDS, settings=framed) as base_url:
            home = base_url.removesuffix("v1")
            take_ask(browser, home)
            take_check(browser, home)
            take_corpus(browser, home)
            take_phone(browser, home)
            for ui, take in ((OPEN_WEBUI, take_open_webui), (GRADIO, take_gradio), (CHAINLIT, take_chainlit)):
                take_chat_ui(browser, base_url, ui, take)
        browser.close()


def take_ask(browser: Browser, home: str) -> None:
    """An answer with what was corrected, its time line, and a passage beside it."""
    with opened(browser, home, width=1240, height=690) as page:
        ask(page, demo.QUESTION)
        page.locator(".timeline summary").click()
        page.locator(".answer button.cite").first.click()
        expect(page.locator("#panel mark")).to_be_visible()
        save(page, "page-ask")
        page.locator("button.corrected").first.click()
        expect(page.locator("#panel .failure")).to_be_visible()
        save(page, "page-correction")


def take_check(browser: Browser, home: str) -> None:
    """A pasted text with a statement that the documents contradict."""
    with opened(browser, home + "#check", width=1240, height=900) as page:
        page.locator("#text").fill(TEXT)
        page.locator("#check-send").click()
        expect(page.locator("#checked button.report")).to_be_visible()
        page.locator("#checked button.sign").first.click()
        expect(page.locator("#panel .failure")).to_be_visible()
        save(page, "page-check")


def take_corpus(browser: Browser, home: str) -> None:
    """What a query finds, and by which half of the search."""
    with opened(browser, home + "#corpus", width=1240, height=690) as page:
        page.locator("#query").fill("How deep is Lake Baikal?")
        page.locator("#search-send").click()
        expect(page.locator(".hit").first).to_be_visible()
        save(page, "page-corpus")


def take_phone(browser: Browser, home: str) -> None:
    """The same in Chinese, dark, on a phone."""
    with opened(browser, home, width=390, height=780, locale="zh-CN", dark=True) as page:
        ask(page, "张衡发明了什么？")
        page.locator(".turn").scroll_into_view_if_needed()
        save(page, "page-phone")


def take_chat_ui(browser: Browser, base_url: str, ui: ChatUI, take: Callable[[Page, str], None]) -> None:
    """The pictures of a chat UI, where it is installed."""
    if ui.missing:
        print(f"No pictures of {ui.name}: {ui.missing}")
        return
    with tempfile.TemporaryDirectory() as folder, started(ui, base_url, demo.MODEL, Path(folder)) as address:
        context = browser.new_context(locale="en-GB", viewport={"width": 1100, "height": ui_height(ui)})
        context.set_default_timeout(1000 * SECONDS)
        take(context.new_page(), address)
        context.close()


def ui_height(ui: ChatUI) -> int:
    """How high a chat UI's window is: so that the whole reply is seen."""
    return {"open-webui": 940, "gradio": 720}.get(ui.name, 680)


def take_open_webui(page: Page, address: str) -> None:
    """A reply with chips and verdicts, and its sources: alone, and beside the chat."""
    install_filter(address, demo.MODEL)
    chat = Chat(page, address, demo.MODEL)
    shown = chat.ask(demo.QUESTION)
    expect(page.locator("[data-sonner-toast]")).to_have_count(0)  # "You're now logged in."
    chips = shown.get_by_role("button", name="View source: Eiffel Tower")
    chips.last.click()
    expect(page.frame_locator(PASSAGE).locator("mark")).to_be_visible()
    save(page, "open-webui-beside")
    page.get_by_role("button", name="Close embed").click()
    shown.get_by_role("button", name="Sources").click()
    shown.get_by_role("button", name="View source: 4").click()
    expect(page.get_by_role("dialog").locator("strong").first).to_be_visible()
    save(page, "open-webui-source")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    chat.verdicts.locator("#all > summary").click()
    chat.verdicts.locator("details.unverified summary").first.click()
    page.wait_for_timeout(1000)  # the frame grows
    save(page, "open-webui")


def take_gradio(page: Page, address: str) -> None:
    """A reply with links and its list of sources."""
    page.goto(address)
    box = page.get_by_role("textbox").first
    box.fill(demo.QUESTION)
    box.press("Enter")
    expect(page.get_by_test_id("bot").last.locator("li a").first).to_be_visible()
    expect(page.locator(".progress-text, .eta-bar").locator("visible=true")).to_have_count(0)
    save(page, "gradio")


def take_chainlit(page: Page, address: str) -> None:
    """A reply with a passage beside it."""
    page.goto(address)
    ask_chainlit(page, demo.QUESTION)
    page.locator("a.element-link").last.click()
    expect(page.get_by_role("complementary").get_by_role("link")).to_have_count(1)
    save(page, "chainlit")


@contextmanager
def opened(
    browser: Browser, address: str, *, width: int, height: int, locale: str = "en-GB", dark: bool = False
) -> Iterator[Page]:
    """A page in a window of that size."""
    context = browser.new_context(
        locale=locale,
        color_scheme="dark" if dark else "light",
        viewport={"width": width, "height": height},
        device_scale_factor=1.5,
        reduced_motion="reduce",
    )
    context.set_default_timeout(1000 * SECONDS)
    page = context.new_page()
    page.goto(address)
    expect(page.locator("#model option").first).to_be_attached()
    yield page
    context.close()


def ask(page: Page, question: str) -> None:
    """Asks, and waits for the whole answer."""
    page.locator("#question").fill(question)
    page.locator("#send").click()
    expect(page.locator(".turn button.report")).to_be_visible()
    expect(page.locator("#send")).to_be_enabled()


def save(page: Page, name: str) -> None:
    """Takes the picture. Fails where it is too large for a document."""
    path = IMAGES / f"{name}.png"
    page.mouse.move(0, 0)
    shot = page.screenshot(animations="disabled", caret="hide")
    Image.open(io.BytesIO(shot)).convert("RGB").quantize(COLOURS).save(path, optimize=True)
    size = path.stat().st_size
    print(f"{path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path}: {size:,} bytes")
    if size > MOST_BYTES:
        sys.exit(f"{path.name} has over {MOST_BYTES:,} bytes.")


if __name__ == "__main__":
    main()
