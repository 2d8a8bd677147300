"""The `openai` package's stream helper: `client.chat.completions.stream`."""

from __future__ import annotations

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
        arguments = {"tools": request["tools"]} if request["tools"] else {}
        messages = list(request["messages"])
        with client.chat.completions.stream(model=request["model"], messages=messages, **arguments) as events:
            for event in events:
                if event.type == "chunk":
                    beside(result, event.chunk.model_extra)
                if event.type == "content.delta" and event.delta:
                    result["content"] += event.delta
                    result["pieces"] += 1
                    if request["leave"]:
                        return
            completion = events.get_final_completion()
        message = completion.choices[0].message
        if result["content"] != (message.content or ""):
            raise AssertionError("the final message is not what the events say")
        for annotation in message.annotations or ():
            result["citations"].append([annotation.url_citation.url, annotation.url_citation.title])
        for call in message.tool_calls or ():
            result["tool_calls"].append([call.function.name, call.function.arguments])
        if request["then"]:
            messages += [message, {"role": "user", "content": request["then"]}]
            client.chat.completions.create(model=request["model"], messages=messages)


if __name__ == "__main__":
    serve(ask)
