"""litellm's SDK: `litellm.completion` with Vouch as an OpenAI-compatible `api_base`."""

from __future__ import annotations

from typing import Any

import litellm
from lines import Json, beside, serve

litellm.suppress_debug_info = True


def ask(request: Json, result: Json) -> None:
    """One chat, and another one behind it where `then` asks for it."""
    messages = list(request["messages"])
    messages.append((streamed if request["stream"] else whole)(request, messages, result))
    if request["then"]:
        messages.append({"role": "user", "content": request["then"]})
        complete(request, messages)


def complete(request: Json, messages: list[Any], **options: Any) -> Any:
    """litellm's call."""
    return litellm.completion(
        model=f"openai/{request['model']}",
        api_base=request["base_url"],
        api_key=request["api_key"],
        messages=messages,
        max_retries=request["max_retries"],
        timeout=request["timeout"],
        tools=request["tools"] or None,
        **options,
    )


def whole(request: Json, messages: list[Any], result: Json) -> Any:
    """The reply's message, as it goes into the history."""
    completion = complete(request, messages)
    message = completion.choices[0].message
    result["content"], result["pieces"] = message.content, 1
    cite(result, message)
    for call in message.tool_calls or ():
        result["tool_calls"].append([call.function.name, call.function.arguments])
    beside(result, completion.model_extra)
    return message


def streamed(request: Json, messages: list[Any], result: Json) -> Any:
    """The same from chunks, put together by litellm's own builder at the end."""
    chunks = []
    reply = complete(request, messages, stream=True)
    for chunk in reply:
        chunks.append(chunk)
        beside(result, chunk.model_extra)
        delta = chunk.choices[0].delta
        if delta.content:
            result["content"] += delta.content
            result["pieces"] += 1
        cite(result, delta)
        if request["leave"] and result["content"]:
            reply.completion_stream.close()
            return None
    message = litellm.stream_chunk_builder(chunks).choices[0].message
    for call in message.tool_calls or ():
        result["tool_calls"].append([call.function.name, call.function.arguments])
    return message


def cite(result: Json, message: Any) -> None:
    """Takes the annotations of a message or a delta."""
    for annotation in getattr(message, "annotations", None) or ():
        citation = annotation["url_citation"]
        result["citations"].append([citation["url"], citation["title"]])


if __name__ == "__main__":
    serve(ask)
