"""Settings to a checker that is measured."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager

from proxy.cli import compose
from proxy.config.checker_settings import CheckerName
from proxy.config.settings import Settings
from proxy.protocols import Checker


def open_checker(settings: Settings, name: CheckerName) -> AbstractAsyncContextManager[Checker]:
    """The checker of that name as the settings describe it, but that no judgement is kept: all are measured.

    One that asks an LLM asks that of `checker.llm.model`, else the first upstream. Raises `ConfigError`.
    """
    unkept = settings.checker.model_copy(update={"cache_pairs": 0})
    return compose.open_checker(settings.model_copy(update={"checker": unkept}), name)
