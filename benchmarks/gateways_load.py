"""The load of the gateway benchmarks, from a process of its own: so many chats at once, for so long.

    python -m benchmarks.gateways_load --target JSON --load JSON     # the fields of `Target` and of `Load`

Prints one JSON object: `requests_per_second`, `chunks_per_second`, `p50` and `p99` in milliseconds, `failed`,
`chats`. A reply counts as failed when it isn't 200, has lost a word, or was not checked where it should be.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import aiohttp

from benchmarks.gateways_upstream import asked

WORD = "w0"
"""How each word of the reply begins. They differ: LiteLLM takes repetition for a model gone wrong."""


@dataclass(frozen=True, slots=True)
class Target:
    """A server that takes chats: its address, what it calls the model, its key, and what else it is told."""

    url: str
    model: str
    key: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Load:
    """Chats at once, seconds of them, and what is asked for."""

    concurrency: int
    seconds: float
    stream: bool = False
    pace: float = 0.0
    words: int = 1
    """How often `WORD` is in the reply; each is an event of the stream."""
    reply: int = 0
    """Which of the upstream's replies."""


@dataclass(frozen=True, slots=True)
class Figures:
    """What came of it."""

    requests_per_second: float
    chunks_per_second: float
    p50: float
    p99: float
    failed: int
    chats: int = 0
    cpu: float = 0.0
    """Milliseconds of processor time that the server spent per chat; 0 where that was not asked for."""


async def measure(target: Target, load: Load) -> Figures:
    """Keeps `concurrency` chats going until the time is over, and lets those under way end."""
    took: list[float] = []
    failed = 0
    body = {"model": target.model, "messages": asked(load.reply, load.pace), **target.body}
    data = json.dumps(body | ({"stream": True} if load.stream else {})).encode()
    headers = {"content-type": "application/json", "authorization": f"Bearer {target.key}", **target.headers}

    async def one(session: aiohttp.ClientSession) -> bool:
        async with session.post(f"{target.url}/chat/completions", data=data, headers=headers) as response:
            content = await response.read()
            whole = content.count(WORD.encode()) >= load.words and b'"unverified"' not in content
            return response.status == 200 and whole

    async def worker(session: aiohttp.ClientSession, end: float) -> None:
        nonlocal failed
        while (begun := time.perf_counter()) < end:
            try:
                failed += not await one(session)
            except aiohttp.ClientError:
                failed += 1
            took.append(time.perf_counter() - begun)

    begun = time.perf_counter()
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        end = begun + load.seconds
        await asyncio.gather(*(worker(session, end) for _ in range(load.concurrency)))
    seconds = time.perf_counter() - begun
    return Figures(
        requests_per_second=len(took) / seconds,
        chunks_per_second=len(took) * load.words / seconds if load.stream else 0.0,
        p50=1000 * statistics.median(took),
        p99=1000 * sorted(took)[int(0.99 * (len(took) - 1))],
        failed=failed,
        chats=len(took),
    )


def main() -> None:
    """Prints the figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gateways_load")
    parser.add_argument("--target", type=json.loads, required=True)
    parser.add_argument("--load", type=json.loads, required=True)
    options = parser.parse_args()
    figures = asyncio.run(measure(Target(**options.target), Load(**options.load)))
    print(json.dumps(asdict(figures)))


if __name__ == "__main__":
    main()
