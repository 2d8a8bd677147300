"""The LLM that a command calls, the checker that it measures, and running many calls at once.

    add_llm_arguments(parser)                       # --model --api-base --api-key-env --cache --concurrency
    add_limit_argument(parser, "questions")         # --limit
    async with open_llm(settings, options) as opened:
        reply = await opened.llm.complete(Chat({"messages": [...]}))      # from the disk, or the model
        opened.meter.as_json()                      # calls, tokens, cost
    async with open_judge(settings, options) as judge:      # any --checker; the LLM only where it needs one
        await judge.checker.check(pairs)
        judge.meter                                 # None where no LLM is called

`--model` is the name of an upstream in the settings, or any model that litellm can call
(`openai/gpt-4o-mini`). Without it the settings decide: `checker.llm.model`, else the first upstream. A model
at `--api-base` is called with the key in the environment variable that `--api-key-env` names. Replies are
kept under `--cache` (see `cached_llm.CachedLLM`): run the same command again, and only missing replies are
requested. Temperature and the like come with each call, or from the upstream's `params` in the settings.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pydantic import SecretStr

from evaluation.arguments import checker_named, counted, writable_folder
from evaluation.cached_llm import CachedLLM, Meter
from evaluation.measurement import progress
from proxy.aio import together
from proxy.cli import compose
from proxy.cli.compose_checkers import load_checkers
from proxy.cli.servable import endpoint
from proxy.config.settings import Settings
from proxy.config.settings import Upstream as UpstreamSettings
from proxy.errors import ConfigError
from proxy.protocols import LLM, Checker
from proxy.upstream.embedded.embedded_llm import DESCRIPTIONS
from proxy.upstream.provider import make_upstream, missing_keys
from proxy.upstream.retry import Retrying

CACHE = Path(".cache/evaluation")
_CONCURRENCY = 8
_KEPT_PAIRS, _KEPT_CHARS = 200_000, 1_000_000_000


@dataclass(frozen=True, slots=True)
class Asked:
    """An LLM with its answers kept, by the name that it has in the settings, and the counts of its calls."""

    llm: LLM
    name: str
    meter: Meter


@dataclass(frozen=True, slots=True)
class Judge:
    """A checker, and the counts of the calls of its LLM, if it asks one."""

    checker: Checker
    meter: Meter | None


def add_llm_arguments(parser: argparse.ArgumentParser) -> None:
    """Which LLM is asked, where, and where its answers are kept."""
    parser.add_argument(
        "--model", metavar="NAME", help="an upstream of the settings, or a model such as openai/gpt-4o-mini"
    )
    parser.add_argument("--api-base", metavar="URL", help="where an OpenAI-compatible server has the model")
    parser.add_argument(
        "--api-key-env", metavar="VARIABLE", help="the environment variable with the key for it"
    )
    parser.add_argument(
        "--cache",
        type=Path,
        default=CACHE,
        metavar="FOLDER",
        help=f"where the LLM's answers are kept; default: {CACHE}",
    )
    parser.add_argument(
        "--concurrency",
        type=counted,
        default=_CONCURRENCY,
        metavar="N",
        help=f"calls under way at once; default: {_CONCURRENCY}",
    )


def add_limit_argument(parser: argparse.ArgumentParser, what: str) -> None:
    """How many of them to measure."""
    parser.add_argument("--limit", type=counted, metavar="N", help=f"the first N {what} only")


@asynccontextmanager
async def open_llm(settings: Settings, options: argparse.Namespace) -> AsyncIterator[Asked]:
    """The LLM that the options name. Raises `ConfigError`."""
    upstream = asked_upstream(settings, options)
    meter = Meter(upstream.model)
    identity = _identity(upstream)
    folder = writable_folder(options.cache)
    forwarder = make_upstream(endpoint(upstream), upstream.client)
    try:
        llm = CachedLLM(Retrying(forwarder, upstream.max_retries), identity, folder, meter)
        yield Asked(llm, upstream.name, meter)
    finally:
        await forwarder.close()


@asynccontextmanager
async def open_judge(
    settings: Settings, options: argparse.Namespace, asked: Asked | None = None
) -> AsyncIterator[Judge]:
    """The checker that the options name, over the LLM that they name, or over `asked` where that is open.

    A pair that comes again is not judged again: tables ask for the same with more passages. Raises
    `ConfigError`.
    """
    steps = {step.name for step in settings.checker.cascade.steps} if options.checker == "cascade" else set()
    if asked is None and "llm" in {options.checker, *steps}:
        async with open_llm(settings, options) as opened, open_judge(settings, options, opened) as judge:
            yield judge
        return
    llm = settings.checker.llm.model_copy(update={"concurrency": options.concurrency})
    kept = {"cache_pairs": _KEPT_PAIRS, "cache_chars": _KEPT_CHARS, "llm": llm}
    named = checker_named(options.checker)
    checkers = load_checkers(settings.checker.model_copy(update=kept), [named])
    try:
        by_name = checkers.over(asked.llm, asked.name) if asked else checkers.over()
        yield Judge(by_name[named], asked.meter if asked else None)
    finally:
        checkers.close()


def asked_upstream(
    settings: Settings, options: argparse.Namespace, environ: Mapping[str, str] = os.environ
) -> UpstreamSettings:
    """The upstream that the options name. Raises `ConfigError` for one that can't be asked."""
    upstream = _named(settings, options, environ)
    if upstream.model in DESCRIPTIONS:
        raise ConfigError(
            f"{upstream.model} answers from the corpus and is no LLM: name one with --model, "
            "or under upstreams in the settings."
        )
    if keys := missing_keys(endpoint(upstream), environ):
        raise ConfigError(f"{upstream.model} needs a key: set {' and '.join(keys)}.")
    return upstream


