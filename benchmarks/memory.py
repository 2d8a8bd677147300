"""What each process of `vouch serve` holds in memory, with one worker and with several.

    python -m benchmarks.memory [--workers 1 2] [--index DIR] [--chats 64]

The default checker over the example corpus, after so many checked chats of eight sentences, sixteen at once,
each on a connection of its own, so that every worker has some. Resident memory counts what processes share
(libraries, weights and index, which are mapped files) once for each; proportional memory (PSS) divides it
among them, so that its sum is what they take together.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import tempfile
from pathlib import Path

import aiohttp

from benchmarks.gateways_servers import KEY, Process
from benchmarks.soak import CLIENTS, SENTENCES, served

SENTENCES_OF_A_CHAT = 8


async def chats(url: str, count: int) -> None:
    """Asks so often for a checked reply. Raises `aiohttp.ClientResponseError` where one is refused."""
    chance, places = random.Random(1), asyncio.Semaphore(CLIENTS)
    headers = {"authorization": f"Bearer {KEY}"}

    async def ask(session: aiohttp.ClientSession, number: int) -> None:
        sentences = [f"In case {number}, {text}" for text in chance.choices(SENTENCES, k=SENTENCES_OF_A_CHAT)]
        told = json.dumps({"reply": " ".join(sentences)})
        body = {"model": "bench", "messages": [{"role": "user", "content": told}], "vouch": {"max_rounds": 0}}
        async with places, session.post(f"{url}/chat/completions", json=body, headers=headers) as response:
            response.raise_for_status()
            await response.read()

    connector, timeout = aiohttp.TCPConnector(force_close=True), aiohttp.ClientTimeout(total=600)
    async with aiohttp.ClientSession(connector=connector, timeout=timeout) as session:
        await asyncio.gather(*(ask(session, number) for number in range(count)))


def held(workers: int, index: Path | None, count: int) -> list[Process]:
    """The processes of a server with so many workers, after the chats; the one that was started first."""
    settings = {
        "VOUCH_SERVER__WORKERS": str(workers),
        "VOUCH_SERVER__LOG_LEVEL": "error",
        "VOUCH_LIMITS__KEY__CONCURRENCY": "64",
    }
    with tempfile.TemporaryDirectory() as folder, served(Path(folder), settings, index) as server:
        asyncio.run(chats(server.url, count))
        return server.processes()


def role(process: Process, workers: int) -> str:
    """What the process is for."""
    if "spawn_main" in process.command:
        return "worker"
    if "resource_tracker" in process.command:
        return "resource tracker of Python"
    return "main process" if workers > 1 else "server"


def main() -> None:
    """Prints a table as Markdown."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.memory")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--index", type=Path, help="an index of examples/corpus; default: it is made")
    parser.add_argument("--chats", type=int, default=64)
    options = parser.parse_args()
    print("| workers | process | resident (MB) | proportional (MB) |\n|--:|---|--:|--:|")
    for workers in options.workers:
        processes = held(workers, options.index, options.chats)
        for process in processes:
            figures = f"{process.resident:,.0f} | {process.proportional:,.0f}"
            print(f"| {workers} | {role(process, workers)} | {figures} |")
        proportional = sum(process.proportional for process in processes)
        print(f"| {workers} | together | | {proportional:,.0f} |", flush=True)


if __name__ == "__main__":
    main()
