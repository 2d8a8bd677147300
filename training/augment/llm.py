"""Makes hard negatives with an LLM: `python -m training.augment.llm --data FILE --out FILE --model MODEL`.

After CiteCheck (2025), section 2.2: of each supported row, key segments of the evidence are revised or
deleted. MODEL is litellm's name (`openai/gpt-4o-mini`, `ollama_chat/qwen3`). What is made is added to the
file at once, beside it a log (`OUT.log.jsonl`) of every row, with reason and cost. A run that was stopped
goes on where it was: rows whose answers could not be used are not asked for again, those whose calls failed
are.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, get_args

from evaluation.arguments import counted, finite
from evaluation.cached_llm import price as dollars
from evaluation.datasets import read_lines
from proxy.errors import ConfigError, UpstreamError, VouchError
from proxy.types import Json, Language, Usage
from proxy.upstream.endpoint import Endpoint
from training.augment.augmenter import Augmenter, Origin, Outcome, Task
from training.augment.journal import Journal
from training.augment.prompts import Mode

STOPPED = 3
"""The exit status where the run ended at `--max-cost`."""
_GIVE_UP = 5
"""Calls in a row that may fail before the run ends."""
_PROGRESS = 20
_KEYS = ("origin", "kind")
"""What tells a row that was made, and a line of the log."""
_HAN = re.compile(r"[\u4e00-\u9fff]")

Price = Callable[[Usage], float | None]
"""US dollars that tokens cost; None where that is not known."""


@dataclass(slots=True)
class Ledger:
    """What has come of the tasks so far, those of earlier runs included in `cost`."""

    cost: float | None
    usage: Usage = field(default_factory=Usage)
    counts: Counter[str] = field(default_factory=Counter)
    failures_in_a_row: int = 0
    reason: str = ""
    """Why there is no row of the first task without one."""

    def enter(self, outcome: Outcome, cost: float | None) -> Json:
        """Counts an outcome, and returns what the log says of it."""
        self.usage += outcome.usage
        self.counts.update({outcome.kind: 1, "malformed answers": outcome.malformed})
        self.cost = None if self.cost is None or cost is None else self.cost + cost
        self.reason = self.reason or outcome.reason
        self.failures_in_a_row = self.failures_in_a_row + 1 if outcome.failed else 0
        return {
            "outcome": outcome.kind,
            "reason": outcome.reason,
            "answers": outcome.answers,
            "malformed": outcome.malformed,
            "prompt_tokens": outcome.usage.prompt_tokens,
            "completion_tokens": outcome.usage.completion_tokens,
            "cost": cost,
            **({"said": outcome.said} if outcome.said else {}),
        }

    def summary(self) -> str:
        """One line of figures."""
        counts = ", ".join(
            f"{self.counts[name]} {name}" for name in ("written", "skipped", "failed", "malformed answers")
        )
        cost = "unknown" if self.cost is None else f"${self.cost:.4f}"
        tokens = f"{self.usage.prompt_tokens} + {self.usage.completion_tokens} tokens"
        return f"{counts}; {tokens}; cost {cost}"


@dataclass(frozen=True, slots=True)
class Run:
    """The tasks, and where their outcomes go."""

    augmenter: Augmenter
    price: Price
    out: Journal
    log: Journal
    ledger: Ledger
    max_cost: float | None

    async def do(self, tasks: Sequence[Task], concurrency: int) -> None:
        """All of them, `concurrency` at once; fewer where the money is spent. Those under way are ended, so
        the cost may pass the bound by theirs. Raises `UpstreamError` where going on is of no use."""
        waiting = iter(tasks)
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(min(concurrency, len(tasks))):
                    group.create_task(self._work(waiting))
        except ExceptionGroup as errors:
            raise errors.exceptions[0] from None

    @property
    def spent(self) -> bool:
        """Whether the money is."""
        return self.max_cost is not None and (self.ledger.cost or 0.0) >= self.max_cost

    async def _work(self, waiting: Iterator[Task]) -> None:
        for task in waiting:
            if self.spent:
                return
            outcome = await self.augmenter.alter(task)
            entry = self.ledger.enter(outcome, self.price(outcome.usage))
            origin, kind = task.key
            await asyncio.to_thread(self._write, outcome.row, {"origin": origin, "kind": kind, **entry})
            if self.ledger.failures_in_a_row >= _GIVE_UP:
                raise UpstreamError(f"{_GIVE_UP} calls in a row failed, the last because {outcome.reason}")
            if sum(self.ledger.counts[name] for name in ("written", "skipped", "failed")) % _PROGRESS == 0:
                sys.stderr.write(f"{self.ledger.summary()}\n")

    def _write(self, row: Json | None, entry: Json) -> None:
        if row:
            self.out.append(row)
        self.log.append(entry)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command. Returns the exit status."""
    options = _parser().parse_args(arguments)
    try:
        return _augment(options)
    except VouchError as error:
        sys.stderr.write(f"{error}\n")
        return 1 if isinstance(error, UpstreamError) else 2
    except KeyboardInterrupt:
        sys.stderr.write("Stopped. The same command goes on where this run was.\n")
        return 130


