"""One hostile client beside eight polite ones: how long do the polite ones wait, with it and without it?

    python -m benchmarks.hostile [--index DIR] [--seconds 20] [--rounds 2] [--only NAME...] [--json FILE]

Each polite client has a key of its own and asks for a checked reply of three sentences, which no cache
knows, about every two seconds. The hostile one has a key too, and does one thing for as long as it may.
Turns without it come before and after each attack; the ratio is that of the 95th percentiles.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import json
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp

from benchmarks.gateways_servers import KEY
from benchmarks.soak import served

POLITE = 8
EVERY = 2.0
"""Seconds from one polite question to the next of the same client."""
NUMBERS = itertools.count(1889)
Attack = Callable[[str, aiohttp.ClientSession], Awaitable[None]]


def key_of(number: int) -> str:
    """The key of a polite client."""
    return f"polite-key-number-{number}"


def chat_of(reply: str, **more: Any) -> dict[str, Any]:
    """A chat that the upstream answers with that reply."""
    return {"model": "bench", "messages": [{"role": "user", "content": json.dumps({"reply": reply})}], **more}


def headers_of(key: str) -> dict[str, str]:
    """What the client sends."""
    return {"authorization": f"Bearer {key}"}


async def _posted(url: str, session: aiohttp.ClientSession, path: str, body: Any, leave: float = 300) -> None:
    with contextlib.suppress(aiohttp.ClientError, TimeoutError):
        async with session.post(
            url + path, json=body, headers=headers_of(KEY), timeout=aiohttp.ClientTimeout(total=leave)
        ) as response:
            await response.read()


async def long_text(url: str, session: aiohttp.ClientSession) -> None:
    """300,000 characters without punctuation, and gone after a second."""
    await _posted(url, session, "/chat/completions", chat_of("tower of iron " * 21_000), leave=1)


async def dear_options(url: str, session: aiohttp.ClientSession) -> None:
    """Sixteen chats at once with all that the limits allow, on sixty sentences that are new each time."""
    options = {"top_k": 20, "granularity": "sub_sentence", "max_rounds": 3, "deadline": 600}

    def text() -> str:
        return " ".join(
            f"The Eiffel Tower was painted in {next(NUMBERS)}, and it is tall." for _ in range(60)
        )

    chats = (chat_of(text(), vouch=options) for _ in range(16))
    await asyncio.gather(*(_posted(url, session, "/chat/completions", chat, leave=30) for chat in chats))


async def slow_embeddings(url: str, session: aiohttp.ClientSession) -> None:
    """600 embeddings at once that the upstream takes a minute for."""
    body = {"model": "bench", "input": "x"}
    await asyncio.gather(*(_posted(url, session, "/embeddings", body, leave=10) for _ in range(600)))


async def large_bodies(url: str, session: aiohttp.ClientSession) -> None:
    """Four bodies of 15 MB at once."""
    messages = [{"role": "user", "content": "x" * 15_000_000}]
    body = {"model": "bench", "messages": messages}
    await asyncio.gather(*(_posted(url, session, "/chat/completions", body, leave=20) for _ in range(4)))


async def endless_header(url: str, _session: aiohttp.ClientSession) -> None:
    """Headers without an end, on ten connections."""
    await asyncio.gather(
        *(_raw(url, b"GET / HTTP/1.1\r\n", b"x: " + b"y" * 4000 + b"\r\n", 500) for _ in range(10))
    )


async def half_open(url: str, _session: aiohttp.ClientSession) -> None:
    """600 connections that say nothing."""
    await asyncio.gather(*(_raw(url, b"GET", b"", 10) for _ in range(600)))


async def _raw(url: str, first: bytes, more: bytes, times: int) -> None:
    address = urlsplit(url)
    with contextlib.suppress(OSError):
        _, writer = await asyncio.open_connection(address.hostname, address.port)
        with contextlib.closing(writer):
            writer.write(first)
            for _ in range(times):
                writer.write(more)
                await writer.drain()
                await asyncio.sleep(0.01 if more else 1)


ATTACKS: Mapping[str, Attack] = {
    "long text": long_text,
    "dear options": dear_options,
    "slow embeddings": slow_embeddings,
    "large bodies": large_bodies,
    "endless header": endless_header,
    "half-open connections": half_open,
}


async def polite(url: str, number: int, end: float, took: list[float]) -> None:
    """Asks now and then."""
    chance = random.Random(number)
    await asyncio.sleep(EVERY * number / POLITE)
    async with aiohttp.ClientSession() as session:
        while time.monotonic() < end:
            year = next(NUMBERS)
            reply = f"The Eiffel Tower is 330 metres tall. It was opened in {year}. Paris had {year} cafés."
            begun = time.perf_counter()
            async with session.post(
                f"{url}/chat/completions",
                json=chat_of(reply, vouch={"max_rounds": 0}),
                headers=headers_of(key_of(number)),
            ) as response:
                await response.read()
                if response.status == 200:
                    took.append(1000 * (time.perf_counter() - begun))
            await asyncio.sleep(max(0.0, EVERY * chance.uniform(0.8, 1.2) + begun - time.perf_counter()))


async def turn(url: str, seconds: float, attack: Attack | None) -> list[float]:
    """Milliseconds that polite chats took, beside the attack."""
    took: list[float] = []
    end = time.monotonic() + seconds

    async def attacking() -> None:
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
            while attack is not None:
                await attack(url, session)
                await asyncio.sleep(0.01)

    hostile = asyncio.create_task(attacking())
    await asyncio.gather(*(polite(url, number, end, took) for number in range(POLITE)))
    hostile.cancel()
    await asyncio.gather(hostile, return_exceptions=True)
    return took


def p95(values: list[float]) -> float:
    """The 95th percentile."""
    return sorted(values)[int(0.95 * (len(values) - 1))]


async def compare(url: str, names: list[str], seconds: float, rounds: int) -> dict[str, dict[str, float]]:
    """By attack: polite chats' p50 and p95 with it, p95 without it, and the ratio."""
    figures: dict[str, dict[str, float]] = {}
    await turn(url, min(seconds, 10), None)
    for name in names:
        quiet = await turn(url, seconds / 2, None)
        loud: list[float] = []
        for _ in range(rounds):
            loud += await turn(url, seconds, ATTACKS[name])
            await asyncio.sleep(2)
            quiet += await turn(url, seconds / 2, None)
        figures[name] = {
            "without p95": round(p95(quiet)),
            "with p50": round(statistics.median(loud)),
            "with p95": round(p95(loud)),
            "ratio": round(p95(loud) / p95(quiet), 2),
            "chats": len(loud),
        }
        print(f"{name}: {figures[name]}", file=sys.stderr, flush=True)
    return figures


