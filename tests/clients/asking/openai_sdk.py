"""The `openai` package: `create`, whole and with `stream=True`."""

from __future__ import annotations

from typing import Any

from lines import Json, beside, serve
from openai import OpenAI


def ask(request: Json, result: Json) -> None:
    """One chat, and another one behind it where `then` asks for it."""
    with OpenAI(
        base_url=request["base_url"],
        api_key=request["api_key"],
        max_retries=request["max_retries"],
        timeout=request["timeout"],
    ) as client:
        messages = list(request["messages"])
        messages.append((streamed if request["stream"] else whole)(client, request, messages, result))
        if request["then"]:
            messages.append({"role": "user", "content": request["then"]})
            client.chat.completions.create(model=request["model"], messages=messages)


def options(request: Json) -> Json:
    """The arguments beside the messages."""
    return {"model": request["model"], **({"tools": request["tools"]} if request["tools"] else {})}


def whole(client: OpenAI, request: Json, messages: list[Any], result: Json) -> Any:
    """The reply's message, as it goes into the history."""
    completion = client.chat.completions.create(messages=messages, **options(request))
    message = completion.choices[0].message
    result["content"], result["pieces"] = message.content, 1
    for annotation in message.annotations or ():
        result["citations"].append([annotation.url_citation.url, annotation.url_citation.title])
    for call in message.tool_calls or ():
        result["tool_calls"].append([call.function.name, call.function.arguments])
    beside(result, completion.model_extra)
    return message


def streamed(client: OpenAI, request: Json, messages: list[Any], result: Json) -> Any:
    """The same from chunks, the way every user of them adds them up."""
    calls: dict[int, list[str]] = {}
    with client.chat.completions.create(messages=messages, stream=True, **options(request)) as chunks:
        for chunk in chunks:
            beside(result, chunk.model_extra)
            for choice in chunk.choices:
                add(choice.delta, result, calls)
            if request["leave"] and result["content"]:
                break
    result["tool_calls"] = list(calls.values())
    return {"role": "assistant", "content": result["content"]}


def add(delta: Any, result: Json, calls: dict[int, list[str]]) -> None:
    """One delta more."""
    if delta.content:
        result["content"] += delta.content
        result["pieces"] += 1
    for annotation in (delta.model_extra or {}).get("annotations") or ():
        result["citations"].append([annotation["url_citation"]["url"], annotation["url_citation"]["title"]])
    for call in delta.tool_calls or ():
        known = calls.setdefault(call.index, ["", ""])
        known[0] += call.function.name or ""
        known[1] += call.function.arguments or ""


if __name__ == "__main__":
    serve(ask)