def _augment(options: argparse.Namespace) -> int:
    if options.out.resolve() == options.data.resolve():
        raise ConfigError("--out must be another file than --data: rows are added to it.")
    wanted = _tasks(read_lines(options.data, Origin), options)
    if not wanted:
        raise ConfigError(f"{options.data} has no supported row{_in_language(options.language)}.")
    out = Journal(options.out, _KEYS)
    log = Journal(options.out.with_name(options.out.name + ".log.jsonl"), _KEYS)
    done = {(row["origin"], row["kind"]) for row in out.rows} | {
        (row["origin"], row["kind"]) for row in log.rows if row.get("outcome") == "skipped"
    }
    tasks = [task for task in wanted if task.key not in done]
    llm, price = _compose(options)
    augmenter = Augmenter(llm, options.timeout, options.min_fluency, random.random)
    run = Run(augmenter, price, out, log, Ledger(_spent_before(log.rows)), options.max_cost)
    sys.stdout.write(f"{len(wanted)} to make, {len(wanted) - len(tasks)} done before\n")
    try:
        asyncio.run(_closing(run, tasks, options.concurrency, llm))
    finally:
        sys.stdout.write(f"{run.ledger.summary()}\n")
    if run.spent:
        sys.stderr.write(f"Stopped: the cost has reached ${options.max_cost:g}.\n")
        return STOPPED
    if tasks and not run.ledger.counts["written"]:
        raise UpstreamError(f"Nothing was written: {run.ledger.reason}")
    return 0


async def _closing(run: Run, tasks: Sequence[Task], concurrency: int, llm: Any) -> None:
    try:
        await run.do(tasks, concurrency)
    finally:
        await llm.close()


def _tasks(origins: Iterable[Origin], options: argparse.Namespace) -> list[Task]:
    """What is to be made, in the order of the file, each once."""
    modes: Sequence[Mode] = get_args(Mode) if options.mode == "both" else [options.mode]
    tasks: dict[tuple[str, str], Task] = {}
    rows = 0
    for origin in origins:
        language = origin.lang or _language(origin.claim)
        if not origin.supported or not origin.evidence.strip() or language != (options.language or language):
            continue
        if options.limit is not None and rows >= options.limit:
            break
        rows += 1
        for mode in modes:
            task = Task(origin, mode, language)
            tasks.setdefault(task.key, task)
    return list(tasks.values())


def _language(text: str) -> Language:
    return "zh" if len(_HAN.findall(text)) * 5 > len(text) else "en"


def _in_language(language: str | None) -> str:
    return f" in {language}" if language else ""


def _compose(options: argparse.Namespace) -> tuple[Any, Price]:
    """The model and its price. litellm takes seconds to import: by now the rest is known to be right."""
    key = None
    if options.api_key_env:
        key = os.environ.get(options.api_key_env)
        if not key:
            raise ConfigError(f"--api-key-env names {options.api_key_env}, which is not set.")
    from proxy.upstream.litellm_client import LiteLLMUpstream

    price = partial(dollars, options.model)
    if options.max_cost is not None and price(Usage(1000, 1000)) is None:
        raise ConfigError(f"--max-cost: litellm does not know what {options.model} costs. Leave it out.")
    # A server of one's own gets no key that is meant for a provider.
    key = key or ("none" if options.api_base else None)
    params: Mapping[str, Any] = {"temperature": options.temperature}
    endpoint = Endpoint(options.model, options.api_base, key, timeout=options.timeout, params=params)
    return LiteLLMUpstream(endpoint), price


def _spent_before(entries: Iterable[Json]) -> float | None:
    costs = [entry.get("cost") for entry in entries]
    return None if None in costs else float(sum(cost for cost in costs if cost))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m training.augment.llm", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="JSON Lines of labelled rows")
    parser.add_argument("--out", type=Path, required=True, help="where rows are added")
    parser.add_argument("--model", required=True, help="litellm's name of the model")
    parser.add_argument("--api-base", help="address of an OpenAI-compatible server, ending in /v1")
    parser.add_argument("--api-key-env", metavar="VARIABLE", help="environment variable with the model's key")
    parser.add_argument("--language", choices=get_args(Language), help="only rows in this language")
    parser.add_argument("--mode", choices=("revise", "delete", "both"), default="both")
    parser.add_argument("--concurrency", type=counted, default=8, help="calls at once (default: 8)")
    parser.add_argument("--limit", type=counted, help="at most so many rows of --data")
    parser.add_argument("--max-cost", type=_amount, help="US dollars, all runs on --out together")
    parser.add_argument("--min-fluency", type=_amount, default=4.0, help="1 to 5 (default: 4)")
    parser.add_argument("--temperature", type=finite, default=0.7)
    parser.add_argument("--timeout", type=_amount, default=120.0, help="seconds for a call (default: 120)")
    return parser


def _amount(text: str) -> float:
    value = finite(text)
    if value <= 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number over 0")
    return value


if __name__ == "__main__":
    sys.exit(main())
