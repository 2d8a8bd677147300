"""The `openai` package's `responses`, whole and streamed."""

from __future__ import annotations

from typing import Any

from lines import Json, beside, serve
from openai import OpenAI


def ask(request: Json, result: Json) -> None:
    """One response, and another one behind it where `then` asks for it."""
    with OpenAI(
        base_url=request["base_url"],
        api_key=request["api_key"],
        max_retries=request["max_retries"],
        timeout=request["timeout"],
    ) as client:
        tools: Any = [{"type": "function", **tool["function"], "strict": False} for tool in request["tools"]]
        messages: list[Any] = list(request["messages"])
        arguments: Json = {"model": request["model"], **({"tools": tools} if tools else {})}
        response = (streamed if request["stream"] else whole)(client, request, messages, arguments, result)
        if response is None:
            return
        look(response, result)
        if request["then"]:
            history = [*messages, *response.output, {"role": "user", "content": request["then"]}]
            client.responses.create(model=request["model"], input=history)


def whole(client: OpenAI, _request: Json, messages: list[Any], arguments: Json, result: Json) -> Any:
    """The response."""
    response = client.responses.create(input=messages, **arguments)
    result["content"], result["pieces"] = response.output_text, 1
    return response


def streamed(client: OpenAI, request: Json, messages: list[Any], arguments: Json, result: Json) -> Any:
    """The same by the package's own stream, which puts it together."""
    with client.responses.stream(input=messages, **arguments) as events:
        for event in events:
            if event.type == "response.output_text.delta":
                result["content"] += event.delta
                result["pieces"] += 1
                if request["leave"]:
                    return None
            if event.type == "error":
                raise RuntimeError(event.message)
        return events.get_final_response()


def look(response: Any, result: Json) -> None:
    """Takes what came with the content."""
    for item in response.output:
        for part in getattr(item, "content", None) or ():
            for annotation in part.annotations:
                result["citations"].append([annotation.url, annotation.title])
        if item.type == "function_call":
            result["tool_calls"].append([item.name, item.arguments])
    beside(result, response.model_extra)


if __name__ == "__main__":
    serve(ask)
