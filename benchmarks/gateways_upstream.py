"""The upstream of the gateway benchmarks: an OpenAI-compatible server that writes at the pace asked for.

    python -m benchmarks.gateways_upstream --replies FILE --port PORT [--corrected FILE]

`FILE` is a JSON list of texts. A chat's last message names one and the seconds between two tokens of its
stream, "3 at 0.025"; a reply that is not streamed comes at once. Tokens are up to five characters of a word,
with the space before it, which is about what tokenizers make of English.

A chat that goes on after such a message asks for a correction. It is answered at the same pace, streamed or
not, with the text of the second list: all of it or, where sentences are asked for, those that stand there. A
prompt that names no reply at all (for one sentence) gets a refusal.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiohttp import web

from proxy.correction.rewrite import read_rewriting, write_rewrites
from proxy.text.sentences import sentence_spans

HEAD = {"id": "chatcmpl-bench", "created": 1_767_225_600, "model": "bench"}


REFUSAL = "I don't know."
_ASKED = re.compile(r"(\d+) at ([\d.e+-]+)")


def tokens(text: str) -> list[str]:
    """The pieces that a text is streamed in."""
    return re.findall(r"\s*\S{1,5}", text)


def asked(number: int, pace: float) -> list[dict[str, str]]:
    """The messages that ask for a reply."""
    return [{"role": "user", "content": f"{number} at {pace}"}]


@dataclass(frozen=True, slots=True)
class Written:
    """A reply as the wire has it, ready to be sent."""

    text: str
    whole: bytes
    events: tuple[bytes, ...]


def written(text: str) -> Written:
    """One reply, both ways."""
    said = tokens(text)
    usage = {"prompt_tokens": 10, "completion_tokens": len(said), "total_tokens": 10 + len(said)}
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    whole = {**HEAD, "object": "chat.completion", "choices": [choice], "usage": usage}
    deltas = [{"role": "assistant", "content": ""}, *({"content": token} for token in said)]
    chunks = [_chunk(delta, None) for delta in deltas]
    return Written(text, json.dumps(whole).encode(), tuple(map(_event, [*chunks, _chunk({}, "stop")])))


def _chunk(delta: dict[str, str], finish_reason: str | None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return {**HEAD, "object": "chat.completion.chunk", "choices": [choice]}


def _event(chunk: dict[str, Any]) -> bytes:
    return f"data: {json.dumps(chunk)}\n\n".encode()


@dataclass(frozen=True, slots=True)
class Asked:
    """What a chat asks for: a reply, seconds per token, and whether it is to correct that reply."""

    number: int
    pace: float
    correcting: bool


def what_is_asked(messages: list[dict[str, Any]]) -> Asked | None:
    """The last message that names a reply, if there is one."""
    for place in range(len(messages) - 1, -1, -1):
        if match := _ASKED.fullmatch(str(messages[place]["content"])):
            return Asked(int(match[1]), float(match[2]), place < len(messages) - 1)
    return None


def rewritten(text: str, corrected: str, failed: list[str]) -> str:
    """The answer that has, of the corrected text, the sentences at the places of those that failed."""
    written, better = ([each[start:end] for start, end in sentence_spans(each)] for each in (text, corrected))
    places = [next((n for n, said in enumerate(written) if one in said), None) for one in failed]
    return write_rewrites(
        {number: better[n] for number, n in enumerate(places, 1) if n is not None and n < len(better)}
    )


@dataclass(frozen=True, slots=True)
class Upstream:
    """One handler over replies that are ready, and the texts that correct them."""

    replies: tuple[Written, ...]
    corrected: tuple[str, ...] = ()

    async def chat(self, request: web.Request) -> web.StreamResponse:
        """The reply that the last message names, or its correction."""
        body = json.loads(await request.read())
        asked_for = what_is_asked(body["messages"])
        if asked_for is None:
            return await self._sent(request, body, written(REFUSAL), 0.0)
        if not asked_for.correcting:
            reply, pace = self.replies[asked_for.number], asked_for.pace
            return await self._sent(request, body, reply, pace)
        text = self.corrected[asked_for.number]
        if rewriting := read_rewriting(body["messages"][-1]["content"]):
            failed = [sentence.text for sentence in rewriting.sentences]
            text = rewritten(self.replies[asked_for.number].text, text, failed)
        if not body.get("stream"):
            await asyncio.sleep(len(tokens(text)) * asked_for.pace)
        return await self._sent(request, body, written(text), asked_for.pace)

    async def _sent(
        self, request: web.Request, body: dict[str, Any], reply: Written, pace: float
    ) -> web.StreamResponse:
        """The reply, streamed at its pace or as a whole."""
        if not body.get("stream"):
            return web.Response(body=reply.whole, content_type="application/json")
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        loop, begun = asyncio.get_running_loop(), asyncio.get_running_loop().time()
        for count, event in enumerate(reply.events):
            # By the clock: what a write takes does not slow the pace down.
            if (wait := begun + count * pace - loop.time()) > 0:
                await asyncio.sleep(wait)
            await response.write(event)
        await response.write(b"data: [DONE]\n\n")
        await response.write_eof()
        return response


def main() -> None:
    """Serves until it is ended."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gateways_upstream")
    parser.add_argument("--replies", type=Path, required=True)
    parser.add_argument("--corrected", type=Path)
    parser.add_argument("--port", type=int, required=True)
    options = parser.parse_args()
    replies = json.loads(options.replies.read_text(encoding="utf-8"))
    corrected = json.loads(options.corrected.read_text(encoding="utf-8")) if options.corrected else replies
    app = web.Application()
    upstream = Upstream(tuple(map(written, replies)), tuple(corrected))
    app.router.add_post("/v1/chat/completions", upstream.chat)
    web.run_app(app, host="127.0.0.1", port=options.port, print=None, access_log=None)


if __name__ == "__main__":
    main()
