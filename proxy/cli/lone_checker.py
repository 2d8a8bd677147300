"""A checker on its own, without an index."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from proxy.cli.compose import endpoint, use_threads
from proxy.cli.compose_checkers import Checkers, load_checkers
from proxy.config.checker_settings import Checker as CheckerSettings
from proxy.config.checker_settings import CheckerName
from proxy.config.settings import Settings, Upstream
from proxy.errors import ConfigError
from proxy.protocols import Checker
from proxy.upstream.embedded.embedded_llm import DESCRIPTIONS
from proxy.upstream.endpoint import Endpoint
from proxy.upstream.provider import make_upstream, missing_keys
from proxy.upstream.retry import Retrying


@asynccontextmanager
async def open_checker(settings: Settings, name: CheckerName) -> AsyncIterator[Checker]:
    """The checker of that name as the settings describe it.

    One that asks an LLM asks that of `checker.llm.model`, else the first upstream. Raises `ConfigError`.
    """
    use_threads(settings.runtime)
    checkers = load_checkers(settings.checker, [name])
    try:
        if _asks(settings.checker, name):
            async with _over_llm(settings, checkers) as found:
                yield found[name]
        else:
            yield checkers.over()[name]
    finally:
        checkers.close()


@asynccontextmanager
async def _over_llm(settings: Settings, checkers: Checkers) -> AsyncIterator[dict[str, Checker]]:
    wanted = settings.checker.llm.model or settings.upstreams[0].name
    upstream = next(one for one in settings.upstreams if one.name == wanted)
    forwarder = make_upstream(_endpoint(upstream), upstream.client)
    try:
        yield checkers.over(Retrying(forwarder, upstream.max_retries), upstream.name)
    finally:
        await forwarder.close()


def _asks(settings: CheckerSettings, name: CheckerName) -> bool:
    """Whether the checker, or a step of the cascade, is the one that asks an LLM."""
    steps = [step.name for step in settings.cascade.steps] if name == "cascade" else [name]
    return "llm" in steps


def _endpoint(upstream: Upstream) -> Endpoint:
    """Where it is. Raises `ConfigError` for one that can't judge, or can't be called."""
    if upstream.model in DESCRIPTIONS:
        raise ConfigError(
            f"{upstream.model} answers from the corpus and can't judge: name an LLM under upstreams, "
            "and in checker.llm.model where it isn't the first."
        )
    found = endpoint(upstream)
    if keys := missing_keys(found):
        raise ConfigError(f"{upstream.model} needs a key: set {' and '.join(keys)} or upstreams.api_key.")
    return found
