"""What checking a reply while it is written costs its reader: streams at a set pace, with each preset.

    python -m benchmarks.streaming [--replies 6] [--pace 40] [--presets reader strict] [--concurrent 16]

A local upstream writes replies of eight sentences of the example corpus at so many tokens a second, straight
to the client and through `vouch serve` with the default checker, its cache off. All presets have their turn
with one reply before the next one. First the replies are as the corpus has them. Then each has one error (a
year or another number, mostly), and the upstream corrects it when it is asked to, at the same pace.

First text and end are seconds since the request. CPU is what the server has computed until its first text,
which doesn't depend on what else the machine does: without others the first text would come that long after
its sentence is written, at the latest. Added is how much later the stream ended than the same
reply straight from the upstream. Hidden is the share of checking that has happened by the upstream's last
token: what of the time that `strict` adds to a reply that is there at once, `reader` does not add behind the
last token at the pace. At the end come so many streams at the same time with the preset `reader`: nothing may
be lost of any.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import aiohttp

from benchmarks.gateways_load import Target
from benchmarks.gateways_servers import KEY, Running, replies_file, upstream, vouch
from benchmarks.gateways_upstream import asked, tokens
from proxy.citations.history import bare
from proxy.text.sentences import sentence_spans
from proxy.types import WARNING, PresetName
from proxy.upstream.embedded.planted_error import plant

CORPUS = Path(__file__).parents[1] / "examples" / "corpus"
SENTENCES = 8
INSTANT = 1e6
"""Tokens a second of a reply that is there at once."""
DROPPING: PresetName = "strict"
"""The preset that leaves out what failed, so that its text is not the upstream's."""
WITHOUT_CACHE = {"VOUCH_CHECKER__CACHE_PAIRS": "0"}
DIRECT = "straight from the upstream"


@dataclass(frozen=True, slots=True)
class Stream:
    """What came of one stream: seconds from the request to the first content and to the end, seconds that the
    server computed until then, how many claims failed in the end, and corrections were asked for."""

    content: str
    first: float
    last: float
    computed: float = 0.0
    failed: int = 0
    rounds: int = 0
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


def with_errors(replies: Sequence[str]) -> list[str]:
    """The replies with one error each that nothing in the corpus bears out."""
    known = [path.read_text(encoding="utf-8") for path in sorted(CORPUS.glob("*.md"))]
    return [plant(reply, evidence=known, subjects=(), others=(), seed=reply) for reply in replies]


async def stream(
    session: aiohttp.ClientSession, target: Target, number: int, pace: float, server: Running | None = None
) -> Stream:
    """One reply, streamed to its end. `server` is the process of the target, if nothing else asks it."""
    body = {"model": target.model, "messages": asked(number, 1 / pace), "stream": True, **target.body}
    pieces: list[str] = []
    error, first, computed, verification = "", 0.0, 0.0, dict[str, Any]()
    before = server.computed() if server else 0.0
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
            verification = chunk.get("verification") or verification
            if piece := "".join(_contents(chunk)):
                if not first:
                    first = time.perf_counter() - begun
                    computed = server.computed() - before if server else 0.0
                pieces.append(piece)
    last = time.perf_counter() - begun
    verdicts = [claim["verdict"] for claim in verification.get("claims", ())]
    failed = sum(verdict in ("contradicted", "unsupported") for verdict in verdicts)
    rounds = verification.get("rounds", 0)
    return Stream("".join(pieces), first, last, computed, failed, rounds, error)


def _contents(chunk: Mapping[str, Any]) -> list[str]:
    return [choice["delta"].get("content") or "" for choice in chunk.get("choices") or ()]


async def in_turns(
    targets: Mapping[str, Target], numbers: Sequence[int], pace: float, server: Running
) -> dict[str, list[Stream]]:
    """The replies of these numbers, from each target, one at a time."""
    streams: dict[str, list[Stream]] = {name: [] for name in targets}
    async with aiohttp.ClientSession(read_bufsize=2**22) as session:
        for target in targets.values():
            await stream(session, target, 0, INSTANT)
        for number in numbers:
            for name, target in targets.items():
                done = await stream(session, target, number, pace, server)
                streams[name].append(done)
                print(f"{name}, reply {number}: {done.first:.2f} s, {done.last:.2f} s", file=sys.stderr)
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


def lost(name: str, streams: Sequence[Stream], *texts_allowed: Sequence[str]) -> int:
    """How many of them broke, or are not, without what Vouch added, one of the texts that they may be."""
    return sum(
        bool(stream.error)
        or not stream.content
        or (name != DROPPING and not _among(stream.content, number, texts_allowed))
        for number, stream in enumerate(streams)
    )


