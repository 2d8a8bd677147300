"""Real replies through the real server: is every reply whole and every offset right, and what does it cost?

    python -m benchmarks.replay --data DIR [--concurrency 1] [--json]

`DIR` holds `corpora/wikipedia_en.jsonl` and `papers/ceg_felm_wk_top10.json` (184 answers of ChatGPT, CEG's
FELM data). A local upstream replays the answers, through `vouch serve` over an index of the corpus, without
re-prompting. Added latency is what a request took through the proxy less what it took without it.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from proxy.cli.demo import server
from tests.scripted_upstream import Upstream


@dataclass(frozen=True, slots=True)
class Exchange:
    """A question, the real answer to it, and what came through the proxy; times in seconds."""

    question: str
    answer: str
    reply: dict[str, Any]
    direct: float
    proxied: float


def felm(data: Path) -> dict[str, str]:
    """Question to answer, 184 of them. One answer is given in its segments only: they are joined."""
    rows = json.loads((data / "papers" / "ceg_felm_wk_top10.json").read_text(encoding="utf-8"))
    answers: dict[str, str] = {}
    segments: dict[str, list[str]] = {}
    for row in rows:
        segments.setdefault(row["question"], []).append(row["response"])
        if isinstance(row["answer"], str):
            answers[row["question"]] = row["answer"]
    return {question: answers.get(question, " ".join(parts)) for question, parts in segments.items()}


def problems(content: str, reply: Mapping[str, Any], upstream_text: str) -> list[str]:
    """What is wrong with a checked reply: offsets, marks, references, the text without its marks."""
    faults: list[str] = []
    marks: list[tuple[int, int, int]] = []
    for reference in reply["references"]:
        marks += [(start, end, reference["n"]) for start, end in reference["spans"]]
        if not (reference["url"] and reference["title"] and reference["quote"] in reference["text"]):
            faults.append(f"reference {reference['n']} is incomplete")
    bare = content
    for start, end, n in sorted(marks, reverse=True):
        if content[start:end] != f"[{n}]":
            faults.append(f"mark {n} is not at {start}:{end}")
        bare = bare[:start] + bare[end:]
    if bare != upstream_text:
        faults.append("without its marks the content is not the upstream's text")
    for claim in reply["verification"]["claims"]:
        if content[claim["start"] : claim["end"]] != claim["text"]:
            faults.append(f"claim at {claim['start']}:{claim['end']} is not its text")
        if bool(claim["references"]) != (claim["verdict"] == "supported"):
            faults.append(f"claim at {claim['start']}:{claim['end']} is {claim['verdict']} and cites wrongly")
    return faults


def exchange(client: httpx.Client, base_url: str, upstream: str, question: str, answer: str) -> Exchange:
    """One chat, from the upstream itself and through the proxy."""
    body = {
        "model": "replay",
        "messages": [{"role": "user", "content": question}],
        "vouch": {"max_rounds": 0, "mark_nonfactual": "", "notice": False},
    }
    times = []
    for url in (upstream, base_url):
        begun = time.perf_counter()
        response = client.post(f"{url}/chat/completions", json=body, timeout=60).raise_for_status()
        times.append(time.perf_counter() - begun)
    return Exchange(question, answer, response.json(), *times)


def replay(answers: Mapping[str, str], index: Path, concurrency: int) -> tuple[list[Exchange], float]:
    """All of them; and seconds for all."""
    with Upstream() as upstream, httpx.Client() as client:
        upstream.answer = lambda body: answers[body["messages"][-1]["content"]]
        model = ("--model", "openai/replay", "--api-base", upstream.url, "--api-key", "none")
        with server(index, *model) as base_url, ThreadPoolExecutor(concurrency) as pool:
            first = next(iter(answers.items()))
            exchange(client, base_url, upstream.url, *first)  # the first one loads what is loaded late
            begun = time.perf_counter()
            jobs = [pool.submit(exchange, client, base_url, upstream.url, *item) for item in answers.items()]
            done = [job.result() for job in jobs]
            return done, time.perf_counter() - begun


def report(done: list[Exchange], seconds: float) -> dict[str, Any]:
    """The figures; times in milliseconds."""
    added = sorted(1000 * (entry.proxied - entry.direct) for entry in done)
    verdicts = Counter(c["verdict"] for entry in done for c in entry.reply["verification"]["claims"])
    wrong = {
        entry.question: found
        for entry in done
        if (found := problems(entry.reply["choices"][0]["message"]["content"], entry.reply, entry.answer))
    }
    return {
        "replies": len(done),
        "claims": verdicts.total(),
        "replies_per_second": round(len(done) / seconds, 2),
        "added_ms_p50": round(statistics.median(added), 1),
        "added_ms_p95": round(added[int(0.95 * (len(added) - 1))], 1),
        "verdicts": {name: round(count / verdicts.total(), 3) for name, count in verdicts.most_common()},
        "problems": wrong,
    }


def main() -> None:
    """Prints the figures; exits with 1 when a reply is not whole."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=lambda given: Path(given).resolve(), required=True)
    parser.add_argument("--index", type=Path, help="an index of the corpus; default: made for this run")
    parser.add_argument("--concurrency", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        index = options.index or Path(folder) / "index"
        if options.index is None:
            corpus = options.data / "corpora" / "wikipedia_en.jsonl"
            command = [sys.executable, "-m", "proxy", "index", str(corpus), "--out", str(index)]
            subprocess.run(command, check=True, cwd=folder)
        figures = report(*replay(felm(options.data), index.resolve(), options.concurrency))
    if options.json:
        print(json.dumps(figures, ensure_ascii=False))
    else:
        for name, value in figures.items():
            print(f"{name:20} {value}")
    sys.exit(1 if figures["problems"] else 0)


if __name__ == "__main__":
    main()
