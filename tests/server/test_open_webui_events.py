"""The events in a stream for Open WebUI: sources before their first markers, the status above the reply."""

from __future__ import annotations

import json
import re
from typing import Any

import httpx
import pytest

from tests.scripted_upstream import Reply, Status, Upstream
from tests.server.facts import FALSE, GREETING, TRUE, TRUE_ELSEWHERE, TRUE_TOO, TRUE_ZH, UNKNOWN

Json = dict[str, Any]

QUESTION = "What do you know about the Eiffel Tower?"
CHECKING = {"description": "Checking the reply against the sources", "done": False}
NOTHING = {"description": "", "done": True, "hidden": True}


def chunks_of(
    base_url: str, question: str = QUESTION, model: str = "test@open_webui", **vouch: Any
) -> list[Json]:
    body = {
        "model": model,
        "messages": [{"role": "user", "content": question}],
        "stream": True,
        "vouch": {"max_rounds": 0, **vouch},
    }
    response = httpx.post(f"{base_url}/chat/completions", json=body, timeout=60)
    assert response.status_code == 200, response.text
    lines = [line for line in response.text.splitlines() if line.startswith("data: {")]
    return [json.loads(line.removeprefix("data: ")) for line in lines]


def of_type(chunks: list[Json], kind: str) -> list[Json]:
    events = [chunk["event"] for chunk in chunks if "event" in chunk]
    return [event["data"] for event in events if event["type"] == kind]


def in_order(chunks: list[Json]) -> list[str]:
    """The numbers of the markers and, as `+n`, the sources, in the order in which they come."""
    seen: list[str] = []
    for chunk in chunks:
        if chunk.get("event", {}).get("type") == "source":
            seen.append(f"+{sum(entry.startswith('+') for entry in seen) + 1}")
        for choice in chunk["choices"]:
            seen += re.findall(r"\[(\d+)\]", choice["delta"].get("content") or "")
    return seen


def test_a_source_comes_before_its_first_marker(base_url: str, upstream: Upstream) -> None:
    upstream.enqueue(Reply(f"{TRUE_ZH} {TRUE} {UNKNOWN} {TRUE_ELSEWHERE} {TRUE_TOO}\n\n{TRUE_ZH}"))
    chunks = chunks_of(base_url, stream_mode="sentence", max_rounds=0)
    seen = in_order(chunks)
    markers = list(dict.fromkeys(entry for entry in seen if not entry.startswith("+")))
    assert len(markers) >= 3
    assert markers == [str(n) for n in range(1, len(markers) + 1)]
    assert all(seen.index(f"+{marker}") < seen.index(marker) for marker in markers)
    assert seen[-1] == "1"
    told, last = of_type(chunks, "source"), chunks[-1]["references"]
    assert [each["source"]["url"] for each in told] == [each["url"] for each in last]
    assert [each["n"] for each in last] == list(range(1, len(last) + 1))


def test_a_stream_that_waits_has_its_sources_before_its_text(base_url: str, upstream: Upstream) -> None:
    upstream.enqueue(Reply(f"{TRUE_ZH} {TRUE}"))
    assert in_order(chunks_of(base_url, stream_mode="buffer")) == ["+1", "+2", "1", "2"]


def test_a_stream_that_is_passed_through_has_its_sources_at_the_end(
    base_url: str, upstream: Upstream
) -> None:
    upstream.enqueue(Reply(f"{TRUE_ZH} {TRUE}"))
    chunks = chunks_of(base_url, stream_mode="passthrough", notice=None)
    assert in_order(chunks) == ["+1", "+2"]
    assert "event" not in chunks[-1]
    assert len(chunks[-1]["references"]) == 2


def test_a_source_has_a_title_and_its_quote_in_bold(base_url: str, upstream: Upstream) -> None:
    upstream.enqueue(Reply(f"{TRUE} {TRUE_TOO} {TRUE_ELSEWHERE}"))
    chunks = chunks_of(base_url, stream_mode="sentence")
    told, last = of_type(chunks, "source"), chunks[-1]["references"]
    assert len(told) == len(last) > 1
    for source, reference in zip(told, last, strict=True):
        [metadata], [document] = source["metadata"], source["document"]
        assert metadata["external"] is True
        assert metadata["name"] == source["source"]["name"]
        assert metadata["name"].startswith("Eiffel Tower")
        assert f"**{reference['quote']}**" in document
        assert document.replace("**", "") == reference["text"]
    names = [source["source"]["name"] for source in told]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("mode", ["sentence", "buffer"])
def test_the_status_says_what_is_done_and_what_was_found(
    base_url: str, upstream: Upstream, mode: str
) -> None:
    upstream.enqueue(Reply(f"{TRUE} {TRUE_TOO} {UNKNOWN}"))
    chunks = chunks_of(base_url, stream_mode=mode)
    assert of_type(chunks, "status") == [CHECKING, {"description": "2 of 3 statements found", "done": True}]
    assert chunks[1]["event"]["type"] == "status"
    upstream.enqueue(Reply(TRUE_ZH))
    first, last = of_type(chunks_of(base_url, "都江堰是什么？", stream_mode=mode), "status")
    assert first["description"] == "正在对照资料核实回答"
    assert last == {"description": "1 句陈述中有 1 句找到依据", "done": True}


def test_the_status_counts_what_was_corrected(base_url: str, upstream: Upstream) -> None:
    upstream.enqueue(Reply(f"{TRUE} {FALSE}"), Reply(TRUE_TOO))
    chunks = chunks_of(base_url, correction="sentences", max_rounds=1)
    told = of_type(chunks, "status")
    assert told[-1] == {"description": "2 of 2 statements found · 1 corrected", "done": True}


def test_the_status_counts_what_was_left_out(base_url: str, upstream: Upstream) -> None:
    upstream.enqueue(Reply(f"{TRUE} {UNKNOWN} {TRUE_TOO}"))
    chunks = chunks_of(base_url, stream_mode="buffer", on_unsupported="drop")
    told = of_type(chunks, "status")
    assert told[-1] == {"description": "2 of 3 statements found · 1 left out", "done": True}


def test_a_status_never_stays_behind(base_url: str, upstream: Upstream) -> None:
    upstream.enqueue(Reply(GREETING))
    assert of_type(chunks_of(base_url), "status") == [CHECKING, NOTHING]
    upstream.enqueue(Reply(f"{TRUE} {UNKNOWN} {TRUE_TOO}", drop_after=60))
    broken = chunks_of(base_url)
    assert "error" in broken[-1]
    assert of_type(broken, "status")[-1] == NOTHING


def test_no_status_where_none_is_wanted_or_known(base_url: str, upstream: Upstream) -> None:
    upstream.answer = lambda _body: Reply(TRUE)
    assert of_type(chunks_of(base_url, notice=False), "status") == []
    assert not [chunk for chunk in chunks_of(base_url, model="test") if "event" in chunk]
    upstream.answer = lambda _body: Status(500)
    body = {"model": "test@open_webui", "messages": [{"role": "user", "content": "?"}], "stream": True}
    assert httpx.post(f"{base_url}/chat/completions", json=body, timeout=60).status_code >= 500
