"""Chat UIs before the real server, in Chromium: what a reader sees, and what the next turn sends."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.chat_uis.open_webui import Chat, install_filter
from tests.chat_uis.programs import CHAINLIT, GRADIO, OPEN_WEBUI, ChatUI, ask_chainlit, started
from tests.scripted_upstream import Upstream
from tests.server.facts import TRUE, TRUE_TOO, UNKNOWN
from tests.serving import serving, settings_for
from tests.web.browsing import received

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    from proxy.cli.compose import Library

pytestmark = pytest.mark.timeout(900)

QUESTION = "What do you know about the Eiffel Tower?"
NEXT = "And how heavy is it?"
DRAFT = f"{TRUE} {UNKNOWN} {TRUE_TOO}"
UPLOAD = "The Larch Lock was opened by nine goats in 1742."
TASKS = {
    "title": {"title": "Tower facts"},
    "tags": {"tags": ["Landmarks"]},
    "follow_ups": {"follow_ups": [NEXT]},
}


def text_of(message: dict[str, Any]) -> str:
    """What a message says; Gradio sends it in parts."""
    content = message["content"]
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def answer(body: dict[str, Any]) -> str:
    """What the model says: of tasks JSON, of an upload what it holds."""
    asked = text_of(body["messages"][-1])
    if "<source" in asked:
        return f"{UPLOAD} {TRUE}"
    for task, said in TASKS.items():
        if f'"{task}"' in asked:
            return json.dumps(said)
    return TRUE_TOO if asked.endswith(NEXT) else DRAFT


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(locale="en-GB", viewport={"width": 1100, "height": 800})
    context.set_default_timeout(60_000)
    yield context.new_page()
    context.close()


@pytest.fixture(scope="module", autouse=True)
def _installed_somewhere() -> None:
    """Spares the browser where none of them is installed."""
    if all(ui.missing for ui in (OPEN_WEBUI, GRADIO, CHAINLIT)):
        pytest.skip("no chat UI is installed: `make chat-uis`")


def needs(ui: ChatUI) -> pytest.MarkDecorator:
    return pytest.mark.skipif(bool(ui.missing), reason=ui.missing or "installed")


def second_turn(upstream: Upstream) -> str:
    """The first reply, as the second turn sends it to the model."""
    body = received(upstream, lambda body: text_of(body["messages"][-1]).endswith(NEXT))
    return next(text_of(each) for each in body["messages"] if each["role"] == "assistant")


@pytest.fixture(scope="module")
def vouch(session_upstream: Upstream, corpus: Library) -> Iterator[str]:
    """A server whose passages a chat UI may show in a frame."""
    server = {"frame_ancestors": ["http://127.0.0.1:*"]}
    with serving(settings_for(session_upstream.url, server=server), corpus) as url:
        yield url


@needs(OPEN_WEBUI)
def test_open_webui_shows_chips_sources_status_and_verdicts(
    page: Page, vouch: str, upstream: Upstream, tmp_path: Path
) -> None:
    from playwright.sync_api import expect

    upstream.answer = answer
    with started(OPEN_WEBUI, vouch, "test", tmp_path) as address:
        install_filter(address, "test", evidence="both", max_rounds=0)
        chat = Chat(page, address, "test")
        shown = chat.ask(QUESTION)
        expect(shown).to_contain_text("2 of 3 statements found")
        expect(shown).to_contain_text(f"{UNKNOWN} ⚠️")
        chips = shown.get_by_role("button", name="View source: Eiffel Tower")
        expect(chips).to_have_count(2)
        expect(page.get_by_role("heading", name="Tower facts")).to_be_visible()
        expect(chat.verdicts.locator("#all > summary")).to_have_text("✓ 2 supported ? 1 unsupported")
        expect(chat.verdicts.locator("details.unsupported summary")).to_contain_text(UNKNOWN)
        chips.first.click()
        passage = page.frame_locator("iframe[src*='/v1/references/']")
        expect(passage.locator("mark")).to_have_text(TRUE)
        page.get_by_role("button", name="Close embed").click()
        shown.get_by_role("button", name="2 Sources").click()
        expect(shown).to_contain_text("Eiffel Tower: Design and construction")
        shown.get_by_role("button", name="View source: 1").click()
        expect(page.get_by_role("dialog").locator("strong")).to_have_text(TRUE)
        page.keyboard.press("Escape")

        chat.ask(NEXT)
        assert second_turn(upstream) == DRAFT

        file = tmp_path / "locks.txt"
        file.write_text(f"{UPLOAD} It lies on the Alder Canal.", encoding="utf-8")
        chat = Chat(page, address, "test")
        chat.upload(file)
        shown = chat.ask("What is known about the lock?")
        shown.get_by_role("button", name="2 Sources").click()
        expect(shown.get_by_role("button", name="View source: locks.txt").first).to_be_visible()
        text = shown.inner_text()
        assert text.index(UPLOAD) < text.index("locks.txt", text.index(UPLOAD)) < text.index(TRUE)
        expect(chat.verdicts.locator("#all > summary")).to_have_text("✓ 2 supported")


@needs(GRADIO)
def test_gradio_shows_links_and_a_list_of_sources(
    page: Page, vouch: str, upstream: Upstream, tmp_path: Path
) -> None:
    from playwright.sync_api import expect

    upstream.answer = answer
    with started(GRADIO, vouch, "test", tmp_path) as address:
        page.goto(address)
        box = page.get_by_role("textbox").first
        box.fill(QUESTION)
        box.press("Enter")
        reply = page.get_by_test_id("bot").last
        expect(reply.locator("li")).to_have_count(2)
        expect(reply.locator("p a")).to_have_text(["(1)", "(2)"])
        expect(reply.locator("li a")).to_have_text(
            ["Eiffel Tower: Height", "Eiffel Tower: Design and construction"]
        )
        expect(reply).to_contain_text(f"{UNKNOWN} ⚠️")
        for link in reply.locator("a").all():
            assert (link.get_attribute("href") or "").startswith("https://vouch.example/corpus/eiffel-tower#")
        box.fill(NEXT)
        box.press("Enter")
        expect(page.get_by_test_id("bot")).to_have_count(2)
        assert second_turn(upstream) == DRAFT


@needs(CHAINLIT)
def test_chainlit_opens_passages_beside_the_chat(
    page: Page, vouch: str, upstream: Upstream, tmp_path: Path
) -> None:
    from playwright.sync_api import expect

    upstream.answer = answer
    with started(CHAINLIT, vouch, "test", tmp_path) as address:
        page.goto(address)
        ask_chainlit(page, QUESTION)
        markers = page.locator("a.element-link")
        expect(markers).to_have_text(["[1]", "[2]"])
        shown = page.get_by_role("article").filter(has_text=UNKNOWN)
        expect(shown).to_contain_text(f"{UNKNOWN} ⚠️")
        markers.first.click()
        panel = page.get_by_role("complementary")
        expect(panel.get_by_role("link")).to_have_text(["1. Eiffel Tower: Height"])
        expect(panel.get_by_text(TRUE, exact=True)).to_be_visible()  # an element of its own, as it is bold
        ask_chainlit(page, NEXT)
        assert second_turn(upstream) == DRAFT
