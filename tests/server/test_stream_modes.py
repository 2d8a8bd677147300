"""When the text of a stream is let go: by sentences, at the end, or at once; and corrected on its way."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from proxy.cli.compose import Library
from proxy.config.settings import Settings
from tests.scripted_upstream import Hang, Reply, Status, Upstream, tool_calls
from tests.server.facts import FALSE, TRUE, TRUE_ELSEWHERE, TRUE_TOO, TRUE_ZH, UNKNOWN
from tests.serving import serving, settings_for

MESSAGES: Any = [{"role": "user", "content": "What do you know about the Eiffel Tower?"}]


HALF = "\n\n⚠️ 1 of 2 statements were not found in the sources."


def chunks_of(base_url: str, model: str = "test", body: Any = None, **vouch: Any) -> Iterator[dict[str, Any]]:
    """The chunks of a stream, as they come."""
    asked = {"model": model, "messages": MESSAGES, "stream": True, "vouch": vouch, **(body or {})}
    with httpx.stream("POST", f"{base_url}/chat/completions", json=asked, timeout=60) as response:
        assert response.status_code == 200, response.read()
        for line in response.iter_lines():
            if line.startswith("data: {"):
                yield json.loads(line.removeprefix("data: "))


def pieces(chunks: list[dict[str, Any]], index: int = 0) -> list[str]:
    deltas = [
        choice["delta"]
        for chunk in chunks
        for choice in chunk.get("choices") or ()
        if choice["index"] == index
    ]
    return [delta["content"] for delta in deltas if delta.get("content")]


def finish(chunks: list[dict[str, Any]], index: int = 0) -> dict[str, Any]:
    (found,) = [
        chunk
        for chunk in chunks
        if chunk.get("choices")
        and chunk["choices"][0]["finish_reason"]
        and chunk["choices"][0]["index"] == index
    ]
    return found


def test_a_sentence_leaves_while_the_next_is_written(base_url: str, upstream: Upstream) -> None:
    upstream.enqueue(Reply(f"{TRUE} {UNKNOWN} {TRUE_ELSEWHERE} {TRUE_TOO}", pace=0.02))
    seen: list[tuple[float, str]] = []
    for chunk in chunks_of(base_url, max_rounds=0):
        seen += [(time.perf_counter(), text) for text in pieces([chunk])]
    assert seen[0][1].startswith(f"{TRUE}[1]")
    assert UNKNOWN not in seen[0][1]  # the others may leave together, where the machine is slow
    assert seen[-1][0] - seen[0][0] > 0.5


@pytest.mark.parametrize("mode", ["sentence", "buffer"])
@pytest.mark.parametrize(
    "draft",
    [
        f"# Facts\n\n- {TRUE}\n- {FALSE}\n\n```python\nx = [1]\n```\n\n{TRUE_ZH} {UNKNOWN}\n",
        f"| what | is |\n|---|---|\n| height | {TRUE} |\n\n**{TRUE_TOO}** [1]",
        "Hello! How can I help?",
        f"{TRUE}[3][4] {UNKNOWN} [2]",
    ],
)
def test_every_mode_says_the_same_in_the_end(
    base_url: str, upstream: Upstream, mode: str, draft: str
) -> None:
    upstream.enqueue(*[Reply(draft, size=3)] * 2)
    chunks = list(chunks_of(base_url, stream_mode=mode, max_rounds=0))
    asked = {"model": "test", "messages": MESSAGES, "vouch": {"max_rounds": 0}}
    whole = httpx.post(f"{base_url}/chat/completions", json=asked, timeout=60).json()
    assert "".join(pieces(chunks)) == whole["choices"][0]["message"]["content"]
    last = finish(chunks)
    assert last["references"] == whole["references"]
    assert last["verification"] == whole["verification"]
    annotations = whole["choices"][0]["message"]["annotations"]
    assert last["choices"][0]["delta"]["annotations"] == annotations


def test_passthrough_shows_all_at_once_and_tells_at_the_end(base_url: str, upstream: Upstream) -> None:
    draft = f"{TRUE}[9] {UNKNOWN} And x = a[1]."
    upstream.enqueue(Reply(draft, size=20, pace=0.05))
    chunks = list(chunks_of(base_url, stream_mode="passthrough"))
    assert "".join(pieces(chunks)) == draft
    assert len(pieces(chunks)) > 5
    last = finish(chunks)
    assert [claim["verdict"] for claim in last["verification"]["claims"]][:2] == ["supported", "unsupported"]
    for claim in last["verification"]["claims"]:
        assert draft[claim["start"] : claim["end"]] == claim["text"]
    assert last["references"][0]["spans"] == [[0, last["verification"]["claims"][0]["end"]]]


def test_a_stream_that_waits_may_tell_how_far_it_is(base_url: str, upstream: Upstream) -> None:
    upstream.enqueue(*[Reply(f"{TRUE} {TRUE_TOO} {TRUE_ELSEWHERE}", pace=0.01)] * 2)
    chunks = list(chunks_of(base_url, stream_mode="buffer", progress=True, max_rounds=0))
    told = [chunk["progress"]["checked"] for chunk in chunks if "progress" in chunk]
    assert told == sorted(told)
    assert told[-1] == 3
    quiet = list(chunks_of(base_url, stream_mode="buffer", max_rounds=0))
    assert not any("progress" in chunk for chunk in quiet)


def test_a_stream_may_tell_the_verdicts_with_the_sentences(base_url: str, upstream: Upstream) -> None:
    upstream.enqueue(Reply(f"Hello! {TRUE} {UNKNOWN} {TRUE_TOO}", pace=0.005))
    chunks = list(chunks_of(base_url, stream_mode="sentence", progress=True, max_rounds=0))
    content = "".join(pieces(chunks))
    told = [claim for chunk in chunks for claim in chunk.get("progress", {}).get("claims", [])]
    assert told == finish(chunks)["verification"]["claims"]
    cited = [each for chunk in chunks for each in chunk.get("progress", {}).get("references", [])]
    references = finish(chunks)["references"]
    assert [(each["n"], each["id"]) for each in cited] == [(each["n"], each["id"]) for each in references]
    assert [content[claim["start"] : claim["end"]] for claim in told] == [claim["text"] for claim in told]
    assert sum("progress" in chunk for chunk in chunks) > 1


def test_a_stream_that_tells_its_progress_ends_with_a_time_line(base_url: str, upstream: Upstream) -> None:
    draft = f"{TRUE} {UNKNOWN}"
    upstream.enqueue(Reply(draft, pace=0.01), Reply(TRUE_TOO))
    chunks = list(chunks_of(base_url, progress=True, correction="sentences", stream_mode="sentence"))
    verification = finish(chunks)["verification"]
    steps = verification["timeline"]
    phases = {step["phase"] for step in steps}
    assert phases == {"waiting", "upstream", "claims", "retrieval", "checking", "correction"}
    for step in steps:
        assert 0 <= step["start"] <= step.get("first", step["end"]) <= step["end"]
    calls = [step for step in steps if step["phase"] == "upstream"]
    assert len(calls) >= 2
    assert all(step["count"] > 0 for step in steps if step["phase"] in ("claims", "retrieval", "checking"))
    corrected = [step for step in steps if step["phase"] == "correction"]
    assert len(corrected) == len(verification["correction"])
    upstream.enqueue(Reply(draft))
    assert (
        "timeline"
        not in finish(list(chunks_of(base_url, max_rounds=0, stream_mode="sentence")))["verification"]
    )


def test_whatever_else_the_deltas_hold_passes(base_url: str, upstream: Upstream) -> None:
    message = {"role": "assistant", "content": TRUE, "reasoning_content": "Let me think about it."}
    upstream.enqueue(
        Reply({**tool_calls(("look", '{"x": 1}')), **message}, extra={"system_fingerprint": "fp"})
    )
    chunks = list(chunks_of(base_url, max_rounds=0))
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks]
    thought = "".join(delta.get("reasoning_content") or "" for delta in deltas)
    assert thought == "Let me think about it."
    arguments = [call["function"]["arguments"] for delta in deltas for call in delta.get("tool_calls") or ()]
    assert "".join(arguments) == '{"x": 1}'
    assert "".join(pieces(chunks)) == f"{TRUE}[1]"
    last = finish(chunks)
    assert last["system_fingerprint"] == "fp"
    citation = last["choices"][0]["delta"]["annotations"][0]["url_citation"]
    assert (citation["start_index"], citation["end_index"]) == (len(TRUE), len(TRUE) + 3)


def test_each_choice_is_let_go_on_its_own(base_url: str, upstream: Upstream) -> None:
    upstream.enqueue(Reply(f"{TRUE} {TRUE_TOO}", f"{UNKNOWN} {TRUE_ELSEWHERE}"))
    chunks = list(chunks_of(base_url, body={"n": 2}, max_rounds=0))
    assert "".join(pieces(chunks, 0)).startswith(f"{TRUE}[1]")
    assert "".join(pieces(chunks, 1)) == f"{UNKNOWN} ⚠️ {TRUE_ELSEWHERE}[1]{HALF}"
    assert finish(chunks, 1)["verification"]["claims"][0]["verdict"] == "unsupported"


@pytest.mark.parametrize(
    "body",
    [{"logprobs": True}, {"response_format": {"type": "json_object"}}],
    ids=["logprobs", "json"],
)
def test_text_that_may_not_be_touched_waits_for_its_end(
    base_url: str, upstream: Upstream, body: dict[str, Any]
) -> None:
    draft = json.dumps({"answer": f"{TRUE} {TRUE_TOO}"}, ensure_ascii=False)
    upstream.enqueue(Reply(draft, logprobs="logprobs" in body))
    chunks = list(chunks_of(base_url, body=body, stream_mode="sentence"))
    assert "".join(pieces(chunks)) == draft
    assert finish(chunks)["references"]


def test_what_was_checked_is_shown_before_a_stream_that_breaks_says_so(
    base_url: str, upstream: Upstream
) -> None:
    upstream.enqueue(Reply(f"{TRUE} {UNKNOWN} {TRUE_TOO}", drop_after=60, pace=0.005))
    chunks = list(chunks_of(base_url, max_rounds=0))
    assert "".join(pieces(chunks)).startswith(f"{TRUE}[1]")
    assert "error" in chunks[-1]


def test_nothing_unchecked_is_let_go_where_that_is_forbidden(base_url: str, upstream: Upstream) -> None:
    upstream.enqueue(Reply(f"{TRUE} {UNKNOWN}"))
    options: Any = {"max_rounds": 0, "fail_closed": True, "checker": "llm"}
    upstream.answer = lambda _body: Status(401)
    chunks = list(chunks_of(base_url, **options))
    assert pieces(chunks) == []
    assert chunks[-1]["error"]["code"] == "verification_unavailable"


def test_a_sentence_that_fails_is_corrected_before_anyone_reads_it(base_url: str, upstream: Upstream) -> None:
    """The rest of the reply stays as the model wrote it: code, further sentences, the reason why it ended."""
    rest = f"{TRUE_ELSEWHERE}\n\n```py\nx = 1\n```\n"
    upstream.enqueue(Reply(f"{TRUE} {FALSE} {rest}", pace=0.01), Reply(f"=== 1\n{TRUE_TOO}\n=== end"))
    chunks = list(chunks_of(base_url, correction="sentences", max_rounds=1))
    content = "".join(pieces(chunks))
    assert content == f"{TRUE}[1] {TRUE_TOO}[2] {TRUE_ELSEWHERE}[2]\n\n```py\nx = 1\n```\n"
    last = finish(chunks)["verification"]
    assert (last["rounds"], last["best"]) == (1, 1)
    (failed,) = last["attempts"][0]["nonfactual"]
    assert failed["text"] == FALSE
    assert content[slice(*failed["replaced_by"])] == TRUE_TOO
    _, second = upstream.requests
    assert second.body["messages"][: len(MESSAGES)] == MESSAGES
    said = second.body["messages"][len(MESSAGES)]
    assert (said["role"], said["content"].startswith(f"{TRUE} {FALSE}")) == ("assistant", True)
    assert FALSE in second.body["messages"][-1]["content"]


def test_a_correction_costs_what_it_says(base_url: str, upstream: Upstream) -> None:
    usage = {"prompt_tokens": 1000, "completion_tokens": 7, "total_tokens": 1007}
    upstream.enqueue(Reply(f"{TRUE} {FALSE}"), Reply(TRUE_TOO, usage=usage))
    chunks = list(chunks_of(base_url, body={"stream_options": {"include_usage": True}}, max_rounds=1))
    assert chunks[-1]["usage"]["verification"]["total_tokens"] == 1007


@pytest.mark.parametrize("stream", [True, False])
def test_a_tool_that_only_a_correction_calls_is_never_called(
    base_url: str, upstream: Upstream, stream: bool
) -> None:
    """The client would run it, with arguments that our prompt led to."""
    tool = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}
    calling = Reply({**tool_calls(("look", '{"x": 1}')), "role": "assistant", "content": TRUE_TOO})
    upstream.enqueue(Reply(f"{TRUE} {FALSE}"), calling, calling)
    body = {"model": "test", "messages": MESSAGES, "tools": [tool], "tool_choice": "auto", "stream": stream}
    answer = httpx.post(f"{base_url}/chat/completions", json=body, timeout=30)
    assert "tool_calls" not in answer.text
    _, whole, sentence = upstream.requests
    assert (whole.body["tools"], whole.body["tool_choice"]) == ([tool], "none")
    assert not {"tools", "tool_choice"} & set(sentence.body)


def test_what_fails_when_no_correction_helps_is_marked(base_url: str, upstream: Upstream) -> None:
    upstream.enqueue(Reply(f"{TRUE} {UNKNOWN} {TRUE_TOO}"), *[Reply(UNKNOWN)] * 2)
    chunks = list(chunks_of(base_url, correction="sentences", max_rounds=1))
    assert "".join(pieces(chunks)) == f"{TRUE}[1] {UNKNOWN} ⚠️ {TRUE_TOO}[2]"
    asked_for = [step["asked_for"] for step in finish(chunks)["verification"]["correction"]]
    assert asked_for == ["claims", "sentences"]


def test_no_more_than_eight_sentences_of_a_reply_are_asked_for(base_url: str, upstream: Upstream) -> None:
    failing = " ".join(f"Moas laid {number} eggs a year." for number in range(2, 12))
    upstream.enqueue(Reply(failing), *[Status(500)] * 30)
    chunks = list(chunks_of(base_url, correction="sentences", max_rounds=1))
    assert "".join(pieces(chunks)).count("⚠️") >= 10
    assert len(finish(chunks)["verification"]["correction"]) == 8


def test_the_demonstration_corrects_its_error_before_anyone_reads_it(base_url: str) -> None:
    messages = [{"role": "user", "content": "How deep is Lake Baikal, and how old is it?"}]
    body = {"messages": messages}
    chunks = list(chunks_of(base_url, "vouch/demo", body, correction="sentences", max_rounds=2))
    verification = finish(chunks)["verification"]
    assert verification["rounds"] == 1
    assert {claim["verdict"] for claim in verification["claims"]} == {"supported"}
    said = [claim["text"] for claim in verification["claims"]]
    assert len(said) == len(set(said)) >= 3


def test_each_choice_is_corrected(base_url: str, upstream: Upstream) -> None:
    upstream.enqueue(Reply(f"{FALSE} {TRUE}", f"{TRUE_ELSEWHERE} {FALSE}"), *[Reply(TRUE_TOO)] * 2)
    chunks = list(chunks_of(base_url, body={"n": 2}, correction="sentences", max_rounds=1))
    assert "".join(pieces(chunks, 0)) == f"{TRUE_TOO}[1] {TRUE}[2]"
    assert "".join(pieces(chunks, 1)) == f"{TRUE_ELSEWHERE}[1] {TRUE_TOO}[1]"


@pytest.mark.parametrize(
    ("answer", "result"),
    [
        (Status(500), "upstream_error"),
        (Reply("=== fea8eafe2adc document: Eiffel Tower"), "leaked"),
        (Reply("I'm sorry, but I can't do that."), "unreadable"),
        (Reply(""), "unreadable"),
        (Reply(UNKNOWN), "not_better"),
    ],
    ids=["error", "leak", "refusal", "nothing", "no better"],
)
def test_where_a_correction_does_not_help_the_reply_goes_on_with_a_warning(
    base_url: str, upstream: Upstream, answer: Reply | Status, result: str
) -> None:
    upstream.enqueue(Reply(f"{TRUE} {FALSE} {TRUE_TOO}"), answer, answer)
    chunks = list(chunks_of(base_url, correction="sentences", max_rounds=1))
    assert "".join(pieces(chunks)) == f"{TRUE}[1] {FALSE} ⚠️ {TRUE_TOO}[2]"
    verification = finish(chunks)["verification"]
    step = verification["correction"][0]
    assert (step["asked_for"], step["result"], verification["rounds"]) == ("claims", result, 1)


@pytest.mark.parametrize("mode", ["sentence", "buffer", "passthrough"])
async def test_a_client_that_leaves_ends_the_upstreams_call(
    base_url: str, upstream: Upstream, mode: str
) -> None:
    """A hundredth of a second a chunk: what goes out after the client has left tells how long it took."""
    reply = Reply(f"{TRUE} {UNKNOWN} " * 40, pace=0.01)
    upstream.enqueue(reply)
    body = {"model": "test", "messages": MESSAGES, "stream": True, "vouch": {"stream_mode": mode}}
    async with (
        httpx.AsyncClient() as client,
        client.stream("POST", f"{base_url}/chat/completions", json=body, timeout=30) as response,
    ):
        async for _ in response.aiter_bytes():
            break
        sent = reply.sent
    await asyncio.to_thread(upstream.wait_for_disconnect)
    assert upstream.requests[-1].disconnected
    assert reply.sent - sent < 50


async def test_a_client_that_does_not_read_holds_the_upstream_back(
    corpus: Library, upstream: Upstream
) -> None:
    settings = settings_for(upstream.url).model_dump(mode="json")
    settings["upstreams"][0] |= {"max_reply_bytes": 100_000_000, "api_key": None, "timeout": 60}
    megabytes = 64
    reply = Reply("a" * megabytes * 1_000_000, size=10_000)
    upstream.enqueue(reply)
    body = {"model": "test", "messages": MESSAGES, "stream": True, "vouch": {"stream_mode": "passthrough"}}
    small = httpx.AsyncHTTPTransport(socket_options=[(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)])
    with serving(Settings.model_validate(settings), corpus) as base_url:
        async with (
            httpx.AsyncClient(transport=small) as client,
            client.stream("POST", f"{base_url}/chat/completions", json=body, timeout=30) as response,
        ):
            await anext(response.aiter_bytes())
            before = -1
            while reply.sent != before:
                before = reply.sent
                await asyncio.sleep(0.5)
    assert reply.sent < megabytes * 100 * 0.75


def test_heartbeats_go_out_while_the_upstream_is_silent(corpus: Library, upstream: Upstream) -> None:
    settings = settings_for(upstream.url, server={"heartbeat": 0.1})
    upstream.enqueue(Reply(f"{TRUE} {TRUE_TOO}", pace=0.35, size=60))
    with serving(settings, corpus) as base_url:
        chunks = list(chunks_of(base_url, max_rounds=0))
    assert [chunk["choices"][0]["delta"] for chunk in chunks].count({}) >= 3
    assert "".join(pieces(chunks)) == f"{TRUE}[1] {TRUE_TOO}[2]"


def test_a_model_may_have_a_mode_of_its_own(corpus: Library, upstream: Upstream) -> None:
    settings = settings_for(upstream.url).model_dump(mode="json")
    settings["upstreams"][0]["stream_mode"] = "passthrough"
    settings["upstreams"][0]["api_key"] = "sk-upstream"
    upstream.enqueue(Reply(f"{TRUE}[4]", size=5))
    with serving(Settings.model_validate(settings), corpus) as base_url:
        assert "".join(pieces(list(chunks_of(base_url)))) == f"{TRUE}[4]"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"stream_mode": "passthrough", "fail_closed": True}, "`fail_closed` holds back"),
        ({"stream_mode": "passthrough", "on_unsupported": "drop"}, "on_unsupported 'drop' drops"),
        ({"stream_mode": "sentence", "on_unsupported": "drop"}, "use 'buffer'"),
        ({"correction": "sentences", "on_unsupported": "drop"}, "use correction 'none'"),
        ({"correction": "sentences", "stream_mode": "buffer"}, "not in stream mode 'buffer'"),
        ({"correction": "sentences", "stream_mode": "passthrough"}, "not in stream mode 'passthrough'"),
        ({"correction": "sentences", "max_rounds": 0}, "`max_rounds` is 0"),
        ({"stream_mode": "sentence", "max_rounds": 2}, "no use for `max_rounds`"),
        ({"stream_mode": "passthrough", "max_rounds": 2}, "no use for `max_rounds`"),
    ],
)
@pytest.mark.parametrize("stream", [True, False])
def test_options_that_contradict_each_other_are_refused(
    base_url: str, upstream: Upstream, options: dict[str, Any], said: str, stream: bool
) -> None:
    body = {"model": "test", "messages": MESSAGES, "stream": stream, "vouch": options}
    response = httpx.post(f"{base_url}/chat/completions", json=body, timeout=30)
    assert response.status_code == 400
    error = response.json()["error"]
    assert error["param"] == "vouch"
    assert said in error["message"]
    assert not upstream.requests


def test_what_the_operator_configured_for_safety_is_not_overridden(
    corpus: Library, upstream: Upstream
) -> None:
    settings = settings_for(upstream.url, verification={"fail_closed": True})
    body = {"model": "test", "messages": MESSAGES, "stream": True, "vouch": {"stream_mode": "passthrough"}}
    with serving(settings, corpus) as base_url:
        response = httpx.post(f"{base_url}/chat/completions", json=body, timeout=30)
    assert response.status_code == 400
    assert "fail_closed" in response.json()["error"]["message"]


def test_a_requests_own_mode_goes_before_a_configured_correction(corpus: Library, upstream: Upstream) -> None:
    settings = settings_for(upstream.url, streaming={"correction": "sentences"})
    upstream.enqueue(Reply(f"{TRUE} {TRUE_TOO}", size=5))
    with serving(settings, corpus) as base_url:
        chunks = list(chunks_of(base_url, stream_mode="passthrough"))
    assert "".join(pieces(chunks)) == f"{TRUE} {TRUE_TOO}"


def test_an_upstream_that_never_answers_is_a_status(base_url: str, upstream: Upstream) -> None:
    upstream.enqueue(Hang())
    body = {"model": "test-hasty", "messages": MESSAGES, "stream": True}
    response = httpx.post(f"{base_url}/chat/completions", json=body, timeout=30)
    assert response.status_code == 504