def main() -> None:
    """Prints the figures as Markdown."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hostile")
    parser.add_argument("--index", type=Path, help="an index of examples/corpus; default: it is made")
    parser.add_argument("--seconds", type=float, default=20.0, help="of each turn")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--only", nargs="*", choices=list(ATTACKS), default=list(ATTACKS))
    parser.add_argument("--json", type=Path, help="also written there")
    options = parser.parse_args()
    keys = [{"name": "hostile", "key": KEY}]
    keys += [{"name": f"polite-{number}", "key": key_of(number)} for number in range(POLITE)]
    settings = {
        "VOUCH_SERVER__API_KEYS": json.dumps(keys),
        "VOUCH_SERVER__LOG_LEVEL": "error",
        "VOUCH_SERVER__MAX_CONCURRENCY": "64",
        "VOUCH_VERIFICATION__DEADLINE": "60",
    }
    with tempfile.TemporaryDirectory() as folder, served(Path(folder), settings, options.index) as server:
        figures = asyncio.run(compare(server.url, options.only, options.seconds, options.rounds))
    print("| attack | p95 without (ms) | p50 with (ms) | p95 with (ms) | ratio |\n|---|--:|--:|--:|--:|")
    for name, row in figures.items():
        print(f"| {name} | {row['without p95']} | {row['with p50']} | {row['with p95']} | {row['ratio']} |")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
