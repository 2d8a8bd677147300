"""What someone reads who reads nothing but the text, with nothing configured, in every profile."""

from __future__ import annotations

import json
import re
from typing import Any, get_args

import httpx
import pytest

from proxy.cli.compose import Library
from proxy.types import ProfileName
from tests.scripted_upstream import Reply, Upstream, tool_calls
from tests.server.facts import FALSE, FALSE_ZH, TRUE, TRUE_ELSEWHERE, TRUE_TOO, UNKNOWN
from tests.serving import serving, settings_for

PROFILES = get_args(ProfileName)
QUESTION = "What do you know about the Eiffel Tower?"
TAGS = (
    '### Task:\nGenerate 1-3 broad tags.\n### Output:\nJSON format: { "tags": ["tag1", "tag2"] }\n'
    "### Chat History:\n<chat_history>\nUSER: Hi\n</chat_history>"
)
NONE = "None of these 2 statements was found in the sources."
SKIPPED = "This reply could not be checked against the sources."
NOTHING_LEFT = "None of the reply's statements was found in the sources, so they were left out."


def post(
    base_url: str, profile: str = "openai", *, stream: bool = False, question: str = QUESTION, **vouch: Any
) -> httpx.Response:
    body = {
        "model": "test",
        "messages": [{"role": "user", "content": question}],
        "stream": stream,
        "vouch": {"profile": profile, **vouch},
    }
    return httpx.post(f"{base_url}/chat/completions", json=body, timeout=60)


def stubborn(upstream: Upstream, draft: str) -> None:
    """An upstream that drafts the same each time, and says nothing when it is to correct it."""
    upstream.answer = lambda body: draft if len(body["messages"]) == 1 else ""


def chunks_of(answer: httpx.Response) -> list[dict[str, Any]]:
    lines = [line for line in answer.text.splitlines() if line.startswith("data: {")]
    return [json.loads(line.removeprefix("data: ")) for line in lines]


def read(base_url: str, profile: str, *, stream: bool, **options: Any) -> tuple[str, dict[str, Any]]:
    """What the reader sees, status line included, and `verification`. Links and the list of sources of the
    profile `markdown` are taken out, and so is the status that says how much was found."""
    answer = post(base_url, profile, stream=stream, **options)
    if not stream:
        reply = answer.json()
        text, status = reply["choices"][0]["message"]["content"] or "", ""
        verification = reply["verification"]
    else:
        chunks = chunks_of(answer)
        deltas = [choice["delta"] for chunk in chunks for choice in chunk["choices"]]
        text = "".join(delta.get("content") or "" for delta in deltas)
        events = [chunk["event"] for chunk in chunks if "event" in chunk]
        told = [event["data"]["description"] for event in events if event["type"] == "status"]
        told = [text for text in told if text and not re.search("Checking the reply|statements found", text)]
        status = "".join(f"\n\n⚠️ {description}" for description in told)
        assert not status or profile == "open_webui"
        verification = chunks[-1]["verification"]
    text = re.sub(r"\[\[(\d+)\]\([^)]*\)\]", r"[\1]", text).partition("\n\n---\n\n")[0]
    return text + status, verification


