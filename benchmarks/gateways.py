"""The cost of being in the way: chats through Vouch and through other gateways, in turns, on one machine.

    python -m benchmarks.gateways [--litellm PYTHON] [--portkey START_SERVER.JS] [--rounds 3] [--json FILE]

`PYTHON` is the interpreter of an environment with `litellm[proxy]`; `START_SERVER.JS` is
`node_modules/@portkey-ai/gateway/build/start-server.js`. What isn't named is left out, and so is what does
not answer. Upstream, load and each gateway are processes of their own, one worker each unless its name says
two. In each round every target has its turn at every load, so that what else the machine does meets all
alike; figures are medians. "CPU" is the processor time of the gateway per chat, which other work changes
least.

The loads "checked" ask for a reply of three sentences, two of which the example corpus bears out. Vouch
checks them anew each time (no cache of judgements) but for "known claims"; LiteLLM's proxy has a guardrail
that does nothing.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.gateways_load import WORD, Figures, Load, Target
from benchmarks.gateways_servers import (
    KEY,
    Running,
    litellm,
    portkey,
    portkey_target,
    replies_file,
    upstream,
    vouch,
)

WORDS = 200
TEXT = " ".join(f"{WORD}{number:03}" for number in range(WORDS))
"""A reply of as many tokens."""

CHECKED = (
    "The Eiffel Tower is 330 metres tall. Penguins invented the telephone. Marie Curie won two Nobel Prizes."
)
PASSTHROUGH = {"vouch": {"stream_mode": "passthrough", "max_rounds": 0}}


NAMES = (
    "Vouch, unchecked",
    "Vouch, checked",
    "Vouch, unchecked, 2 workers",
    "Vouch, checked, 2 workers",
    "LiteLLM proxy",
    "LiteLLM proxy, guardrail",
    "Portkey gateway",
    "Vouch, checked, known claims",
)
"""What is compared with the bare upstream."""


@dataclass(frozen=True, slots=True)
class Gateway:
    """A process and how it's asked."""

    running: Running
    target: Target


def loads(seconds: float) -> dict[str, Load]:
    """What every gateway goes through, by name."""
    return {
        "whole, 1": Load(1, seconds, words=WORDS),
        "whole, 16": Load(16, seconds, words=WORDS),
        "whole, 64": Load(64, seconds, words=WORDS),
        "stream, 1": Load(1, seconds, stream=True, words=WORDS),
        "stream, 16": Load(16, seconds, stream=True, words=WORDS),
        "stream, 200 chunks/s": Load(1, seconds, stream=True, pace=0.005, words=WORDS),
        "checked, 1": Load(1, seconds, words=0, reply=1),
        "checked, 16": Load(16, seconds, words=0, reply=1),
    }