def _among(content: str, number: int, texts_allowed: Sequence[Sequence[str]]) -> bool:
    (text,) = bare([content], [WARNING])
    return " ".join(text.split()) in {" ".join(each[number % len(each)].split()) for each in texts_allowed}


def table(streams: Mapping[str, Sequence[Stream]], *texts_allowed: Sequence[str]) -> str:
    """Markdown: medians over the replies, and the worst in brackets, in seconds."""
    lines = [
        "| preset | first text | CPU until then | end | added at the end | corrections | failed | lost |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for name, each in streams.items():
        figures = [
            _median([stream.first for stream in each]),
            _median([stream.computed for stream in each]),
            _median([stream.last for stream in each]),
            _median(added(streams, name)),
            str(sum(stream.rounds for stream in each)),
            str(sum(stream.failed for stream in each)),
            str(lost(name, each, *texts_allowed)),
        ]
        shown = figures if name != DIRECT else [figures[0], "", figures[2], "", "", "", figures[-1]]
        lines.append(f"| {name} | {' | '.join(shown)} |")
    return "\n".join(lines)


def _median(seconds: Sequence[float]) -> str:
    return f"{statistics.median(seconds):.2f} s ({max(seconds):.2f})"


def added(streams: Mapping[str, Sequence[Stream]], name: str) -> list[float]:
    """Seconds that each stream ended later than the upstream's own."""
    pairs = zip(streams[name], streams[DIRECT], strict=True)
    return [pair.last - base.last for pair, base in pairs]


def hidden(paced: Mapping[str, Sequence[Stream]], instant: Mapping[str, Sequence[Stream]]) -> float:
    """The share of checking that has happened by the upstream's last token, median over replies."""
    whole = zip(added(paced, "reader"), added(instant, "strict"), strict=True)
    return statistics.median(1 - behind / checking for behind, checking in whole)


def measure(folder: Path, options: argparse.Namespace) -> None:
    """Prints the figures."""
    true = texts(options.replies)
    false = with_errors(true)
    count = len(true)
    index = folder / "index"
    command = [sys.executable, "-m", "proxy", "index", str(CORPUS), "--out", str(index)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    replies = replies_file(folder, [*true, *false])
    corrected = replies_file(folder, [*true, *true], "corrected")
    with ExitStack() as stack:
        direct = stack.enter_context(upstream(folder, replies, corrected))
        ours = stack.enter_context(vouch(folder, direct.url, index, WITHOUT_CACHE))
        presets = {
            preset: Target(ours.url, "bench", KEY, body={"vouch": {"preset": preset}})
            for preset in options.presets
        }
        targets = {DIRECT: Target(direct.url, "bench", KEY), **presets}
        paced = asyncio.run(in_turns(targets, range(count), options.pace, ours))
        print(f"{count} replies as the corpus has them, {options.pace:g} tokens/s:\n\n{table(paced, true)}")
        sys.stdout.flush()
        found = asyncio.run(in_turns(targets, range(count, 2 * count), options.pace, ours))
        written = [len(tokens(text[: sentence_spans(text)[0][1]])) / options.pace for text in true]
        print(f"\nThe first sentence is written after {_median(written)}.")
        print(f"\nThe same with one error each:\n\n{table(found, true, false)}")
        if "reader" in presets:
            body = {"vouch": {"preset": "strict", "max_rounds": 0}}
            checking_only = {DIRECT: targets[DIRECT], "strict": Target(ours.url, "bench", KEY, body=body)}
            instant = asyncio.run(in_turns(checking_only, range(count), INSTANT, ours))
            checking = statistics.median(added(instant, "strict"))
            print(f"\nChecking: {checking:.2f} s, of which {hidden(paced, instant):.0%} are hidden.")
        if options.concurrent:
            reader = Target(ours.url, "bench", KEY, body={"vouch": {"preset": "reader"}})
            streams = at_once(reader, options.concurrent, count, options.pace)
            many, seconds = asyncio.run(streams)
            print(
                f"{options.concurrent} streams at once: {lost('reader', many, true)} lost, {seconds:.1f} s, "
                f"first text after {_median([stream.first for stream in many])}."
            )


def main() -> None:
    """Prints the figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.streaming")
    parser.add_argument("--replies", type=int, default=6)
    parser.add_argument("--pace", type=float, default=40.0, help="tokens a second")
    names = get_args(PresetName)
    parser.add_argument("--presets", nargs="+", choices=names, default=names, help="all without it")
    parser.add_argument("--concurrent", type=int, default=16, help="streams at once at the end; 0: none")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        measure(Path(folder), options)


if __name__ == "__main__":
    main()
