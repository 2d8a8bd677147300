"""The filter function for Open WebUI, given what Open WebUI gives it: the body, then each chunk."""

from __future__ import annotations

import asyncio
import importlib.util
import json
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx
import pytest

from tests.scripted_upstream import Upstream
from tests.server.facts import TRUE, TRUE_ELSEWHERE, TRUE_TOO, UNKNOWN

Json = dict[str, Any]

ROOT = Path(__file__).parents[2]
HOSTILE = '"><img src=x onerror=alert(1)>'
UPLOAD = "The Larch Lock was opened by nine goats in 1742."


@pytest.fixture(scope="module")
def plugin() -> ModuleType:
    """The file, loaded by its path as Open WebUI loads its text."""
    path = ROOT / "examples" / "open_webui" / "vouch_verdicts.py"
    spec = importlib.util.spec_from_file_location("vouch_verdicts", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def chat(plugin: ModuleType, base_url: str, messages: list[Json], **body: Any) -> tuple[str, list[Json]]:
    """The content and the events of one reply, through the filter."""
    shown = plugin.Filter()
    asked = shown.inlet({"model": "test", "stream": True, "messages": messages, **body}, {"chat_id": "a"})
    events: list[Json] = []

    async def emit(event: Json) -> None:
        events.append(event)

    content = ""
    with httpx.stream("POST", f"{base_url}/chat/completions", json=asked, timeout=60) as response:
        assert response.status_code == 200
        for line in response.iter_lines():
            if not line.startswith("data: {"):
                continue
            chunk = json.loads(line[6:])
            passed = asyncio.run(shown.stream(chunk, emit))
            assert passed == chunk
            if "event" in passed:
                events.append(passed["event"])
            for choice in passed["choices"]:
                content += choice["delta"].get("content") or ""
    return content, events


def of_type(events: list[Json], kind: str) -> list[Json]:
    return [event["data"] for event in events if event["type"] == kind]


def user(text: str) -> Mapping[str, str]:
    return {"role": "user", "content": text}


def test_the_verdicts_stand_above_the_reply_and_not_in_it(
    plugin: ModuleType, base_url: str, upstream: Upstream
) -> None:
    draft = f"{TRUE} {UNKNOWN}"
    upstream.answer = lambda body: draft if len(body["messages"]) == 1 else f"{TRUE_TOO} {UNKNOWN}"
    question = user("What do you know about the Eiffel Tower?")
    content, events = chat(plugin, base_url, [dict(question)])
    assert "<details" not in content
    first, last = of_type(events, "status")
    assert (first["done"], last["done"]) == (False, True)
    assert "statements" in last["description"]
    [embed] = of_type(events, "embeds")
    [shown] = embed["embeds"]
    assert 'class="supported"' in shown
    assert "<mark>The Eiffel Tower is 330 metres tall" in shown
    assert "script-src 'sha256-" in shown
    assert [source["source"]["name"] for source in of_type(events, "source")]

    upstream.clear()
    upstream.answer = lambda _body: TRUE_TOO
    said = {"role": "assistant", "content": content}
    chat(plugin, base_url, [dict(question), said, dict(user("And how heavy is it?"))])
    sent = upstream.requests[0].body["messages"][1]["content"]
    assert "[1]" not in sent
    assert "⚠️" not in sent
    assert content.startswith(TRUE)
    assert sent.startswith(TRUE)


def test_uploads_and_the_corpus_are_numbered_apart(
    plugin: ModuleType, base_url: str, upstream: Upstream
) -> None:
    upstream.answer = lambda _body: f"{UPLOAD} {TRUE}"
    template = f'<context>\n<source id="1" name="locks.txt">{UPLOAD}</source>\n</context>\nWhat is known?'
    content, events = chat(plugin, base_url, [dict(user(template))], vouch={"evidence": "both"})
    assert f"{UPLOAD}[1]" in content
    assert f"{TRUE}[2]" in content
    names = [source["source"]["name"] for source in of_type(events, "source")]
    assert names == ["Eiffel Tower"]
    shown = of_type(events, "embeds")[0]["embeds"][0]
    assert "[1] locks.txt" in shown
    assert of_type(events, "status")[-1] == {"description": "2 of 2 statements found", "done": True}


def test_tasks_and_options_of_the_request_are_left_alone(plugin: ModuleType) -> None:
    body: Json = {"model": "test", "messages": []}
    assert plugin.Filter().inlet(body, {"task": "title_generation"}) == body
    asked = plugin.Filter().inlet({**body, "vouch": {"profile": "none", "top_k": 2}}, None)
    assert asked["vouch"] == {"profile": "none", "top_k": 2}
    quiet = plugin.Filter()
    quiet.valves.status = False
    assert quiet.inlet(body, None)["vouch"] == {"profile": "open_webui", "notice": False}
    assert asyncio.run(plugin.Filter().stream({"choices": []}, None)) == {"choices": []}


def test_a_statement_is_shown_with_its_own_quote(
    plugin: ModuleType, base_url: str, upstream: Upstream
) -> None:
    upstream.answer = lambda _body: f"{TRUE_TOO} {TRUE_ELSEWHERE}"
    question = user("What do you know about the Eiffel Tower?")
    _, events = chat(plugin, base_url, [dict(question)], vouch={"max_rounds": 0})
    shown = of_type(events, "embeds")[0]["embeds"][0]
    first, second = shown.split("<li>")[1:]
    assert "<mark>The iron frame of the Eiffel Tower weighs about 7,300 tonnes" in first
    assert "<mark>The engineers Maurice Koechlin" in second


def test_the_list_is_open_where_something_failed(plugin: ModuleType) -> None:
    good: Json = {"text": "**A**.", "verdict": "supported", "references": [], "start": 0, "end": 6}
    closed = plugin.page({"claims": [good]}, [])
    assert '<details id="all"><summary><span class="count supported">✓ 1 supported</span>' in closed
    assert "</b>A. " in closed
    failed = plugin.page({"claims": [good, {**good, "verdict": "contradicted"}]}, [])
    assert '<details id="all" open>' in failed
    assert "✗ 1 contradicted" in failed


def test_what_is_shown_is_bounded_and_nothing_is_shown_of_nothing(plugin: ModuleType) -> None:
    claim = {"text": "A.", "verdict": "supported", "references": [], "start": 0, "end": 2}
    many = {"claims": [claim] * 30}
    assert plugin.page(many, [], 10).count("<li>") == 10
    assert "20 more are not shown." in plugin.page(many, [], 10)
    assert plugin.page({"claims": [{**claim, "verdict": "not_checkable"}]}, []) == ""


def test_nothing_that_was_said_is_markup(plugin: ModuleType) -> None:
    source = {"title": HOSTILE, "url": f"javascript:{HOSTILE}", "text": HOSTILE, "quote": HOSTILE}
    failed = {"text": HOSTILE, "reason": HOSTILE, "missing": [HOSTILE], "evidence": source}
    told = {"start": 0, "end": 9, "text": HOSTILE, "reason": HOSTILE, "references": [1]}
    verification = {
        "best": 1,
        "claims": [{**told, "verdict": "supported"}, {**told, "verdict": "contradicted"}],
        "attempts": [{"nonfactual": [{**failed, "replaced_by": [0, 9]}]}, {"nonfactual": [failed]}],
    }
    shown = plugin.page(verification, [{**source, "n": 1}, {**source, "n": 2, "url": f"https://a/{HOSTILE}"}])
    assert "<img" not in shown
    assert "javascript:" not in shown
    assert shown.count("<script") == 1
    assert shown.count("&lt;img src=x") > 6
