"""`/v1/responses`, whole and streamed, through the real OpenAI SDK."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
import openai
import pytest
from openai import AsyncOpenAI, OpenAI
from pydantic import BaseModel

from proxy.cli.compose import Library
from tests.scripted_upstream import Hang, Reply, Status, Upstream, tool_calls
from tests.server.asking import QUESTION, curl
from tests.server.facts import FALSE, TRUE, TRUE_ELSEWHERE, TRUE_TOO, UNKNOWN
from tests.server.responding import deltas, events, extra, of, part_of, respond
from tests.serving import serving, settings_for

ONCE: Any = {"extra_body": {"vouch": {"max_rounds": 0}}}
LOOK_UP: Any = {"type": "function", "name": "look_up", "parameters": {"type": "object"}, "strict": None}


def test_supported_claims_are_cited(client: OpenAI, upstream: Upstream) -> None:
    upstream.enqueue(f"{TRUE} {TRUE_ELSEWHERE}")
    response = respond(client)
    assert response.output_text == f"{TRUE}[1] {TRUE_ELSEWHERE}[2]"
    references = extra(response)["references"]
    assert [one.model_dump() for one in part_of(response).annotations] == [
        {
            "type": "url_citation",
            "url": one["url"],
            "title": one["title"],
            "start_index": one["spans"][0][0],
            "end_index": one["spans"][0][1],
        }
        for one in references
    ]
    assert [one["n"] for one in references] == [1, 2]
    claims = extra(response)["verification"]["claims"]
    assert [claim["verdict"] for claim in claims] == ["supported", "supported"]


def test_a_nonfactual_claim_is_re_prompted_away(client: OpenAI, upstream: Upstream) -> None:
    upstream.enqueue(f"{TRUE} Nobody has ever been to Paris.", f"{TRUE} {TRUE_TOO}")
    response = respond(client)
    assert response.output_text == f"{TRUE}[1] {TRUE_TOO}[2]"
    assert extra(response)["verification"]["rounds"] == 1


def test_the_response_says_what_was_asked_for(client: OpenAI, upstream: Upstream) -> None:
    upstream.enqueue(TRUE)
    response = respond(
        client,
        instructions="Be brief.",
        temperature=0.3,
        max_output_tokens=99,
        metadata={"a": "b"},
        store=True,
        user="u",
        truncation="auto",
        tools=[LOOK_UP],
        tool_choice="auto",
        reasoning={"effort": "low"},
        text={"verbosity": "low"},
    )
    assert response.id.startswith("resp_")
    assert (response.object, response.status, response.model) == ("response", "completed", "test")
    assert (response.instructions, response.temperature, response.max_output_tokens) == ("Be brief.", 0.3, 99)
    assert (response.metadata, response.user) == ({"a": "b"}, "u")
    assert (response.truncation, extra(response)["store"]) == ("disabled", False)
    sent = upstream.requests[0].body
    assert sent["messages"][0] == {"role": "system", "content": "Be brief."}
    assert sent["messages"][1] == {"role": "user", "content": QUESTION}
    assert (sent["temperature"], sent["max_tokens"], sent["user"]) == (0.3, 99, "u")
    assert (sent["reasoning_effort"], sent["verbosity"], sent["tool_choice"]) == ("low", "low", "auto")
    assert sent["tools"] == [
        {"type": "function", "function": {"name": "look_up", "parameters": {"type": "object"}}}
    ]
    assert not sent.keys() & {"store", "metadata", "truncation", "input", "text", "vouch"}


def test_usage_is_counted_under_its_names_here(client: OpenAI, upstream: Upstream) -> None:
    counted = {
        "prompt_tokens": 10,
        "completion_tokens": 20,
        "total_tokens": 30,
        "prompt_tokens_details": {"cached_tokens": 4},
        "completion_tokens_details": {"reasoning_tokens": 7},
    }
    upstream.enqueue(Reply(TRUE, usage=counted))
    usage = respond(client).usage
    assert usage is not None
    assert (usage.input_tokens, usage.output_tokens, usage.total_tokens) == (10, 20, 30)
    assert usage.input_tokens_details.cached_tokens == 4
    assert usage.output_tokens_details.reasoning_tokens == 7
    assert usage.model_extra == {"verification": {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}}


def test_the_stream_says_what_the_whole_response_would(
    client: OpenAI, base_url: str, upstream: Upstream
) -> None:
    draft = f"{TRUE} {TRUE_ELSEWHERE} {UNKNOWN}"
    upstream.enqueue(draft, draft)
    told = events(base_url, vouch={"max_rounds": 0})
    whole = respond(client, **ONCE)
    part = part_of(whole).model_dump(exclude_unset=True)
    assert "".join(deltas(told)) == whole.output_text
    annotations = [event["annotation"] for event in of(told, "response.output_text.annotation.added")]
    assert annotations == part["annotations"]
    assert len(annotations) == 2
    (text_done,) = of(told, "response.output_text.done")
    (part_done,) = of(told, "response.content_part.done")
    (item_done,) = of(told, "response.output_item.done")
    assert text_done["text"] == whole.output_text
    assert part_done["part"] == part
    assert item_done["item"]["content"] == [part]
    completed = told[-1]["response"]
    assert completed["output"][0]["content"] == [part]
    assert completed["references"] == extra(whole)["references"]
    assert completed["verification"] == extra(whole)["verification"]
    assert completed["usage"] == json.loads(whole.model_dump_json())["usage"]


def test_the_order_of_events(base_url: str, upstream: Upstream) -> None:
    upstream.enqueue(f"{TRUE} {TRUE_ELSEWHERE}")
    told = [event["type"].removeprefix("response.") for event in events(base_url)]
    if told.count("output_text.delta") == 1:  # both sentences were checked at once
        told.insert(told.index("output_text.delta"), "output_text.delta")
    assert told == [
        "created",
        "in_progress",
        "output_item.added",
        "content_part.added",
        "output_text.delta",
        "output_text.delta",
        "output_text.annotation.added",
        "output_text.annotation.added",
        "output_text.done",
        "content_part.done",
        "output_item.done",
        "completed",
    ]


def test_a_mark_is_never_split(base_url: str, upstream: Upstream) -> None:
    upstream.enqueue(f"{TRUE} {TRUE_ELSEWHERE}")
    told = deltas(events(base_url))
    assert told in ([f"{TRUE}[1]", f" {TRUE_ELSEWHERE}[2]"], [f"{TRUE}[1] {TRUE_ELSEWHERE}[2]"])


def test_the_sdk_streams(client: OpenAI, upstream: Upstream) -> None:
    upstream.enqueue(f"{TRUE} {TRUE_ELSEWHERE}")
    text, final = "", None
    for event in client.responses.create(model="test", input=QUESTION, stream=True):
        if event.type == "response.output_text.delta":
            text += event.delta
        if event.type == "response.completed":
            final = event.response
    assert final is not None
    assert text == final.output_text == f"{TRUE}[1] {TRUE_ELSEWHERE}[2]"


def test_the_stream_helper_of_the_sdk_works(client: OpenAI, upstream: Upstream) -> None:
    upstream.enqueue(f"{TRUE} {TRUE_ELSEWHERE}")
    with client.responses.stream(model="test", input=QUESTION) as helper:
        snapshots = [event.snapshot for event in helper if event.type == "response.output_text.delta"]
        final = helper.get_final_response()
    assert snapshots[-1] == final.output_text == f"{TRUE}[1] {TRUE_ELSEWHERE}[2]"
    assert len(part_of(final).annotations) == 2


async def test_the_async_sdk_streams(base_url: str, upstream: Upstream) -> None:
    upstream.enqueue(TRUE)
    async with (
        AsyncOpenAI(base_url=base_url, api_key="none", max_retries=0) as client,
        client.responses.stream(model="test", input=QUESTION) as helper,
    ):
        final = await helper.get_final_response()
    assert final.output_text == f"{TRUE}[1]"


def test_output_comes_back_as_input_without_what_was_added(client: OpenAI, upstream: Upstream) -> None:
    upstream.enqueue(Reply({"reasoning_content": "Let me see.", "content": f"{TRUE} {TRUE_ELSEWHERE}"}))
    first = respond(client)
    before: Any = {"role": "user", "content": "See [1]."}
    after: Any = {"role": "user", "content": [{"type": "input_text", "text": "And a[1]?"}]}
    returned: Any = [item.model_dump(exclude_none=True) for item in first.output]
    assert [item["type"] for item in returned] == ["reasoning", "message"]
    upstream.enqueue("Indeed.")
    respond(client, [before, *returned, after])
    assert upstream.requests[1].body["messages"] == [
        before,
        {"role": "assistant", "content": f"{TRUE} {TRUE_ELSEWHERE}"},
        {"role": "user", "content": "And a[1]?"},
    ]


def test_tool_calls_go_there_and_back(client: OpenAI, base_url: str, upstream: Upstream) -> None:
    calls = tool_calls(("look_up", '{"x": 1}'), ("look_up", '{"x": "二"}'))
    upstream.enqueue(*2 * [Reply({**calls, "content": "One moment."}, finish_reason="tool_calls")])
    first = respond(client, tools=[LOOK_UP], tool_choice={"type": "function", "name": "look_up"})
    assert upstream.requests[0].body["tool_choice"] == {"type": "function", "function": {"name": "look_up"}}
    message, *called = first.output
    assert message.type == "message"
    assert [(call.call_id, call.name, call.arguments) for call in called if call.type == "function_call"] == [
        ("call_0", "look_up", '{"x": 1}'),
        ("call_1", "look_up", '{"x": "二"}'),
    ]
    told = events(base_url, tools=[LOOK_UP])
    assert "".join(deltas(told, "function_call_arguments")) == '{"x": 1}{"x": "二"}'
    output = told[-1]["response"]["output"]
    assert [_nameless(item) for item in output] == [
        _nameless(item.model_dump(exclude_unset=True)) for item in first.output
    ]
    upstream.enqueue(TRUE)
    answers = [
        {"type": "function_call_output", "call_id": "call_0", "output": "one"},
        {
            "type": "function_call_output",
            "call_id": "call_1",
            "output": [{"type": "input_text", "text": "2"}],
        },
    ]
    respond(client, [{"role": "user", "content": QUESTION}, *output, *answers], tools=[LOOK_UP])
    asked, said, one, two = upstream.requests[2].body["messages"]
    assert asked == {"role": "user", "content": QUESTION}
    assert (said["content"], said["tool_calls"]) == ("One moment.", calls["tool_calls"])
    assert one == {"role": "tool", "tool_call_id": "call_0", "content": "one"}
    assert two == {"role": "tool", "tool_call_id": "call_1", "content": "2"}


def _nameless(item: Any) -> Any:
    return {key: value for key, value in item.items() if key != "id"}


def test_a_reply_that_only_calls_says_nothing(base_url: str, upstream: Upstream) -> None:
    upstream.enqueue(Reply(tool_calls(("look_up", "{}")), finish_reason="tool_calls"))
    told = events(base_url, tools=[LOOK_UP])
    assert [item["type"] for item in told[-1]["response"]["output"]] == ["function_call"]


def test_checked_text_comes_before_the_calls_that_it_was_written_before(
    base_url: str, upstream: Upstream
) -> None:
    calls = tool_calls(("look_up", "{}"))
    upstream.enqueue(Reply({"content": f"{TRUE} {TRUE_ELSEWHERE}", "tool_calls": calls["tool_calls"]}))
    told = events(base_url, tools=[LOOK_UP], vouch={"max_rounds": 0})
    assert [item["type"] for item in told[-1]["response"]["output"]] == ["message", "function_call"]


def test_json_is_checked_but_not_touched(client: OpenAI, base_url: str, upstream: Upstream) -> None:
    class Tower(BaseModel):
        height: str
        weight: str

    draft = json.dumps({"height": TRUE, "weight": FALSE})
    upstream.enqueue(draft, draft)
    parsed = client.responses.parse(model="test", input=QUESTION, text_format=Tower)
    assert parsed.output_parsed == Tower(height=TRUE, weight=FALSE)
    asked = upstream.requests[0].body["response_format"]
    assert (asked["type"], asked["json_schema"]["name"]) == ("json_schema", "Tower")
    assert asked["json_schema"]["strict"] is True
    verdicts = [claim["verdict"] for claim in extra(parsed)["verification"]["claims"]]
    assert verdicts[0] == "supported"
    told = events(base_url, text={"format": {"type": "json_object"}})
    assert "".join(deltas(told)) == draft
    assert upstream.requests[1].body["response_format"] == {"type": "json_object"}


def test_log_probabilities_come_with_the_text(client: OpenAI, base_url: str, upstream: Upstream) -> None:
    upstream.enqueue(Reply(TRUE, logprobs=True), Reply(TRUE, logprobs=True))
    include: Any = ["message.output_text.logprobs"]
    part = part_of(respond(client, include=include, top_logprobs=2))
    assert part.text == "".join(one.token for one in part.logprobs) == TRUE
    sent = upstream.requests[0].body
    assert (sent["logprobs"], sent["top_logprobs"]) == (True, 2)
    told = events(base_url, include=include)
    pieces = [event for event in of(told, "response.output_text.delta") if event["delta"]]
    assert "".join(one["token"] for event in pieces for one in event["logprobs"]) == TRUE


@pytest.mark.parametrize(
    ("finish_reason", "reason"), [("length", "max_output_tokens"), ("content_filter", "content_filter")]
)
def test_a_reply_that_was_cut_off_is_incomplete(
    client: OpenAI, base_url: str, upstream: Upstream, finish_reason: str, reason: str
) -> None:
    upstream.enqueue(*2 * [Reply(TRUE, finish_reason=finish_reason)])
    response = respond(client)
    assert response.status == "incomplete"
    assert response.incomplete_details is not None
    assert response.incomplete_details.reason == reason
    last = events(base_url)[-1]
    assert (last["type"], last["response"]["output"][0]["status"]) == ("response.incomplete", "incomplete")


def test_reasoning_comes_first_as_a_summary(client: OpenAI, base_url: str, upstream: Upstream) -> None:
    upstream.enqueue(*2 * [Reply({"reasoning_content": "Let me think.", "content": TRUE})])
    response = respond(client)
    thought = response.output[0]
    assert thought.type == "reasoning"
    assert [part.text for part in thought.summary] == ["Let me think."]
    assert response.output_text == f"{TRUE}[1]"
    told = events(base_url)
    assert "".join(deltas(told, "reasoning_summary_text")) == "Let me think."
    kinds = [item["type"] for item in told[-1]["response"]["output"]]
    assert kinds == ["reasoning", "message"]


def test_a_refusal_is_a_part_of_its_own_and_comes_back_as_one(
    client: OpenAI, base_url: str, upstream: Upstream
) -> None:
    upstream.enqueue(*2 * [Reply({"content": None, "refusal": "I can't help with that."})])
    (message,) = respond(client).output
    assert message.type == "message"
    assert [(part.type, part.refusal) for part in message.content if part.type == "refusal"] == [
        ("refusal", "I can't help with that.")
    ]
    told = events(base_url)
    assert deltas(told, "refusal") == ["I can't help with that."]
    upstream.enqueue(TRUE)
    question: Any = {"role": "user", "content": QUESTION}
    respond(client, [question, *told[-1]["response"]["output"], question])
    assert upstream.requests[2].body["messages"][1] == {
        "role": "assistant",
        "content": None,
        "refusal": "I can't help with that.",
    }


def test_a_reply_without_content_is_an_empty_text(client: OpenAI, base_url: str, upstream: Upstream) -> None:
    upstream.enqueue(Reply(""), Reply(""))
    response = respond(client)
    assert (response.status, response.output_text, len(response.output)) == ("completed", "", 1)
    (item,) = events(base_url)[-1]["response"]["output"]
    assert item["content"][0]["text"] == ""


def test_unknown_parameters_go_in_and_unknown_fields_come_out(client: OpenAI, upstream: Upstream) -> None:
    odd = {"system_fingerprint": "fp", "novel": [1], "status": "odd", "output": "odd", "service_tier": "flex"}
    upstream.enqueue(Reply(TRUE, extra=odd))
    response = respond(client, extra_body={"some_new_knob": {"a": 1}, "vouch": {"max_rounds": 0}})
    assert upstream.requests[0].body["some_new_knob"] == {"a": 1}
    assert (extra(response)["system_fingerprint"], extra(response)["novel"]) == ("fp", [1])
    assert (response.status, response.service_tier) == ("completed", "flex")


def test_the_vouch_object_works_the_same(client: OpenAI, upstream: Upstream) -> None:
    upstream.enqueue(TRUE)
    response = respond(client, extra_body={"vouch": {"citation_style": "none", "top_k": 1}})
    assert response.output_text == TRUE
    assert len(extra(response)["references"]) == 1
    with pytest.raises(openai.BadRequestError) as caught:
        respond(client, extra_body={"vouch": {"top_q": 1}})
    assert caught.value.param == "vouch.top_q"


@pytest.mark.parametrize(
    ("options", "param"),
    [
        ({"previous_response_id": "resp_1"}, "previous_response_id"),
        ({"conversation": "conv_1"}, "conversation"),
        ({"background": True}, "background"),
        ({"prompt": {"id": "pmpt_1"}}, "prompt"),
        ({"tools": [{"type": "web_search"}]}, "tools.0.type"),
        ({"input": [{"type": "item_reference", "id": "msg_1"}]}, "input.0.type"),
    ],
)
def test_what_would_need_state_or_openais_own_tools_is_refused(
    client: OpenAI, upstream: Upstream, options: Any, param: str
) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        client.responses.create(**{"model": "test", "input": QUESTION, **options})
    assert caught.value.param == param
    assert upstream.requests == []


def test_an_unknown_model_is_not_found(client: OpenAI) -> None:
    with pytest.raises(openai.NotFoundError) as caught:
        respond(client, model="nobody")
    assert caught.value.code == "model_not_found"


def test_nothing_is_kept_to_be_retrieved(client: OpenAI, upstream: Upstream) -> None:
    upstream.enqueue(TRUE)
    response = respond(client)
    with pytest.raises(openai.NotFoundError):
        client.responses.retrieve(response.id)


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize(
    ("behaviour", "error"),
    [
        (Status(429, retry_after="7"), openai.RateLimitError),
        (Status(400, "bad tool"), openai.BadRequestError),
        (Status(500), openai.InternalServerError),
    ],
)
def test_an_upstreams_error_is_a_status(
    client: OpenAI, upstream: Upstream, streaming: bool, behaviour: Status, error: type[openai.APIStatusError]
) -> None:
    upstream.enqueue(behaviour)
    with pytest.raises(error) as caught:
        client.responses.create(model="test", input=QUESTION, stream=streaming)
    assert caught.value.response.headers.get("retry-after") == behaviour.retry_after


def test_an_upstream_that_hangs_times_out(client: OpenAI, upstream: Upstream) -> None:
    upstream.enqueue(Hang())
    with pytest.raises(openai.APIStatusError) as caught:
        client.responses.create(model="test-hasty", input=QUESTION, stream=True)
    assert caught.value.status_code == 504


BROKEN = [
    Reply(TRUE, drop_after=5, pace=0.03),
    Reply(TRUE, pace=0.01, error={"message": "overheated", "type": "server_error"}),
]


@pytest.mark.parametrize("behaviour", BROKEN)
def test_a_stream_that_breaks_off_fails(base_url: str, upstream: Upstream, behaviour: Reply) -> None:
    upstream.enqueue(behaviour)
    error, failed = events(base_url)[-2:]
    assert (error["type"], failed["type"]) == ("error", "response.failed")
    assert error["message"] == error["error"]["message"] == failed["response"]["error"]["message"]
    assert failed["response"]["status"] == "failed"


@pytest.mark.parametrize("behaviour", BROKEN)
def test_the_sdk_raises_on_a_broken_stream(client: OpenAI, upstream: Upstream, behaviour: Reply) -> None:
    upstream.enqueue(behaviour)
    with pytest.raises(openai.APIError) as caught:
        list(client.responses.create(model="test", input=QUESTION, stream=True))
    assert caught.value.message


@pytest.mark.parametrize("streaming", [False, True])
def test_fail_closed_refuses_what_could_not_be_checked(
    base_url: str, upstream: Upstream, streaming: bool
) -> None:
    upstream.enqueue(TRUE)
    vouch = {"fail_closed": True, "deadline": 0.000001}
    if streaming:
        error, failed = events(base_url, vouch=vouch)[-2:]
        assert error["code"] == "verification_unavailable"
        assert failed["response"]["output"] == []
        return
    status, headers, answer = curl(
        f"{base_url}/responses", {"model": "test", "input": QUESTION, "vouch": vouch}
    )
    assert (status, headers["x-should-retry"]) == (422, "false")
    assert answer["error"]["code"] == "verification_unavailable"


def test_heartbeats_keep_a_waiting_stream_open(corpus: Library, upstream: Upstream) -> None:
    settings = settings_for(upstream.url, server={"heartbeat": 0.1})
    with serving(settings, corpus) as base_url:
        upstream.enqueue(Reply(TRUE, pace=0.05), Reply(TRUE, pace=0.05))
        told = events(base_url)
        with (
            OpenAI(base_url=base_url, api_key="none", max_retries=0) as client,
            client.responses.stream(model="test", input=QUESTION) as helper,
        ):
            final = helper.get_final_response()
    beats = [
        event for event in told[2:] if event["type"] == "response.in_progress" or event.get("delta") == ""
    ]
    assert len(beats) >= 3
    assert "".join(deltas(told)) == final.output_text == f"{TRUE}[1]"


def test_a_raw_model_answers_unchecked(client: OpenAI, base_url: str, upstream: Upstream) -> None:
    search = {
        "content": FALSE,
        "annotations": [
            {
                "type": "url_citation",
                "url_citation": {"url": "u", "title": "t", "start_index": 0, "end_index": 2},
            }
        ],
    }
    upstream.enqueue(Reply(search), Reply(FALSE, size=30, pace=0.05))
    response = respond(client, model="test-raw")
    assert (response.output_text, response.model) == (FALSE, "test-raw")
    assert [one.url for one in part_of(response).annotations] == ["u"]
    assert not extra(response).keys() & {"references", "verification"}
    told = events(base_url, model="test-raw")
    assert "".join(deltas(told)) == FALSE
    assert len(deltas(told)) > 1
    assert len(upstream.requests) == 2


@pytest.mark.parametrize("streaming", [True, False])
async def test_a_client_that_leaves_cancels_the_upstream(
    base_url: str, upstream: Upstream, streaming: bool
) -> None:
    upstream.enqueue(Reply(TRUE, pace=0.3))
    body = {"model": "test", "input": QUESTION, "stream": streaming}
    async with httpx.AsyncClient() as leaver:
        asking = asyncio.ensure_future(leaver.post(f"{base_url}/responses", json=body))
        await asyncio.to_thread(upstream.wait_for_request)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
    await asyncio.to_thread(upstream.wait_for_disconnect)


def test_what_the_upstream_cites_for_markers_of_its_own_is_not_looked_up(
    base_url: str, upstream: Upstream
) -> None:
    upstream.enqueue(Reply(f"{TRUE}[1]", extra={"citations": ["https://up.example/b"]}))
    body = {"model": "test", "input": QUESTION, **ONCE["extra_body"]}
    _, _, reply = curl(f"{base_url}/responses", body)
    assert "citations" not in reply
    assert reply["verification"]["upstream_citations"] == {"citations": ["https://up.example/b"]}
