"""Asking a Vouch server for responses, and holding what it says against the SDK's own models."""

from __future__ import annotations

import json
from typing import Any

import httpx
from openai import OpenAI
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import TypeAdapter

from tests.server.asking import QUESTION

_EVENTS: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent)

Json = dict[str, Any]


def respond(client: OpenAI, given: Any = QUESTION, model: str = "test", **options: Any) -> Response:
    """The response, which is what the SDK's model says a response is."""
    raw = client.responses.with_raw_response.create(model=model, input=given, **options)
    Response.model_validate(json.loads(raw.text), strict=True)
    parsed: Response = raw.parse()
    return parsed


def events(base_url: str, given: Any = QUESTION, model: str = "test", **body: Any) -> list[Json]:
    """The events of a stream, each as the SDK's models say, in their order."""
    sent = {"model": model, "input": given, "stream": True, **body}
    found: list[Json] = []
    with httpx.stream("POST", f"{base_url}/responses", json=sent, timeout=30) as answer:
        assert answer.status_code == 200, answer.read()
        assert answer.headers["content-type"].startswith("text/event-stream")
        lines = [line for line in answer.iter_lines() if line]
    for name, data in zip(lines[::2], lines[1::2], strict=True):
        event = json.loads(data.removeprefix("data: "))
        assert name == f"event: {event['type']}"
        found.append(event)
    check_events(found)
    return found


def check_events(found: list[Json]) -> None:
    """Each is what the SDK's models say; they are numbered; what is added or told in pieces is done whole."""
    assert [event["sequence_number"] for event in found] == list(range(len(found)))
    for event in found:
        told = _EVENTS.validate_python(event, strict=True)
        assert told.type == event["type"]
        if "response" in event:
            Response.model_validate(event["response"], strict=True)
    assert [event["type"] for event in found[:2]] == ["response.created", "response.in_progress"]
    if found[-1]["type"] == "response.failed":
        return
    assert found[-1]["type"] in ("response.completed", "response.incomplete")
    done = of(found, "response.output_item.done")
    assert sorted(event["output_index"] for event in done) == list(range(len(done)))
    by_index = sorted(done, key=lambda event: int(event["output_index"]))
    assert found[-1]["response"]["output"] == [event["item"] for event in by_index]
    added = [event["item"]["id"] for event in of(found, "response.output_item.added")]
    assert added == [event["item"]["id"] for event in by_index]


def of(found: list[Json], *kinds: str) -> list[Json]:
    """The events of those types."""
    return [event for event in found if event["type"] in kinds]


def deltas(found: list[Json], kind: str = "output_text") -> list[str]:
    """The pieces that say something."""
    return [event["delta"] for event in of(found, f"response.{kind}.delta") if event["delta"]]


def extra(response: Response) -> Json:
    """What stands there that the SDK does not know."""
    assert response.model_extra is not None
    return response.model_extra


def part_of(response: Response) -> Any:
    """The text part of the only message."""
    (message,) = [item for item in response.output if item.type == "message"]
    (part,) = [part for part in message.content if part.type == "output_text"]
    return part
