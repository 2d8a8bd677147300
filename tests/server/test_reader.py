"""What someone reads with each preset, and with markers and notice off. Profiles are in test_reader_table."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from proxy.cli.compose import Library
from tests.scripted_upstream import Reply, Upstream, tool_calls
from tests.server.facts import FALSE, TRUE, TRUE_TOO, UNKNOWN
from tests.serving import serving, settings_for

QUESTION = "What do you know about the Eiffel Tower?"
TAGS = (
    '### Task:\nGenerate 1-3 broad tags.\n### Output:\nJSON format: { "tags": ["tag1", "tag2"] }\n'
    "### Chat History:\n<chat_history>\nUSER: Hi\n</chat_history>"
)
NOTHING_LEFT = "None of the reply's statements was found in the sources, so they were left out."
ONE_LEFT_OUT = "1 statement was left out because the sources do not bear it out."


def post(base_url: str, *, stream: bool = False, question: str = QUESTION, **vouch: Any) -> httpx.Response:
    messages = [{"role": "user", "content": question}]
    body = {"model": "test", "messages": messages, "stream": stream, "vouch": vouch}
    return httpx.post(f"{base_url}/chat/completions", json=body, timeout=60)


def stubborn(upstream: Upstream, draft: str) -> None:
    """An upstream that drafts the same each time, and says nothing when it is to correct it."""
    upstream.answer = lambda body: draft if len(body["messages"]) == 1 else ""


def chunks_of(answer: httpx.Response) -> list[dict[str, Any]]:
    lines = [line for line in answer.text.splitlines() if line.startswith("data: {")]
    return [json.loads(line.removeprefix("data: ")) for line in lines]


def read(base_url: str, *, stream: bool, **options: Any) -> tuple[str, dict[str, Any]]:
    """What the reader sees, and `verification`."""
    answer = post(base_url, stream=stream, **options)
    if not stream:
        reply = answer.json()
        return reply["choices"][0]["message"]["content"] or "", reply["verification"]
    chunks = chunks_of(answer)
    deltas = [choice["delta"] for chunk in chunks for choice in chunk["choices"]]
    return "".join(delta.get("content") or "" for delta in deltas), chunks[-1]["verification"]


def test_text_beside_tool_calls_is_left_alone_where_tools_are_offered(
    base_url: str, upstream: Upstream
) -> None:
    tool = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}
    calls = {**tool_calls(("look", '{"x": 1}')), "content": UNKNOWN}
    upstream.enqueue(Reply(calls, finish_reason="tool_calls"))
    messages = [{"role": "user", "content": QUESTION}]
    body = {"model": "test", "messages": messages, "stream": True, "tools": [tool]}
    chunks = chunks_of(httpx.post(f"{base_url}/chat/completions", json=body, timeout=60))
    deltas = [choice["delta"] for chunk in chunks for choice in chunk["choices"]]
    assert "".join(delta.get("content") or "" for delta in deltas) == UNKNOWN
    called = [call["function"]["arguments"] for delta in deltas for call in delta.get("tool_calls") or ()]
    assert "".join(called) == '{"x": 1}'
    assert len(upstream.requests) == 1


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
class TestPresets:
    def test_strict_shows_nothing_that_was_not_found(
        self, base_url: str, upstream: Upstream, stream: bool
    ) -> None:
        stubborn(upstream, f"{TRUE} {FALSE}")
        text, verification = read(base_url, stream=stream, preset="strict")
        assert (text, verification["dropped"]) == (f"{TRUE}[1]\n\n⚠️ {ONE_LEFT_OUT}", [FALSE])
        stubborn(upstream, f"{FALSE} {UNKNOWN}")
        assert read(base_url, stream=stream, preset="strict")[0] == NOTHING_LEFT

    def test_strict_says_how_much_was_left_out_and_takes_it_back(
        self, base_url: str, upstream: Upstream, stream: bool
    ) -> None:
        stubborn(upstream, f"{TRUE} {FALSE} {UNKNOWN}")
        text, verification = read(base_url, stream=stream, preset="strict")
        said = "2 statements were left out because the sources do not bear them out."
        assert text == f"{TRUE}[1]\n\n⚠️ {said}"
        assert verification["dropped"] == [FALSE, UNKNOWN]
        messages = [{"role": "assistant", "content": text}, {"role": "user", "content": QUESTION}]
        httpx.post(f"{base_url}/chat/completions", json={"model": "test", "messages": messages}, timeout=60)
        assert upstream.requests[-1].body["messages"][0]["content"] == TRUE
        assert read(base_url, stream=stream, preset="strict", notice=False)[0] == f"{TRUE}[1]"

    def test_what_was_left_out_is_not_what_could_not_go(
        self, base_url: str, upstream: Upstream, stream: bool
    ) -> None:
        stubborn(upstream, f"{TRUE} {FALSE}\n\n- {UNKNOWN}\n  - {TRUE_TOO}")
        text, verification = read(base_url, stream=stream, preset="strict")
        assert UNKNOWN in text
        assert text.endswith(f"⚠️ {ONE_LEFT_OUT}")
        assert verification["dropped"] == [FALSE]

    def test_strict_refuses_what_could_not_be_checked(
        self, base_url: str, upstream: Upstream, stream: bool
    ) -> None:
        stubborn(upstream, TRUE)
        answer = post(base_url, stream=stream, preset="strict", deadline=0.000001)
        assert "verification_unavailable" in answer.text
        assert TRUE not in answer.text

    def test_report_leaves_the_text_untouched(self, base_url: str, upstream: Upstream, stream: bool) -> None:
        draft = f"{TRUE}[7] {FALSE} {UNKNOWN}"
        stubborn(upstream, draft)
        text, verification = read(base_url, stream=stream, preset="report")
        assert text == draft
        assert verification["claims"][0]["verdict"] == "supported"
        assert len(upstream.requests) == 1

    def test_papers_re_prompts_the_whole_reply(self, base_url: str, upstream: Upstream, stream: bool) -> None:
        upstream.enqueue(f"{TRUE} {FALSE}", f"{TRUE} {UNKNOWN}")
        text, verification = read(base_url, stream=stream, preset="papers")
        assert (text, verification["rounds"]) == (f"{TRUE}[1] {FALSE}", 1)

    def test_single_options_override_a_preset(self, base_url: str, upstream: Upstream, stream: bool) -> None:
        stubborn(upstream, f"{TRUE} {FALSE}")
        options: Any = {"preset": "papers", "max_rounds": 0, "mark_nonfactual": "[?]"}
        text, _ = read(base_url, stream=stream, **options)
        assert text == f"{TRUE}[1] {FALSE}[?]"
        assert len(upstream.requests) == 1

    @pytest.mark.parametrize(
        ("options", "said"),
        [
            ({"preset": "report", "max_rounds": 2}, "no use for `max_rounds`"),
            ({"preset": "report", "on_unsupported": "drop"}, "on_unsupported 'drop' drops"),
            ({"preset": "report", "on_unsupported": "mark"}, "leaves the text untouched"),
            ({"preset": "report", "fail_closed": True}, "`fail_closed` holds back"),
            ({"preset": "strict", "stream_mode": "sentence"}, "use 'buffer'"),
            ({"preset": "strict", "correction": "sentences"}, "use correction 'none'"),
            ({"preset": "papers", "correction": "sentences"}, "not in stream mode 'buffer'"),
            ({"on_unsupported": "keep", "mark_nonfactual": "[?]"}, "leaves claims unmarked"),
            ({"correction": "sentences", "regeneration": "claims"}, "while it is written"),
        ],
    )
    def test_what_contradicts_a_preset_is_refused(
        self, base_url: str, upstream: Upstream, options: dict[str, Any], said: str, stream: bool
    ) -> None:
        answer = post(base_url, stream=stream, **options)
        assert answer.status_code == 400
        assert said in answer.json()["error"]["message"]
        assert not upstream.requests

    def test_a_preset_never_lifts_what_is_configured_for_safety(
        self, corpus: Library, upstream: Upstream, stream: bool
    ) -> None:
        stubborn(upstream, f"{TRUE} {FALSE}")
        with serving(settings_for(upstream.url, preset="strict"), corpus) as base_url:
            assert post(base_url, stream=stream, preset="report").status_code == 400
            assert read(base_url, stream=stream, preset="reader", notice=False)[0] == f"{TRUE}[1]"
            told = read(base_url, stream=stream, question=TAGS)[0]
        assert FALSE not in told


def test_markers_and_notice_can_be_turned_off(corpus: Library, upstream: Upstream) -> None:
    stubborn(upstream, f"{FALSE} {UNKNOWN}")
    off: Any = {"citation": {"mark_nonfactual": "", "notice": False}}
    with serving(settings_for(upstream.url, **off), corpus) as base_url:
        assert read(base_url, stream=True)[0] == f"{FALSE} {UNKNOWN}"
        assert read(base_url, stream=True, on_unsupported="mark")[0] == f"{FALSE} ⚠️ {UNKNOWN} ⚠️"
