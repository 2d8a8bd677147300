"""What checking a reply while it is written costs its reader: streams at a set pace, in each stream mode.

    python -m benchmarks.streaming [--replies 8] [--pace 40] [--concurrent 200]

A local upstream writes replies of eight sentences of the example corpus at so many tokens a second, straight
to the client and through `vouch serve` with the built-in checker, its cache off, without re-prompting.
All modes have their turn with one reply before the next one. Added to a stream is what it took more than the
same reply straight from the upstream: up to its first content, and up to its end, which is behind the
upstream's last token. All checking of a reply is what buffer mode adds to it when the upstream writes it all
at once; hidden is what of that sentence mode does not add behind the last token at the pace. Then so many
streams at the same time in sentence mode: nothing may be lost of any.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from benchmarks.gateways_load import Target
from benchmarks.gateways_servers import KEY, replies_file, upstream, vouch
from benchmarks.gateways_upstream import asked
from proxy.text.sentences import sentence_spans

CORPUS = Path(__file__).parents[1] / "examples" / "corpus"
SENTENCES = 8
INSTANT = 1e6
"""Tokens a second of a reply that is there at once."""
MODES = ("passthrough", "sentence", "buffer")
WITHOUT_CACHE = {"VOUCH_CHECKER__CACHE_PAIRS": "0"}


@dataclass(frozen=True, slots=True)
class Stream:
    """What came of one stream: seconds from the request to the first content and to the end."""

    content: str
    first: float
    last: float
    error: str = ""


def texts(count: int) -> list[str]:
    """Replies of eight sentences, from the beginnings of the corpus's documents."""
    texts_made = []
    for path in sorted(CORPUS.glob("*.md")):
        lines = path.read_text(encoding="utf-8").splitlines()
        text = " ".join(line for line in lines if line and line[0].isascii() and line[0].isalpha())
        spans = sentence_spans(text)
        if len(spans) >= SENTENCES and "[" not in text and text.isprintable():
            texts_made.append(text[: spans[SENTENCES - 1][1]])
    return [texts_made[number % len(texts_made)] for number in range(count)]


async def stream(session: aiohttp.ClientSession, target: Target, number: int, pace: float) -> Stream:
    """One reply, streamed to its end."""
    body = {"model": target.model, "messages": asked(number, 1 / pace), "stream": True, **target.body}
    pieces: list[str] = []
    error, first = "", 0.0
    begun = time.perf_counter()
    async with session.post(
        f"{target.url}/chat/completions", json=body, headers={"authorization": f"Bearer {target.key}"}
    ) as response:
        async for line in response.content:
            if not line.startswith(b"data: {"):
                error = error or ("" if response.status == 200 else f"status {response.status}")
                continue
            chunk = json.loads(line[6:])
            error = error or str(chunk.get("error") or "")
            if piece := "".join(_contents(chunk)):
                first = first or time.perf_counter() - begun
                pieces.append(piece)
    return Stream("".join(pieces), first, time.perf_counter() - begun, error)


def _contents(chunk: Mapping[str, Any]) -> list[str]:
    return [choice["delta"].get("content") or "" for choice in chunk.get("choices") or ()]


async def in_turns(targets: Mapping[str, Target], count: int, pace: float) -> dict[str, list[Stream]]:
    """Every reply, from each target, one at a time."""
    streams: dict[str, list[Stream]] = {name: [] for name in targets}
    async with aiohttp.ClientSession(read_bufsize=2**22) as session:
        for target in targets.values():
            await stream(session, target, 0, INSTANT)
        for number in range(count):
            for name, target in targets.items():
                streams[name].append(await stream(session, target, number, pace))
    return streams


async def at_once(target: Target, count: int, replies: int, pace: float) -> tuple[list[Stream], float]:
    """So many streams at the same time; and seconds for all."""
    begun = time.perf_counter()
    connector = aiohttp.TCPConnector(limit=0)
    timeout = aiohttp.ClientTimeout(total=None)
    async with aiohttp.ClientSession(connector=connector, timeout=timeout, read_bufsize=2**22) as session:
        jobs = (stream(session, target, number % replies, pace) for number in range(count))
        done = await asyncio.gather(*jobs)
    return done, time.perf_counter() - begun


def lost(streams: Sequence[Stream], replies: Sequence[str]) -> int:
    """How many of them are not, without their marks, the upstream's text."""
    return sum(
        bool(stream.error) or re.sub(r"\[\d+\]", "", stream.content) != replies[number % len(replies)]
        for number, stream in enumerate(streams)
    )


def table(x: Mapping[str, Sequence[Stream]], replies: Sequence[str]) -> str:
    """Markdown: medians, in milliseconds."""
    bare = x["upstream"]
    lines = [
        "| stream | first content (added) | end (added) | end (added, worst) | lost |",
        "|---|--:|--:|--:|--:|",
    ]
    for name, streams in x.items():
        first = [1000 * (stream.first - base.first) for stream, base in zip(streams, bare, strict=True)]
        last = [1000 * seconds for seconds in added(x, name)]
        lines.append(
            f"| {name} | {statistics.median(first):+,.0f} ms | {statistics.median(last):+,.0f} ms "
            f"| {max(last):+,.0f} ms | {lost(streams, replies)} |"
        )
    return "\n".join(lines)


def added(streams: Mapping[str, Sequence[Stream]], name: str) -> list[float]:
    """Seconds that each stream ended later than the upstream's own."""
    pairs = zip(streams[name], streams["upstream"], strict=True)
    return [pair.last - base.last for pair, base in pairs]


def hidden(paced: Mapping[str, Sequence[Stream]], instant: Mapping[str, Sequence[Stream]]) -> float:
    """The share of checking that has happened by the upstream's last token, median over replies."""
    whole = zip(added(paced, "sentence"), added(instant, "buffer"), strict=True)
    return statistics.median(1 - behind / checking for behind, checking in whole)


def measure(folder: Path, options: argparse.Namespace) -> None:
    """Prints the figures."""
    replies = texts(options.replies)
    index = folder / "index"
    command = [sys.executable, "-m", "proxy", "index", str(CORPUS), "--out", str(index)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    with ExitStack() as stack:
        bare = stack.enter_context(upstream(folder, replies_file(folder, replies)))
        ours = stack.enter_context(vouch(folder, bare.url, index, WITHOUT_CACHE))
        modes = {
            mode: Target(ours.url, "bench", KEY, body={"vouch": {"stream_mode": mode, "max_rounds": 0}})
            for mode in MODES
        }
        targets = {"upstream": Target(bare.url, "bench", KEY), **modes}
        found = asyncio.run(in_turns(targets, len(replies), options.pace))
        print(table(found, replies))
        instant = asyncio.run(in_turns(targets, len(replies), INSTANT))
        checking = statistics.median(added(instant, "buffer"))
        print(f"\nChecking: {1000 * checking:,.0f} ms, of which {hidden(found, instant):.0%} are hidden.")
        if options.concurrent:
            streams = at_once(modes["sentence"], options.concurrent, len(replies), options.pace)
            many, seconds = asyncio.run(streams)
            print(f"{options.concurrent} streams at once: {lost(many, replies)} lost, {seconds:.1f} s.")


def main() -> None:
    """Prints the figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.streaming")
    parser.add_argument("--replies", type=int, default=8)
    parser.add_argument("--pace", type=float, default=40.0, help="tokens a second")
    parser.add_argument("--concurrent", type=int, default=200, help="streams at once at the end; 0: none")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        measure(Path(folder), options)


if __name__ == "__main__":
    main()
