"""Vouch in Chainlit: `[n]` opens its passage beside the chat, with what the reply cites of it in bold.

pip install chainlit openai
chainlit run examples/chainlit/app.py      # while `vouch serve` runs
"""

import os

import chainlit as cl
from openai import AsyncOpenAI

url = os.environ.get("VOUCH_URL", "http://127.0.0.1:8000/v1")
vouch = AsyncOpenAI(base_url=url, api_key=os.environ.get("VOUCH_KEY", "none"))
MODEL = os.environ.get("VOUCH_MODEL", "vouch/demo")


@cl.on_message
async def reply(_message: cl.Message) -> None:
    """Streams the reply. Its last chunk brings the references and what each statement cites of them."""
    messages = cl.chat_context.to_openai()
    shown = await cl.Message("").send()
    async for chunk in await vouch.chat.completions.create(model=MODEL, messages=messages, stream=True):
        for choice in chunk.choices:
            await shown.stream_token(choice.delta.content or "")
        for source in getattr(chunk, "references", None) or []:
            await panel(source, chunk.verification["claims"]).send(for_id=shown.id)
    await shown.update()


def panel(source: dict, claims: list[dict]) -> cl.Text:
    """A passage as a side panel that each `[n]` of the reply opens."""
    cited = [each for claim in claims for each in claim.get("evidence", []) if each["n"] == source["n"]]
    text = source["text"]
    for quote in {each["quote"] for each in cited}:
        text = text.replace(quote, f"**{quote}**")
    content = f"**[{source['n']}. {source['title']}]({source['url']})**\n\n{text}"
    return cl.Text(name=f"[{source['n']}]", content=content, display="side")
