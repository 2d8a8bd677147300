"""axe-core finds no serious barrier on any page, light or dark."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import httpx
import pytest

from tests.scripted_upstream import Upstream
from tests.server.facts import FALSE, TRUE, TRUE_TOO, UNKNOWN
from tests.web.browsing import SECONDS, ask

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.timeout(400)

AXE = Path(__file__).parent / "node_modules" / "axe-core" / "axe.min.js"
GRAVE = ("serious", "critical")
RUN = """async () => {
    const found = await axe.run(document, {resultTypes: ["violations"]});
    return found.violations.map(({id, impact, nodes}) =>
        ({id, impact, nodes: nodes.map(({target, failureSummary}) => `${target}: ${failureSummary}`)}));
}"""


@pytest.fixture(scope="module")
def axe() -> str:
    """axe-core's source. Skips the test where it is missing."""
    if not AXE.exists():
        pytest.skip("axe-core is not installed: make axe (it needs npm)")
    return AXE.read_text(encoding="utf-8")


def require_no_barrier(page: Page, axe: str, name: str) -> None:
    """No serious violation on the page as it stands. It is injected by the browser's own protocol, which the
    page's policy for scripts does not concern."""
    if not page.evaluate("typeof axe === 'object'"):
        page.evaluate(axe)
    found = page.evaluate(RUN)
    told = [f"{each['id']} ({each['impact']})" for each in found]
    print(f"{name}: {', '.join(told) or 'no violations'}")
    assert [each for each in found if each["impact"] in GRAVE] == [], name


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_page_has_a_serious_barrier(
    browser: Browser,
    base_url: str,
    upstream: Upstream,
    axe: str,
    tmp_path: Path,
    scheme: Literal["light", "dark"],
) -> None:
    from playwright.sync_api import expect

    corrected = f"{TRUE} {FALSE} {UNKNOWN}"
    upstream.answer = lambda body: corrected if len(body["messages"]) == 1 else f"{TRUE_TOO} {UNKNOWN}"
    home = base_url.removesuffix("/v1") + "/"
    with browser.new_context(
        locale="en-GB", color_scheme=scheme, viewport={"width": 1200, "height": 900}
    ) as context:
        context.set_default_timeout(1000 * SECONDS)
        page = context.new_page()
        page.goto(home)
        turn = ask(page, "What do you know about the Eiffel Tower?")
        expect(turn.locator("button.sign").first).to_be_visible()
        turn.locator(".timeline summary").click()
        turn.locator("button.permalink").click()
        expect(turn.locator(".link input")).to_be_visible()
        link = turn.locator(".link input").input_value()
        require_no_barrier(page, axe, "Ask")
        turn.locator("button.cite").first.click()
        expect(page.locator("#panel mark").first).to_be_visible()
        require_no_barrier(page, axe, "Ask, a passage")
        turn.locator("button.sign").last.click()
        expect(page.locator("#panel .failure")).to_be_visible()
        require_no_barrier(page, axe, "Ask, why a claim failed")
        with page.expect_download() as download:
            turn.locator("button.report").click()
        report = tmp_path / "report.html"
        download.value.save_as(report)
        page.keyboard.press("Escape")

        page.get_by_role("tab", name="Check").click()
        page.get_by_label("Text to check").fill(f"{TRUE} {UNKNOWN}")
        page.get_by_role("button", name="Add a document").click()
        page.locator("#check-send").click()
        expect(page.locator("#checked button.report")).to_be_visible()
        require_no_barrier(page, axe, "Check")

        page.get_by_role("tab", name="Corpus").click()
        page.locator("#query").fill("How tall is the Eiffel Tower?")
        page.locator("#search-send").click()
        expect(page.locator(".hit").first).to_be_visible()
        require_no_barrier(page, axe, "Corpus")

        page.goto(link)
        expect(page.locator("#shared button.permalink")).to_be_visible()
        require_no_barrier(page, axe, "an answer from a link")

        page.goto(report.as_uri())
        expect(page.locator("h1")).to_be_visible()
        require_no_barrier(page, axe, "report")

        hit = httpx.post(f"{base_url}/search", json={"query": TRUE, "top_k": 1}, timeout=60).json()["data"][0]
        page.goto(f"{base_url}/references/{hit['id']}?quote=0-40")
        expect(page.locator("mark")).to_be_visible()
        require_no_barrier(page, axe, "reference")
