"""One hostile client beside eight polite ones: how long do the polite ones wait, with it and without it?

    python -m benchmarks.hostile [--index DIR] [--seconds 24] [--every 12] [--only NAME...] [--json FILE]

Each polite client has a key of its own and asks, about every `--every` seconds, for a streamed reply of three
sentences that no cache knows, written at 40 tokens a second. Every twelve seconds, the eight of them ask for
about half of the checking that two cores have; every six for all of it, and then they wait for one another.
The hostile one has a key too, and does one thing for as long as it may. It is a process of its own, and so is
the upstream that it asks. Both have the lowest priority, since what they compute would be computed on other
machines.

A turn without it follows each attack, after two seconds; the ratio is the 95th percentile beside an attack by
that of all turns without one. What a polite client is refused counts as failed.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp

from benchmarks.gateways_servers import KEY
from benchmarks.soak import faulty_upstream, served

POLITE = 8
LOWEST = 19
"""The priority of whoever is not measured."""
PACE = 0.025
"""Seconds per token of a polite reply."""
NUMBERS = itertools.count(1)
OPENERS = ("", "In fact, ", "Indeed, ", "As is well known, ", "As we know, ", "According to the sources, ")
FACTS = (
    "the Eiffel Tower is 330 metres tall.",
    "the Eiffel Tower stands on the Champ de Mars in Paris.",
    "Marie Curie won two Nobel Prizes.",
    "Penicillin was discovered by Alexander Fleming.",
    "the Amazon River is in South America.",
    "Apollo 11 landed on the Moon in 1969.",
    "the Titanic sank in 1912.",
    "Alan Turing was a mathematician.",
)
Attack = Callable[[str, aiohttp.ClientSession], Awaitable[None]]


@dataclass(slots=True)
class Seen:
    """What the polite clients saw: milliseconds of what was answered, and how many were not."""

    took: list[float] = field(default_factory=list)
    failed: int = 0


def key_of(number: int) -> str:
    """The key of a polite client."""
    return f"polite-key-number-{number}"


def told(what: Mapping[str, Any], model: str = "hostile", **more: Any) -> dict[str, Any]:
    """A chat that tells the upstream what to answer."""
    return {"model": model, "messages": [{"role": "user", "content": json.dumps(what)}], **more}


def headers_of(key: str) -> dict[str, str]:
    """What the client sends."""
    return {"authorization": f"Bearer {key}", "content-type": "application/json"}


HEADERS = headers_of(KEY)
"""Those of the hostile client."""


async def _posted(
    url: str, session: aiohttp.ClientSession, body: bytes, leave: float, path: str = "/chat/completions"
) -> None:
    with contextlib.suppress(aiohttp.ClientError, TimeoutError, OSError):
        async with session.post(
            url + path, data=body, headers=HEADERS, timeout=aiohttp.ClientTimeout(total=leave)
        ) as response:
            async for _ in response.content.iter_any():
                pass


async def _all(
    url: str, session: aiohttp.ClientSession, bodies: list[bytes], leave: float, **more: str
) -> None:
    await asyncio.gather(*(_posted(url, session, body, leave, **more) for body in bodies))


def _bytes(body: Any) -> bytes:
    return json.dumps(body).encode()


LONG = _bytes(told({"reply": "tower of iron " * 21_000}))


async def long_text(url: str, session: aiohttp.ClientSession) -> None:
    """300,000 characters without punctuation, and gone after a second."""
    await _posted(url, session, LONG, leave=1)


async def dear_options(url: str, session: aiohttp.ClientSession) -> None:
    """Sixteen chats at once with all that the limits allow, on sixty sentences that are new each time."""
    options = {"top_k": 20, "granularity": "sub_sentence", "max_rounds": 3, "deadline": 60}

    def text() -> str:
        return " ".join(
            f"The Eiffel Tower was painted in {next(NUMBERS)}, and it is tall." for _ in range(60)
        )

    await _all(url, session, [_bytes(told({"reply": text()}, vouch=options)) for _ in range(16)], leave=30)


async def slow_embeddings(url: str, session: aiohttp.ClientSession) -> None:
    """600 embeddings at once that the upstream takes a minute for."""
    body = _bytes({"model": "hostile", "input": "x"})
    await _all(url, session, [body] * 600, leave=10, path="/embeddings")


async def endless_comments(url: str, session: aiohttp.ClientSession) -> None:
    """Sixteen unchecked streams of comments that never end."""
    body = _bytes(told({"comments": 2000}, "hostile-raw", stream=True))
    await _all(url, session, [body] * 16, leave=30)


async def large_replies(url: str, session: aiohttp.ClientSession) -> None:
    """Replies of 100 MB, two at once."""
    await _all(url, session, [_bytes(told({"bytes": 100_000_000}))] * 2, leave=20)


ODD = (
    "whole: 100,000 deep",
    "whole: a number of a million digits",
    "whole: 20,000 choices",
    "whole: a gzip bomb",
)


async def odd_answers(url: str, session: aiohttp.ClientSession) -> None:
    """Answers that are deep, huge or many, from the upstream."""
    bodies = [{"model": "hostile", "messages": [{"role": "user", "content": name}]} for name in ODD]
    await _all(url, session, [_bytes(body) for body in bodies], leave=20)


DEEP = b'{"model": "hostile", "messages": ' + b"[" * 7_000_000 + b"]" * 7_000_000 + b"}"
MANY = b'{"model": "hostile", ' + b", ".join(b'"k%d": %d' % (n, n) for n in range(800_000)) + b"}"
LARGE = _bytes({"model": "hostile", "messages": [{"role": "user", "content": "x" * 15_000_000}]})


async def large_bodies(url: str, session: aiohttp.ClientSession) -> None:
    """Bodies of 14 MB at once: one long text, one deep list, one of 800,000 keys."""
    await _all(url, session, [LARGE, DEEP, MANY], leave=20)


async def endless_header(url: str, _session: aiohttp.ClientSession) -> None:
    """Headers without an end, on ten connections."""
    line = b"x: " + b"y" * 4000 + b"\r\n"
    await asyncio.gather(*(_raw(url, b"GET / HTTP/1.1\r\n", line, 500) for _ in range(10)))


async def half_open(url: str, _session: aiohttp.ClientSession) -> None:
    """600 connections that say nothing."""
    await asyncio.gather(*(_raw(url, b"GET", b"", 10) for _ in range(600)))


async def slow_readers(url: str, _session: aiohttp.ClientSession) -> None:
    """Sixteen chats with replies of 3 MB whose client reads nothing."""
    body = _bytes(told({"reply": "word " * 600_000}, "hostile-raw"))
    head = f"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: {HEADERS['authorization']}\r\n"
    head += f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    await asyncio.gather(*(_raw(url, head.encode() + body, b"", 20) for _ in range(16)))


async def _raw(url: str, first: bytes, more: bytes, times: int) -> None:
    address = urlsplit(url)
    with contextlib.suppress(OSError):
        _, writer = await asyncio.open_connection(address.hostname, address.port, limit=1024)
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
    "endless comments": endless_comments,
    "large replies": large_replies,
    "odd answers": odd_answers,
    "large bodies": large_bodies,
    "endless header": endless_header,
    "half-open connections": half_open,
    "slow readers": slow_readers,
}


def question(chance: random.Random) -> dict[str, Any]:
    """A chat about three facts, worded in a way that was not asked for before."""
    sentences = []
    for fact in chance.sample(FACTS, 3):
        opener = f"{chance.choice(OPENERS)}as of question {next(NUMBERS)}, "
        sentences.append(opener[0].upper() + opener[1:] + fact)
    reply = {"reply": " ".join(sentences), "pace": PACE}
    return told(reply, "bench", stream=True, vouch={"max_rounds": 0})


async def polite(url: str, number: int, end: float, every: float, seen: Seen) -> None:
    """Asks now and then."""
    chance = random.Random(f"{number} {next(NUMBERS)}")
    await asyncio.sleep(every * number / POLITE)
    async with aiohttp.ClientSession() as session:
        while (begun := time.monotonic()) < end:
            with contextlib.suppress(aiohttp.ClientError, TimeoutError):
                async with session.post(
                    f"{url}/chat/completions", json=question(chance), headers=headers_of(key_of(number))
                ) as response:
                    content = await response.read()
                took = 1000 * (time.monotonic() - begun)
                if response.status == 200 and content.endswith(b"[DONE]\n\n") and b'"skipped"' not in content:
                    seen.took.append(took)
                    await asyncio.sleep(max(0.0, every * chance.uniform(0.8, 1.2) - took / 1000))
                    continue
            seen.failed += 1
            await asyncio.sleep(1)


async def attack(url: str, name: str) -> None:
    """Attacks until the process is ended."""
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        while True:
            await ATTACKS[name](url, session)
            await asyncio.sleep(0.01)


@contextlib.contextmanager
def attacked(url: str, name: str) -> Iterator[None]:
    """The attack goes on in the block, in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.hostile", "--attack", name, "--url", url, "--key", KEY]
    with subprocess.Popen(["nice", "-n", str(LOWEST), *command], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield
        process.kill()


async def turn(url: str, seconds: float, every: float, seen: Seen) -> None:
    """Polite chats for so long."""
    end = time.monotonic() + seconds
    await asyncio.gather(*(polite(url, number, end, every, seen) for number in range(POLITE)))


def p95(values: list[float]) -> float:
    """The 95th percentile."""
    return sorted(values)[round(0.95 * (len(values) - 1))]


async def compare(url: str, names: list[str], seconds: float, every: float) -> dict[str, dict[str, float]]:
    """By attack, and without one: polite chats' p50 and p95 in milliseconds, how many, how many failed."""
    quiet, loud = Seen(), {name: Seen() for name in names}
    await turn(url, 6, every, Seen())
    await turn(url, seconds / 2, every, quiet)
    print(f"none: {_figures(quiet)}", file=sys.stderr, flush=True)
    for name in names:
        with attacked(url, name):
            await turn(url, seconds, every, loud[name])
        print(f"{name}: {_figures(loud[name])}", file=sys.stderr, flush=True)
        await asyncio.sleep(2)
        await turn(url, seconds / 2, every, quiet)
    rows = {"none": _figures(quiet), **{name: _figures(seen) for name, seen in loud.items()}}
    return {name: {**row, "ratio": round(row["p95"] / rows["none"]["p95"], 2)} for name, row in rows.items()}


def _figures(seen: Seen) -> dict[str, float]:
    took = seen.took or [float("inf")]
    return {"p50": statistics.median(took), "p95": p95(took), "chats": len(seen.took), "failed": seen.failed}


def main() -> None:
    """Prints the figures as Markdown."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hostile")
    parser.add_argument("--index", type=Path, help="an index of examples/corpus; default: it is made")
    parser.add_argument("--seconds", type=float, default=24.0, help="of each attack")
    parser.add_argument("--every", type=float, default=12.0, help="seconds between two of a polite client")
    parser.add_argument("--only", nargs="*", choices=list(ATTACKS), default=list(ATTACKS))
    parser.add_argument("--json", type=Path, help="also written there")
    parser.add_argument("--attack", choices=list(ATTACKS), help=argparse.SUPPRESS)
    parser.add_argument("--url", help=argparse.SUPPRESS)
    parser.add_argument("--key", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.attack:
        HEADERS["authorization"] = f"Bearer {options.key}"
        print("attacking", flush=True)
        asyncio.run(attack(options.url, options.attack))
    keys = [{"name": "hostile", "key": KEY}]
    keys += [{"name": f"polite-{number}", "key": key_of(number)} for number in range(POLITE)]
    settings = {
        "VOUCH_SERVER__API_KEYS": json.dumps(keys),
        "VOUCH_SERVER__LOG_LEVEL": "error",
        "VOUCH_SERVER__MAX_CONCURRENCY": "64",
        "VOUCH_VERIFICATION__DEADLINE": "60",
    }
    with (
        tempfile.TemporaryDirectory() as folder,
        faulty_upstream(Path(folder), "hostile-upstream", nice=LOWEST) as theirs,
        served(Path(folder), settings, options.index, {"hostile": theirs.url}) as server,
    ):
        figures = asyncio.run(compare(server.url, options.only, options.seconds, options.every))
    print("| attack | chats | failed | p50 (ms) | p95 (ms) | ratio |\n|---|--:|--:|--:|--:|--:|")
    for name, row in figures.items():
        times = f"{row['p50']:,.0f} | {row['p95']:,.0f} | {row['ratio']}"
        print(f"| {name} | {row['chats']} | {row['failed']} | {times} |")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
