"""The events of a Responses stream, told of piece by piece."""

from __future__ import annotations

import json
from typing import Any

import pytest

from proxy.engine.delivery import Answer
from proxy.errors import UpstreamError
from proxy.openai_api.chat.response import Choice
from proxy.openai_api.responses.response import Envelope, echo
from proxy.openai_api.responses.stream import ResponseChunks, event
from proxy.types import Attempt, Draft, Json, Outcome, Reply, Usage
from tests.server.responding import check_events, deltas, of

CITATION = {
    "type": "url_citation",
    "url_citation": {"start_index": 6, "end_index": 9, "url": "u", "title": "t"},
}
CITED = {"type": "url_citation", "start_index": 6, "end_index": 9, "url": "u", "title": "t"}


def chunks() -> ResponseChunks:
    return ResponseChunks(Envelope("m", echo({})))


def answer(**raw: Any) -> Answer:
    draft = Draft("", {})
    outcome = Outcome((Attempt(draft, Usage(3, 4)),), 0)
    return Answer(Reply((draft,), Usage(3, 4), raw), (outcome,))


def choice(content: str | None, *annotations: Json, cuts: tuple[int, ...] = (), **message: Any) -> Choice:
    raw = {"message": {"content": content, **message}, "finish_reason": "stop"}
    return Choice(raw, content, cuts, [*annotations], [{"n": 1}], {"status": "ok"})


def items(told: list[Json]) -> list[Json]:
    found: list[Json] = told[-1]["response"]["output"]
    return found


def call(ident: str, name: Any = "f", arguments: Any = "{}") -> Json:
    return {"id": ident, "type": "function", "function": {"name": name, "arguments": arguments}}


def test_pieces_that_were_told_are_not_told_again() -> None:
    stream = chunks()
    told = [*stream.start(), *stream.text("Paris."), *stream.text("[1]")]
    told += stream.finish(choice("Paris.[1] Rome.", CITATION, cuts=(9,)), answer())
    check_events(told)
    assert deltas(told) == ["Paris.", "[1]", " Rome."]
    assert items(told)[0]["content"][0]["text"] == "Paris.[1] Rome."
    assert items(told)[0]["content"][0]["annotations"] == [CITED]


def test_what_was_said_stays_where_the_end_is_another() -> None:
    stream = chunks()
    told = [*stream.start(), *stream.text("Paris.[1]")]
    told += stream.finish(choice("Paris. Really.", tool_calls=[call("c")]), answer())
    check_events(told)
    assert deltas(told) == ["Paris.[1]"]
    assert items(told)[0]["content"][0]["text"] == "Paris.[1]"


def test_text_that_is_still_being_checked_comes_before_a_call() -> None:
    stream = chunks()
    told = [*stream.start(), *stream.fields({"tool_calls": [{"index": 0, **call("c")}]})]
    told += [*stream.text("Paris."), *stream.finish(choice("Paris.", tool_calls=[call("c")]), answer())]
    check_events(told)
    assert [item["type"] for item in items(told)] == ["message", "function_call"]


def test_thoughts_are_told_as_they_come_and_end_before_the_text() -> None:
    stream = chunks()
    told = [*stream.start(), *stream.fields({"reasoning_content": "Hm"}), *stream.fields({"reasoning": "m."})]
    told += stream.text("Paris.")
    assert of(told, "response.output_item.done")[0]["item"]["summary"] == [
        {"type": "summary_text", "text": "Hmm."}
    ]
    told += stream.finish(choice("Paris.", reasoning_content="Hmm."), answer())
    check_events(told)
    assert [item["type"] for item in items(told)] == ["reasoning", "message"]
    assert deltas(told, "reasoning_summary_text") == ["Hm", "m."]


