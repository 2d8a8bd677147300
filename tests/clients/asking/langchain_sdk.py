"""LangChain's `ChatOpenAI`, whole and streamed; over the Responses API where the argument is `responses`."""

from __future__ import annotations

import sys
from typing import Any

from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_openai import ChatOpenAI
from lines import Json, beside, serve


def ask(request: Json, result: Json) -> None:
    """One chat, and another one behind it where `then` asks for it."""
    model: Any = ChatOpenAI(
        base_url=request["base_url"],
        api_key=request["api_key"],
        model=request["model"],
        max_retries=request["max_retries"],
        timeout=request["timeout"],
        use_responses_api="responses" in sys.argv,
    )
    asked = model.bind_tools(request["tools"]) if request["tools"] else model
    messages = list(request["messages"])
    message = (streamed if request["stream"] else whole)(asked, request, messages, result)
    if message is None:
        return
    look(message, result)
    if request["then"]:
        model.invoke([*messages, message, {"role": "user", "content": request["then"]}])


def whole(model: Any, _request: Json, messages: list[Any], result: Json) -> AIMessage:
    """The reply."""
    message: AIMessage = model.invoke(messages)
    result["content"], result["pieces"] = message.text, 1
    return message


def streamed(model: Any, request: Json, messages: list[Any], result: Json) -> AIMessageChunk | None:
    """The chunks, added up as LangChain adds them."""
    message: AIMessageChunk | None = None
    for chunk in model.stream(messages):
        message = chunk if message is None else message + chunk
        if chunk.text:
            result["content"] += chunk.text
            result["pieces"] += 1
            if request["leave"]:
                return None
    return message


def look(message: AIMessage, result: Json) -> None:
    """Takes what came with the content, wherever LangChain would put it."""
    kept = {**message.response_metadata, **message.additional_kwargs}
    blocks: list[Any] = [block for block in message.content_blocks if block["type"] == "text"]
    cited = [annotation for block in blocks for annotation in block.get("annotations") or ()]
    for annotation in kept.get("annotations") or cited:
        citation = annotation.get("url_citation", annotation)
        result["citations"].append([citation["url"], citation["title"]])
    for call in message.tool_calls:
        result["tool_calls"].append([call["name"], call["args"]])
    beside(result, kept)


if __name__ == "__main__":
    serve(ask)
