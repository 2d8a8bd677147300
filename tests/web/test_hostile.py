"""What an upstream, a document, a title or an address says is never markup."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from proxy.cli import index as index_command
from proxy.cli.compose import Library, load_library
from proxy.config.settings import Settings
from tests.scripted_upstream import Upstream
from tests.serving import serving, settings_for
from tests.web.browsing import ask, home
from tests.web.test_page import PACK

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.timeout(400)

MOST_SECONDS = 15
"""How long a link may take to be shown on a busy machine. What held up the browser took 40 on an idle one."""

ATTACKS = [
    "<script>window.pwned = 1</script>",
    "<img src=x onerror=window.pwned=1>",
    "\"><svg onload=window.pwned=1><a href='javascript:window.pwned=1'>x</a>",
    "</style></title></textarea><iframe srcdoc='<script>parent.pwned=1</script>'></iframe>",
    "{{constructor.constructor('window.pwned=1')()}} ${window.pwned=1} [x](javascript:window.pwned=1)",
]
"""One for each document: its title, its address and its text have it."""
URLS = [
    "javascript:window.pwned=1",
    "data:text/html,<script>window.pwned=1</script>",
    'https://a.example/"><script>',
]
FACTS = [
    "The Larch Lock was opened by nine goats in 1742.",
    "The Birch Bridge weighs about 7,300 tonnes.",
    "The Maple Mill grinds barley for four villages.",
    "The Cedar Canal is 41 kilometres long.",
    "The Poplar Port ships tin and amber to Norway.",
]


@pytest.fixture(scope="module")
def hostile_url(session_upstream: Upstream, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server over documents that attack the reader."""
    folder = tmp_path_factory.mktemp("hostile")
    rows = [
        {
            "id": f"d{number} {attack}",
            "title": f"Title {number} {attack}",
            "text": f"{fact} {attack}",
            "url": URLS[number % len(URLS)],
        }
        for number, (fact, attack) in enumerate(zip(FACTS, ATTACKS, strict=True))
    ]
    source = folder / "hostile.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    path = folder / "index"
    index_command.run([str(source)], None, {"index": {"path": str(path)}}, strict=True)
    library: Library = load_library(Settings.model_validate({"index": {"path": str(path)}}))
    with serving(settings_for(session_upstream.url), library) as url:
        yield url
    library.close()


def require_harmless(page: Page) -> None:
    """Nothing ran, nothing of it became an element, and no link leads to a script."""
    assert page.evaluate("window.pwned") is None
    strange = "main script, main img, main svg, main iframe, aside script, aside img, aside svg, aside iframe"
    ours = "main details.timeline svg"
    assert page.locator(strange).count() == page.locator(ours).count()
    targets = page.locator("a").evaluate_all("links => links.map(link => link.protocol)")
    assert set(targets) <= {"http:", "https:"}


def test_nothing_of_a_hostile_corpus_or_reply_is_executed(
    page: Page, hostile_url: str, upstream: Upstream, tmp_path: Path
) -> None:
    from playwright.sync_api import expect

    attacks = [f"{attack} {fact}" for attack, fact in zip(ATTACKS, FACTS, strict=True)]
    reply = "\n\n".join([*FACTS, *attacks])
    upstream.answer = lambda _body: reply
    page.goto(hostile_url.removesuffix("/v1") + "/")
    turn = ask(page, ATTACKS[1])
    expect(turn.locator(".asked")).to_have_text(ATTACKS[1])
    expect(turn.locator(".answer")).to_contain_text(ATTACKS[0])
    cites = turn.locator(".answer button.cite")
    assert cites.count() > 0
    for cite in cites.all():
        cite.click()
        expect(page.locator("#panel blockquote").first).to_be_visible()
        require_harmless(page)
    for sign in turn.locator("button.sign").all():
        sign.click()
        expect(page.locator("#panel .failure")).to_be_visible()
        require_harmless(page)

    with page.expect_download() as download:
        turn.locator("button.report").click()
    report = tmp_path / "report.html"
    download.value.save_as(report)
    page.keyboard.press("Escape")

    page.get_by_role("tab", name="Corpus").click()
    page.locator("#query").fill("The Larch Lock and the Birch Bridge <b>")
    page.locator("#search-send").click()
    expect(page.locator("#search-send")).to_be_enabled()
    expect(page.locator(".hit").first).to_be_visible()
    for hit in page.locator(".hit button").all():
        hit.click()
        expect(page.locator("#panel .passage")).to_be_visible()
        require_harmless(page)
        page.keyboard.press("Escape")

    page.get_by_role("tab", name="Check").click()
    page.locator("#text").fill(reply)
    page.locator("#check-send").click()
    expect(page.locator("#checked button.report")).to_be_visible()
    require_harmless(page)

    page.goto(report.as_uri())
    expect(page.locator("h1")).to_have_text(ATTACKS[1])
    assert page.evaluate("window.pwned") is None
    assert page.locator("script, img, svg, iframe").count() == page.locator("details.timeline svg").count()


SLOW: dict[str, Any] = {
    "a ruler": {"content": "x\n|" + "-" * 100_000 + "x"},
    "quotes": {
        "content": "Hi.",
        "references": [{"n": 1, "title": "t", "text": "b" * 60_000, "quote": " … ".join(["b"] * 30_000)}],
        "verification": {"claims": [{"start": 0, "end": 3, "verdict": "supported", "references": [1]}]},
    },
}
"""What a link of a few hundred characters may hold."""


@pytest.mark.parametrize("name", SLOW)
def test_a_short_link_does_not_hold_up_the_browser(page: Page, base_url: str, name: str) -> None:
    from playwright.sync_api import expect

    page.goto(home(base_url) + "#check")
    packed = page.evaluate(PACK, json.dumps(SLOW[name]))
    assert len(packed) < 2000
    begun = time.monotonic()
    page.evaluate("fragment => { location.hash = fragment }", f"#answer=1.{packed}")
    expect(page.locator("#shared-answer").locator("button.report, [role=alert]").first).to_be_visible()
    for cite in page.locator("#shared-answer button.cite").all():
        cite.click()
    page.evaluate("document.body.offsetHeight")
    assert time.monotonic() - begun < MOST_SECONDS


def test_a_hostile_passage_has_a_harmless_page(page: Page, hostile_url: str, upstream: Upstream) -> None:
    found = page.request.post(f"{hostile_url}/search", data={"query": FACTS[0]}).json()
    for hit in found["data"]:
        page.goto(f"{hostile_url}/references/{hit['id']}?quote=0-10")
        assert page.locator("mark").text_content() == hit["text"][:10]
        assert page.evaluate("window.pwned") is None
        assert page.locator("script, img, svg, iframe").count() == 0
        targets = page.locator("a").evaluate_all("links => links.map(link => link.protocol)")
        assert set(targets) <= {"http:", "https:"}
