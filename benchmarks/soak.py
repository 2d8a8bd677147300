"""Many chats for a long time, with faults of the upstream and clients that leave: is anything lost or leaked?

    python -m benchmarks.soak --minutes 30 [--workers 1] [--index DIR] [--seed 1] [--json FILE]

Sixteen clients ask without a pause, over the example corpus: replies of one to eight sentences, whole and
streamed, checked and unchecked; one in four asks for a fault of `benchmarks.faults`, and one in twenty leaves
or reads slowly. A chat is lost when a good reply does not come complete, or when a fault gets no answer or an
error of Vouch's own. The exit status is 1 if any is lost.

Memory and files are medians of each fifth of the time; the first one is warm-up.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp

from benchmarks.faults import KEY as UPSTREAM_KEY
from benchmarks.faults import cases
from benchmarks.gateways_servers import KEY, Running, free_port, running, vouch

CLIENTS = 16
SENTENCES = (
    "The Eiffel Tower is 330 metres tall.",
    "The Eiffel Tower was completed in 1887.",
    "Its first design was drawn by Maurice Koechlin in 1884.",
    "都江堰位于四川省。",
    "Penguins invented the telephone.",
    "I hope that this helps!",
    "The Great Wall of China is visible from Mars.",
    "Marie Curie won two Nobel Prizes.",
)
SLOW = ("never goes on", "never", "bomb", "byte by byte")
"""Faults that are about time or size: they come one in ten times as often as others."""


@dataclass(slots=True)
class Seen:
    """What the clients and the watcher saw."""

    chats: Counter[str] = field(default_factory=Counter)
    lost: list[str] = field(default_factory=list)
    memory: list[float] = field(default_factory=list)
    files: list[int] = field(default_factory=list)
    health: list[float] = field(default_factory=list)


@contextlib.contextmanager
def served(
    folder: Path,
    settings: dict[str, str],
    index: Path | None = None,
    others: Mapping[str, str] | None = None,
) -> Iterator[Running]:
    """Vouch over that index, or one of the example corpus, before the upstream that fails when it is asked
    to; `others` are further models by name, with their addresses."""
    if index is None:
        index = folder / "index"
        corpus = Path(__file__).parents[1] / "examples" / "corpus"
        command = [sys.executable, "-m", "proxy", "index", str(corpus), "--out", str(index)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    with (
        faulty_upstream(folder) as bad,
        vouch(folder, bad.url, index.absolute(), settings, upstream_key=UPSTREAM_KEY, others=others) as ours,
    ):
        yield ours


def faulty_upstream(
    folder: Path, name: str = "upstream", *, nice: int = 0
) -> contextlib.AbstractContextManager[Running]:
    """The upstream that fails when it is asked to; `nice` lowers its priority."""
    port = free_port()
    command = [sys.executable, "-m", "benchmarks.faulty_upstream", "--port", str(port)]
    return running(folder, name, ["nice", "-n", str(nice), *command] if nice else command, port)


async def client(url: str, chance: random.Random, end: float, seen: Seen) -> None:
    """Asks until the time is over."""
    every = cases()
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=300)) as session:
        while time.monotonic() < end:
            stream, kind = chance.random() < 0.6, chance.random()
            fault = ""
            if kind < 0.25:
                fault, stream = chance.choice(every)
                if any(word in fault for word in SLOW) and chance.random() < 0.9:
                    continue
            text = " ".join(chance.choices(SENTENCES, k=chance.randint(1, 8)))
            asked = fault or json.dumps({"reply": text, "pace": chance.choice([0, 0, 0.005])})
            body: dict[str, Any] = {
                "model": "bench" if chance.random() < 0.8 else "bench-raw",
                "messages": [{"role": "user", "content": asked}],
                "stream": stream,
                "vouch": {"max_rounds": chance.choice([0, 1]), "deadline": 120},
            }
            name = "fault" if fault else "leaves" if kind > 0.97 else "slow" if kind > 0.95 else "good"
            seen.chats[name] += 1
            wrong = await _asked(session, url, body, name)
            if wrong:
                seen.lost.append(f"{name}: {asked[:80]}: {wrong}")


async def _asked(session: aiohttp.ClientSession, url: str, body: dict[str, Any], kind: str) -> str:
    """Why the chat is lost; empty where it is not."""
    headers = {"authorization": f"Bearer {KEY}"}
    raw = body["model"].endswith("-raw")
    try:
        async with session.post(f"{url}/chat/completions", json=body, headers=headers) as response:
            if kind == "leaves":
                await response.content.readany()
                response.close()
                return ""
            content = b""
            while piece := await response.content.readany():
                content += piece
                if kind == "slow":
                    await asyncio.sleep(0.05)
    except aiohttp.ClientPayloadError as error:
        return "" if kind == "fault" and raw else repr(error)
    except (aiohttp.ClientError, TimeoutError) as error:
        return "" if kind == "leaves" else repr(error)
    if UPSTREAM_KEY.encode() in content and not raw:
        return "the upstream's key is in it"
    if kind == "fault":
        return "an error of ours" if b"internal_error" in content else ""
    whole = content.endswith(b"data: [DONE]\n\n") if body["stream"] else b'"choices"' in content
    return "" if response.status == 200 and whole else f"{response.status}: {content[-200:]!r}"


async def watch(server: Running, end: float, seen: Seen) -> None:
    """Asks for `/healthz` four times a second, and looks at the process."""
    address = server.url.removesuffix("/v1") + "/healthz"
    async with aiohttp.ClientSession() as session:
        while time.monotonic() < end:
            begun = time.perf_counter()
            async with session.get(address) as response:
                await response.read()
            seen.health.append(1000 * (time.perf_counter() - begun))
            if len(seen.health) % 4 == 0:
                seen.memory.append(server.memory())
                seen.files.append(server.files())
            await asyncio.sleep(0.25)


async def soak(server: Running, seconds: float, seed: int) -> Seen:
    """All clients, and the watcher."""
    seen, end = Seen(), time.monotonic() + seconds
    clients = [client(server.url, random.Random(seed + n), end, seen) for n in range(CLIENTS)]
    await asyncio.gather(watch(server, end, seen), *clients)
    return seen


def fifths(values: list[float] | list[int]) -> list[float]:
    """The median of each fifth of the time; the first is warm-up."""
    size = max(1, len(values) // 5)
    return [statistics.median(values[part * size : (part + 1) * size] or values) for part in range(5)]


def report(seen: Seen, seconds: float) -> dict[str, Any]:
    """The figures."""
    memory, files, health = fifths(seen.memory), fifths(seen.files), sorted(seen.health)
    return {
        "minutes": round(seconds / 60, 1),
        "chats": dict(seen.chats),
        "lost": len(seen.lost),
        "memory (MB) by fifths of the time": [round(part) for part in memory],
        "memory changed after warm-up (%)": round(100 * (memory[-1] / memory[1] - 1), 1),
        "files by fifths of the time": files,
        "healthz p50 (ms)": round(statistics.median(health), 1),
        "healthz p99 (ms)": round(health[int(0.99 * (len(health) - 1))], 1),
        "healthz worst (ms)": round(health[-1], 1),
    }


def main() -> None:
    """Prints the figures, and what was lost."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak")
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--index", type=Path, help="an index of examples/corpus; default: it is made")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, help="also written there")
    options = parser.parse_args()
    settings = {
        "VOUCH_SERVER__WORKERS": str(options.workers),
        "VOUCH_SERVER__LOG_LEVEL": "error",
        "VOUCH_LIMITS__KEY__CONCURRENCY": "64",
    }
    with tempfile.TemporaryDirectory() as folder, served(Path(folder), settings, options.index) as server:
        seen = asyncio.run(soak(server, 60 * options.minutes, options.seed))
    figures = report(seen, 60 * options.minutes)
    print("\n".join(f"{name}: {value}" for name, value in figures.items()))
    print("\n".join(f"lost: {what}" for what in seen.lost[:20]))
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1))
    sys.exit(bool(seen.lost))


if __name__ == "__main__":
    main()
