"""A browser for each module, and a page of its own for each test."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.web.browsing import SECONDS, Watched, chromium

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium. For a module, since no asynchronous test may run in this process meanwhile."""
    why = "Playwright is not installed: python -m pip install playwright"
    sync_api = pytest.importorskip("playwright.sync_api", reason=why)
    path = chromium()
    sync_api.expect.set_options(timeout=1000 * SECONDS)
    with sync_api.sync_playwright() as playwright:
        # As root, and in a container, Chromium has no sandbox; what it opens here is our own.
        options = ["--no-sandbox", "--disable-dev-shm-usage"]
        browser = playwright.chromium.launch(executable_path=path, args=options, timeout=1000 * SECONDS)
        yield browser
        browser.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """An empty page with English texts. The test fails where the page complains of anything."""
    context = browser.new_context(locale="en-GB", viewport={"width": 1200, "height": 900})
    context.set_default_timeout(1000 * SECONDS)
    watched = Watched(context.new_page())
    yield watched.page
    context.close()
    assert watched.complaints == []
