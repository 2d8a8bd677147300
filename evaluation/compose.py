"""Settings to a checker, and its end."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from proxy.backends.upstream.embedded.model import DESCRIPTIONS
from proxy.backends.upstream.endpoint import Endpoint
from proxy.backends.upstream.provider import make_upstream, missing_keys
from proxy.backends.upstream.retry import Retrying
from proxy.checker_settings import Checker as CheckerSettings
from proxy.checker_settings import CheckerName
from proxy.commands.checkers import Checkers, load_checkers
from proxy.commands.compose import endpoint
from proxy.errors import ConfigError
from proxy.protocols import Checker
from proxy.settings import Settings
from proxy.settings import Upstream as UpstreamSettings


@asynccontextmanager
async def open_checker(settings: Settings, name: CheckerName) -> AsyncIterator[Checker]:
    """The checker of that name as the settings describe it, but that no judgement is kept: all are measured.

    One that asks an LLM asks that of `checker.llm.model`, else the first upstream. Raises `ConfigError`.
    """
    asked = _asked(settings) if _asks(settings.checker, name) else None
    checkers = load_checkers(settings.checker.model_copy(update={"cache_pairs": 0}), [name])
    try:
        if asked is None:
            yield checkers.over()[name]
        else:
            async with _over(asked, checkers) as found:
                yield found[name]
    finally:
        checkers.close()


@asynccontextmanager
async def _over(upstream: UpstreamSettings, checkers: Checkers) -> AsyncIterator[dict[str, Checker]]:
    forwarder = make_upstream(_endpoint(upstream), upstream.client)
    try:
        yield checkers.over(Retrying(forwarder, upstream.max_retries), upstream.name)
    finally:
        await forwarder.close()


def _asks(settings: CheckerSettings, name: CheckerName) -> bool:
    steps = [step.name for step in settings.cascade.steps] if name == "cascade" else [name]
    return "llm" in steps


def _asked(settings: Settings) -> UpstreamSettings:
    wanted = settings.checker.llm.model or settings.upstreams[0].name
    return next(upstream for upstream in settings.upstreams if upstream.name == wanted)


def _endpoint(upstream: UpstreamSettings) -> Endpoint:
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