@contextlib.contextmanager
def gateways(folder: Path, options: argparse.Namespace) -> Iterator[dict[str, Gateway]]:
    """All that were asked for, running."""
    index = options.index.absolute() if options.index else folder / "index"
    if not options.index:
        corpus = Path(__file__).parents[1] / "examples" / "corpus"
        command = [sys.executable, "-m", "proxy", "index", str(corpus), "--out", str(index)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    cached = {"VOUCH_LIMITS__KEY__CONCURRENCY": "64"}
    fresh = {**cached, "VOUCH_CHECKER__CACHE_PAIRS": "0"}
    two = {**fresh, "VOUCH_SERVER__WORKERS": "2"}
    with contextlib.ExitStack() as stack:
        bare = stack.enter_context(upstream(folder, replies_file(folder, [TEXT, CHECKED])))

        def ours(settings: Mapping[str, str]) -> Running:
            return stack.enter_context(vouch(folder, bare.url, index, settings))

        targets = {"bare upstream": Gateway(bare, Target(bare.url, "bench", KEY))}
        wanted = options.only or list(NAMES)
        if {NAMES[0], NAMES[1]}.intersection(wanted):
            one = ours(fresh)
            targets[NAMES[0]] = Gateway(one, Target(one.url, "bench-raw", KEY))
            targets[NAMES[1]] = Gateway(one, Target(one.url, "bench", KEY, body=PASSTHROUGH))
        if {NAMES[2], NAMES[3]}.intersection(wanted):
            both = ours(two)
            targets[NAMES[2]] = Gateway(both, Target(both.url, "bench-raw", KEY))
            targets[NAMES[3]] = Gateway(both, Target(both.url, "bench", KEY, body=PASSTHROUGH))
        for name, guardrail in ((NAMES[4], False), (NAMES[5], True)):
            if options.litellm and name in wanted:
                other = stack.enter_context(litellm(folder, bare.url, options.litellm, guardrail=guardrail))
                targets[name] = Gateway(other, Target(other.url, "bench", KEY))
        if options.portkey and NAMES[6] in wanted:
            other = stack.enter_context(portkey(folder, options.portkey))
            targets[NAMES[6]] = Gateway(other, portkey_target(other.url, bare.url))
        if NAMES[7] in wanted:
            known = ours(cached)
            targets[NAMES[7]] = Gateway(known, Target(known.url, "bench", KEY, body=PASSTHROUGH))
        yield targets


def loaded(gateway: Gateway, load: Load) -> Figures:
    """One turn, from a process of its own."""
    given = ["--target", json.dumps(asdict(gateway.target)), "--load", json.dumps(asdict(load))]
    command = [sys.executable, "-m", "benchmarks.gateways_load", *given]
    before = gateway.running.computed()
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    figures = json.loads(done.stdout)
    computed = 1000 * (gateway.running.computed() - before)
    return Figures(**{**figures, "cpu": computed / max(1, figures["chats"])})


def meant(name: str, load: str) -> bool:
    """Whether a gateway has that load: what checks has only the checked ones, the bare upstream all."""
    checks = name == "bare upstream" or ", checked" in name or "guardrail" in name
    return checks if load.startswith("checked") else ", checked" not in name


def works(name: str, gateway: Gateway) -> bool:
    """Whether it answers at all, which also warms it up; says so where it doesn't."""
    words, reply = (0, 1) if ", checked" in name else (WORDS, 0)
    warm = [loaded(gateway, Load(8, 1.0, stream, words=words, reply=reply)) for stream in (False, True)]
    if failed := sum(figures.failed for figures in warm):
        print(f"{name}: {failed} chats failed while warming up; it is left out.", file=sys.stderr)
    return not failed


def compare(targets: Mapping[str, Gateway], rounds: int, seconds: float) -> dict[str, dict[str, Figures]]:
    """Medians by load and gateway."""
    turns: dict[tuple[str, str], list[Figures]] = {}
    for _ in range(rounds):
        for load_name, load in loads(seconds).items():
            for name, gateway in targets.items():
                if meant(name, load_name):
                    turn = loaded(gateway, load)
                    turns.setdefault((load_name, name), []).append(turn)
                    print(f"{load_name}, {name}: {asdict(turn)}", file=sys.stderr, flush=True)
    return {
        load_name: {name: _median(turns[load_name, name]) for name in targets if (load_name, name) in turns}
        for load_name in loads(seconds)
    }


def _median(figures: list[Figures]) -> Figures:
    return Figures(
        requests_per_second=statistics.median(figure.requests_per_second for figure in figures),
        chunks_per_second=statistics.median(figure.chunks_per_second for figure in figures),
        p50=statistics.median(figure.p50 for figure in figures),
        p99=statistics.median(figure.p99 for figure in figures),
        failed=sum(figure.failed for figure in figures),
        chats=sum(figure.chats for figure in figures),
        cpu=statistics.median(figure.cpu for figure in figures),
    )


def table(figures: Mapping[str, Mapping[str, Figures]], memory: Mapping[str, float]) -> str:
    """Markdown: a table per load, then memory."""
    parts = []
    for load_name, rows in figures.items():
        base = rows["bare upstream"]
        lines = [
            f"| {name} | {_rate(row.requests_per_second)} | {row.chunks_per_second:,.0f} | {row.p50:.1f} | "
            f"{row.p99:.1f} | {row.p50 - base.p50:+.1f} | {row.cpu:.1f} | {row.failed} |"
            for name, row in rows.items()
        ]
        head = (
            f"| {load_name} | requests/s | chunks/s | p50 (ms) | p99 (ms) | added (ms) | CPU (ms) | failed |"
        )
        parts.append("\n".join([head, "|---|--:|--:|--:|--:|--:|--:|--:|", *lines]))
    held = [f"| {name} | {megabytes:,.0f} |" for name, megabytes in memory.items()]
    parts.append("\n".join(["| memory | MB |", "|---|--:|", *held]))
    return "\n\n".join(parts)


def _rate(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.2f}"


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gateways")
    parser.add_argument("--litellm", type=Path, help="the Python of an environment with litellm[proxy]")
    parser.add_argument("--portkey", type=Path, help="@portkey-ai/gateway's build/start-server.js")
    parser.add_argument("--index", type=Path, help="an index of examples/corpus; default: it is made")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3.0, help="of each turn")
    parser.add_argument("--only", nargs="*", choices=NAMES, help="gateways beside the upstream; default: all")
    parser.add_argument("--json", type=Path, help="also written there")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, gateways(Path(folder), options) as every:
        wanted = {"bare upstream", *(options.only or every)}
        targets = {name: target for name, target in every.items() if name in wanted and works(name, target)}
        figures = compare(targets, options.rounds, options.seconds)
        memory = {name: target.running.memory() for name, target in targets.items()}
    print(table(figures, memory))
    if options.json:
        rows = {
            load: {name: asdict(figures_of) for name, figures_of in row.items()}
            for load, row in figures.items()
        }
        options.json.write_text(json.dumps({"loads": rows, "memory": memory}, indent=1))


if __name__ == "__main__":
    main()