def test_late_thoughts_are_an_item_of_their_own() -> None:
    stream = chunks()
    told = [*stream.start(), *stream.text("Paris."), *stream.fields({"reasoning": "Hm."})]
    told += [*stream.text(" Rome."), *stream.finish(choice("Paris. Rome.", reasoning="Hm. Oh."), answer())]
    check_events(told)
    assert [item["type"] for item in items(told)] == ["message", "reasoning", "reasoning"]
    assert items(told)[0]["content"][0]["text"] == "Paris. Rome."


def test_a_heartbeat_changes_nothing_whatever_is_open() -> None:
    stream = chunks()
    told = stream.start()
    beats = stream.heartbeat()
    told += [*beats, *stream.fields({"reasoning": "Hm."})]
    beats += stream.heartbeat()
    told += [beats[-1], *stream.text("Paris.")]
    beats += stream.heartbeat()
    told += [beats[-1], *stream.finish(choice("Paris.", reasoning="Hm."), answer())]
    check_events(told)
    assert [(beat["type"].removeprefix("response."), beat.get("delta")) for beat in beats] == [
        ("in_progress", None),
        ("reasoning_summary_text.delta", ""),
        ("output_text.delta", ""),
    ]
    assert items(told)[1]["content"][0]["text"] == "Paris."


def test_a_text_and_a_refusal_are_two_parts() -> None:
    told = [*(stream := chunks()).start(), *stream.finish(choice("So.", refusal="No."), answer())]
    check_events(told)
    assert [part["type"] for part in items(told)[0]["content"]] == ["output_text", "refusal"]
    assert of(told, "response.refusal.done")[0]["content_index"] == 1


@pytest.mark.parametrize(
    "calls", [[{}], [{"function": None}], [call("c", None, None)], [call("", "f", {})], ["f"], "f", {"a": 1}]
)
def test_malformed_calls_of_an_upstream_break_nothing(calls: Any) -> None:
    told = [*(stream := chunks()).start(), *stream.finish(choice(None, tool_calls=calls), answer())]
    check_events(told)
    assert all(item["call_id"] for item in items(told) if item["type"] == "function_call")


def test_content_in_parts_is_its_text() -> None:
    parts: Any = [{"type": "thinking", "thinking": []}, {"type": "text", "text": "Paris."}, None]
    told = [*(stream := chunks()).start(), *stream.finish(choice(parts), answer())]
    check_events(told)
    assert items(told)[0]["content"][0]["text"] == "Paris."


def test_the_whole_response_is_what_the_stream_ends_with() -> None:
    envelope, one = Envelope("m", echo({})), choice("Paris.[1]", CITATION)
    whole = ResponseChunks(envelope).finish(one, answer())[-1]["response"]
    stream = ResponseChunks(envelope)
    stream.text("Paris.")
    streamed = stream.finish(one, answer())[-1]["response"]
    for each in (whole, streamed):
        del each["output"][0]["id"]
    assert whole == streamed


def test_a_failure_keeps_the_items_that_were_whole() -> None:
    stream = chunks()
    told = [*stream.start(), *stream.fields({"reasoning": "Hm."}), *stream.text("Pa")]
    told += stream.failed(UpstreamError("Slow down.", status=429))
    check_events(told)
    error, failed = told[-2:]
    assert (error["message"], error["error"]["type"]) == ("Slow down.", "upstream_error")
    assert failed["response"]["error"] == {"code": "rate_limit_exceeded", "message": "Slow down."}
    assert [item["type"] for item in items(told)] == ["reasoning"]


def test_an_error_of_our_own_does_not_show_its_words() -> None:
    told = [*(stream := chunks()).start(), *stream.failed(ValueError("secret"))]
    check_events(told)
    assert "secret" not in json.dumps(told)


def test_an_event_is_two_lines_whatever_is_in_it() -> None:
    (delta,) = of(
        [*(stream := chunks()).start(), *stream.text("a\n\ndata: b\u2028\r")], "response.output_text.delta"
    )
    sent = event(delta).decode()
    assert sent.startswith("event: response.output_text.delta\ndata: {")
    assert sent.count("\n") == 3
    assert json.loads(sent.split("data: ", 1)[1]) == delta