def _identity(upstream: UpstreamSettings) -> str:
    """All that decides which model answers and how: the key, the time limits and the retries do not."""
    parts = [upstream.model, upstream.api_base, upstream.client, upstream.params]
    return json.dumps(parts, sort_keys=True, default=str)


def _named(settings: Settings, options: argparse.Namespace, environ: Mapping[str, str]) -> UpstreamSettings:
    by_name = {upstream.name: upstream for upstream in settings.upstreams}
    name = options.model or settings.checker.llm.model or settings.upstreams[0].name
    if name in by_name and options.api_base is None:
        return by_name[name]
    if "/" not in name and options.api_base is None:
        raise ConfigError(
            f"{name!r} is no upstream; there are {', '.join(by_name)}. A model of a provider has a slash in "
            "its name: openai/gpt-4o-mini."
        )
    return UpstreamSettings(
        model=name, name=name, api_base=options.api_base, api_key=_key(options.api_key_env, environ)
    )


def _key(variable: str | None, environ: Mapping[str, str]) -> SecretStr | None:
    if variable is None:
        return None
    if not environ.get(variable):
        raise ConfigError(f"--api-key-env names {variable}, which is not set.")
    return SecretStr(environ[variable])


def open_checker(settings: Settings, name: str) -> AbstractAsyncContextManager[Checker]:
    """The checker of that name as the settings describe it, but that no judgement is kept: all are measured.

    One that asks an LLM asks that of `checker.llm.model`, else the first upstream. Raises `ConfigError`.
    """
    unkept = settings.checker.model_copy(update={"cache_pairs": 0})
    return compose.open_checker(settings.model_copy(update={"checker": unkept}), checker_named(name))


Item = TypeVar("Item")
Result = TypeVar("Result")


async def in_order(
    items: Sequence[Item], work: Callable[[Item], Awaitable[Result]], concurrency: int, shown: str
) -> list[Result]:
    """What `work` makes of each item, in their order, at most `concurrency` under way at once.

    The first failure is raised and ends the rest. Progress goes to standard error under the name `shown`,
    where that is a terminal.
    """
    places = asyncio.Semaphore(concurrency)
    with progress(shown, len(items)) as advance:

        async def one(item: Item) -> Result:
            async with places:
                result = await work(item)
            advance(1)
            return result

        return await together(one(item) for item in items)
