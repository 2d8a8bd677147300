"""What a reader has of an answer that did not come to its end, or of a page whose server is gone."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from proxy.cli.compose import Library
from tests.scripted_upstream import Reply, Upstream
from tests.server.facts import TRUE, TRUE_TOO, UNKNOWN
from tests.serving import serving, settings_for
from tests.web.browsing import Held, ask, begin, home, ready
from tests.web.test_page import PACK

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

pytestmark = pytest.mark.timeout(400)

QUESTION = "What do you know about the Eiffel Tower?"


@pytest.fixture
def held() -> Iterator[Held]:
    """A reply whose last sentence comes when it is released."""
    reply = Held(f"{TRUE} {UNKNOWN} {TRUE_TOO}")
    reply.release = threading.Event()
    yield reply
    reply.release.set()


@pytest.fixture
def asked(page: Page) -> list[list[str]]:
    """The texts of the messages of each question that the page has sent."""
    sent: list[list[str]] = []

    def watch(request: Any) -> None:
        if "chat/completions" in request.url:
            sent.append([message["content"] for message in request.post_data_json["messages"]])

    page.on("request", watch)
    return sent


def test_a_new_chat_takes_nothing_along_of_an_answer_that_was_still_coming(
    page: Page, base_url: str, upstream: Upstream, held: Held, asked: list[list[str]]
) -> None:
    from playwright.sync_api import expect

    upstream.answer = lambda _body: held
    page.goto(home(base_url))
    turn = begin(page, QUESTION)
    expect(turn.locator(".claim").first).to_be_visible()
    page.get_by_role("button", name="New chat").click()
    ready(page)
    expect(page.locator("#ask-status")).to_be_empty()
    expect(page.locator("#question")).to_have_value("")
    upstream.answer = lambda _body: TRUE
    ask(page, "And what else?")
    assert asked == [[QUESTION], ["And what else?"]]


def test_a_citation_opens_while_the_answer_comes_and_after_it_was_stopped(
    page: Page, base_url: str, upstream: Upstream, held: Held
) -> None:
    from playwright.sync_api import expect

    upstream.answer = lambda _body: held
    page.goto(home(base_url))
    turn = begin(page, QUESTION)
    marks = page.locator("#panel mark")
    turn.get_by_role("button", name="Source 1: Eiffel Tower").click()
    expect(marks).to_contain_text("330 metres")
    page.keyboard.press("Escape")
    page.locator("#stop").click()
    expect(turn.locator(".foot")).to_contain_text("Stopped")
    expect(turn.locator(".references")).to_contain_text("Eiffel Tower")
    turn.get_by_role("button", name="Source 1: Eiffel Tower").click()
    expect(marks).to_contain_text("330 metres")


def test_an_answer_that_broke_off_keeps_its_evidence_and_says_why_it_ends(
    page: Page, base_url: str, upstream: Upstream, tmp_path: Path
) -> None:
    from playwright.sync_api import expect

    upstream.answer = lambda _body: Reply(f"{TRUE} {UNKNOWN} {TRUE_TOO}", pace=0.02, drop_after=60)
    page.goto(home(base_url))
    turn = begin(page, QUESTION)
    expect(turn.get_by_role("alert")).to_contain_text("broke off")
    turn.get_by_role("button", name="Source 1: Eiffel Tower").click()
    expect(page.locator("#panel mark")).to_contain_text("330 metres")
    with page.expect_download() as download:
        turn.locator("button.report").click()
    download.value.save_as(tmp_path / "report.html")
    assert "broke off" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_a_reply_that_the_model_ended_early_says_so(page: Page, base_url: str, upstream: Upstream) -> None:
    from playwright.sync_api import expect

    upstream.answer = lambda _body: Reply(f"{TRUE} The iron frame", finish_reason="length")
    page.goto(home(base_url))
    turn = ask(page, QUESTION)
    expect(turn.get_by_role("alert")).to_have_text("The model ended its reply early: length.")


def test_a_reply_without_a_text_is_told_and_not_sent_with_the_next_question(
    page: Page, base_url: str, upstream: Upstream, asked: list[list[str]]
) -> None:
    from playwright.sync_api import expect

    upstream.answer = lambda _body: ""
    page.goto(home(base_url))
    turn = begin(page, QUESTION)
    expect(turn.get_by_role("alert")).to_have_text("The model sent no text.")
    expect(page.locator("#question")).to_have_value(QUESTION)
    upstream.answer = lambda _body: TRUE
    ask(page, "And what else?")
    assert asked[-1] == ["And what else?"]


def test_an_answer_is_still_of_use_when_the_server_is_gone(
    page: Page, base_url: str, upstream: Upstream
) -> None:
    from playwright.sync_api import expect

    upstream.answer = lambda _body: f"{TRUE} {UNKNOWN}"
    page.goto(home(base_url))
    turn = ask(page, QUESTION)
    page.context.set_offline(True)
    with page.expect_download() as download:
        turn.locator("button.report").click()
    report = download.value.path().read_text(encoding="utf-8")
    assert ".claim.supported" in report
    turn.locator("button.sign").click()
    page.get_by_role("button", name="Show the passage").click()
    expect(page.locator("#panel").get_by_role("alert")).to_have_text("The server can't be reached.")
    page.context.set_offline(False)


def test_of_two_links_that_are_opened_at_once_the_last_is_shown(page: Page, base_url: str) -> None:
    from playwright.sync_api import expect

    page.goto(home(base_url) + "#check")
    first, last = (
        page.evaluate(PACK, json.dumps({"title": title, "content": "Paris."})) for title in ("first", "last")
    )
    page.evaluate("links => links.forEach(link => { location.hash = `#answer=1.${link}` })", [first, last])
    asked = page.locator("#shared-answer .asked")
    expect(asked.last).to_have_text("last")
    expect(page.locator("#shared-again button")).to_have_count(1)
    assert asked.count() == 1
    page.evaluate("location.hash = '#answer=1.%%%'")
    expect(page.locator("#shared").get_by_role("alert")).to_be_visible()
    expect(page.locator("#shared-again button")).to_have_count(0)


def test_the_page_works_where_the_operator_lets_nobody_choose_how_replies_look(
    page: Page, session_upstream: Upstream, upstream: Upstream, corpus: Library
) -> None:
    from playwright.sync_api import expect

    upstream.answer = lambda _body: f"{TRUE} {UNKNOWN}"
    names = ("profile", "citation_style", "mark_nonfactual", "notice", "progress")
    fixed = {"options": dict.fromkeys(names, "fixed")}
    with serving(settings_for(session_upstream.url, limits=fixed), corpus) as url:
        page.goto(home(url))
        turn = ask(page, QUESTION)
        expect(turn.locator(".claim.supported")).to_have_text(TRUE)
        page.get_by_role("tab", name="Check").click()
        page.locator("#text").fill(TRUE)
        page.locator("#check-send").click()
        expect(page.locator("#checked .claim.supported")).to_have_text(TRUE)
        page.goto("about:blank")


def test_a_reply_that_was_not_checked_in_time_says_so_in_the_language_of_the_page(
    page: Page, session_upstream: Upstream, upstream: Upstream, corpus: Library
) -> None:
    from playwright.sync_api import expect

    upstream.answer = lambda _body: TRUE
    with serving(settings_for(session_upstream.url, verification={"deadline": 0.001}), corpus) as url:
        page.goto(home(url))
        turn = ask(page, QUESTION)
        expect(turn.get_by_role("alert")).to_have_text("the deadline passed")
        page.get_by_role("button", name="中文").click()
        expect(turn.get_by_role("alert")).to_have_text("核查超时")
        turn.locator("button.sign").click()
        expect(page.locator("#panel .failure .sentence")).to_have_text("核查超时")
        page.goto("about:blank")


def test_statements_that_were_left_out_are_counted(page: Page, base_url: str, upstream: Upstream) -> None:
    from playwright.sync_api import expect

    upstream.answer = lambda _body: UNKNOWN
    page.goto(home(base_url))
    ready(page)
    page.locator("#preset").select_option("strict")
    expect(ask(page, QUESTION).locator(".counts")).to_have_text("↻ 1 left out")


def through(public: str, real: str) -> Callable[[Route], None]:
    """Sends requests on as a reverse proxy does that keeps `Origin` and changes `Host`."""

    def send(route: Route) -> None:
        route.fulfill(response=route.fetch(url=route.request.url.replace(public, real)))

    return send


def test_behind_a_proxy_that_changes_the_host_the_page_works_or_says_what_to_set(
    page: Page, session_upstream: Upstream, upstream: Upstream, corpus: Library
) -> None:
    from playwright.sync_api import expect

    upstream.answer = lambda _body: TRUE
    public = "http://vouch.localhost"
    for server in ({}, {"public_url": public}):
        with serving(settings_for(session_upstream.url, server=server), corpus) as url:
            page.route(f"{public}/**", through(public, home(url).rstrip("/")))
            page.goto(f"{public}/")
            turn = begin(page, QUESTION)
            if server:
                expect(turn.locator(".claim.supported")).to_have_text(TRUE)
            else:
                expect(turn.get_by_role("alert")).to_contain_text("server.cors_origins")
            ready(page)
            page.goto("about:blank")
            page.unroute(f"{public}/**")
