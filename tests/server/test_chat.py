"""`/v1/chat/completions`, not streaming, through the real OpenAI SDK and curl."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from openai import AsyncOpenAI, OpenAI

from tests.scripted_upstream import Drop, Hang, Reply, Status, Upstream, tool_calls
from tests.server.asking import QUESTION, ask, check_offsets, curl, extra, verdicts
from tests.server.facts import FALSE, FALSE_ZH, GREETING, TRUE, TRUE_ELSEWHERE, TRUE_TOO, TRUE_ZH, UNKNOWN

OPENS = "#:~:text=The%20Eiffel%20Tower%20is,tall%20when%20it%20opened."
"""Where a link to the page that says `TRUE` opens."""


@pytest.mark.parametrize("model", ["test", "test-litellm"])
def test_supported_claims_are_cited(client: OpenAI, upstream: Upstream, model: str) -> None:
    draft = f"{GREETING}\n\n- {TRUE}\n- {TRUE_ELSEWHERE}\n\n{TRUE_ZH} Shall I go on?"
    upstream.enqueue(draft)
    completion = ask(client, model=model)
    assert verdicts(completion) == ["not_checkable", "supported", "supported", "supported", "not_checkable"]
    check_offsets(completion, draft)
    assert extra(completion)["verification"]["status"] == "ok"
    titles = [reference["title"] for reference in extra(completion)["references"]]
    assert any("Eiffel" in title for title in titles)
    assert any("都江堰" in title for title in titles)
    for reference in extra(completion)["references"]:
        assert reference["quote"] in reference["text"]


def test_each_claim_tells_what_it_cites_itself(client: OpenAI, upstream: Upstream) -> None:
    upstream.enqueue(f"{TRUE_TOO} {TRUE_ELSEWHERE} {UNKNOWN}")
    checked = extra(ask(client, max_rounds=0))
    (reference,) = checked["references"]
    first, second, failed = checked["verification"]["claims"]
    assert "evidence" not in failed
    for claim, says in ((first, "7,300 tonnes"), (second, "1884")):
        (cited,) = claim["evidence"]
        assert cited["n"] == reference["n"]
        assert says in cited["quote"]
        assert cited["quote"] in reference["text"]
        assert all(0 <= start < end <= len(cited["quote"]) for start, end in cited["highlights"])
    assert reference["quote"] == first["evidence"][0]["quote"]


def test_a_nonfactual_claim_is_re_prompted_away(client: OpenAI, upstream: Upstream) -> None:
    upstream.enqueue(f"{TRUE} {FALSE}", f"{TRUE} {TRUE_TOO}")
    completion = ask(client)
    check_offsets(completion, f"{TRUE} {TRUE_TOO}")
    verification = extra(completion)["verification"]
    assert (verification["rounds"], verification["best"]) == (1, 1)
    (failed,) = verification["attempts"][0]["nonfactual"]
    assert failed["text"] == FALSE
    assert failed["verdict"] in ("contradicted", "unsupported")
    assert failed["evidence"]["title"] == "Eiffel Tower"
    first, second = (request.body["messages"] for request in upstream.requests)
    assert second[: len(first)] == first
    assert [message["role"] for message in second[len(first) :]] == ["assistant", "user"]
    assert FALSE in second[-1]["content"]
    assert "7,300 tonnes" in second[-1]["content"]


def test_chinese_is_checked_too(client: OpenAI, upstream: Upstream) -> None:
    upstream.enqueue(TRUE_ZH, FALSE_ZH)
    assert verdicts(ask(client, "都江堰是什么时候建的？")) == ["supported"]
    assert verdicts(ask(client, "都江堰是什么时候建的？", max_rounds=0))[0] in ("contradicted", "unsupported")


@pytest.mark.parametrize(
    "claim",
    [
        "Penicillin was discovered by Marie Curie in 1928.",
        "Tim Berners-Lee did not invent the World Wide Web.",
        "Lake Baikal is in Canada.",
        "李白是宋代诗人。",
        "长城位于法国。",
    ],
)
def test_what_the_corpus_does_not_say_is_not_supported(
    client: OpenAI, upstream: Upstream, claim: str
) -> None:
    upstream.enqueue(claim)
    assert verdicts(ask(client, max_rounds=0))[0] in ("contradicted", "unsupported")


def test_the_best_attempt_wins_not_the_last(client: OpenAI, upstream: Upstream) -> None:
    upstream.enqueue(f"{TRUE} {FALSE}", f"{FALSE} {UNKNOWN}", f"{FALSE} {UNKNOWN}")
    completion = ask(client, max_rounds=2)
    check_offsets(completion, f"{TRUE} {FALSE}")
    assert (extra(completion)["verification"]["rounds"], extra(completion)["verification"]["best"]) == (2, 0)


@pytest.mark.parametrize("failure", [Status(429, retry_after="1"), Status(500), Drop(), Reply(""), Reply()])
def test_a_failed_re_prompt_keeps_the_draft(client: OpenAI, upstream: Upstream, failure: Any) -> None:
    upstream.enqueue(f"{TRUE} {FALSE}", failure)
    completion = ask(client)
    check_offsets(completion, f"{TRUE} {FALSE}")
    assert extra(completion)["verification"]["best"] == 0


def test_the_deadline_leaves_claims_unverified_never_supported(client: OpenAI, upstream: Upstream) -> None:
    upstream.enqueue(TRUE)
    completion = ask(client, deadline=0.000001)
    assert verdicts(completion) == ["unverified"]
    assert extra(completion)["verification"]["status"] == "skipped"
    notice = "⚠️ This reply could not be checked against the sources."
    assert completion.choices[0].message.content == f"{TRUE}\n\n{notice}"
    assert extra(completion)["verification"]["error"] == "the deadline passed"
    assert extra(completion)["references"] == []


def test_a_hanging_re_prompt_ends_at_the_deadline(client: OpenAI, upstream: Upstream) -> None:
    upstream.enqueue(f"{TRUE} {FALSE}", Hang())
    completion = ask(client, deadline=1.5)
    check_offsets(completion, f"{TRUE} {FALSE}")
    assert verdicts(completion)[0] == "supported"


def test_several_choices_are_each_checked(client: OpenAI, upstream: Upstream) -> None:
    upstream.enqueue(Reply(TRUE, f"{TRUE_TOO} {UNKNOWN}"))
    completion = client.chat.completions.create(
        model="test",
        messages=[{"role": "user", "content": QUESTION}],
        n=2,
        extra_body={"vouch": {"max_rounds": 0}},
    )
    first, second = completion.choices
    assert first.message.content == f"{TRUE}[1]"
    assert second.message.content is not None
    assert second.message.content.startswith(f"{TRUE_TOO}[1]")
    assert second.model_extra is not None
    claims = second.model_extra["verification"]["claims"]
    assert [claim["verdict"] for claim in claims] == ["supported", "unsupported"]
    assert extra(completion)["verification"]["claims"][0]["text"] == TRUE


@pytest.mark.parametrize("model", ["test", "test-litellm"])
def test_tools_reach_the_upstream(client: OpenAI, upstream: Upstream, model: str) -> None:
    tools: Any = [{"type": "function", "function": {"name": "look_up", "parameters": {"type": "object"}}}]
    upstream.enqueue(Reply(tool_calls(("look_up", '{"x": 1}')), finish_reason="tool_calls"))
    completion = client.chat.completions.create(
        model=model, messages=[{"role": "user", "content": "Look it up."}], tools=tools
    )
    assert completion.choices[0].finish_reason == "tool_calls"
    assert upstream.requests[-1].body["tools"] == tools


def test_tool_calls_come_back_untouched(client: OpenAI, upstream: Upstream) -> None:
    upstream.enqueue(Reply(tool_calls(("look_up", '{"x": 1}')), finish_reason="tool_calls"))
    completion = ask(client)
    message = completion.choices[0].message
    assert message.tool_calls is not None
    assert (message.content, message.tool_calls[0].function.name) == (None, "look_up")  # type: ignore[union-attr]
    assert completion.choices[0].finish_reason == "tool_calls"
    assert extra(completion)["verification"]["claims"] == []
    assert len(upstream.requests) == 1


def test_json_mode_is_checked_but_not_touched(client: OpenAI, upstream: Upstream) -> None:
    draft = json.dumps({"height": TRUE, "weight": FALSE})
    upstream.enqueue(draft)
    completion = client.chat.completions.create(
        model="test",
        messages=[{"role": "user", "content": QUESTION}],
        response_format={"type": "json_object"},
    )
    assert completion.choices[0].message.content == draft
    height, weight = extra(completion)["verification"]["claims"]
    assert (height["verdict"], height["references"]) == ("supported", [1])
    assert weight["verdict"] in ("contradicted", "unsupported")
    assert draft[height["start"] : height["end"]] == TRUE


def test_log_probabilities_keep_the_content_untouched(client: OpenAI, upstream: Upstream) -> None:
    upstream.enqueue(Reply(TRUE, logprobs=True))
    completion = client.chat.completions.create(
        model="test", messages=[{"role": "user", "content": QUESTION}], logprobs=True
    )
    assert completion.choices[0].message.content == TRUE
    assert completion.choices[0].logprobs is not None
    assert verdicts(completion) == ["supported"]
    assert len(extra(completion)["references"]) >= 1


def test_unknown_parameters_go_in_and_unknown_fields_come_out(client: OpenAI, upstream: Upstream) -> None:
    message = {"content": TRUE, "reasoning_content": "thinking", "odd": 1}
    upstream.enqueue(Reply(message, extra={"system_fingerprint": "fp", "novel": [1]}))
    completion = client.chat.completions.create(
        model="test",
        messages=[{"role": "user", "content": QUESTION}],
        seed=7,
        extra_body={"some_new_knob": {"a": 1}, "vouch": {"max_rounds": 0}},
    )
    body = upstream.requests[0].body
    assert (body["seed"], body["some_new_knob"], body["model"]) == (7, {"a": 1}, "test-model")
    assert "vouch" not in body
    assert (completion.system_fingerprint, extra(completion)["novel"]) == ("fp", [1])
    assert completion.choices[0].message.model_extra == {"reasoning_content": "thinking", "odd": 1}


def test_the_upstreams_own_marks_are_replaced_by_ours(client: OpenAI, upstream: Upstream) -> None:
    upstream.enqueue(f"{TRUE}[7][8]")
    assert ask(client).choices[0].message.content == f"{TRUE}[1]"


def test_our_marks_do_not_come_back_to_the_upstream(client: OpenAI, upstream: Upstream) -> None:
    upstream.enqueue(f"{TRUE} {TRUE_ELSEWHERE}")
    first = ask(client)
    returned: Any = {
        **first.choices[0].message.model_dump(exclude_none=True),
        "references": extra(first)["references"],
        "verification": extra(first)["verification"],
    }
    assert returned["annotations"]
    before, after = {"role": "user", "content": "See [1]."}, {"role": "user", "content": "And a[1]?"}
    history: Any = [before, returned, after]
    upstream.enqueue("Indeed.")
    client.chat.completions.create(model="test", messages=history)
    assert upstream.requests[1].body["messages"] == [
        before,
        {"role": "assistant", "content": f"{TRUE} {TRUE_ELSEWHERE}"},
        after,
    ]


def test_usage_is_the_call_that_wrote_the_text_and_verification_apart(
    client: OpenAI, upstream: Upstream
) -> None:
    first = {"prompt_tokens": 10, "completion_tokens": 20, "total_tokens": 30}
    second = {"prompt_tokens": 100, "completion_tokens": 25, "total_tokens": 125}
    upstream.enqueue(Reply(f"{TRUE} {FALSE}", usage=first), Reply(TRUE, usage=second))
    usage = ask(client).usage
    assert usage is not None
    assert (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens) == (100, 25, 125)
    assert (usage.model_extra or {})["verification"] == first


@pytest.mark.parametrize(
    ("style", "content"),
    [("none", TRUE), ("markdown", f"{TRUE}[(1)](https://vouch.example/corpus/eiffel-tower{OPENS})")],
)
def test_the_citation_style_is_the_requests_choice(
    client: OpenAI, upstream: Upstream, style: str, content: str
) -> None:
    upstream.enqueue(TRUE)
    completion = ask(client, citation_style=style, top_k=1)
    assert completion.choices[0].message.content == content
    assert len(extra(completion)["references"]) == 1


REACTOR = "The Zorblax reactor was switched on by Mira Quill in 2041."
LOG = {"text": f"# Reactor\n\n{REACTOR} It hums.", "title": "Reactor log"}


def test_documents_of_the_request_are_evidence_beside_the_corpus(client: OpenAI, upstream: Upstream) -> None:
    upstream.enqueue(f"{REACTOR} {TRUE}")
    completion = ask(client, max_rounds=0, documents=[LOG])
    assert verdicts(completion) == ["supported", "supported"]
    assert extra(completion)["references"][0]["title"] == "Reactor log"


def test_documents_of_the_request_may_be_the_only_evidence(client: OpenAI, upstream: Upstream) -> None:
    upstream.enqueue(f"{REACTOR} {TRUE}")
    completion = ask(client, max_rounds=0, documents=[LOG], evidence="request")
    assert verdicts(completion) == ["supported", "unsupported"]
    assert [reference["title"] for reference in extra(completion)["references"]] == ["Reactor log"]


def test_a_right_citation_of_an_uploaded_document_stays(client: OpenAI, upstream: Upstream) -> None:
    sources = f'<source id="1" name="Log">{REACTOR}</source>\n<source id="2" name="Tea">It is hot.</source>'
    prompt = f"Answer with citations.\n<context>\n{sources}\n</context>\nWho switched it on?"
    upstream.enqueue(f"{REACTOR}[1] {TRUE}")
    completion = ask(client, prompt, max_rounds=0)
    assert completion.choices[0].message.content == f"{REACTOR}[1] {TRUE}[3]"
    assert verdicts(completion) == ["supported", "supported"]


@pytest.mark.parametrize("mode", ["dense", "lexical", "hybrid"])
def test_every_way_of_retrieval_finds_the_passage(client: OpenAI, upstream: Upstream, mode: str) -> None:
    upstream.enqueue(TRUE)
    assert verdicts(ask(client, retrieval=mode)) == ["supported"]


def test_the_llm_checker_decides_when_it_is_asked_for(client: OpenAI, upstream: Upstream) -> None:
    upstream.enqueue(TRUE)
    upstream.answer = lambda _body: "The document says so.\nAnswer: Factual"
    completion = ask(client, checker="llm", top_k=1)
    assert verdicts(completion) == ["supported"]
    upstream.enqueue(TRUE)
    upstream.answer = lambda _body: "I would rather talk about cheese."
    completion = ask(client, checker="llm", top_k=1)
    assert verdicts(completion) == ["unverified"]
    assert extra(completion)["verification"]["status"] == "skipped"


def test_what_the_llm_checker_costs_is_counted(client: OpenAI, upstream: Upstream) -> None:
    counted = {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12}
    upstream.enqueue(Reply(TRUE, usage=counted), Reply("Answer: Factual", usage=counted))
    usage = ask(client, checker="llm", top_k=1).usage
    assert usage is not None
    assert (usage.model_extra or {})["verification"] == counted


def test_fail_closed_refuses_what_could_not_be_checked(base_url: str, upstream: Upstream) -> None:
    body = {
        "model": "test",
        "messages": [{"role": "user", "content": QUESTION}],
        "vouch": {"deadline": 0.000001, "fail_closed": True},
    }
    upstream.enqueue(TRUE)
    status, headers, answer = curl(f"{base_url}/chat/completions", body)
    assert (status, headers["x-should-retry"]) == (422, "false")
    assert answer["error"]["code"] == "verification_unavailable"


def test_curl_gets_the_same_and_a_request_id(base_url: str, upstream: Upstream) -> None:
    upstream.enqueue(TRUE)
    body = {"model": "test", "messages": [{"role": "user", "content": QUESTION}]}
    status, headers, answer = curl(f"{base_url}/chat/completions", body, "-H", "x-request-id: mine-1")
    assert (status, headers["x-request-id"]) == (200, "mine-1")
    assert answer["choices"][0]["message"]["content"] == f"{TRUE}[1]"
    assert answer["object"] == "chat.completion"


async def test_many_at_once_through_the_async_sdk(base_url: str, upstream: Upstream) -> None:
    upstream.answer = lambda _body: TRUE
    async with AsyncOpenAI(base_url=base_url, api_key="none", max_retries=0) as client:
        messages: Any = [{"role": "user", "content": QUESTION}]
        contents = await asyncio.gather(*(content_of_one(client, messages) for _ in range(12)))
    assert contents == [f"{TRUE}[1]"] * 12


async def content_of_one(client: AsyncOpenAI, messages: Any) -> str | None:
    completion = await client.chat.completions.create(model="test", messages=messages)
    return completion.choices[0].message.content
