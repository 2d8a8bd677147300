"""Replies that upstreams write in other shapes than plain text, and what a client gets of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn

from proxy.server.app import create_app
from proxy.types import Judgement, Pair, Verdict
from tests.corpora import ANIMALS, build_index
from tests.light import light_parts, light_server
from tests.scripted_upstream import Answer, Raw, Reply, Status, Upstream
from tests.serving import running, settings_for, until

TRUE, TRUE_TOO = ANIMALS[0], ANIMALS[3]
UNKNOWN = "A dodo has seven hearts."
ORIGIN = "https://chat.example"


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("light") / "index"
    build_index(out)
    return out


@pytest.fixture(scope="module")
def url(index: Path, session_upstream: Upstream) -> Iterator[str]:
    with light_server(settings_for(session_upstream.url, retrieval={"threshold": -1.0}), index) as url:
        yield url


def asked(url: str, **more: Any) -> httpx.Response:
    vouch = {"max_rounds": 0, "correction": "none", **more.pop("vouch", {})}
    body = {"model": "test", "messages": [{"role": "user", "content": "Hearts?"}], "vouch": vouch, **more}
    return httpx.post(f"{url}/chat/completions", json=body, timeout=60)


def text_part(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


def streaming(*choices: dict[str, Any]) -> Raw:
    """A stream of chunks with one choice each."""
    rows = [{"index": 0, "finish_reason": None, **choice} for choice in choices]
    rows.append({"index": 0, "delta": {}, "finish_reason": "stop"})
    data = b"".join(b"data: " + json.dumps({"choices": [row]}).encode() + b"\n\n" for row in rows)
    return Raw(data + b"data: [DONE]\n\n", "text/event-stream")


def chunks_of(answer: httpx.Response) -> list[dict[str, Any]]:
    lines = [line[6:] for line in answer.text.split("\n") if line.startswith("data: {")]
    return [json.loads(line) for line in lines]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("mode", ["sentence", "buffer"])
def test_text_in_parts_is_checked_and_comes_as_text(
    url: str, upstream: Upstream, stream: bool, mode: str
) -> None:
    upstream.enqueue(Reply({"content": [text_part(TRUE), text_part(f" {UNKNOWN}")]}))
    answer = asked(url, stream=stream, vouch={"stream_mode": mode} if stream else {})
    expected = f"{TRUE}[1] {UNKNOWN} ⚠️"
    if stream:
        deltas = [chunk["choices"][0]["delta"] for chunk in chunks_of(answer) if chunk["choices"]]
        assert "".join(delta.get("content") or "" for delta in deltas).startswith(expected)
    else:
        assert answer.json()["choices"][0]["message"]["content"].startswith(expected)


def test_parts_beside_text_stay_as_they_are_and_what_they_say_is_checked(
    url: str, upstream: Upstream
) -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:,"}}
    upstream.enqueue(Reply({"content": [picture, text_part(UNKNOWN)]}))
    answer = asked(url).json()
    assert answer["choices"][0]["message"]["content"] == [picture, text_part(UNKNOWN)]
    assert [claim["verdict"] for claim in answer["verification"]["claims"]] == ["unsupported"]


UNVERIFIED = "Your organization must be verified to stream this model."


def refusing(message: str, param: str | None) -> Callable[[dict[str, Any]], Answer]:
    """An upstream that only answers calls that are not streamed."""
    error = {"type": "invalid_request_error", "param": param, "code": "unsupported_value"}
    return lambda body: Status(400, message, error=error) if body.get("stream") else Reply(TRUE)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("message", "param", "tried_again"),
    [(UNVERIFIED, "stream", False), ("audio is not supported when stream=true", "audio.format", True)],
)
def test_what_is_not_streamed_is_read_whole(
    index: Path, upstream: Upstream, stream: bool, message: str, param: str, tried_again: bool
) -> None:
    upstream.answer = refusing(message, param)
    with light_server(settings_for(upstream.url, retrieval={"threshold": -1.0}), index) as url:
        for _ in range(2):
            answer = asked(url, stream=stream)
            deltas = [chunk["choices"][0]["delta"] for chunk in chunks_of(answer)] if stream else []
            said = deltas or [answer.json()["choices"][0]["message"]]
            assert "".join(delta.get("content") or "" for delta in said) == f"{TRUE}[1]"
    streamed = [bool(request.body.get("stream")) for request in upstream.requests]
    assert streamed == [True, False, True, False] if tried_again else [True, False, False]


@pytest.mark.parametrize("message", ["Unknown parameter: temperature.", "No such field: stream_options"])
def test_any_other_refusal_is_the_answer(url: str, upstream: Upstream, message: str) -> None:
    upstream.answer = refusing(message, None)
    answer = asked(url)
    assert (answer.status_code, message in answer.json()["error"]["message"]) == (400, True)


def call(index: int, ident: str, name: str | None, arguments: str) -> dict[str, Any]:
    function = {"arguments": arguments, **({"name": name} if name else {})}
    return {
        "delta": {"tool_calls": [{"index": index, "id": ident, "type": "function", "function": function}]}
    }


@pytest.mark.parametrize("mode", ["", "buffer", "sentence", "passthrough"])
@pytest.mark.parametrize(
    ("streamed", "expected"),
    [
        (  # Gemini
            [call(0, "a", "f", '{"n": 1}'), call(0, "b", "f", '{"n": 2}'), call(0, "c", "f", '{"n": 3}')],
            ['{"n": 1}', '{"n": 2}', '{"n": 3}'],
        ),
        (  # lmdeploy
            [call(0, "a", "f", ""), call(0, "", None, '{"n": 1}'), call(0, "b", "f", '{"n": 2}')],
            ['{"n": 1}', '{"n": 2}'],
        ),
        (  # vLLM of 2024: an id for each piece
            [call(0, "a", "f", '{"n"'), call(0, "b", None, ": 1}"), call(1, "c", "f", '{"n": 2}')],
            ['{"n": 1}', '{"n": 2}'],
        ),
        ([call(1, "a", "f", "1"), call(0, "b", "f", "2"), call(1, "a", "f", "3")], ["2", "13"]),
    ],
)
def test_each_tool_call_stays_one(
    url: str, upstream: Upstream, mode: str, streamed: list[dict[str, Any]], expected: list[str]
) -> None:
    upstream.enqueue(streaming(*streamed))
    answer = asked(url, stream=bool(mode), vouch={"stream_mode": mode} if mode else {})
    calls: dict[int, str] = {}
    if mode:
        deltas = [chunk["choices"][0]["delta"] for chunk in chunks_of(answer)]
        for each in (each for delta in deltas for each in delta.get("tool_calls") or ()):
            calls[each["index"]] = calls.get(each["index"], "") + each["function"]["arguments"]
    else:
        whole = answer.json()["choices"][0]["message"]["tool_calls"]
        calls = {n: each["function"]["arguments"] for n, each in enumerate(whole)}
    assert [calls[n] for n in sorted(calls)] == expected


THOUGHT = "Let me think."
THINKING = {"type": "thinking", "thinking": [text_part(THOUGHT)], "closed": True}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("mode", ["sentence", "buffer", "passthrough"])
@pytest.mark.parametrize(
    "streamed",
    [
        [{"content": [THINKING]}, {"content": [text_part(TRUE)]}, {"content": f" {UNKNOWN}"}],
        [{"content": [THINKING, text_part(TRUE)]}, {"content": f" {UNKNOWN}"}],
    ],
)
def test_thoughts_in_parts_are_no_part_of_the_answer(
    url: str, upstream: Upstream, stream: bool, mode: str, streamed: list[dict[str, Any]]
) -> None:
    upstream.enqueue(streaming(*({"delta": delta} for delta in streamed)))
    answer = asked(url, stream=stream, vouch={"stream_mode": mode})
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks_of(answer)] if stream else []
    said = deltas or [answer.json()["choices"][0]["message"]]
    assert "".join(delta.get("reasoning_content") or "" for delta in said) == THOUGHT
    content = "".join(delta.get("content") or "" for delta in said)
    assert content.startswith(
        f"{TRUE} {UNKNOWN}" if mode == "passthrough" else f"{TRUE}[1] {UNKNOWN} \u26a0\ufe0f"
    )
    assert content.count(UNKNOWN) == 1


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("gap", [" ", "", "\n\n"])
def test_a_thought_in_the_text_is_not_checked(url: str, upstream: Upstream, stream: bool, gap: str) -> None:
    thought = f"<think>{UNKNOWN} {UNKNOWN}</think>{gap}"
    upstream.enqueue(Reply(f"{thought}{TRUE} {UNKNOWN}"))
    answer = asked(url, stream=stream)
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks_of(answer)] if stream else []
    said = deltas or [answer.json()["choices"][0]["message"]]
    content = "".join(delta.get("content") or "" for delta in said)
    assert content.startswith(f"{thought}{TRUE}[1] {UNKNOWN} \u26a0\ufe0f")


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        (f"{TRUE[:-1]}\\\n{UNKNOWN[:-1]}\\\nYes.", f"{TRUE[:-1]}[1]\\\n{UNKNOWN[:-1]} ⚠️\\\nYes."),
        (f"{UNKNOWN}🗼 {UNKNOWN}¹ {TRUE} A", f"{UNKNOWN}🗼 ⚠️ {UNKNOWN}¹ ⚠️ {TRUE}[1] A"),
        (f"{UNKNOWN}(see it) It is 5 kg. {TRUE} A", f"{UNKNOWN}(see it) ⚠️ It is 5 kg. ⚠️ {TRUE}[1] A"),
        (f"<ul><li>{TRUE}</li><li>{UNKNOWN}</li></ul>", f"<ul><li>{TRUE}[1]</li><li>{UNKNOWN} ⚠️</li></ul>"),
        (
            f"| Fact | |\n|---|---|\n| {UNKNOWN} | - | {UNKNOWN} |\n",
            f"| Fact | |\n|---|---|\n| {UNKNOWN} | - ⚠️ | {UNKNOWN} |\n",
        ),
    ],
)
def test_markers_leave_the_markdown_as_it_was(url: str, upstream: Upstream, written: str, shown: str) -> None:
    upstream.enqueue(Reply(written))
    assert asked(url).json()["choices"][0]["message"]["content"].startswith(shown)


@pytest.mark.parametrize("kind", ["text", "json_object"])
def test_thoughts_in_a_whole_reply_are_told_apart_too(url: str, upstream: Upstream, kind: str) -> None:
    said = json.dumps({"fact": TRUE})
    upstream.enqueue(Reply({"content": [THINKING, text_part(said)]}))
    message = asked(url, response_format={"type": kind}).json()["choices"][0]["message"]
    assert (message["content"], message["reasoning_content"]) == (said, THOUGHT)


@pytest.mark.parametrize("mode", ["sentence", "buffer", "passthrough"])
def test_in_a_stream_a_picture_stands_beside_the_text(url: str, upstream: Upstream, mode: str) -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:,"}}
    upstream.enqueue(Reply({"content": [picture, text_part(UNKNOWN)]}))
    chunks = chunks_of(asked(url, stream=True, vouch={"stream_mode": mode}))
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks]
    assert "".join(delta.get("content") or "" for delta in deltas).count(UNKNOWN) == 1
    assert [delta["content_parts"] for delta in deltas if "content_parts" in delta] == [[picture]]


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        (f"{UNKNOWN[:-1]} according to [1] too. {TRUE}", f"{UNKNOWN[:-1]} according to (1) too. ⚠️ {TRUE}[1]"),
        (f"{UNKNOWN[:-1]} as 【2】 says. {TRUE}", f"{UNKNOWN[:-1]} as (2) says. ⚠️ {TRUE}[1]"),
        (f"{TRUE} Take `a[1]`.", f"{TRUE}[1] Take `a[1]`."),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_a_number_within_a_sentence_is_not_taken_for_a_reference(
    url: str, upstream: Upstream, written: str, shown: str, stream: bool
) -> None:
    upstream.enqueue(written)
    answer = asked(url, stream=stream)
    if stream:
        found = "".join(
            choice["delta"].get("content") or "" for chunk in chunks_of(answer) for choice in chunk["choices"]
        )
    else:
        found = answer.json()["choices"][0]["message"]["content"]
    assert found.startswith(shown.removesuffix("."))


def test_the_upstreams_index_of_a_choice_is_kept_to_the_end(url: str, upstream: Upstream) -> None:
    head = {"id": "1", "created": 1, "model": "m", "object": "chat.completion.chunk"}
    choice = {"index": 1, "delta": {"role": "assistant", "content": TRUE}, "finish_reason": "stop"}
    upstream.enqueue(
        Raw(
            f"data: {json.dumps({**head, 'choices': [choice]})}\n\ndata: [DONE]\n\n".encode(),
            "text/event-stream",
        )
    )
    choices = [choice for chunk in chunks_of(asked(url, stream=True)) for choice in chunk["choices"]]
    assert {choice["index"] for choice in choices if choice["delta"].get("content")} == {1}
    assert "".join(choice["delta"].get("content") or "" for choice in choices) == f"{TRUE}[1]"
    assert [choice["index"] for choice in choices if choice["finish_reason"]] == [1]


class _Broken:
    """A checker with an error of its own."""

    async def check(self, pairs: Sequence[Pair]) -> Sequence[Judgement]:
        raise RuntimeError("the secret sk-123")


class _Unsure:
    """`UNVERIFIED` for what it has not got word for word; a claim with seven in it fails."""

    async def check(self, pairs: Sequence[Pair]) -> Sequence[Judgement]:
        return [
            Judgement(
                Verdict.SUPPORTED
                if pair.claim.strip() in pair.evidence
                else Verdict.UNSUPPORTED
                if "seven" in pair.claim
                else Verdict.UNVERIFIED
            )
            for pair in pairs
        ]


def server_with(checker: Any, upstream: Upstream, index: Path, **sections: Any) -> uvicorn.Server:
    settings = settings_for(upstream.url, retrieval={"threshold": -1.0}, **sections)
    parts = light_parts(settings, index)
    models = {
        name: replace(model, checkers=dict.fromkeys(model.checkers, checker))
        for name, model in parts.models.items()
    }
    return uvicorn.Server(
        uvicorn.Config(create_app(replace(parts, models=models), settings), log_config=None)
    )


def test_an_error_that_nobody_foresaw_can_be_found_in_the_log(index: Path, upstream: Upstream) -> None:
    upstream.enqueue(TRUE)
    with running(server_with(_Broken(), upstream, index, server={"cors_origins": [ORIGIN]})) as url:
        body = {"model": "test", "messages": [{"role": "user", "content": "Hearts?"}]}
        answer = httpx.post(
            f"{url}/chat/completions", json=body, headers={"origin": ORIGIN, "x-request-id": "r1"}
        )
    assert answer.status_code == 500
    assert answer.headers["x-request-id"] == "r1"
    assert answer.headers["access-control-allow-origin"] == ORIGIN
    assert answer.json()["error"]["code"] == "internal_error"
    assert "secret" not in answer.text


def test_a_correction_that_could_not_be_checked_does_not_replace_the_sentence(
    index: Path, upstream: Upstream
) -> None:
    upstream.enqueue(Reply(f"{TRUE} {UNKNOWN} {TRUE_TOO}"), *[Reply("Moas had one heart.")] * 2)
    with running(server_with(_Unsure(), upstream, index)) as url:
        answer = asked(url, stream=True, vouch={"max_rounds": 1, "correction": "sentences"})
    chunks = chunks_of(answer)
    written = "".join(choice["delta"].get("content") or "" for chunk in chunks for choice in chunk["choices"])
    assert written.startswith(f"{TRUE}[1] {UNKNOWN} ⚠️ {TRUE_TOO}[2]")
    step, _ = next(chunk["verification"] for chunk in chunks if chunk.get("verification"))["correction"]
    assert (step["result"], "could not be checked" in step["detail"]) == ("not_better", True)


KEY = "key-of-a-team"


def left_of(answer: httpx.Response) -> int:
    return int(answer.headers["x-ratelimit-remaining-tokens"])


def test_a_stream_that_is_left_before_its_end_is_charged(index: Path, upstream: Upstream) -> None:
    settings = settings_for(
        upstream.url,
        server={"api_keys": [{"name": "team", "key": KEY}]},
        limits={"key": {"tokens_per_minute": 100_000}},
        retrieval={"threshold": -1.0},
    )
    # A long question, since each second gives 1,666 tokens back.
    body = {"model": "test", "messages": [{"role": "user", "content": "Hearts? " * 25_000}], "stream": True}
    headers = {"authorization": f"Bearer {KEY}"}
    with light_server(settings, index) as url, httpx.Client(headers=headers) as client:
        upstream.enqueue(Reply(f"{TRUE} " * 200, pace=0.002))
        with client.stream("POST", f"{url}/chat/completions", json=body, timeout=30) as answer:
            for line in answer.iter_lines():
                if TRUE in line:
                    break
        upstream.wait_for_disconnect()
        until(lambda: left_of(client.post(f"{url}/check", json={"text": TRUE})) < 90_000)