def expected(text: str, profile: str) -> str:
    return re.sub(r"\[\d+\]", "", text) if profile == "none" else text


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("profile", PROFILES)
class TestEveryProfile:
    def test_what_holds_is_cited(
        self, base_url: str, upstream: Upstream, profile: ProfileName, stream: bool
    ) -> None:
        stubborn(upstream, f"{TRUE} {TRUE_TOO}")
        text, _ = read(base_url, profile, stream=stream)
        assert text == expected(f"{TRUE}[1] {TRUE_TOO}[2]", profile)

    @pytest.mark.parametrize("claim", [FALSE, UNKNOWN], ids=["contradicted", "unsupported"])
    def test_what_failed_is_marked(
        self, base_url: str, upstream: Upstream, profile: ProfileName, stream: bool, claim: str
    ) -> None:
        stubborn(upstream, f"{TRUE} {claim} {TRUE_ELSEWHERE}")
        text, _ = read(base_url, profile, stream=stream)
        shown = f"{TRUE}[n] {claim} ⚠️ {TRUE_ELSEWHERE}[n]"
        wanted = shown.replace("[n]", "") if profile == "none" else shown
        assert re.sub(r"\[\d\]", "[n]", text) == wanted

    def test_a_reply_of_which_all_failed_says_so(
        self, base_url: str, upstream: Upstream, profile: ProfileName, stream: bool
    ) -> None:
        stubborn(upstream, f"{FALSE} {UNKNOWN}")
        text, _ = read(base_url, profile, stream=stream)
        assert text == f"{FALSE} ⚠️ {UNKNOWN} ⚠️\n\n⚠️ {NONE}"

    def test_a_reply_that_was_not_checked_says_so(
        self, base_url: str, upstream: Upstream, profile: ProfileName, stream: bool
    ) -> None:
        stubborn(upstream, TRUE)
        text, verification = read(base_url, profile, stream=stream, deadline=0.000001)
        assert text == f"{TRUE}\n\n⚠️ {SKIPPED}"
        assert (verification["status"], verification["error"]) == ("skipped", "the deadline passed")

    def test_json_for_a_program_is_left_alone(
        self, base_url: str, upstream: Upstream, profile: ProfileName, stream: bool
    ) -> None:
        draft = json.dumps({"tags": ["Engineering", f"{FALSE} {UNKNOWN}"]})
        stubborn(upstream, draft)
        text, verification = read(base_url, profile, stream=stream, question=TAGS)
        assert text == draft
        assert (verification["status"], verification["task"]) == ("skipped", "tags for the chat")
        assert "tags for the chat" in verification["error"]
        text, verification = read(base_url, profile, stream=stream)
        assert text == draft
        assert {claim["verdict"] for claim in verification["claims"]} & {"contradicted", "unsupported"}
        assert len(upstream.requests) == 2

    def test_a_tool_call_is_left_alone(
        self, base_url: str, upstream: Upstream, profile: ProfileName, stream: bool
    ) -> None:
        upstream.enqueue(Reply(tool_calls(("look", '{"x": 1}')), finish_reason="tool_calls"))
        text, verification = read(base_url, profile, stream=stream)
        assert (text, verification["claims"]) == ("", [])


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_an_upstream_that_is_dead_is_an_error_without_its_address(corpus: Library, stream: bool) -> None:
    with serving(settings_for("http://127.0.0.1:1/v1"), corpus) as base_url:
        answers = [post(base_url, profile, stream=stream) for profile in PROFILES]
    for answer in answers:
        assert answer.status_code == 502
        assert "openai/test-model" in answer.json()["error"]["message"]
        assert "127.0.0.1" not in answer.text


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
def test_a_chinese_reply_is_warned_about_in_chinese(base_url: str, upstream: Upstream, stream: bool) -> None:
    stubborn(upstream, FALSE_ZH)
    text, _ = read(base_url, "openai", stream=stream)
    assert text == f"{FALSE_ZH} ⚠️\n\n⚠️ 这句陈述未在资料中找到依据。"


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
class TestPresets:
    def test_strict_shows_nothing_that_was_not_found(
        self, base_url: str, upstream: Upstream, stream: bool
    ) -> None:
        stubborn(upstream, f"{TRUE} {FALSE}")
        text, verification = read(base_url, "openai", stream=stream, preset="strict")
        assert (text, verification["dropped"]) == (f"{TRUE}[1]", [FALSE])
        stubborn(upstream, f"{FALSE} {UNKNOWN}")
        assert read(base_url, "openai", stream=stream, preset="strict")[0] == NOTHING_LEFT

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
        text, verification = read(base_url, "openai", stream=stream, preset="report")
        assert text == draft
        assert verification["claims"][0]["verdict"] == "supported"
        assert len(upstream.requests) == 1

    def test_papers_re_prompts_the_whole_reply(self, base_url: str, upstream: Upstream, stream: bool) -> None:
        upstream.enqueue(f"{TRUE} {FALSE}", f"{TRUE} {UNKNOWN}")
        text, verification = read(base_url, "openai", stream=stream, preset="papers")
        assert (text, verification["rounds"]) == (f"{TRUE}[1] {FALSE}", 1)

    def test_single_options_override_a_preset(self, base_url: str, upstream: Upstream, stream: bool) -> None:
        stubborn(upstream, f"{TRUE} {FALSE}")
        options: Any = {"preset": "papers", "max_rounds": 0, "mark_nonfactual": "[?]"}
        text, _ = read(base_url, "openai", stream=stream, **options)
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
            ({"preset": "strict", "correction": "prefix"}, "use correction 'none'"),
            ({"preset": "papers", "correction": "prefix"}, "not in stream mode 'buffer'"),
            ({"on_unsupported": "keep", "mark_nonfactual": "[?]"}, "leaves claims unmarked"),
            ({"correction": "prefix", "regeneration": "claims"}, "continues a reply"),
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
            assert read(base_url, "openai", stream=stream, preset="reader")[0] == f"{TRUE}[1]"
            told = read(base_url, "openai", stream=stream, question=TAGS)[0]
        assert FALSE not in told


def test_markers_and_notice_can_be_turned_off(corpus: Library, upstream: Upstream) -> None:
    stubborn(upstream, f"{FALSE} {UNKNOWN}")
    off: Any = {"citation": {"mark_nonfactual": "", "notice": False}}
    with serving(settings_for(upstream.url, **off), corpus) as base_url:
        assert read(base_url, "openai", stream=True)[0] == f"{FALSE} {UNKNOWN}"
        assert read(base_url, "openai", stream=True, on_unsupported="mark")[0] == f"{FALSE} ⚠️ {UNKNOWN} ⚠️"
