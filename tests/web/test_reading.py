"""How an answer reads: its Markdown, on a phone, in Chinese."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.scripted_upstream import Upstream
from tests.server.facts import FALSE_ZH, TRUE, TRUE_TOO, TRUE_ZH, UNKNOWN
from tests.web.browsing import SECONDS, ask, home, ready

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

pytestmark = pytest.mark.timeout(400)

RICH = f"""## Facts

- **Height:** {TRUE}
- {TRUE_TOO}

| name | weight |
|---|---|
| the iron frame of the Eiffel Tower | about 7,300 tonnes |

```python
# a - b
print("| {"long" * 20} |")
```

```run(1)```

The *iron frame* of the Eiffel Tower weighs about `7,300` tonnes. 2*3*4 *zebras* danced. {UNKNOWN}
"""
WIDER = """() => [...document.querySelectorAll("body *")].filter(element => {
    const {left, right, width} = element.getBoundingClientRect();
    return width && (right > document.documentElement.clientWidth + 1 || left < -1);
}).map(element => element.outerHTML.slice(0, 100))"""
"""The elements that reach out of the window."""


ABOVE = """opener => opener.getBoundingClientRect().bottom
    < document.getElementById("panel").getBoundingClientRect().top"""
"""Whether what was opened is not covered by the evidence."""


@pytest.fixture
def phone(browser: Browser) -> Iterator[Page]:
    """The narrowest phone that is about."""
    with browser.new_context(
        locale="en-GB", viewport={"width": 360, "height": 640}, has_touch=True, is_mobile=True
    ) as context:
        context.set_default_timeout(1000 * SECONDS)
        yield context.new_page()


def middle(element: Locator) -> float:
    """How far down in the window it is, in pixels."""
    box = element.bounding_box()
    assert box is not None
    return box["y"] + box["height"] / 2


def test_markdown_is_shown_as_it_is_read(page: Page, base_url: str, upstream: Upstream) -> None:
    from playwright.sync_api import expect

    upstream.answer = lambda _body: RICH
    page.goto(home(base_url))
    answer = ask(page, "Tell me.").locator(".answer")
    expect(answer.locator("strong").filter(has_text="Facts")).to_have_text("Facts")
    expect(answer.locator("strong").filter(has_text="Height")).to_have_text("Height:")
    expect(answer.locator("code.fenced")).to_have_text(f'# a - b\nprint("| {"long" * 20} |")')
    expect(answer.locator("code").filter(has_text="run(1)")).to_have_text("run(1)")
    expect(answer.locator("em").first).to_have_text("iron frame")
    expect(answer.locator("code").filter(has_text="7,300")).to_have_text("7,300")
    expect(answer).to_contain_text("2*3*4 zebras danced")
    expect(answer.locator(".claim.supported").nth(2)).to_have_text(
        "the iron frame of the Eiffel Tower │ about 7,300 tonnes"
    )
    shown = answer.inner_text()
    assert shown.count("•") == 2
    for mark in ("##", "**", "```", "---"):
        assert mark not in shown


def test_nothing_is_cut_off_on_a_phone(phone: Page, base_url: str, upstream: Upstream) -> None:
    from playwright.sync_api import expect

    upstream.answer = lambda _body: RICH
    phone.goto(home(base_url))
    ready(phone)
    bar = [
        phone.get_by_role("heading", name="Vouch"),
        phone.locator("#tab-corpus"),
        phone.locator("#language"),
    ]
    heights = [middle(each) for each in bar]
    assert max(heights) - min(heights) < 10, "the bar has a second row"
    assert abs(middle(phone.locator("#anew")) - middle(phone.locator("#send"))) < 10
    turn = ask(phone, "Tell me.")
    turn.locator(".timeline summary").click()
    turn.locator("button.permalink").click()
    expect(turn.locator(".link input")).to_be_visible()
    assert phone.evaluate(WIDER) == []

    panel = phone.locator("#panel")
    for opener in (turn.locator("button.cite").last, turn.locator("button.sign").last):
        opener.click()
        expect(panel).to_be_visible()
        expect(opener).to_be_in_viewport()
        phone.wait_for_function(ABOVE, arg=opener.element_handle())
        assert phone.evaluate(WIDER) == []
        panel.get_by_role("button", name="Close").click()

    phone.get_by_role("tab", name="Check").click()
    phone.get_by_role("button", name="Add a document").click()
    phone.locator("#text").fill(RICH)
    phone.locator("#check-send").click()
    expect(phone.locator("#checked button.report")).to_be_visible()
    assert phone.evaluate(WIDER) == []
    phone.get_by_role("tab", name="Corpus").click()
    phone.locator("#query").fill(TRUE_TOO)
    phone.locator("#search-send").click()
    expect(phone.locator(".hit").first).to_be_visible()
    assert phone.evaluate(WIDER) == []


def test_reasons_and_found_words_are_shown_in_chinese(
    browser: Browser, base_url: str, upstream: Upstream
) -> None:
    from playwright.sync_api import expect

    upstream.answer = lambda body: f"{TRUE_ZH}{FALSE_ZH}" if len(body["messages"]) == 1 else "没有。"
    with browser.new_context(locale="zh-CN") as context:
        context.set_default_timeout(1000 * SECONDS)
        page = context.new_page()
        page.goto(home(base_url))
        turn = ask(page, "都江堰是谁修建的？")
        turn.locator("button.sign").first.click()
        expect(page.locator("#panel .failure .sentence")).to_contain_text("资料")
        page.keyboard.press("Escape")
        page.get_by_role("tab", name="资料库").click()
        page.locator("#query").fill("都江堰是谁主持修建的？")
        page.locator("#search-send").click()
        expect(page.locator(".hit").first.locator("b").filter(has_text="修建").first).to_be_visible()
